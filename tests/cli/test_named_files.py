"""A program and an .etrecord that `analyze` is given are used, or refused: never ignored."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

BAD_INPUT, USAGE = 3, 2
ETDUMP = program.DATA / "toy_cnn.t1.etdump"
MODEL = program.DATA / "toy_cnn.pte"
OTHER = program.ROOT / "tests" / "fuzz" / "corpus" / "program" / "portable.pte"


def analyze(*arguments: object) -> subprocess.CompletedProcess:
    words = [program.etprof(), "analyze", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_program_that_ran_is_used():
    done = analyze(ETDUMP, "--model", MODEL, "--json")
    assert done.returncode == 0, done.stderr
    (experiment,) = json.loads(done.stdout)["experiments"]
    assert experiment["program"]["problem"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((ETDUMP, "--model", OTHER), BAD_INPUT, "it is not the one that ran"),
        ((ETDUMP, "--model", "/etc/passwd"), BAD_INPUT, "is not an ExecuTorch program"),
        ((ETDUMP, "--model", ETDUMP), BAD_INPUT, "is not an ExecuTorch program"),
        ((ETDUMP, "--etrecord", "/etc/passwd"), USAGE, "--model"),
        ((ETDUMP, "--model", MODEL, "--etrecord", "/etc/passwd"), BAD_INPUT, "is not a zip archive"),
    ],
    ids=["another program", "no program", "an ETDump", "a record without a program", "no record"],
)
def test_what_does_not_belong_is_refused(arguments, code, said):
    done = analyze(*arguments)
    assert done.returncode == code, done.stdout
    assert said in done.stderr
    assert str(arguments[-1]) in done.stderr
    assert done.stdout == ""


def test_a_results_directory_names_its_own_program(tmp_path):
    (tmp_path / "net.etdump").write_bytes(ETDUMP.read_bytes())
    done = analyze(tmp_path, "--model", MODEL)
    assert done.returncode == USAGE
    assert "a results directory names its own programs" in done.stderr
