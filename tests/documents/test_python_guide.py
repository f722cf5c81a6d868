"""The Python of docs/guides/python.md works, block after block, in a folder that holds what it names."""

import json
import re
import shutil
import sys

import program
import pytest
from documents import ROOT, fenced

import etprof

GUIDE = ROOT / "docs" / "guides" / "python.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETPROF", str(program.etprof()))
    monkeypatch.setenv("ETPROF_PYTHON", sys.executable)
    monkeypatch.setenv("ETPROF_DEVICE_DIR", str(tmp_path / "turns"))
    for name in ("model.pte", "a.pte", "b.pte"):
        shutil.copy(program.DATA / "toy_cnn.pte", name)
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", "model.etdump")
    shutil.copy(program.DATA / "toy_cnn.t1.log", "sme2_on_trace.log")
    for side in ("off", "on"):
        shutil.copy(program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{side}.etdump", f"{side}.etdump")
    etprof.profile("model.pte", "threads=2", launches=2, runs=3, no_peaks=True, output_root="run")
    for copy in ("base_run", "new_run"):
        shutil.copytree("run", copy)
    experiments = [{"name": "one"}, {"name": "two", "threads": 2}]
    (tmp_path / "config.json").write_text(json.dumps({"model": "model.pte", "experiments": experiments}))
    return tmp_path


def test_the_examples_work(folder, capfd):
    names: dict[str, object] = {}
    blocks = [block for block in fenced(GUIDE.read_text()) if block.language == "python"]
    assert len(blocks) == 4
    for block in blocks:
        # Measuring for ten seconds shows no more than two launches do.
        text = re.sub(r"(profile\(.*)max_seconds=10", r"\1launches=2, runs=3, no_peaks=True", block.body)
        text = text.replace("max_seconds=10", "launches=2, runs=3")
        exec(compile(text, GUIDE, "exec"), names)  # noqa: S102  our own document
    said = capfd.readouterr()
    assert said.err == ""
    assert "launch 2 of 2" in said.out  # by the example's own print
    assert (folder / "report.html").is_file() and (folder / "out" / "report.html").is_file()
