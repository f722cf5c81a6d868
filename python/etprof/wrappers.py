"""Small modules that make a model exportable, and that let XNNPACK take all of it.

    from etprof import wrappers

    model = wrappers.replace_modules(model, {nn.LayerNorm: wrappers.LayerNorm.of})
    model = wrappers.Normalize(wrappers.Select(model, "logits"), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))

They normalize inputs (`Normalize`), select outputs (`Select`), replace operators (`replace_modules`, `Substitute`, and their
replacements), fix shapes (`Pad`, `resized_positions`), and scale random weights (`calibrated`). docs/guides/export-errors.md
says when each of them helps.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

# --- inputs and outputs ---


class Normalize(nn.Module):
    """Normalize an image (N, C, H, W) of 0 to `scale`, uint8 or floating point, to (image / scale - mean) / std for `module`.

    The normalization is one multiplication and one addition. The conversion from uint8 is one portable operator.
    """

    def __init__(self, module: nn.Module, mean: Sequence[float], std: Sequence[float], scale: float = 255.0) -> None:
        super().__init__()
        if len(mean) != len(std) or not all(value > 0 for value in (*std, scale)):
            raise ValueError(f"mean {mean} and std {std} must be one number per channel, with std and scale above 0")
        self.module = module
        means, deviations = (torch.tensor(values, dtype=torch.float64).reshape(1, -1, 1, 1) for values in (mean, std))
        self.register_buffer("factor", (1 / (scale * deviations)).float())
        self.register_buffer("shift", (-means / deviations).float())

    def forward(self, image: torch.Tensor, *others: Any) -> Any:
        """Return the module's outputs. `others` are passed to the module."""
        return self.module(image.to(self.factor.dtype) * self.factor + self.shift, *others)


class Select(nn.Module):
    """Select entries of the output of `module` (a dict, dataclass, or tuple) as a tuple of tensors, in the order of `keys`.

    A key is a name, a number, or a path of names and numbers ("encoder.0.features").
    """

    def __init__(self, module: nn.Module, *keys: str | int) -> None:
        super().__init__()
        if not keys:
            raise ValueError("Select needs the outputs to be kept: a name, a number or a path such as 'heads.0'")
        self.module = module
        self.keys = keys

    def forward(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """Return the selected outputs of the module."""
        outputs = self.module(*args, **kwargs)
        return tuple(_entry(outputs, key) for key in self.keys)


def _entry(outputs: Any, key: str | int) -> torch.Tensor:
    value = outputs
    for part in [key] if isinstance(key, int) else key.split("."):
        known = _entries(value)
        name = int(part) if isinstance(value, list | tuple) and str(part).isdecimal() else part
        if name not in known:
            raise KeyError(f"no output {key!r}: {type(value).__name__} has {', '.join(map(repr, known)) or 'no parts'}")
        value = known[name]
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"the output {key!r} is a {type(value).__name__}, not a tensor")
    return value


def _entries(value: Any) -> dict[Any, Any]:
    """Return the parts of an output by name or number. Mappings are tested first, because ModelOutput is also a dataclass."""
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    named = value._asdict() if hasattr(value, "_asdict") else {}
    return {**named, **dict(enumerate(value))} if isinstance(value, list | tuple) else {}


# --- operators that XNNPACK does not take ---

Factory = Callable[[Any], nn.Module]


