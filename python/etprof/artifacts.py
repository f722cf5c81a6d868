"""Writing files whole: the one of `replace_file`, and those of an export, all complete before the first replaces an older one."""

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

# What a kill may leave of `replace_file`: of the file `name`, `.name.<random>.tmp` beside it.
HALF_WRITTEN = re.compile(r"\.(?P<name>.+)\.[0-9a-f]+\.tmp")

_CHUNK = 1 << 20  # bytes


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def require_regular_file(path: Path) -> None:
    """See that a file can be read at once: a pipe would be waited for, and a device may have no end.

    Raises:
        OSError: It is missing, a folder, a pipe, a device, or a socket; `strerror` is a clause about it.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        code = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(code, "is not a regular file", str(path))


def check_writable(outdir: Path) -> None:
    """See before the long work whether `outdir` can be made and written to; nothing is left behind.

    Raises:
        OSError: It cannot; the error's filename is the folder, or the file in its place, that refuses.
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
    gone: Collection[str] = (),
) -> tuple[list[Path], dict[str, Exception]]:
    """Write the files, then the manifest with their sizes and SHA-256 under "files"; gives their paths in that order.

    Of the `optional` files one whose writer fails, though not at the disk, is left out, in the manifest, too; what it failed
    with comes second, by name. Such a file of an earlier export is removed, and so are those of `gone`: they would be of another
    program.

    Every file is written whole and synced in a folder beside its place, then moved there. Until then an older export
    stays as it was; the manifest comes last.

    Raises:
        OSError: A file could not be written, for instance on a full disk.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".etprof-", dir=outdir) as name:
        staging = Path(name)
        files = {}
        left_out: dict[str, Exception] = {}
        for file_name, write in writers.items():
            try:
                write(staging / file_name)
            except OSError:
                raise
            except Exception as error:
                if file_name not in optional:
                    raise
                left_out[file_name] = error
                continue
            size = _sync(staging / file_name)
            files[file_name] = {"bytes": size, "sha256": sha256_of(staging / file_name)}
        text = json.dumps({**manifest, "files": files}, indent=2, allow_nan=False) + "\n"
        (staging / manifest_name).write_text(text, encoding="utf-8")
        _sync(staging / manifest_name)
        for file_name in [*left_out, *gone]:
            (outdir / file_name).unlink(missing_ok=True)
        paths = [(staging / file_name).replace(outdir / file_name) for file_name in [*files, manifest_name]]
        return paths, left_out


def add_to_manifest(path: Path, entries: dict[str, Any]) -> None:
    """Set what was found out after the files were written; the manifest is replaced whole.

    Raises:
        OSError: It could not be written.
    """
    manifest = {**json.loads(path.read_text(encoding="utf-8")), **entries}
    replace_file(path, (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode())


def replace_file(path: Path, contents: Any) -> None:
    """Write a whole file or none: synced beside its place, then moved there, which holds after a loss of power, too.

    Args:
        path: its folder is there
        contents: bytes, or what has a buffer of them

    Raises:
        OSError: It could not be written, for instance on a full disk; nothing has changed then.
    """
    staged = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        staged.write_bytes(contents)
        _sync(staged)
        staged.replace(path)
    except OSError:
        staged.unlink(missing_ok=True)
        raise
    # What was written first is there first.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sync(path: Path) -> int:
    """Bring the file to the disk, where a full one shows at the latest; gives its size in bytes."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size
