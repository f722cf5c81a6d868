"""Exports that tests share: what they are asked by, and whether one is still current."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from etprof import artifacts
from etprof.export import versions

Exported = Callable[..., Path]


def is_current(pte: Path) -> bool:
    """Whether `pte` and the files beside it are what an export would give now."""
    manifest_path = pte.with_name(f"{pte.name}.json")
    if not manifest_path.is_file():
        return False
    manifest = json.loads(manifest_path.read_text())
    files = {pte.with_name(name): entry["sha256"] for name, entry in manifest["files"].items()}
    unchanged = all(path.is_file() and artifacts.sha256_of(path) == sha256 for path, sha256 in files.items())
    return unchanged and manifest["versions"] == asdict(versions())
