"""The Python blocks of docs/guides/python.md work in order, in a folder that contains the files that they name."""

import json
import os
import re
import shutil
import sys

import program
import pytest
from documents import ROOT, find_fenced_blocks

import etprof

GUIDE = ROOT / "docs" / "guides" / "python.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files that the examples use."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETPROF", str(program.etprof()))
    monkeypatch.setenv("ETPROF_PYTHON", sys.executable)
    monkeypatch.setenv("ETPROF_DEVICE_DIR", str(tmp_path / "turns"))
    for name in ("model.pte", "a.pte", "b.pte"):
        shutil.copy(program.DATA / "toy_cnn.pte", name)
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", "model.etdump")
    shutil.copy(program.DATA / "toy_cnn.t1.log", "sme2_on_trace.log")
    for variant in ("off", "on"):
        shutil.copy(program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump", f"{variant}.etdump")
    etprof.profile("model.pte", "threads=2", launches=2, runs=3, no_peaks=True, output_root="run")
    for copy in ("base_run", "new_run"):
        shutil.copytree("run", copy)
    experiments = [{"name": "one"}, {"name": "two", "threads": 2}]
    (tmp_path / "config.json").write_text(json.dumps({"model": "model.pte", "experiments": experiments}))
    return tmp_path


def shorten_measurements(code: str) -> str:
    """Replaces measurements of ten seconds by two launches, which are enough for a test."""
    code = re.sub(r"(profile\(.*)max_seconds=10", r"\1launches=2, runs=3, no_peaks=True", code)
    return code.replace("max_seconds=10", "launches=2, runs=3")


def test_the_examples_work(folder, capfd):
    names: dict[str, object] = {}
    blocks = [block for block in find_fenced_blocks(GUIDE.read_text()) if block.language == "python"]
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(shorten_measurements(block.body), GUIDE, "exec"), names)  # noqa: S102  our own document
    output = capfd.readouterr()
    assert output.err == ""
    assert "launch 2 of 2" in output.out  # the example prints this line
    assert (folder / "report.html").is_file() and (folder / "out" / "report.html").is_file()


def test_the_notebook_runs_and_shows_tables(folder, monkeypatch):
    """Runs the notebook in Jupyter's own kernel. The committed notebook has no outputs."""
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(GUIDE.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if cell.outputs or cell.execution_count]
    for cell in code:
        cell.source = shorten_measurements(cell.source)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    shown = {cell.source.splitlines()[-1]: cell.outputs[-1]["data"] for cell in code if cell.outputs}
    assert len(shown) == len(code)
    for last in ("result", "pair", "pair.operators()", "profile", "dump.to_pandas().head()"):
        assert "<table" in shown[last]["text/html"], last
    assert shown["result"]["text/plain"].startswith("<status complete; 2 threads vs ")
    assert shown["pair"]["text/plain"].startswith("<Comparison: 2 threads vs ")
    assert "\n" not in shown["result"]["text/plain"] + shown["profile"]["text/plain"]
    assert (folder / "out" / "report.html").is_file()