def replace_modules(module: nn.Module, substitutes: Mapping[type | str, Factory]) -> nn.Module:
    """Return a copy of `module` in which the factory of a type replaces each submodule of that type.

    A type may be given by its class's bare name ("LayerNorm2d") if it cannot be imported, or if several projects have copies.
    A submodule that is used in several places stays shared.

    Raises:
        ValueError: No submodule has one of the given types.
    """
    replaced: dict[int, nn.Module] = {}
    used_keys: set[type | str] = set()

    def substitute(old: nn.Module) -> nn.Module:
        if id(old) in replaced:
            return replaced[id(old)]
        key = next((key for key in substitutes if _has_type(old, key)), None)
        new = old if key is None else substitutes[key](old)
        replaced[id(old)] = new
        if key is not None:
            used_keys.add(key)
            return new.train(old.training)
        for name, child in list(old._modules.items()):
            if child is not None:
                old._modules[name] = substitute(child)
        return old

    result = substitute(copy.deepcopy(module))
    if unused := [key if isinstance(key, str) else key.__name__ for key in substitutes if key not in used_keys]:
        kinds = sorted({type(submodule).__name__ for submodule in module.modules()})
        raise ValueError(f"no submodule is of type {', '.join(unused)}; there are {', '.join(kinds)}")
    return result


def _has_type(module: nn.Module, key: type | str) -> bool:
    return type(module).__name__ == key if isinstance(key, str) else type(module) is key


class Substitute(nn.Module):
    """Replace calls of torch functions in `module` by calls of other functions with the same arguments.

    This is for models that call a function instead of a module: {functional.scaled_dot_product_attention: wrappers.attention}.
    Calls from inside other torch functions are not replaced, such as those of nn.MultiheadAttention.
    """

    def __init__(self, module: nn.Module, functions: Mapping[Callable[..., Any], Callable[..., Any]]) -> None:
        super().__init__()
        self.module = module
        self.functions = dict(functions)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return the module's outputs."""
        with _Redirection(self.functions):
            return self.module(*args, **kwargs)


class _Redirection(TorchFunctionMode):
    def __init__(self, functions: dict[Callable[..., Any], Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.functions.get(func, func)(*args, **(kwargs or {}))


def largest_difference(before: nn.Module, after: nn.Module, *inputs: Any) -> float:
    """Return the largest difference of the two modules' outputs, divided by the largest magnitude of the outputs of `before`.

    `etprof export` compares the .pte only with the substituted module. This function compares that module with the original.
    """
    from torch.utils import _pytree

    with torch.no_grad():
        expected, actual = (_pytree.tree_leaves(module.eval()(*copy.deepcopy(inputs))) for module in (before, after))
    pairs = list(zip(expected, actual, strict=True))
    return max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-30)) for a, b in pairs)


class LayerNorm(nn.Module):
    """nn.LayerNorm over the last dimension, which computes its two means with a matrix of 1/n: `LayerNorm.of(old)`.

    In fp16, the squares overflow if a value differs from the mean by more than 255.
    """

    def __init__(self, old: nn.LayerNorm) -> None:
        super().__init__()
        (size,) = old.normalized_shape
        self.mean = nn.Linear(size, 1, bias=False)
        _register_affine(self, old, size, (size,))
        nn.init.constant_(self.mean.weight, 1 / size)

    @classmethod
    def of(cls, old: nn.LayerNorm) -> nn.Module:
        """Return the replacement of `old`. A norm over several dimensions is returned unchanged."""
        return cls(old) if len(old.normalized_shape) == 1 else old

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(..., n) to the same shape."""
        return _normalized(self, tokens)


class LayerNorm2d(nn.Module):
    """SAM's LayerNorm2d (over each pixel's channels), which computes its means with a 1x1 convolution: `LayerNorm2d.of(old)`."""

    def __init__(self, old: nn.Module) -> None:
        super().__init__()
        channels = old.weight.numel()
        self.mean = nn.Conv2d(channels, 1, 1, bias=False)
        _register_affine(self, old, channels, (1, channels, 1, 1))
        nn.init.constant_(self.mean.weight, 1 / channels)

    @classmethod
    def of(cls, old: nn.Module) -> nn.Module:
        """Return the replacement of `old`."""
        return cls(old)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """(N, C, H, W) to the same shape."""
        return _normalized(self, features)


class RMSNorm(nn.Module):
    """nn.RMSNorm, and the classes of Llama, Gemma and T5, which computes its mean with a matrix of 1/n: `RMSNorm.of(old)`.

    In fp16 the squares overflow if a value exceeds 255.
    """

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        super().__init__()
        size = weight.numel()
        self.mean = nn.Linear(size, 1, bias=False)
        nn.init.constant_(self.mean.weight, 1 / size)
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        self.register_buffer("eps", torch.full([1], eps))

    @classmethod
    def of(cls, old: nn.Module) -> nn.Module:
        """Return the replacement of `old`, whose weights may be differences from 1, as in Gemma. Both are compared on sample tokens."""
        weight = old.weight.detach()
        epsilons = (getattr(old, name, None) for name in ("eps", "variance_epsilon"))
        eps = next((float(epsilon) for epsilon in epsilons if epsilon is not None), torch.finfo(weight.dtype).eps)
        tokens = torch.linspace(-1, 2, 2 * weight.numel(), dtype=weight.dtype).reshape(2, weight.numel())
        for offset in (0, 1):
            new = cls(weight + offset, eps).to(weight.dtype)
            if largest_difference(old, new, tokens) < 10 * torch.finfo(weight.dtype).eps:
                return new
        raise ValueError(f"{old} is no root mean square normalization over the last dimension")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(..., n) to the same shape."""
        return tokens * torch.rsqrt(self.mean(tokens * tokens) + self.eps) * self.weight


