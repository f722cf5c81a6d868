"""The content of .pte.json and its JSON Schema, which the build of etprof makes from the types here.

`Annotated` holds the meaning of a key and additional keywords of its schema. This module needs only Python's standard library.
"""

from __future__ import annotations

import re
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from etprof.exporting import check
from etprof.exporting.check import Count
from etprof.exporting.hints import Hint

Sha256 = Annotated[str, {"pattern": "^[0-9a-f]{64}$"}]


class Tensor(TypedDict):
    """An input or output that is a tensor."""

    type: Annotated[Literal["tensor"], "a tensor"]
    dtype: Annotated[str, "data type of its elements"]
    shape: Annotated[list[int], "upper bounds where it is dynamic"]
    dynamic: Annotated[bool, "whether the shape may change from run to run"]


class Fixed(TypedDict):
    """An input or output that is not a tensor. Its value is fixed in the program."""

    type: Annotated[str, "kind of a value that is no tensor", {"not": {"const": "tensor"}}]


@dataclass(frozen=True)
class Method:
    """A method of the program: its inputs, outputs, and operators."""

    inputs: Annotated[list[Tensor | Fixed], "in the order of the call"]
    input_names: Annotated[list[str], "of these, by the parameters of forward(); empty: a part of one"]
    outputs: Annotated[list[Tensor | Fixed], "in the order of the program"]
    output_names: Annotated[list[str], "of these, where forward() gives a dict or a dataclass; empty: it has none"]
    delegate_calls: Annotated[dict[str, Count], "by backend: instructions that call one of its delegates"]
    portable_operators: Annotated[dict[str, Count], "by operator: instructions that call its kernel"]


@dataclass(frozen=True)
class Versions:
    """Versions of all software that affects the content of a .pte."""

    etprof: Annotated[str, "of this package"]
    etprof_sources_sha256: Annotated[Sha256, "of its source files: another exporter or example model has another one"]
    executorch: Annotated[str | None, "that exported; null, as below: not known, or not installed"]
    executorch_git_sha: Annotated[str | None, "its commit"]
    python: Annotated[str, "that exported"]
    torch: Annotated[str | None, "that exported"]
    torchao: Annotated[str | None, "that quantized"]


@dataclass(frozen=True)
class File:
    """A file of an export."""

    bytes: Annotated[int, "its size"]
    sha256: Annotated[Sha256, "of its content"]


@dataclass(frozen=True)
class ExportOptions:
    """The options of the export, and the model that they selected."""

    schema_version: Annotated[Literal[1], "keys may be added under the same number"]
    model: Annotated[str, "as it was asked for"]
    source: Annotated[str, "the module or file in which it was found"]
    backend: Annotated[str, "as in `--backend`"]
    dtype: Annotated[str, "fp32, fp16, bf16, int8 (static), int8dyn (dynamic), or 8da4w"]
    quantized: Annotated[bool, "whether the dtype is int8, int8dyn, or 8da4w"]
    quantization: Annotated[Literal["static", "dynamic", "8da4w", None], "null: the model is not quantized"]
    calibration: Annotated[list[str], "files of samples; empty: the example inputs"]
    kept: Annotated[list[str], "patterns of `--keep`: operators of a quantized model that are left in float"]
    parameters: Annotated[int, "numbers in the weights of all methods; those that methods share count once"]


@dataclass(frozen=True)
class Manifest(Method, ExportOptions):
    """The whole file. Its top level also has the keys of the program's first method, which the runner runs by default."""

    methods: Annotated[dict[str, Method], "by name; the first stands above, too", {"minProperties": 1}]
    example_inputs_sha256: Annotated[Sha256, "of the .inputs file"]
    created_utc: Annotated[str, "when the program was exported", {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}]
    command: Annotated[list[str], "the command and its arguments; empty: exported by the Python function"]
    versions: Annotated[Versions, "of all that shapes the program"]
    delegation: Annotated[list[check.MethodDelegation] | None, "of each method; null: etprof could not be asked"]
    hints: Annotated[dict[str, list[Hint]], "by method: what to write otherwise, so that a delegate takes more of it"]
    check: Annotated[check.Check | None, "null: `--no-check`"]
    files: Annotated[dict[str, File], "by name, beside this one", {"minProperties": 1}]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the file."""
    definitions: dict[str, Any] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MODEL.pte.json, beside an exported program",
        "description": "How a program was exported, from which model, and whether it computes what the model computes "
        "(docs/reference/export.md).",
        **_object(Manifest, definitions),
        "$defs": definitions,
    }


_NULL = {"type": "null"}
_TYPES = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    str: {"type": "string"},
    types.NoneType: _NULL,
}


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    members = typing.get_type_hints(kind, include_extras=True)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(members),
        "properties": {key: _schema(member, definitions) for key, member in members.items()},
    }


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        result = _schema(parts[0], definitions)
        for annotation in parts[1:]:
            result |= {"description": annotation} if isinstance(annotation, str) else annotation
        return result
    if origin is Literal:
        return {"enum": list(parts)} if len(parts) > 1 else {"const": parts[0]}
    if origin in (types.UnionType, typing.Union):
        each = [_schema(part, definitions) for part in parts]
        if len(each) == 2 and each[1] == _NULL and "type" in each[0]:
            return each[0] | {"type": [each[0]["type"], "null"]}
        return {"anyOf": each}
    if origin is list:
        return {"type": "array", "items": _schema(parts[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], definitions)}
    if kind in _TYPES:
        return dict(_TYPES[kind])
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    if name not in definitions:
        definitions[name] = {}  # a definition stands before the definitions that it refers to
        definitions[name] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}
