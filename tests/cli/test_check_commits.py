"""script/check-commits: the commit subjects that it refuses, in a temporary repository."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "script" / "check-commits"


@pytest.fixture
def check(tmp_path):
    identity = {f"GIT_{role}_{part}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull}

    def git(*arguments: str) -> None:
        subprocess.run(
            [shutil.which("git"), *arguments], cwd=tmp_path, env=environment, check=True, capture_output=True
        )

    def call(*messages: str) -> subprocess.CompletedProcess:
        for message in messages:
            git("commit", "--allow-empty", "--cleanup=verbatim", "-m", message)
        return subprocess.run(
            [sys.executable, CHECK, "base"], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    git("init", "-q", "-b", "main")
    git("commit", "--allow-empty", "-m", "what came before is not checked.")
    git("tag", "base")
    return call


def test_subjects_of_the_form_pass(check):
    completed = check(
        "Lock the device during a measurement",
        "Pass `--load` to the runner\n\nReasons, as long as they are.",
        "A" + "b " * 35,
    )
    assert (completed.returncode, completed.stdout) == (0, "")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("Ab" + "c " * 35 + "d", "has 73 characters, at most 72 are allowed"),
        ("lock the device", "does not begin with a capital letter"),
        ("Lock the device.", "ends with a full stop"),
        ("Locks", "has fewer than two words"),
        ("Added a lock", "does not begin with an imperative: `Added`"),
        ("Adding a lock", "does not begin with an imperative: `Adding`"),
        ("Adds a lock", "does not begin with an imperative: `Adds`"),
        ("Lock the device\nduring a measurement", "is not followed by a blank line"),
    ],
)
def test_bad_subjects_are_refused_with_the_reason(check, message, why):
    completed = check("Lock the device", message)
    assert completed.returncode == 1
    lines = completed.stdout.splitlines()
    assert len(lines) in (1, 2) and any(line.endswith(": " + why) for line in lines)
    assert all(message.splitlines()[0] in line for line in lines)


def test_an_invalid_base_is_one_message():
    completed = subprocess.run(
        [sys.executable, CHECK, "no-such-name"], cwd=CHECK.parent, capture_output=True, text=True
    )
    assert completed.returncode == 2 and "no-such-name" in completed.stderr and "Traceback" not in completed.stderr
    completed = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    assert completed.returncode == 2 and completed.stderr == "usage: script/check-commits BASE\n"
