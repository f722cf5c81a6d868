"""Models that differ in one known way, for `etprof export pairs.py:Class`. Each entry of VARIANTS has a class."""

from collections.abc import Callable

import torch
from torch import nn

from etprof.models.seeded import seeded


def with_seeded_weights(module: nn.Module, seed: int = 0) -> nn.Module:
    """Sets weights that depend only on a tensor's shape and its index among tensors of this shape, not on other tensors."""
    seen: dict[tuple[int, ...], int] = {}
    for tensor in module.parameters():
        place = seen[tuple(tensor.shape)] = seen.get(tuple(tensor.shape), -1) + 1
        with seeded(seed + 1000 * place + tensor.numel()), torch.no_grad():
            tensor.copy_(torch.randn_like(tensor) / max(1, tensor[0].numel()) ** 0.5)
    return module


class Block(nn.Module):
    def __init__(self, width: int, residual: bool = True) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.act = nn.Hardswish()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.residual = residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv2(self.act(self.conv1(x)))
        return x + y if self.residual else y


class Net(nn.Module):
    """A small residual network. Each argument is one known change."""

    def __init__(
        self,
        *,
        layer1: Callable[[], nn.Module] = lambda: nn.Sequential(Block(8), Block(8)),
        down: Callable[[], nn.Module] = lambda: nn.Conv2d(8, 16, 3, stride=2, padding=1),
        act: Callable[[], nn.Module] = nn.Hardswish,
        layer2: Callable[[], nn.Module] = lambda: Block(16),
        hidden: int = 32,
        last: Callable[[], nn.Module] = lambda: nn.Softmax(dim=-1),
        pool_first: bool = False,
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.layer1 = layer1()
        self.down = down()
        self.act = act()
        self.pool = nn.MaxPool2d(2)
        self.layer2 = layer2()
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Linear(16, hidden)
        self.fc2 = nn.Linear(hidden, 10)
        self.last = last()
        self.pool_first = pool_first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.down(self.layer1(self.stem(x)))
        if self.pool_first:
            x = self.pool(x)
            x = self.act(x)
        else:
            x = self.act(x)
            x = self.pool(x)
        x = self.mean(self.layer2(x)).flatten(1)
        return self.last(self.fc2(torch.sigmoid(self.fc1(x))))


class Wrapper(nn.Module):
    """Wraps a model as data parallelism and compilation do."""

    def __init__(self, module: nn.Module, after: Callable[[], nn.Module] = nn.Identity) -> None:
        super().__init__()
        self.module = module
        self.after = after()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(self.module(x))


class Branches(nn.Module):
    """Two independent branches, in either order."""

    def __init__(self, right_first: bool) -> None:
        super().__init__()
        self.left = nn.Conv2d(3, 8, 3, padding=1)
        self.right = nn.Conv2d(3, 8, 1)
        self.join = nn.Conv2d(8, 8, 3, padding=1)
        self.right_first = right_first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.right_first:
            right = self.right(x)
            left = self.left(x)
        else:
            left = self.left(x)
            right = self.right(x)
        return self.join(left + right)


class Sums(nn.Module):
    """An operator between two delegates that no delegate takes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, 1)


class Renamed(nn.Module):
    """Net's stem and first layer under other names."""

    def __init__(self) -> None:
        super().__init__()
        net = Net()
        self.entry, self.stage = net.stem, net.layer1
        self.rest = nn.Sequential(net.down, net.act, net.pool, net.layer2)
        self.mean, self.fc1, self.fc2, self.last = net.mean, net.fc1, net.fc2, net.last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.mean(self.rest(self.stage(self.entry(x)))).flatten(1)
        return self.last(self.fc2(torch.sigmoid(self.fc1(x))))


def conv(in_channels: int = 8, out_channels: int = 8) -> nn.Module:
    return nn.Conv2d(in_channels, out_channels, 3, padding=1)


def blocks(*numbers: int) -> Callable[[], nn.Module]:
    """Returns a maker of the blocks with these numbers, of four blocks of the same kind with different weights."""

    def make() -> nn.Module:
        all_blocks = [with_seeded_weights(Block(8), seed=7 + number) for number in range(4)]
        return nn.Sequential(*(all_blocks[number] for number in numbers))

    return make


def make_inserted_block() -> nn.Module:
    """Inserts a convolution between two blocks, so the second block gets another index."""
    two = with_seeded_weights(nn.Sequential(Block(8), Block(8)))
    return nn.Sequential(two[0], with_seeded_weights(conv(), seed=99), two[1])


def with_seeded_weights_except(net: nn.Module, *own: str) -> nn.Module:
    """Does the same as with_seeded_weights, except for the parameters whose names start with `own`."""
    own_values = {name: value.detach().clone() for name, value in net.named_parameters() if name.startswith(own)}
    with_seeded_weights(net)
    with torch.no_grad():
        for name, value in net.named_parameters():
            if name in own_values:
                value.copy_(own_values[name])
    return net


VARIANTS: dict[str, Callable[[], nn.Module]] = {
    "Base": lambda: with_seeded_weights(Net()),
    "OtherWeights": lambda: with_seeded_weights(Net(), seed=5),
    "InsertedConv": lambda: with_seeded_weights(Net(layer1=lambda: nn.Sequential(Block(8), Block(8), conv()))),
    "InsertedBetween": lambda: with_seeded_weights_except(Net(layer1=make_inserted_block), "layer1"),
    "InsertedAmongOthers": lambda: with_seeded_weights(
        Net(down=lambda: nn.Sequential(conv(), conv(8, 16), nn.MaxPool2d(2))), seed=3
    ),
    "Chain": lambda: with_seeded_weights(Net(down=lambda: nn.Sequential(conv(8, 16), nn.MaxPool2d(2))), seed=4),
    "Gelu": lambda: with_seeded_weights(Net(act=nn.GELU)),
    "Relu": lambda: with_seeded_weights(Net(act=nn.ReLU)),
    "NoActivation": lambda: with_seeded_weights(Net(act=nn.Identity)),
    "Wider": lambda: with_seeded_weights(Net(hidden=48)),
    "Dilated": lambda: with_seeded_weights(
        Net(layer1=lambda: nn.Sequential(Block(8), nn.Conv2d(8, 8, 3, padding=2, dilation=2)))
    ),
    "Undilated": lambda: with_seeded_weights(Net(layer1=lambda: nn.Sequential(Block(8), conv()))),
    "Depthwise": lambda: with_seeded_weights(
        Net(layer1=lambda: nn.Sequential(Block(8), nn.Conv2d(8, 8, 3, padding=1, groups=8)))
    ),
    "Wrapped": lambda: Wrapper(with_seeded_weights(Net())),
    "WrappedTwice": lambda: Wrapper(Wrapper(with_seeded_weights(Net())), nn.Tanh),
    "PoolFirst": lambda: with_seeded_weights(Net(pool_first=True)),
    "LeftFirst": lambda: with_seeded_weights(Branches(right_first=False)),
    "RightFirst": lambda: with_seeded_weights(Branches(right_first=True)),
    "FourBlocks": lambda: with_seeded_weights_except(Net(layer1=blocks(0, 1, 2, 3)), "layer1"),
    "ThreeBlocks": lambda: with_seeded_weights_except(Net(layer1=blocks(0, 2, 3)), "layer1"),
    "NoResidual": lambda: with_seeded_weights(Net(layer2=lambda: Block(16, residual=False))),
    "Split": lambda: with_seeded_weights(Net(layer2=lambda: nn.Sequential(Sums(), Block(16)))),
    "OtherNames": lambda: with_seeded_weights(Renamed()),
}


def make_model_class(make: Callable[[], nn.Module], variant: int = 16) -> type:
    class Variant:
        def get_eager_model(self) -> nn.Module:
            return make().eval()

        def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
            return (torch.rand(1, 3, variant, variant),)

    return Variant


globals().update({name: make_model_class(make) for name, make in VARIANTS.items()})
LargerInputs = make_model_class(VARIANTS["Base"], 32)
