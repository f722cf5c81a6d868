"""Golden cases: each *.case file has a description, a command, and its expected output.

    A sentence about the case.
    $ etprof analyze tests/data/toy_cnn.t1.etdump -o {tmp}
    --- exit 0
    --- stdout
    ...
    --- file {tmp}/report.md
    ...

The command runs in the root of the repository; {tmp} is an empty folder. stdout and stderr must be empty if they are not
listed. Files that are not listed are ignored. GOLDEN_UPDATE=1 writes the current output into the files: review the
difference, line by line, before you commit it.
"""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

CASES = sorted(Path(__file__).parent.glob("*.case"))


def parse(text: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    head, *rest = re.split(r"^--- (.*)\n", text, flags=re.MULTILINE)
    commands = [line[2:] for line in head.splitlines() if line.startswith("$ ")]
    assert len(commands) == 1, "a case has one line that starts with '$ '"
    return head, shlex.split(commands[0]), list(zip(rest[::2], rest[1::2], strict=True))


def test_there_are_cases():
    assert CASES


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_case(case: Path, tmp_path: Path):
    head, command, sections = parse(case.read_text(encoding="utf-8"))
    assert command[0] == "etprof"
    completed = program.run(*(word.replace("{tmp}", str(tmp_path)) for word in command[1:]))

    def read_actual(section: str) -> str:
        kind, _, name = section.partition(" ")
        if kind == "exit":
            return ""
        if kind == "file":
            text = Path(name.replace("{tmp}", str(tmp_path))).read_text(encoding="utf-8")
        else:
            text = {"stdout": completed.stdout, "stderr": completed.stderr}[kind]
        return text.replace(str(tmp_path), "{tmp}")

    names = [section for section, _ in sections]
    if os.environ.get("GOLDEN_UPDATE"):
        section_names = ["stdout", "stderr"] + [name for name in names if name.startswith("file ")]
        text = head + f"--- exit {completed.returncode}\n"
        text += "".join(f"--- {name}\n{read_actual(name)}" for name in section_names if read_actual(name))
        case.write_text(text, encoding="utf-8")
        return
    assert f"exit {completed.returncode}" in names, completed.stderr
    for section, expected in sections:
        assert read_actual(section) == expected, section
    for stream, text in (("stdout", completed.stdout), ("stderr", completed.stderr)):
        assert stream in names or text == "", f"{stream} is not empty and the case does not list it"
