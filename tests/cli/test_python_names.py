"""Names on the command line of the commands that are in Python: `export`, `fleet`."""

import os
import subprocess

import pytest
from program import etprof, run


def test_names_do_not_reach_the_terminal_raw(tmp_path):
    odd = tmp_path / "a\x1b[2J\u202eb"
    told = run("fleet", "query", "coverage", "--from", odd)
    assert told.returncode == 3
    assert "\x1b" not in told.stderr and "\u202e" not in told.stderr
    assert r"a\x1b[2J\u202eb" in told.stderr
    told = run("fleet", "add", odd, "--to", tmp_path / "fleet")
    assert told.returncode == 3 and "\x1b" not in told.stderr
    for words in (["export", "\x1b[2J"], ["export", "--outdir", "\x1b[2J", "none"]):
        told = run(*words)
        assert told.returncode != 0
        assert "\x1b" not in told.stderr + told.stdout


@pytest.mark.parametrize(
    "words",
    [
        [b"fleet", b"add", b"\xff", b"--to", b"fleet"],
        [b"fleet", b"query", b"coverage", b"--from", b"\xff"],
        [b"fleet", b"query", b"--set", b"a=\xff", b"coverage", b"--from", b"x"],
        [b"export", b"\xff"],
        [b"export", b"toy_cnn", b"--outdir", b"a\xffb"],
    ],
)
def test_arguments_that_are_not_utf8(words, tmp_path):
    told = subprocess.run([os.fsencode(etprof()), *words], capture_output=True, cwd=tmp_path, check=False)
    assert told.returncode == 2, told.stderr
    lines = told.stderr.decode().splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and "is not UTF-8" in lines[0] and "\\xff" in lines[0]
    assert list(tmp_path.iterdir()) == []
