"""script/summarize, which prints the result of script/test."""

import os
import pathlib
import subprocess
import sys

import pytest

SUMMARIZE = pathlib.Path(__file__).resolve().parents[2] / "script" / "summarize"
PASSES = '<testcase classname="a" name="passes"/>'
FAILS = '<testcase classname="a" name="fails"><failure message="1 is not 2"/></testcase>'
BREAKS = '<testcase classname="a" name="breaks"><error message="no fixture"/></testcase>'
SKIPS = '<testcase classname="a" name="skips"><skipped message="needs root"/></testcase>'
NO_FEATURE = '<testcase classname="a" name="no_sme"><skipped message="this CPU has no SME2"/></testcase>'


@pytest.fixture
def summarize(tmp_path):
    def call(ci: str = "true") -> tuple[list[str], int]:
        command = [sys.executable, str(SUMMARIZE), str(tmp_path)]
        completed = subprocess.run(command, env=os.environ | {"CI": ci}, capture_output=True, text=True, check=False)
        assert completed.stderr == ""
        return completed.stdout.split("\n")[:-1], completed.returncode

    return call


def junit(folder: pathlib.Path, name: str, *cases: str) -> None:
    (folder / f"{name}.expected").touch()
    (folder / f"{name}.xml").write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")


def test_all_passed(summarize, tmp_path):
    junit(tmp_path, "pytest-others", PASSES, PASSES)
    (tmp_path / "layers.check").write_text("pass\n")
    lines, code = summarize()
    assert (lines[-1], code) == ("3 passed, 0 failed", 0)


@pytest.mark.parametrize("case", [FAILS, BREAKS])
def test_one_failed(summarize, tmp_path, case):
    junit(tmp_path, "pytest-others", PASSES, case)
    lines, code = summarize()
    assert any(line.startswith("failed: pytest-others: a ") for line in lines)
    assert (lines[-1], code) == ("1 passed, 1 failed", 1)


def test_a_check_failed(summarize, tmp_path):
    junit(tmp_path, "pytest-others", PASSES)
    (tmp_path / "layers.check").write_text("fail\n")
    lines, code = summarize()
    assert "failed: layers" in [line.strip() for line in lines]
    assert (lines[-1], code) == ("1 passed, 1 failed", 1)


def test_tests_that_left_nothing_behind_failed(summarize, tmp_path):
    junit(tmp_path, "pytest-others", PASSES)
    (tmp_path / "pytest-devices.expected").touch()
    lines, code = summarize()
    assert "failed: pytest-devices.xml was not written: those tests did not run" in lines
    assert (lines[-1], code) == ("1 passed, 1 failed", 1)


def test_tests_of_a_program_are_counted(summarize, tmp_path):
    """ctest reports programs. Each program writes a file with its own tests into a folder."""
    program = '<testcase classname="core_test" name="core_test" status="run" time="3"/>'
    junit(tmp_path, "ctest-asan", program)
    (tmp_path / "gtest-asan").mkdir()
    disabled = '<testcase classname="Json" name="Later" status="notrun" result="suppressed" time="0."/>'
    failed = '<testcase classname="Json" name="Cut" status="run" time="2"><failure message="1"/></testcase>'
    skipped = '<testcase classname="Json" name="Sme" status="run" time="0."><skipped message="x.cc:1&#x0A;this CPU"/></testcase>'
    tests = f"<testsuites><testsuite>{disabled}{failed}{skipped}</testsuite></testsuites>"
    (tmp_path / "gtest-asan" / "core_test.xml").write_text(tests)
    lines, code = summarize()
    assert "failed: gtest-asan/core_test: Json Cut" in [line.strip() for line in lines]
    assert any(line.startswith("failed: gtest-asan/core_test: Json Later skipped") for line in lines)
    assert any(line.startswith("skipped: gtest-asan/core_test: Json Sme") for line in lines)
    assert "The slowest of 3 tests, 2 s in all:" in lines
    assert (lines[-1], code) == ("1 passed, 2 failed", 1)


def test_nothing_ran(summarize):
    lines, code = summarize()
    assert (lines[-1], code) == ("0 passed, 0 failed", 1)


@pytest.mark.parametrize(
    ("ci", "case", "last", "code"),
    [
        ("true", SKIPS, "1 passed, 1 failed", 1),
        ("", SKIPS, "1 passed, 0 failed", 0),
        ("true", NO_FEATURE, "1 passed, 0 failed", 0),
    ],
)
def test_a_skip(summarize, tmp_path, ci, case, last, code):
    junit(tmp_path, "pytest-others", PASSES, case)
    lines, exit_code = summarize(ci)
    assert (lines[-1], exit_code) == (last, code)


def test_the_slowest_tests_come_first(summarize, tmp_path):
    timed = [f'<testcase classname="a" name="t{i}" time="{i / 2}"/>' for i in range(60)]
    junit(tmp_path, "pytest-others", *timed)
    lines, _ = summarize()
    start = lines.index("The slowest of 60 tests, 885 s in all:")
    assert lines[start + 1].split() == ["29.5", "s", "pytest-others:", "a", "t59"]
    assert [line.split()[-1] for line in lines[start + 1 : start + 51]] == [f"t{i}" for i in range(59, 9, -1)]
    assert lines[start + 51] == ""
