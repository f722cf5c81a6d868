"""Exports shared by all tests. Each model is exported once per session, or only once if a folder for exports is given.

ETPROF_TEST_EXPORTS names a folder that keeps the exports between sessions. An export is reused only if it comes from the
same sources and versions and its files are unchanged.
"""

import copy
import gc
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# This must be set before PyTorch is imported. PyTorch's threads wait actively, and other tests need the processors.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from etprof.export import Request, export_model
from exports import Exported, is_current


@pytest.fixture(scope="session", autouse=True)
def graphs_looked_through_seldom() -> Iterator[None]:
    """Raises the garbage collector's threshold, as `etprof export` does."""
    before = gc.get_threshold()
    gc.set_threshold(100_000)
    yield
    gc.set_threshold(*before)


@pytest.fixture(scope="session", autouse=True)
def patterns_traced_once() -> Iterator[None]:
    """Traces the patterns of XNNPACK's quantizer once for all models. Tracing takes 2 s, and the patterns are always the same."""
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer_utils as quantizer

    trace = quantizer._get_aten_graph_module_for_pattern
    traced: dict[Any, Any] = {}

    def get_cached_graph(pattern: Any, example_inputs: tuple, is_cuda: bool = False) -> Any:
        # The key is the pattern function's closure: the kind of convolution, and whether an in-place ReLU follows it.
        key = (is_cuda, *sorted(inspect.getclosurevars(pattern.fn).nonlocals.items(), key=lambda item: item[0]))
        if key not in traced:
            traced[key] = trace(pattern, example_inputs, is_cuda)
        return copy.deepcopy(traced[key])  # the quantizer modifies the pattern

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantizer, "_get_aten_graph_module_for_pattern", get_cached_graph)
        yield


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """exported(model, dtype="fp32", backend="xnnpack", quantize=None) exports and checks a model (check=False: does not
    check it), and returns the path of the .pte.

    The model is a name or FILE.py:Class.
    """
    shared_folder = os.environ.get("ETPROF_TEST_EXPORTS")
    folder = Path(shared_folder) if shared_folder else tmp_path_factory.mktemp("exports")

    exported_files: set[Path] = set()

    def export(
        model: str, dtype: str = "fp32", backend: str = "xnnpack", quantize: str | None = None, check: bool = True
    ) -> Path:
        request = Request(model, backend, dtype, quantize, outdir=folder, check=check, command=["pytest"])
        # For a model in a file, the exported version of that file is not recorded, so the model is exported again.
        if request.pte not in exported_files and (":" in model or not is_current(request.pte)):
            export_model(request)
        exported_files.add(request.pte)
        return request.pte

    return export
