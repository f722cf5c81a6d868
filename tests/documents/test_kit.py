"""Every command, option, and file of the profiling kit in kit.md has a counterpart in docs/project/migration.md.
test_documents.py runs the commands of that page."""

import dataclasses
import json
import pathlib
import re

import pytest
from documents import ROOT, blocks, find_marks

KIT = (pathlib.Path(__file__).parent / "kit.md").read_text()
GUIDE = (ROOT / "docs/project/migration.md").read_text()
MARKS = dataclasses.replace(find_marks(ROOT / "docs/project/migration.md"), setups=())
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|(?![a-z])", row)[1:-1]]
    for row in KIT.splitlines()
    if row.startswith("| ")
][1:]
OPTION = re.compile(r"--[a-z0-9-]+")


def section(scripts: str) -> str:
    return GUIDE.partition(f"\n### {scripts}\n")[2].partition("\n##")[0]


def test_the_kit_has_eleven_rows():
    assert len(ROWS) == 11
    assert len({script for row in ROWS for script in row[0].split(", ")}) == 17


@pytest.mark.parametrize(("scripts", "options", "commands"), ROWS, ids=[row[0].split(".")[0] for row in ROWS])
def test_a_row_has_its_counterpart(scripts, options, commands):
    text = section(scripts)
    documented_options = "\n".join(row.split(" | ")[0] for row in text.splitlines() if row.startswith("| "))
    assert set(OPTION.findall(options)) - set(OPTION.findall(documented_options)) == set()
    shown = "".join(block.body for block in blocks(text, MARKS) if block.language == "sh")
    executed = "".join(block.body for block in blocks(text, MARKS) if block.is_run)
    for command in re.findall(r"`([\w/-]+)`", commands):
        if not command.startswith("-"):
            assert command in shown or command in documented_options + text, f"{command} is not shown"
    assert "etprof" in executed or "build_runners" in scripts


def test_options_that_stay_the_same_are_in_the_program():
    """If the table says "the same", the command of the section has this option."""
    reference = (ROOT / "docs/reference/cli.md").read_text()
    exporting = (ROOT / "python/etprof/exporting/options.py").read_text()
    checked = 0
    for scripts, _, _ in ROWS:
        text = section(scripts)
        commands = set(re.findall(r"^etprof ([\w-]+)", "".join(b.body for b in blocks(text)), re.M))
        known_options = "".join(block.body for block in blocks(text)) + (exporting if "export" in commands else "")
        known_options += "".join(
            reference.partition(f"\n## {command}\n")[2].partition("\n## ")[0] for command in commands
        )
        for row in text.splitlines():
            if row.startswith("| ") and " | the same" in row:
                for option in OPTION.findall(row.split(" | ")[0]):
                    assert option in known_options, (scripts, option)
                    checked += 1
    assert checked > 20


def test_files_have_the_kits_names(measured):
    """Tests the files of a run without kernel logs. The section on kernels makes the others."""
    run = pathlib.Path(measured["RUN"])
    files = {path.name for path in run.rglob("*") if path.is_file()}
    documented = re.findall(r"`([^`]+)`", KIT.partition("Files in a run:")[2])
    other_files = {"_xnntrace.log", "_kernels.csv", "kernel_view_gemm.md", "_latency.log"}
    assert len(documented) >= 18
    table = GUIDE.partition("\n## Files\n")[2]
    for name in documented:
        assert name.replace("<stem>_<experiment>_t<n>", "<stem>").replace("<stem>_pipe", "<model>_pipe") in table, name
        suffix = re.sub(r"^<stem>(_<experiment>_t<n>)?", "", name)
        if suffix not in other_files:
            assert any(file.endswith(suffix) for file in files), name
    assert json.loads((run / "manifest.json").read_text())["schema_version"] == 1