def _register_affine(new: nn.Module, old: nn.Module, size: int, shape: tuple[int, ...]) -> None:
    """Register `weight`, `bias`, and `eps` of a norm. As a number, eps would be converted to fp16 in every run."""
    for name, default in (("weight", torch.ones), ("bias", torch.zeros)):
        value = getattr(old, name, None)
        value = default(size) if value is None else value.detach()
        new.register_parameter(name, nn.Parameter(value.reshape(shape).clone(), requires_grad=False))
    new.register_buffer("eps", torch.full([1] * len(shape), float(old.eps)))


def _normalized(norm: Any, values: torch.Tensor) -> torch.Tensor:
    centered = values - norm.mean(values)
    return centered * torch.rsqrt(norm.mean(centered * centered) + norm.eps) * norm.weight + norm.bias


class TanhGelu(nn.Module):
    """GELU by its tanh formula (Hendrycks and Gimpel, arXiv:1606.08415) in basic operators, for fp16: `TanhGelu.of(old)`.

    XNNPACK takes exact and tanh GELU in fp32, but not in fp16. No form of exact GELU is delegated in fp16. The tanh formula
    differs from it by at most 0.0005, which is fp16's rounding of values around 1.
    """

    def __init__(self) -> None:
        super().__init__()
        for name, value in (("middle", 0.5), ("one", 1.0), ("cubic", 0.044715), ("slope", math.sqrt(2 / math.pi))):
            self.register_buffer(name, torch.tensor([value]))

    @classmethod
    def of(cls, old: nn.GELU) -> nn.Module:  # noqa: ARG003  a factory is given what it replaces
        """Return the replacement of `old`."""
        return cls()

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Any shape to the same."""
        argument = self.slope * (values + self.cubic * values * values * values)
        return self.middle * values * (self.one + torch.tanh(argument))


class Silu(nn.Module):
    """nn.SiLU in basic operators, for fp16, in which XNNPACK takes these operators but not SiLU: `Silu.of(old)`."""

    @classmethod
    def of(cls, old: nn.SiLU) -> nn.Module:  # noqa: ARG003
        """Return the replacement of `old`."""
        return cls()

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Any shape to the same."""
        return values * torch.sigmoid(values)


class Hardsigmoid(nn.Module):
    """nn.Hardsigmoid, relu6(x + 3) / 6, in operators that XNNPACK takes: `Hardsigmoid.of(old)`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("slope", torch.tensor([1 / 6]))
        self.register_buffer("middle", torch.tensor([0.5]))

    @classmethod
    def of(cls, old: nn.Hardsigmoid) -> nn.Module:  # noqa: ARG003
        """Return the replacement of `old`."""
        return cls()

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Any shape to the same."""
        return torch.clamp(values * self.slope + self.middle, 0.0, 1.0)


