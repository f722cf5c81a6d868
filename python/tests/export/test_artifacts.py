import contextlib
import json
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from etprof import artifacts


def writer(data: bytes) -> artifacts.Writer:
    return lambda path: path.write_bytes(data) and None


@contextlib.contextmanager
def small_files_only() -> Iterator[None]:
    """Limits files to 4 KiB, so that writes fail as on a full disk. The limit applies to this whole process, so keep it short."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_files_and_manifest(tmp_path: Path):
    paths, _ = artifacts.write_artifacts(tmp_path / "a" / "b", {"m.pte": writer(b"abc")}, "m.pte.json", {"model": "m"})
    assert [path.name for path in paths] == ["m.pte", "m.pte.json"]
    manifest = json.loads(paths[1].read_text())
    sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, example "abc"
    assert manifest == {"model": "m", "files": {"m.pte": {"bytes": 3, "sha256": sha256}}}
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["m.pte", "m.pte.json"]


def test_a_failure_leaves_the_older_export_as_it_was(tmp_path: Path):
    artifacts.write_artifacts(tmp_path, {"m.pte": writer(b"old"), "m.inputs": writer(b"old")}, "m.json", {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        artifacts.write_artifacts(tmp_path, {"m.pte": writer(b"new"), "m.inputs": fail}, "m.json", {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_disk_that_takes_no_more_is_an_error_and_changes_nothing(tmp_path: Path):
    artifacts.write_artifacts(tmp_path, {"m.pte": writer(b"old")}, "m.json", {})
    with pytest.raises(OSError, match="too large"), small_files_only():
        artifacts.write_artifacts(tmp_path, {"m.pte": writer(bytes(5000))}, "m.json", {})
    assert (tmp_path / "m.pte").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.pte"]


def test_a_new_export_replaces_the_older_one(tmp_path: Path):
    for data in (b"old", b"new"):
        artifacts.write_artifacts(tmp_path, {"m.pte": writer(data)}, "m.json", {})
    assert (tmp_path / "m.pte").read_bytes() == b"new"


def test_a_place_that_cannot_be_written_is_seen_early(tmp_path: Path):
    artifacts.check_writable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(NotADirectoryError) as raised:
        artifacts.check_writable(file / "folder")
    assert raised.value.filename == str(file)


def test_an_optional_file_that_fails_is_left_out_and_an_old_one_removed(tmp_path: Path):
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise RuntimeError("no such node")

    names = {"m.pte": writer(b"old"), "m.etrecord": writer(b"old")}
    artifacts.write_artifacts(tmp_path, names, "m.json", {}, optional=["m.etrecord"])
    assert (tmp_path / "m.etrecord").read_bytes() == b"old"
    names = {"m.pte": writer(b"new"), "m.etrecord": fail}
    paths, left_out = artifacts.write_artifacts(tmp_path, names, "m.json", {}, optional=["m.etrecord"])
    assert [path.name for path in paths] == ["m.pte", "m.json"]
    assert str(left_out["m.etrecord"]) == "no such node"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.pte"]
    assert list(json.loads((tmp_path / "m.json").read_text())["files"]) == ["m.pte"]
    with pytest.raises(RuntimeError, match="no such node"):
        artifacts.write_artifacts(tmp_path, names, "m.json", {})
