"""Backends of `etprof export`: XNNPACK, OpenVINO, none (portable), or any partitioner by its import path."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from typing import Any

from etprof import errors
from etprof.errors import ExportError, failing_as

BUILT_IN = ("xnnpack", "openvino", "portable")

_REMEDY = (
    f"--backend takes {', '.join(BUILT_IN)}, or package.module:Class of a partitioner that is made without arguments"
)


def is_import_path(backend: str) -> bool:
    """Return whether the backend has the form package.module:Class."""
    module, colon, name = backend.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def find_problem(backend: str) -> str | None:
    """Return the problem of a value of --backend, or None if its form is valid."""
    if backend in BUILT_IN or is_import_path(backend):
        return None
    close = difflib.get_close_matches(backend, BUILT_IN, n=1)
    return f"invalid backend {backend!r}; " + (f"did you mean {close[0]}?" if close else _REMEDY)


def find_refusal(backend: str, dtypes: Iterable[str], quantize: str | None) -> str | None:
    """Return why the backend cannot take a model of these data types, or None if it can be tried."""
    if backend != "openvino" or not (quantize or set(dtypes) - {"fp32", "fp16"}):
        return None
    # Sources: dtype_mapping in openvino.frontend.pytorch.torchdynamo.compile, and ExecuTorch's backends/openvino/quantizer.
    return "--backend openvino takes fp32 and fp16: its frontend knows no bf16, and its int8 needs nncf's quantizer"


def file_part(backend: str) -> str:
    """Return the backend's part of file names: lower-case letters and digits, without the word Partitioner."""
    name = backend.partition(":")[2] or backend
    return re.sub(r"[^a-z0-9]", "", name.removesuffix("Partitioner").lower()) or "custom"


def partitioners(model: str, backend: str, quantize: str | None) -> list[Any]:
    """Return the partitioners, which choose the operators to delegate, in the order in which they are applied.

    Raises:
        ExportError: The import path does not name a partitioner.
    """
    if backend == "portable":
        return []
    if backend == "openvino":
        return [_openvino_partitioner(model)]
    if backend != "xnnpack":
        return [_import_partitioner(model, backend)]
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )

    # The dynamic partitioner takes linear layers together with the quantization of their inputs. XnnpackPartitioner alone
    # would separate them.
    dynamic = [XnnpackDynamicallyQuantizedPartitioner()] if quantize in ("dynamic", "8da4w") else []
    return [*dynamic, XnnpackPartitioner()]


def _openvino_partitioner(model: str) -> Any:
    if importlib.util.find_spec("openvino") is None:
        remedy = "run `script/bootstrap --openvino` (x86-64 Linux), or install it as requirements/openvino.txt says"
        raise ExportError(
            model, errors.LOWER, "--backend openvino: the Python package openvino is not installed", remedy
        )
    # Importing executorch.backends.openvino imports its quantizer, which needs nncf and many more packages. The partitioner
    # needs neither, so without nncf an empty package takes its place.
    name = "executorch.backends.openvino"
    if name not in sys.modules and importlib.util.find_spec("nncf") is None:
        spec = importlib.util.find_spec(name)
        assert spec is not None  # noqa: S101 - it is a part of every executorch wheel
        sys.modules[name] = importlib.util.module_from_spec(spec)
    with failing_as(model, errors.LOWER, "install the openvino that requirements/openvino.txt names"):
        from executorch.backends.openvino.partitioner import OpenvinoPartitioner
        from executorch.exir.backend.backend_details import CompileSpec

        return OpenvinoPartitioner([CompileSpec("device", b"CPU")])


def _import_partitioner(model: str, path: str) -> Any:
    from executorch.exir.backend.partitioner import Partitioner

    module_name, _, name = path.partition(":")
    with failing_as(model, errors.LOWER, _REMEDY):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise  # the module exists, but one of its own imports is missing
            reason = f"--backend {path}: there is no module {error.name}"
            raise ExportError(model, errors.LOWER, reason, _REMEDY) from error
        if not callable(partitioner_class := getattr(module, name, None)):
            close_names = difflib.get_close_matches(name, dir(module), n=1)
            hint = f"; did you mean {module_name}:{close_names[0]}?" if close_names else ""
            raise ExportError(model, errors.LOWER, f"--backend {path}: {module_name} has no {name}{hint}", _REMEDY)
        partitioner = partitioner_class()
    if not isinstance(partitioner, Partitioner):
        reason = f"--backend {path} makes a {type(partitioner).__name__}, which is no ExecuTorch Partitioner"
        raise ExportError(model, errors.LOWER, reason, _REMEDY)
    return partitioner
