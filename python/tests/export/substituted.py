"""For `etprof export substituted.py:Before` and `:After`: one method for each operator that etprof.wrappers substitutes."""

import torch
from torch import nn
from torch.nn import functional

from etprof import wrappers
from etprof.models.seeded import seeded

IMAGE = (1, 8, 16, 16)
TOKENS = (1, 128, 256)  # ExecuTorch's layer normalization is wrong in fp16 for this size


class LayerNorm2d(nn.Module):
    """The layer normalization of SAM, MAE, and EdgeTAM."""

    def __init__(self, num_channels: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(num_channels))
        self.bias = nn.Parameter(torch.rand(num_channels))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class SelfAttention(nn.Module):
    """Applies nn.MultiheadAttention, or its substitute, to one input."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class Attention(nn.Module):
    """The attention of timm and EfficientSAM."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        attention = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        return self.proj((attention @ v).transpose(1, 2).reshape(b, n, c))


class DotProduct(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class MaxPool(nn.Module):
    """A module that ExecuTorch cannot export without the substitute, so only `After` has it."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AdaptiveMaxPool2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


def originals() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """Returns a module with the operator and its inputs for each method."""
    with seeded():
        norm = nn.LayerNorm(TOKENS[-1])
        nn.init.uniform_(norm.weight)
        nn.init.uniform_(norm.bias)
        rms_norm = nn.RMSNorm(16, eps=1e-6)
        nn.init.uniform_(rms_norm.weight)
        heads = [torch.randn(2, 4, 16, 8) for _ in range(3)]
        return {
            "layer_norm": (norm, (3 * torch.randn(TOKENS) + 1,)),
            "layer_norm_2d": (LayerNorm2d(IMAGE[1]), (3 * torch.randn(IMAGE) + 1,)),
            "rms_norm": (rms_norm, (3 * torch.randn(1, 8, 16) + 1,)),
            "gelu": (nn.GELU(), (3 * torch.randn(IMAGE),)),
            "silu": (nn.SiLU(), (3 * torch.randn(IMAGE),)),
            "hardsigmoid": (nn.Hardsigmoid(), (3 * torch.randn(IMAGE),)),
            "average_pool": (nn.AdaptiveAvgPool2d((4, 8)), (torch.randn(IMAGE),)),
            "max_pool": (MaxPool(), (torch.randn(IMAGE),)),
            "multihead": (SelfAttention(), (torch.randn(1, 16, 32),)),
            "qkv": (Attention(32, 4), (torch.randn(1, 16, 32),)),
            "dot_product": (DotProduct(), (*heads, torch.randn(16, 16))),
        }


FACTORIES = {
    "layer_norm": {nn.LayerNorm: wrappers.LayerNorm.of},
    "layer_norm_2d": {"LayerNorm2d": wrappers.LayerNorm2d.of},
    "rms_norm": {nn.RMSNorm: wrappers.RMSNorm.of},
    "gelu": {nn.GELU: wrappers.TanhGelu.of},
    "silu": {nn.SiLU: wrappers.Silu.of},
    "hardsigmoid": {nn.Hardsigmoid: wrappers.Hardsigmoid.of},
    "average_pool": {nn.AdaptiveAvgPool2d: wrappers.fixed_pool(*IMAGE[2:])},
    "max_pool": {nn.AdaptiveMaxPool2d: wrappers.fixed_pool(*IMAGE[2:])},
    "qkv": {"Attention": wrappers.QkvAttention.of},
    "multihead": {nn.MultiheadAttention: wrappers.MultiheadAttention.of},
}


def substituted() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """Returns the same as originals(), with the substitutes."""
    methods = originals()
    for name, factories in FACTORIES.items():
        module, inputs = methods[name]
        methods[name] = (wrappers.replace_modules(module, factories), inputs)
    module, inputs = methods["dot_product"]
    functions = {functional.scaled_dot_product_attention: wrappers.attention}
    methods["dot_product"] = (wrappers.Substitute(module, functions), inputs)
    return methods


class Before:
    def get_methods(self) -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
        return {name: method for name, method in originals().items() if name != "max_pool"}


class After:
    def get_methods(self) -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
        return substituted()


class Vit(nn.Module):
    """The first layers of a ViT with a class token, which resizes its position embeddings in every run and returns outputs of
    several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 8, stride=8)
        self.class_token = nn.Parameter(torch.randn(1, 1, 8))
        self.pos_embed = nn.Parameter(torch.randn(1, 1 + 4 * 4, 8))

    def forward(self, image: torch.Tensor) -> dict[str, object]:
        patches = self.patches(image)
        grid = patches.shape[-2:]
        fixed, positions = self.pos_embed[:, :1], self.pos_embed[:, 1:]
        if positions.shape[1] != grid[0] * grid[1]:
            positions = positions.reshape(1, 4, 4, 8).permute(0, 3, 1, 2)
            positions = functional.interpolate(positions, size=grid, mode="bicubic", align_corners=False)
            positions = positions.permute(0, 2, 3, 1).flatten(1, 2)
        tokens = patches.flatten(2).transpose(1, 2) + positions
        tokens = torch.cat([self.class_token + fixed, tokens], dim=1)
        return {"tokens": tokens, "stages": [patches, tokens.mean(-1)], "loss": None}


class Whole:
    """Pads uint8 images of 60 x 50 pixels for a ViT of 64 x 64."""

    def get_eager_model(self) -> nn.Module:
        with seeded():
            vit = Vit()
        vit.pos_embed = wrappers.resized_positions(vit.pos_embed, (8, 8), prefix=1)
        padded = wrappers.Pad(wrappers.Select(vit, "tokens", "stages.0"), multiple=32)
        return wrappers.Normalize(padded, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))

    def get_example_inputs(self) -> tuple[torch.Tensor, ...]:
        with seeded():
            return (torch.randint(0, 256, (1, 3, 60, 50), dtype=torch.uint8),)
