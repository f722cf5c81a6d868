"""Exports shared by all tests: each model is exported once in a session, or once for all where a folder is given.

ETPROF_TEST_EXPORTS names a folder that keeps the exports between sessions. One there is used again only if the same
sources and versions made it and its files are unchanged.
"""

import os
from pathlib import Path

import pytest

from etprof.export import Request, export_model
from exports import Exported, is_current


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """exported(model, dtype="fp32", backend="xnnpack", quantize=None) gives the path of the .pte, exported and checked.

    The model is a name or FILE.py:Class.
    """
    kept = os.environ.get("ETPROF_TEST_EXPORTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("exports")

    made: set[Path] = set()

    def export(model: str, dtype: str = "fp32", backend: str = "xnnpack", quantize: str | None = None) -> Path:
        request = Request(model, backend, dtype, quantize, outdir=folder, command=["pytest"])
        # Of a model in a file nobody has recorded which text of it was exported.
        if request.pte not in made and (":" in model or not is_current(request.pte)):
            export_model(request)
        made.add(request.pte)
        return request.pte

    return export