def fixed_pool(height: int, width: int) -> Factory:
    """Return a factory for nn.AdaptiveAvgPool2d and nn.AdaptiveMaxPool2d; the output sizes must divide height and width."""

    def make(old: nn.AdaptiveAvgPool2d | nn.AdaptiveMaxPool2d) -> nn.Module:
        sizes = old.output_size if isinstance(old.output_size, tuple) else (old.output_size,) * 2
        pairs = [
            (input_size, input_size if output_size is None else output_size)
            for input_size, output_size in zip((height, width), sizes, strict=True)
        ]
        if any(input_size % output_size for input_size, output_size in pairs) or getattr(old, "return_indices", False):
            raise ValueError(f"{old} of {height} x {width} is not pooling with one kernel")
        kernel = tuple(input_size // output_size for input_size, output_size in pairs)
        return (nn.AvgPool2d if isinstance(old, nn.AdaptiveAvgPool2d) else nn.MaxPool2d)(kernel)

    return make


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Compute functional.scaled_dot_product_attention in batched matrix products, for `Substitute`.

    A mask is added to the scores. A causal mask is a constant; a boolean mask is converted by one portable operator. A mask
    must leave at least one key in every row. PyTorch's own decomposition also handles rows that are completely masked.
    """
    if dropout_p:
        raise ValueError("wrappers.attention has no dropout: export the model in eval mode")
    if is_causal and attn_mask is not None:
        raise ValueError("wrappers.attention takes a mask or is causal, as the original")
    # With grouped queries, queries that share a key become rows of one product.
    groups = query.shape[-3] // key.shape[-3] if enable_gqa else 1
    queries = query.reshape(*query.shape[:-3], query.shape[-3] // groups, groups * query.shape[-2], query.shape[-1])
    queries, keys, values = (tensor.flatten(0, -3) for tensor in (queries, key, value))
    factor = torch.tensor([query.shape[-1] ** -0.5 if scale is None else scale], dtype=query.dtype)
    scores = torch.bmm(queries * factor, keys.transpose(1, 2))
    if is_causal:
        attn_mask = _causal_mask(query.shape[-2], key.shape[-2], query.dtype)
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        visible, hidden = (torch.tensor([number], dtype=query.dtype) for number in (0.0, _MASKED))
        attn_mask = torch.where(attn_mask, visible, hidden)
    if attn_mask is not None:
        rows = scores.shape
        scores = (scores.reshape(*query.shape[:-1], key.shape[-2]) + attn_mask).reshape(rows)
    return torch.bmm(torch.softmax(scores, -1), values).reshape(*query.shape[:-1], value.shape[-1])


_MASKED = -32768.0  # its exponential is 0 in all types, including fp16


def _causal_mask(queries: int, keys: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask in which each query (row) sees no key behind its own position."""
    if type(queries) is int and type(keys) is int:
        return torch.tensor(numpy.triu(numpy.full((queries, keys), _MASKED), 1), dtype=dtype)
    return torch.full((queries, keys), _MASKED, dtype=dtype).triu(1)  # the sizes are dynamic


class _Heads(nn.Module):
    """Attention without masks, in three linear layers, batched matrix products, and a fourth linear layer."""

    def __init__(
        self, weight: torch.Tensor, bias: torch.Tensor | None, out: nn.Linear, heads: int, scale: float
    ) -> None:
        super().__init__()
        self.heads = heads
        weights = weight.detach().chunk(3)
        biases = (None,) * 3 if bias is None else bias.detach().chunk(3)
        factors = (scale, 1.0, 1.0)  # scaling the queries' weights saves a multiplication
        self.query, self.key, self.value = map(_linear, weights, biases, factors)
        self.out = _linear(out.weight.detach(), None if out.bias is None else out.bias.detach(), 1.0)

    def mix(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """(N, T, E) and (N, S, E) to (N, T, E)."""
        queries, keys, values = (
            self._split(self.query(query)),
            self._split(self.key(key)),
            self._split(self.value(value)),
        )
        mixed = torch.bmm(torch.softmax(torch.bmm(queries, keys.transpose(1, 2)), -1), values)
        merged = mixed.reshape(query.shape[0], self.heads, query.shape[1], -1).permute(0, 2, 1, 3)
        return self.out(merged.reshape(query.shape))

    def _split(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, T, E) to (N heads, T, E / heads)."""
        batch, count, _ = tokens.shape
        split = tokens.reshape(batch, count, self.heads, -1).permute(0, 2, 1, 3)
        return split.reshape(batch * self.heads, count, -1)


class MultiheadAttention(_Heads):
    """nn.MultiheadAttention with `batch_first`, without masks: `MultiheadAttention.of(old)`.

    It returns (output, None), as the original does with need_weights=False.
    """

    @classmethod
    def of(cls, old: nn.MultiheadAttention) -> nn.Module:
        """Return the replacement of `old`."""
        if not old.batch_first or old.in_proj_weight is None or old.bias_k is not None or old.add_zero_attn:
            raise ValueError(
                "wrappers.MultiheadAttention takes the place of a batch_first one with one width, no bias_k"
            )
        return cls(old.in_proj_weight, old.in_proj_bias, old.out_proj, old.num_heads, old.head_dim**-0.5)

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, need_weights: bool = False
    ) -> tuple[torch.Tensor, None]:
        """(N, T, E) and (N, S, E) to (N, T, E)."""
        if need_weights:
            raise ValueError("wrappers.MultiheadAttention gives no weights: call it with need_weights=False")
        return self.mix(query, key, value), None


class QkvAttention(_Heads):
    """Self-attention as timm, DINO and EfficientSAM write it (`qkv`, `proj`, `num_heads`, `scale`): `QkvAttention.of(old)`."""

    @classmethod
    def of(cls, old: nn.Module) -> nn.Module:
        """Return the replacement of `old`."""
        norms = [getattr(old, name, None) for name in ("q_norm", "k_norm", "norm")]
        if any(not isinstance(norm, nn.Identity | type(None)) for norm in norms):
            raise ValueError("wrappers.QkvAttention does not normalize queries and keys as the original does")
        return cls(old.qkv.weight, old.qkv.bias, old.proj, old.num_heads, float(old.scale))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(N, T, E) to the same shape."""
        return self.mix(tokens, tokens, tokens)


def _linear(weight: torch.Tensor, bias: torch.Tensor | None, factor: float) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        linear.weight.copy_(weight * factor)
        if bias is not None:
            linear.bias.copy_(bias * factor)
    return linear


# --- fixed shapes ---


class Pad(nn.Module):
    """Pad an image (N, C, H, W) with zeros on the right and below for `module`, to `size` or a multiple of `multiple`."""

    def __init__(self, module: nn.Module, *, size: tuple[int, int] | None = None, multiple: int | None = None) -> None:
        super().__init__()
        if (size is None) == (multiple is None):
            raise ValueError("Pad needs either size=(height, width) or multiple=")
        self.module = module
        self.size = size
        self.multiple = multiple

    def forward(self, image: torch.Tensor, *others: Any) -> Any:
        """Return the module's outputs. `others` are passed to the module."""
        sizes = tuple(image.shape[-2:])
        padded_sizes = self.size or tuple(math.ceil(size / self.multiple) * self.multiple for size in sizes)
        if any(size > padded_size for size, padded_size in zip(sizes, padded_sizes, strict=True)):
            raise ValueError(
                f"an image of {sizes[0]} x {sizes[1]} does not fit into {padded_sizes[0]} x {padded_sizes[1]}"
            )
        return self.module(
            functional.pad(image, (0, padded_sizes[1] - sizes[1], 0, padded_sizes[0] - sizes[0])), *others
        )


def resized_positions(
    positions: torch.Tensor, grid: tuple[int, int], *, prefix: int = 0, mode: str = "bicubic"
) -> nn.Parameter:
    """Resize position embeddings (1, prefix + n * n, C) to a grid of (height, width) tokens, except the first `prefix` tokens.

    Models that resize position embeddings to the input do so in every run, with a portable bicubic operator. Resize them once
    before export instead: `model.pos_embed = resized_positions(model.pos_embed, (16, 16), prefix=1)`. The model then finds the
    size that it needs.
    """
    count = positions.shape[1] - prefix
    side = math.isqrt(max(count, 0))
    if positions.dim() != 3 or side * side != count or side == 0:
        raise ValueError(f"positions of shape {list(positions.shape)} are not a square of tokens after {prefix}")
    fixed, image = positions.detach()[:, :prefix], positions.detach()[:, prefix:]
    image = image.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    corners = {} if mode == "nearest" else {"align_corners": False}
    image = functional.interpolate(image, size=grid, mode=mode, **corners)
    resized = image.permute(0, 2, 3, 1).reshape(1, grid[0] * grid[1], -1)
    return nn.Parameter(torch.cat([fixed, resized], dim=1), requires_grad=positions.requires_grad)


# --- random weights ---


def calibrated(module: nn.Module, *inputs: Any, **kwargs: Any) -> nn.Module:
    """Return a copy of a network with random weights that are scaled so that activations neither vanish nor explode.

    The outputs of an untrained network are often 1e-5 to 1e-40, which fp16 and int8 cannot represent. In one pass over the
    inputs, every batch normalization gets the statistics of its input, and the weights of every convolution and linear layer
    are scaled so that the output has a variance of 1 (Mishkin and Matas, arXiv:1511.06422).
    """
    network = copy.deepcopy(module).eval()
    layers = (nn.Linear, nn.modules.conv._ConvNd)
    norms = nn.modules.batchnorm._BatchNorm
    seen: set[nn.Module] = set()  # a layer that is used in several places is scaled at its first use

    def set_statistics(norm: Any, args: tuple[torch.Tensor, ...]) -> None:
        if norm in seen or norm.running_mean is None:
            return
        seen.add(norm)
        values = args[0].transpose(0, 1).flatten(1)
        has_variance = values.shape[1] > 1  # a single value per channel has no variance
        norm.running_mean.copy_(values.mean(1) if has_variance else torch.zeros_like(norm.running_mean))
        variance = values.var(1) if has_variance else values.square().mean().expand(values.shape[0])
        # A nearly constant channel must not be scaled up, because its rounding errors would grow as well.
        norm.running_var.copy_(torch.maximum(variance, variance.mean() / 10))

    def scale(layer: Any, _args: Any, out: torch.Tensor) -> torch.Tensor | None:
        if layer in seen:
            return None
        seen.add(layer)
        bias = (
            0
            if layer.bias is None
            else layer.bias.reshape([-1] + [1] * (0 if isinstance(layer, nn.Linear) else out.dim() - 2))
        )
        deviation = (out - bias).std(correction=0)
        if not 0 < deviation < math.inf:
            return None
        layer.weight.div_(deviation)
        return (out - bias) / deviation + bias

    hooks = [norm.register_forward_pre_hook(set_statistics) for norm in network.modules() if isinstance(norm, norms)]
    hooks += [layer.register_forward_hook(scale) for layer in network.modules() if isinstance(layer, layers)]
    with torch.no_grad():
        network(*copy.deepcopy(inputs), **kwargs)
    for hook in hooks:
        hook.remove()
    return network.train(module.training)
