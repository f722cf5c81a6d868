"""Write files atomically: one file, or all files of an export, which are complete before they replace older ones."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import tempfile
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

Writer = Callable[[Path], None]

# A kill during `replace_file` may leave a temporary file `.name.<random>.tmp` next to the file `name`.
TEMPORARY_NAME = re.compile(r"\.(?P<name>.+)\.[0-9a-f]+\.tmp")

_CHUNK = 1 << 20  # bytes


def hash_file(path: Path) -> str:
    """Return the file's SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def require_regular_file(path: Path) -> None:
    """Check that a path is a regular file. Reading a pipe could block, and a device may have no end.

    Raises:
        OSError: The path is missing, a folder, a pipe, a device, or a socket; `strerror` is a clause about the path.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        code = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(code, "is not a regular file", str(path))


def check_writable(outdir: Path) -> None:
    """Check before an export starts that `outdir` can be created and written to, without leaving any file.

    Raises:
        OSError: The folder cannot be written; `filename` is the folder that refuses, or the file in its place.
    """
    existing = next(folder for folder in [outdir, *outdir.absolute().parents] if os.path.lexists(folder))
    try:
        with tempfile.TemporaryDirectory(prefix=".etprof-", dir=existing):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(existing)) from error


def write_artifacts(
    outdir: Path,
    writers: dict[str, Writer],
    manifest_name: str,
    manifest: dict[str, Any],
    optional: Collection[str] = (),
    removed: Collection[str] = (),
) -> tuple[list[Path], dict[str, Exception]]:
    """Write the files, then the manifest with their sizes and SHA-256 under "files".

    Returns the paths in that order, and the errors of omitted files by name. An `optional` file is omitted, also from the
    manifest, if its writer fails with another error than OSError. Files of an earlier export that are omitted or in `removed`
    are removed, because they belong to another program.

    All files are written and synced in a temporary folder inside `outdir`, and then moved, the manifest last. An older
    export stays unchanged until then.

    Raises:
        OSError: A file could not be written, for instance because the disk is full.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".etprof-", dir=outdir) as name:
        staging = Path(name)
        files = {}
        failures: dict[str, Exception] = {}
        for file_name, write in writers.items():
            try:
                write(staging / file_name)
            except OSError:
                raise
            except Exception as error:
                if file_name not in optional:
                    raise
                failures[file_name] = error
                continue
            size = _sync(staging / file_name)
            files[file_name] = {"bytes": size, "sha256": hash_file(staging / file_name)}
        text = json.dumps({**manifest, "files": files}, indent=2, allow_nan=False) + "\n"
        (staging / manifest_name).write_text(text, encoding="utf-8")
        _sync(staging / manifest_name)
        for file_name in [*failures, *removed]:
            (outdir / file_name).unlink(missing_ok=True)
        paths = [(staging / file_name).replace(outdir / file_name) for file_name in [*files, manifest_name]]
        return paths, failures


def add_to_manifest(path: Path, entries: dict[str, Any]) -> None:
    """Set entries that became known after the files were written. The manifest is replaced atomically.

    Raises:
        OSError: The manifest could not be written.
    """
    manifest = {**json.loads(path.read_text(encoding="utf-8")), **entries}
    replace_file(path, (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode())


def replace_file(path: Path, contents: Any) -> None:
    """Replace a file atomically: write and sync a temporary file next to it, then rename. This survives a power loss.

    Args:
        path: the file, whose folder exists
        contents: bytes, or an object with a buffer of bytes

    Raises:
        OSError: The file could not be written, for instance because the disk is full; the old file is unchanged.
    """
    staged = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        staged.write_bytes(contents)
        _sync(staged)
        staged.replace(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
    # Syncing the folder makes the rename durable before anything that is written later.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sync(path: Path) -> int:
    """Sync the file, which reports a full disk at the latest, and return its size in bytes."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size
