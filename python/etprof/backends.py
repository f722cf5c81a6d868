"""Backends: XNNPACK, OpenVINO, none, or any partitioner by its import path."""

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
    """Whether it has the form of package.module:Class."""
    module, colon, name = backend.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def what_is_wrong(backend: str) -> str | None:
    """Of what was typed after --backend; None: it has a form that can be tried."""
    if backend in BUILT_IN or is_import_path(backend):
        return None
    close = difflib.get_close_matches(backend, BUILT_IN, n=1)
    return f"invalid backend {backend!r}; " + (f"did you mean {close[0]}?" if close else _REMEDY)


def refused(backend: str, dtypes: Iterable[str], quantize: str | None) -> str | None:
    """Why the backend cannot take a model of these data types; None: it can be tried."""
    if backend != "openvino" or not (quantize or set(dtypes) - {"fp32", "fp16"}):
        return None
    # openvino.frontend.pytorch.torchdynamo.compile, dtype_mapping; backends/openvino/quantizer.
    return "--backend openvino takes fp32 and fp16: its frontend knows no bf16, and its int8 needs nncf's quantizer"


def file_part(backend: str) -> str:
    """The backend in file names: lower-case letters and digits, without the word Partitioner."""
    name = backend.partition(":")[2] or backend
    return re.sub(r"[^a-z0-9]", "", name.removesuffix("Partitioner").lower()) or "custom"


def partitioners(model: str, backend: str, quantize: str | None) -> list[Any]:
    """What decides on the operators to be delegated, the first one first.

    Raises:
        ExportError: The import path leads to no partitioner.
    """
    if backend == "portable":
        return []
    if backend == "openvino":
        return [_openvino(model)]
    if backend != "xnnpack":
        return [_imported(model, backend)]
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )

    # The first one takes linear layers with the quantization of their inputs, which the second one would tear apart.
    dynamic = [XnnpackDynamicallyQuantizedPartitioner()] if quantize == "dynamic" else []
    return [*dynamic, XnnpackPartitioner()]


def _openvino(model: str) -> Any:
    if importlib.util.find_spec("openvino") is None:
        remedy = "run `script/bootstrap --openvino` (x86-64 Linux), or install it as requirements/openvino.txt says"
        raise ExportError(
            model, errors.LOWER, "--backend openvino: the Python package openvino is not installed", remedy
        )
    # On import it imports the quantizer, which wants nncf (and with it much else). The partitioner alone does not.
    name = "executorch.backends.openvino"
    if name not in sys.modules and importlib.util.find_spec("nncf") is None:
        spec = importlib.util.find_spec(name)
        assert spec is not None  # noqa: S101 - it is a part of every executorch wheel
        sys.modules[name] = importlib.util.module_from_spec(spec)
    with failing_as(model, errors.LOWER, "install the openvino that requirements/openvino.txt names"):
        from executorch.backends.openvino.partitioner import OpenvinoPartitioner
        from executorch.exir.backend.backend_details import CompileSpec

        return OpenvinoPartitioner([CompileSpec("device", b"CPU")])


def _imported(model: str, path: str) -> Any:
    from executorch.exir.backend.partitioner import Partitioner

    module_name, _, name = path.partition(":")
    with failing_as(model, errors.LOWER, _REMEDY):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise  # it is there, and lacks what it needs itself
            why = f"--backend {path}: there is no module {error.name}"
            raise ExportError(model, errors.LOWER, why, _REMEDY) from error
        if not callable(make := getattr(module, name, None)):
            close = difflib.get_close_matches(name, dir(module), n=1)
            hint = f"; did you mean {module_name}:{close[0]}?" if close else ""
            raise ExportError(model, errors.LOWER, f"--backend {path}: {module_name} has no {name}{hint}", _REMEDY)
        partitioner = make()
    if not isinstance(partitioner, Partitioner):
        why = f"--backend {path} makes a {type(partitioner).__name__}, which is no ExecuTorch Partitioner"
        raise ExportError(model, errors.LOWER, why, _REMEDY)
    return partitioner
