"""`analyze` uses or refuses a given program and .etrecord, and never ignores them."""

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
    command = [program.etprof(), "analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program_that_ran_is_used():
    completed = analyze(ETDUMP, "--model", MODEL, "--json")
    assert completed.returncode == 0, completed.stderr
    (experiment,) = json.loads(completed.stdout)["experiments"]
    assert experiment["program"]["problem"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((ETDUMP, "--model", OTHER), BAD_INPUT, "it is not the one that ran"),
        ((ETDUMP, "--model", "/etc/passwd"), BAD_INPUT, "is not an ExecuTorch program"),
        ((ETDUMP, "--model", ETDUMP), BAD_INPUT, "is not an ExecuTorch program"),
        ((ETDUMP, "--etrecord", "/etc/passwd"), USAGE, "--model"),
        ((ETDUMP, "--model", MODEL, "--etrecord", "/etc/passwd"), BAD_INPUT, "is not a zip archive"),
    ],
    ids=["another program", "no program", "an ETDump", "a record without a program", "no record"],
)
def test_unrelated_files_are_refused(arguments, code, message):
    completed = analyze(*arguments)
    assert completed.returncode == code, completed.stdout
    assert message in completed.stderr
    assert str(arguments[-1]) in completed.stderr
    assert completed.stdout == ""


def test_a_results_directory_names_its_own_program(tmp_path):
    (tmp_path / "net.etdump").write_bytes(ETDUMP.read_bytes())
    completed = analyze(tmp_path, "--model", MODEL)
    assert completed.returncode == USAGE
    assert "a results directory names its own programs" in completed.stderr
