"""A phone's state, with one small file per value, so that tests and the phone's commands can change it concurrently."""

from __future__ import annotations

import os
from pathlib import Path


class Store:
    """Values in files below a folder. Values are written atomically."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str, default: str | None = None) -> str | None:
        try:
            return (self.folder / key).read_text().rstrip("\n")
        except FileNotFoundError:
            return default

    def set(self, key: str, value: object) -> None:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.parent / f".{path.name}.{os.getpid()}"
        draft.write_text(f"{value}\n")
        draft.replace(path)

    def delete(self, key: str) -> bool:
        """Deletes a value. Returns False if there was no such value."""
        try:
            (self.folder / key).unlink()
        except FileNotFoundError:
            return False
        return True

    def all(self, prefix: str) -> dict[str, str]:
        """The values below a key by the last part of their names, sorted."""
        folder = self.folder / prefix
        if not folder.is_dir():
            return {}
        values = {path.name: self.get(f"{prefix}/{path.name}") for path in sorted(folder.iterdir())}
        return {name: value for name, value in values.items() if value is not None and not name.startswith(".")}

    def append(self, key: str, line: str) -> None:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:  # with O_APPEND, concurrent writes do not mix
            file.write(f"{line}\n")
