"""Reads .inputs files as docs/reference/files.md describes them, with json and struct, without etprof or safetensors."""

import json
import struct
from pathlib import Path

import torch

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_inputs(path: Path, method: str = "forward") -> list:
    """Returns the inputs of a method in order: tensors and other values."""
    return parse_inputs(path.read_bytes(), method)


def parse_inputs(data: bytes, method: str = "forward") -> list:
    (length,) = struct.unpack_from("<Q", data)
    assert (8 + length) % 8 == 0
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert metadata.pop("format") == "etprof-inputs-1"
    values = {name: _tensor(entry, data[8 + length :]) for name, entry in header.items()}
    values |= {name: _scalar(json.loads(text)) for name, text in metadata.items()}
    numbers = sorted(int(name.removeprefix(f"{method}/")) for name in values if name.startswith(f"{method}/"))
    assert numbers == list(range(len(numbers)))
    return [values[f"{method}/{number}"] for number in numbers]


def _tensor(entry: dict, data: bytes) -> torch.Tensor:
    begin, end = entry["data_offsets"]
    dtype = _DTYPES[entry["dtype"]]
    assert begin % dtype.itemsize == 0
    raw = torch.tensor(list(data[begin:end]), dtype=torch.uint8)
    return raw.view(dtype).reshape(entry["shape"])


def _scalar(entry: dict) -> bool | int | float | str | None:
    if entry["type"] == "none":
        return None
    kind = {"int": int, "double": float, "bool": bool, "string": str}[entry["type"]]
    return kind(entry["value"])
