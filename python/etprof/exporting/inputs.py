"""The .inputs file: a model's example inputs in the order in which ExecuTorch takes them. See docs/reference/files.md.

The format is safetensors. etprof writes it itself, because the safetensors package writes the metadata in random order, and
the same inputs must give the same bytes (their SHA-256 identifies them).
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

FORMAT = "etprof-inputs-1"

_DTYPE_NAMES = {
    "torch.float64": "F64",
    "torch.float32": "F32",
    "torch.float16": "F16",
    "torch.bfloat16": "BF16",
    "torch.int64": "I64",
    "torch.int32": "I32",
    "torch.int16": "I16",
    "torch.int8": "I8",
    "torch.uint64": "U64",
    "torch.uint32": "U32",
    "torch.uint16": "U16",
    "torch.uint8": "U8",
    "torch.bool": "BOOL",
}
_HEADER_ALIGNMENT = 8  # bytes, as the safetensors package aligns it
_INT64 = range(-(2**63), 2**63)


def flatten(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the leaves of nested inputs in pytree order, as in ExecuTorch: leaf i is the program's input i.

    Raises:
        TypeError: A leaf has a type that a .pte cannot take.
    """
    from torch.utils import _pytree

    leaves = _pytree.tree_leaves((args, kwargs))
    for number, leaf in enumerate(leaves):
        _check(number, leaf)
    return leaves


def encode(methods: dict[str, list[Any]]) -> bytes:
    """Return the bytes of a .inputs file with the flat inputs of each method, tensors and other values."""
    import torch

    tensors: dict[str, torch.Tensor] = {}
    metadata = {"format": FORMAT}
    for method, leaves in methods.items():
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                tensors[f"{method}/{number}"] = leaf
            else:
                metadata[f"{method}/{number}"] = json.dumps(_scalar(leaf))
    return _encode_safetensors(tensors, metadata)


def decode(data: bytes) -> dict[str, list[Any]]:
    """Return the flat inputs of each method in a .inputs file, or the outputs in a file of `etprof-runner --save-outputs`.

    Raises:
        ValueError: The bytes are not in this format.
    """
    import safetensors.torch

    try:
        values: dict[str, Any] = safetensors.torch.load(data)
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
        values |= {name: _value(json.loads(text)) for name, text in metadata.items() if name != "format"}
        methods: dict[str, dict[int, Any]] = {}
        for name, value in values.items():
            method, _, number = name.rpartition("/")
            methods.setdefault(method, {})[int(number)] = value
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not in the format of a .inputs file: {error}") from error
    for method, numbered in methods.items():
        if sorted(numbered) != list(range(len(numbered))):
            raise ValueError(f"the numbers of {method}'s entries have gaps")
    return {method: [numbered[number] for number in sorted(numbered)] for method, numbered in methods.items()}


def _encode_safetensors(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata}
    blobs = []
    end = 0
    # Tensors with the widest elements come first, so every tensor is aligned to its element size.
    for name in sorted(tensors, key=lambda name: -tensors[name].element_size()):
        tensor = tensors[name]
        blob = _row_major_bytes(tensor)
        begin, end = end, end + len(blob)
        header[name] = {
            "dtype": _DTYPE_NAMES[str(tensor.dtype)],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _HEADER_ALIGNMENT)
    return b"".join([len(text).to_bytes(8, "little"), text, *blobs])


def _row_major_bytes(tensor: torch.Tensor) -> bytes:
    import torch

    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _check(number: int, leaf: Any) -> None:
    import torch

    if isinstance(leaf, torch.Tensor):
        if leaf.layout != torch.strided or str(leaf.dtype) not in _DTYPE_NAMES:
            raise TypeError(f"input {number} is a {leaf.layout} tensor of {leaf.dtype}, which etprof cannot store")
    elif isinstance(leaf, int) and leaf not in _INT64:
        raise TypeError(f"input {number} is {leaf}, beyond 64 bits")
    elif not isinstance(leaf, int | float | str | None):
        raise TypeError(f"input {number} is a {type(leaf).__name__}; a .pte takes tensors, int, float, bool, str, None")


def _scalar(value: bool | int | float | str | None) -> dict[str, Any]:
    """Return `{"type": ..., "value": ...}`. Infinities and NaN are strings, because JSON has no such numbers."""
    if value is None:
        return {"type": "none"}
    if isinstance(value, bool):
        return {"type": "bool", "value": value}
    if isinstance(value, int):
        return {"type": "int", "value": value}
    if isinstance(value, float):
        return {"type": "double", "value": value if math.isfinite(value) else str(value)}
    return {"type": "string", "value": value}


def _value(entry: dict[str, Any]) -> bool | int | float | str | None:
    """Return the value that _scalar encoded."""
    kinds = {"none": lambda _: None, "bool": bool, "int": int, "double": float, "string": str}
    return kinds[entry["type"]](entry.get("value"))
