"""Exports that tests share: their parameters, and a check whether an export is still current."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from etprof import artifacts
from etprof.export import versions

Exported = Callable[..., Path]


def is_current(pte: Path) -> bool:
    """Returns whether a new export would produce the same `pte` and accompanying files."""
    manifest_path = pte.with_name(f"{pte.name}.json")
    if not manifest_path.is_file():
        return False
    manifest = json.loads(manifest_path.read_text())
    files = {pte.with_name(name): entry["sha256"] for name, entry in manifest["files"].items()}
    unchanged = all(path.is_file() and artifacts.hash_file(path) == sha256 for path, sha256 in files.items())
    return unchanged and manifest["versions"] == asdict(versions())
