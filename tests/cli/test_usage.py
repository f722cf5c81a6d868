"""What is said of a command line that cannot be understood."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ROW = re.compile(r"^\| (`-[^|]*?) \| `([^|`]+)`", re.MULTILINE)


def options():
    """Every option with a value, of every command but `export` and `fleet`, which are Python's."""
    text = (program.ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        command = section.split("\n", 1)[0]
        for names, value in ROW.findall(section):
            if command not in ("export", "fleet") and not value.startswith("="):
                yield command, names.split("`")[1]


def said(*arguments):
    done = program.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_an_option_without_its_value_is_named_with_what_to_give():
    found = list(options())
    assert len(found) > 100
    for command, option in found:
        problem, hint = said(command, option).splitlines()
        assert re.fullmatch(f"error: `{option}` needs (a value|[0-9]+ values)", problem), (command, option)
        assert re.match(f"hint: Give `{option} [^`]+`: .{{8}}", hint), (command, option, hint)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["analyze", "--etdump"],
            "error: `--etdump` needs a value\n"
            "hint: Give `--etdump VALUE`: ETDump files, timeline CSVs, or results directories.\n",
        ),
        (
            ["analyze", "-o"],
            "error: `--out-dir` needs a value\nhint: Give `--out-dir DIR`: write tables and reports here",
        ),
        (
            ["kernels", "--compare", "one.log"],
            "error: `--compare` needs 2 values\n"
            "hint: Give `--compare LOG_ON LOG_OFF`: compare two logs, the one with SME2 first.\n",
        ),
    ],
)
def test_a_hidden_a_short_and_a_long_option(arguments, message):
    assert said(*arguments).startswith(message)


def test_an_option_given_twice():
    assert said("bisect", "--good", "a", "--good", "b", "--", "make", "--bad") == (
        "error: `--good` is given more than once\nhint: See `etprof bisect --help`.\n"
    )
