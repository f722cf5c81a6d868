import os
from pathlib import Path

import pytest

from etprof import models, new_model
from etprof.exporting import find, local


def refused(capfd: pytest.CaptureFixture, *arguments: str) -> tuple[int, str]:
    """Returns the exit code and the message of a command that must fail with two lines on stderr."""
    code = new_model.main(list(arguments))
    out, err = capfd.readouterr()
    assert out == ""
    why, remedy = err.splitlines()
    assert remedy.startswith("hint: ")
    return code, why


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "_registered", dict(models._registered))
    return tmp_path


def test_the_package_is_the_template_under_its_name(capfd: pytest.CaptureFixture, work_folder: Path):
    assert new_model.main(["first_net"]) == 0
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        f"first_net/{name}" for name in ("README.md", "__init__.py", "model.py", "test_first_net.py")
    ]
    assert err == "next: etprof export first_net\n"
    assert len((work_folder / "first_net" / "README.md").read_text().splitlines()) == 3
    for file in (work_folder / "first_net").iterdir():
        assert new_model.TEMPLATE_NAME not in file.read_text()
    # The package does not contain the path of its folder.
    assert [entry.name for entry in work_folder.iterdir()] == ["first_net"]
    assert local.registered(work_folder) == {"first_net": [work_folder / "first_net" / "__init__.py"]}
    assert "REPLACE" in (work_folder / "first_net" / "model.py").read_text()


def test_output_is_the_folder_above(capfd: pytest.CaptureFixture, work_folder: Path):
    assert new_model.main(["other_net", "--output", "a/b"]) == 0
    assert capfd.readouterr().err == "next: cd a/b && etprof export other_net\n"
    assert (work_folder / "a/b/other_net/model.py").is_file()
    # The package works from another folder by its path.
    assert find.default_name("a/b/other_net") == "other_net"
    assert find.find_model("a/b/other_net").name == "other_net"


def test_a_folder_that_exists_is_left_as_it_is(capfd: pytest.CaptureFixture, work_folder: Path):
    assert new_model.main(["net_of_mine"]) == 0
    (work_folder / "net_of_mine" / "model.py").write_text("mine")
    capfd.readouterr()
    assert refused(capfd, "net_of_mine") == (3, "error: `net_of_mine` exists, and is left as it is")
    assert (work_folder / "net_of_mine" / "model.py").read_text() == "mine"
    (work_folder / "empty_net").mkdir()
    assert refused(capfd, "empty_net")[0] == 3
    assert list((work_folder / "empty_net").iterdir()) == []
    (work_folder / "dangling").symlink_to("nowhere")
    assert refused(capfd, "dangling")[0] == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("3d-net", "`3d-net` is not a Python identifier"),
        ("../up", "`../up` is not a Python identifier"),
        ("", "`` is not a Python identifier"),
        ("né", "`né` is not a Python identifier"),
        ("a\x1b[2Jb", "`a?[2Jb` is not a Python identifier"),
        ("class", "`class` is a keyword of Python"),
        ("match", "`match` is a keyword of Python"),
        ("toy_cnn", "`toy_cnn` is an example model of etprof"),
        ("mv3", "`mv3` is an example model of ExecuTorch"),
        ("json", "`json` is the name of a Python module, which the package would hide"),
        ("torch", "`torch` is the name of a Python module, which the package would hide"),
    ],
)
def test_invalid_names(capfd: pytest.CaptureFixture, work_folder: Path, name: str, message: str):
    assert refused(capfd, "--", name) == (2, f"error: {message}")
    assert list(work_folder.iterdir()) == []


def test_a_name_that_another_package_has_registered(capfd: pytest.CaptureFixture, work_folder: Path):
    (work_folder / "theirs").mkdir()
    (work_folder / "theirs" / "__init__.py").write_text("register_model('our_net', int)")
    assert refused(capfd, "our_net") == (3, "error: `our_net` is registered by theirs/__init__.py")


def test_a_place_that_cannot_be_written_to(capfd: pytest.CaptureFixture, work_folder: Path):
    (work_folder / "file").write_text("in the way")
    assert refused(capfd, "some_net", "--output", "file") == (3, "error: File exists: file")
    assert refused(capfd, "some_net", "--output", "file/below") == (3, "error: Not a directory: file/below")
    if os.geteuid() != 0:  # root may write anywhere
        (work_folder / "locked").mkdir(mode=0o500)
        assert refused(capfd, "some_net", "--output", "locked")[1].startswith("error: Permission denied: ")
    code, why = refused(capfd, "some_net", "--output", "/proc")  # nobody may make folders there
    assert (code, why[: why.index(": /proc")]) == (3, "error: No such file or directory")
