"""Exports shared by all tests: each model is exported once in a session, or once for all where a folder is given.

ETPROF_TEST_EXPORTS names a folder that keeps the exports between sessions. One there is used again only if the same
sources and versions made it and its files are unchanged.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from etprof import artifacts
from etprof.export import Request, export_model, versions

Exported = Callable[..., Path]


def is_current(pte: Path) -> bool:
    """Whether `pte` and the files beside it are what an export would give now."""
    manifest_path = pte.with_name(f"{pte.name}.json")
    if not manifest_path.is_file():
        return False
    manifest = json.loads(manifest_path.read_text())
    files = {pte.with_name(name): entry["sha256"] for name, entry in manifest["files"].items()}
    unchanged = all(path.is_file() and artifacts.sha256_of(path) == sha256 for path, sha256 in files.items())
    return unchanged and manifest["versions"] == versions()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """exported(model, dtype="fp32", backend="xnnpack", quantize=False) gives the path of the .pte."""
    kept = os.environ.get("ETPROF_TEST_EXPORTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("exports")

    def export(model: str, dtype: str = "fp32", backend: str = "xnnpack", quantize: bool = False) -> Path:
        request = Request(model, backend, dtype, quantize, outdir=folder, command=["pytest"])
        if not is_current(request.pte):
            export_model(request)
        return request.pte

    return export
