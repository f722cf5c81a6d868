"""image_encoder: an image encoder in the manner of EdgeTAM's: a RepViT backbone and a feature pyramid neck, small.

The backbone is from "RepViT: Revisiting Mobile CNN From ViT Perspective" (Wang et al., arXiv:2307.09283), in the form in which
it is deployed: the parallel branches of a RepVGG-style depthwise convolution are one 3x3 convolution there, and batch
normalization is part of the convolution before it. The neck is SAM 2's (Ravi et al., arXiv:2408.00714, which EdgeTAM,
arXiv:2501.07256, keeps): lateral 1x1 convolutions, and nearest upsampling by two with an addition on the way down. XNNPACK
has no nearest upsampling, so it runs portable between delegates, with a change of layout on either side.

Written from the papers, in a quarter of RepViT-M1's width, two blocks a stage and at 128 x 128 instead of 1024 x 1024.
Nearly all operators are convolutions, with squeeze-excitations between them and three outputs at three resolutions, so that
layout changes (NCHW outside of a delegate, NHWC inside) are visible.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from etprof.models.seeded import seeded

_WIDTHS = (16, 32, 64, 96)  # channels of the four stages, at 1/4, 1/8, 1/16 and 1/32 of the image
_BLOCKS = 2  # blocks per stage
_NECK = 64
_IMAGE = 128  # pixels a side


class SqueezeExcite(nn.Module):
    """Scales each channel by a gate computed from the channels' means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv_reduce = nn.Conv2d(channels, channels // 4, 1)
        self.conv_expand = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, C, H, W) to the same shape."""
        means = features.mean((2, 3), keepdim=True)
        return features * torch.sigmoid(self.conv_expand(functional.relu(self.conv_reduce(means))))


class RepViTBlock(nn.Module):
    """Token mixer (depthwise 3x3, the merged RepVGG branches; squeeze-excitation in every other block), channel mixer."""

    def __init__(self, channels: int, squeeze: bool) -> None:
        super().__init__()
        self.token_mixer = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.se = SqueezeExcite(channels) if squeeze else nn.Identity()
        self.channel_mixer = nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 1), nn.GELU(), nn.Conv2d(2 * channels, channels, 1)
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, C, H, W) to the same shape."""
        features = self.se(self.token_mixer(features))
        return features + self.channel_mixer(features)


class Downsample(nn.Module):
    """A block at the old width, depthwise 3x3 with stride 2, 1x1 to the new width, a residual feed-forward part."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.pre_block = RepViTBlock(channels_in, squeeze=False)
        self.spatial = nn.Conv2d(channels_in, channels_in, 3, stride=2, padding=1, groups=channels_in)
        self.channel = nn.Conv2d(channels_in, channels_out, 1)
        self.ffn = nn.Sequential(
            nn.Conv2d(channels_out, 2 * channels_out, 1), nn.GELU(), nn.Conv2d(2 * channels_out, channels_out, 1)
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, channels_in, H, W) to (N, channels_out, H / 2, W / 2)."""
        features = self.channel(self.spatial(self.pre_block(features)))
        return features + self.ffn(features)


class Backbone(nn.Module):
    """A stem to a quarter of the resolution, and four stages."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, _WIDTHS[0] // 2, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(_WIDTHS[0] // 2, _WIDTHS[0], 3, stride=2, padding=1),
        )
        self.stages = nn.ModuleList()
        for number, channels in enumerate(_WIDTHS):
            layers: list[nn.Module] = [] if number == 0 else [Downsample(_WIDTHS[number - 1], channels)]
            layers += [RepViTBlock(channels, squeeze=block % 2 == 0) for block in range(_BLOCKS)]
            self.stages.append(nn.Sequential(*layers))

    def forward(self, image: torch.Tensor) -> list[torch.Tensor]:
        """(N, 3, H, W) to the four stages' features, the finest first."""
        features = [self.stem(image)]
        for stage in self.stages:
            features.append(stage(features[-1]))
        return features[1:]


class FpnNeck(nn.Module):
    """Lateral 1x1 convolutions to one width; coarse maps are added to the next finer ones."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(channels, _NECK, 1) for channels in _WIDTHS)
        self.finest = nn.Conv2d(_NECK, _NECK // 4, 1)  # SAM 2's conv_s0 and conv_s1: the decoder's high resolutions
        self.finer = nn.Conv2d(_NECK, _NECK // 2, 1)

    def forward(self, features: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The stages' features to maps at 1/4, 1/8 and 1/16 of the image."""
        lateral = [conv(feature) for conv, feature in zip(self.convs, features, strict=True)]
        coarse = lateral[2] + functional.interpolate(lateral[3], scale_factor=2.0, mode="nearest")
        finer = lateral[1] + functional.interpolate(coarse, scale_factor=2.0, mode="nearest")
        return self.finest(lateral[0]), self.finer(finer), coarse


class ImageEncoder(nn.Module):
    """An image (N, 3, 128, 128) to feature maps of 16, 32 and 64 channels at 32 x 32, 16 x 16 and 8 x 8."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = Backbone()
        self.neck = FpnNeck()

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(N, 3, H, W), H and W multiples of 32, to the neck's three maps."""
        return self.neck(self.trunk(image))


class ImageEncoderModel:
    """`image_encoder` in the registry."""

    def get_eager_model(self) -> nn.Module:
        """The network with seeded random weights."""
        with seeded():
            return ImageEncoder()

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        """One seeded random image (1, 3, 128, 128)."""
        with seeded():
            return (torch.randn(1, 3, _IMAGE, _IMAGE),)
