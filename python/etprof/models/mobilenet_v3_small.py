"""MobileNetV3-Small, from table 2 of "Searching for MobileNetV3" (Howard et al., arXiv:1905.02244).

The model is torchvision's if torchvision is installed, else the network below, which has the same modules, initial weights, and
graph. A test compares them. `script/bootstrap --models` installs torchvision, which lacks CPU builds for some platforms.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import torch
from torch import nn

from etprof.models.seeded import seeded


@dataclass(frozen=True)
class Bottleneck:
    """One row of the paper's table."""

    channels_in: int
    kernel: int
    expanded: int
    channels_out: int
    squeeze: bool
    hardswish: bool
    stride: int


# fmt: off
_TABLE = (
    Bottleneck(16, 3,  16, 16, squeeze=True,  hardswish=False, stride=2),
    Bottleneck(16, 3,  72, 24, squeeze=False, hardswish=False, stride=2),
    Bottleneck(24, 3,  88, 24, squeeze=False, hardswish=False, stride=1),
    Bottleneck(24, 5,  96, 40, squeeze=True,  hardswish=True,  stride=2),
    Bottleneck(40, 5, 240, 40, squeeze=True,  hardswish=True,  stride=1),
    Bottleneck(40, 5, 240, 40, squeeze=True,  hardswish=True,  stride=1),
    Bottleneck(40, 5, 120, 48, squeeze=True,  hardswish=True,  stride=1),
    Bottleneck(48, 5, 144, 48, squeeze=True,  hardswish=True,  stride=1),
    Bottleneck(48, 5, 288, 96, squeeze=True,  hardswish=True,  stride=2),
    Bottleneck(96, 5, 576, 96, squeeze=True,  hardswish=True,  stride=1),
    Bottleneck(96, 5, 576, 96, squeeze=True,  hardswish=True,  stride=1),
)
# fmt: on
_LAST_CONVOLUTION = 576
_LAST_CHANNELS = 1024
_CLASSES = 1000


def make_divisible(channels: int) -> int:
    """The multiple of 8 nearest to `channels`, never below 90 % of it (the MobileNet papers' rounding)."""
    rounded = max(8, (channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


class ConvNormActivation(nn.Sequential):
    """Convolution without bias, batch normalization, activation; "same" padding for odd kernels."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        activation: type[nn.Module] | None = None,
    ) -> None:
        padding = (kernel - 1) // 2
        layers: list[nn.Module] = [
            nn.Conv2d(channels_in, channels_out, kernel, stride, padding, groups=groups, bias=False),
            nn.BatchNorm2d(channels_out, eps=1e-3, momentum=0.01),
        ]
        if activation is not None:
            layers.append(activation())
        super().__init__(*layers)


class SqueezeExcitation(nn.Module):
    """Scales each channel by a gate that a bottleneck of two 1x1 convolutions computes from the channels' means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = make_divisible(channels // 4)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, C, H, W) to the same shape."""
        gate = self.activation(self.fc1(self.avgpool(features)))
        return self.scale_activation(self.fc2(gate)) * features


class InvertedResidual(nn.Module):
    """Expand by 1x1, filter depthwise, squeeze-and-excite, project by 1x1; with a residual where shapes allow."""

    def __init__(self, row: Bottleneck) -> None:
        super().__init__()
        self.residual = row.stride == 1 and row.channels_in == row.channels_out
        activation = nn.Hardswish if row.hardswish else nn.ReLU
        layers: list[nn.Module] = []
        if row.expanded != row.channels_in:
            layers.append(ConvNormActivation(row.channels_in, row.expanded, 1, activation=activation))
        layers.append(
            ConvNormActivation(
                row.expanded, row.expanded, row.kernel, row.stride, groups=row.expanded, activation=activation
            )
        )
        if row.squeeze:
            layers.append(SqueezeExcitation(row.expanded))
        layers.append(ConvNormActivation(row.expanded, row.channels_out, 1))
        self.block = nn.Sequential(*layers)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, channels_in, H, W) to (N, channels_out, H / stride, W / stride)."""
        result = self.block(features)
        return result + features if self.residual else result


class MobileNetV3Small(nn.Module):
    """An image (N, 3, 224, 224) to 1000 logits; 2,542,856 parameters and 56.51 million multiply-adds."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            ConvNormActivation(3, _TABLE[0].channels_in, 3, stride=2, activation=nn.Hardswish),
            *(InvertedResidual(row) for row in _TABLE),
            ConvNormActivation(_TABLE[-1].channels_out, _LAST_CONVOLUTION, 1, activation=nn.Hardswish),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(_LAST_CONVOLUTION, _LAST_CHANNELS),
            nn.Hardswish(),
            nn.Dropout(p=0.2, inplace=True),
            nn.Linear(_LAST_CHANNELS, _CLASSES),
        )
        self.apply(_initialize)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, 3, H, W) to (N, classes)."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _initialize(module: nn.Module) -> None:
    """torchvision's initial weights for this network."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
    if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def _set_statistics(network: nn.Module) -> None:
    """Give the batch normalizations the statistics of two seeded images.

    With the initial statistics, the features of an untrained network shrink from layer to layer, to logits of 1e-9, which fp16
    cannot represent.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    network.eval()
    for norm in norms:
        norm.momentum = None  # the running statistics are plain means over all batches
        norm.train()
    with torch.no_grad():
        network(torch.randn(2, 3, 224, 224))
    for norm in norms:
        norm.momentum = 0.01


def _network() -> nn.Module:
    if importlib.util.find_spec("torchvision") is None:
        return MobileNetV3Small()
    import torchvision

    return torchvision.models.mobilenet_v3_small(weights=None)


class MobileNetV3SmallModel:
    """`mobilenet_v3_small` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The network with seeded random weights."""
        with seeded():
            network = _network()
            _set_statistics(network)
        return network.eval()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 224, 224)."""
        with seeded():
            return (torch.randn(1, 3, 224, 224),)
