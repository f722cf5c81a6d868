"""The terminal output: one screen, everything with --all, and ASCII if the locale is not UTF-8."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODEL = program.DATA / "toy_cnn.pte"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"
VARIANTS = [program.DATA / "sme2_emulated" / f"toy_q8.sme2_{variant}.etdump" for variant in ("off", "on")]
# Lines of a report that only --all shows. The last one appears only if there is a finding.
LINES_OF_ALL = [
    r"^  (All|Most expensive) operators",
    r"^  By category",
    r"^  By delegate",
    r"^ +▲ median; a column's height",
    r"^ +How: \S",
]
FULL_SCREEN = 40  # lines


def run_screen(*arguments: str | Path, width: int = 80) -> str:
    completed = program.run(*arguments, width=width)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def find_lines(pattern: str, text: str) -> bool:
    return re.search(pattern, text, flags=re.MULTILINE) is not None


def with_locale(*arguments: str | Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LC_CTYPE", "LANG")}
    completed = subprocess.run(
        [program.etprof(), *map(str, arguments)], cwd=program.ROOT, capture_output=True, check=True,
        env={**environment, "COLUMNS": "80", **variables},
    )  # fmt: skip
    return completed.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The results directory of toy_cnn with two masks, and the machine's peaks."""
    out = tmp_path_factory.mktemp("screen") / "run"
    completed = program.run("profile", MODEL, "--vs", "isa=none", "--launches", 2, "--output-root", out)
    assert completed.returncode == 0, completed.stderr
    return out


@pytest.mark.parametrize(
    "command",
    [["analyze", ETDUMP], ["report", ETDUMP], ["compare", *VARIANTS], ["analyze", *VARIANTS]],
    ids=lambda command: " ".join(Path(word).name for word in command),
)
def test_all_shows_a_whole_report(command):
    if command[0] != "report":  # this command writes its report and does not show it
        brief_screen = run_screen(*command)
        assert len(brief_screen.splitlines()) <= FULL_SCREEN
        assert "Use --all for every operator" in brief_screen
        assert not any(find_lines(pattern, brief_screen) for pattern in LINES_OF_ALL)
    before = sorted(ETDUMP.parent.iterdir())
    full_screen = run_screen(*command, "--all")
    for pattern in LINES_OF_ALL:
        assert find_lines(pattern, full_screen), pattern
    assert "--all" not in full_screen
    assert sorted(ETDUMP.parent.iterdir()) == before, "nothing is written"


def test_all_shows_every_note(tmp_path):
    files = [ETDUMP, *(shutil.copy(ETDUMP, tmp_path / f"toy_{variant}.etdump") for variant in ("off", "on"))]
    brief, full_screen = run_screen("analyze", *files), run_screen("analyze", *files, "--all")
    assert find_lines(r"^  warning  the two variants", brief) and find_lines(r"and 1 more \(--all shows them\)", brief)
    assert find_lines(r"^ +the delegate's operators are timed in whole", full_screen)


def test_profile_and_run_and_what_they_left(folder, tmp_path):
    analyze_only = ["run", folder / "config.json", "--analysis-only", "--output-root", folder]
    for command in (analyze_only, ["analyze", folder, "--no-timeline"]):
        brief_screen = run_screen(*command)
        full_screen = run_screen(*command, "--all")
        # The numbers of findings and warnings depend on other load of this machine.
        for pattern in LINES_OF_ALL[:-1]:
            assert find_lines(pattern, full_screen) and not find_lines(pattern, brief_screen), pattern
        assert "  Roofline: " in full_screen
        assert "FLOP/s\n" in full_screen
    options = ["--launches", 2, "--max-seconds", 2, "--no-peaks", "--output-root", tmp_path / "out"]
    measured = run_screen("profile", MODEL, *options, "--all")
    for pattern in LINES_OF_ALL[:-1]:
        assert find_lines(pattern, measured), pattern


def test_by_roofline_plots_above_its_table(folder):
    brief_screen = run_screen("analyze", folder, "--by", "roofline", "--no-timeline")
    letters = re.findall(r"^  ([A-Z])  \S", brief_screen, flags=re.MULTILINE)
    picture = [line for line in brief_screen.splitlines() if re.match(r"^.{8}[│┤]", line)]
    assert len(picture) >= 10
    assert letters and all(any(letter in line[9:] for line in picture) for letter in letters)
    full_screen = run_screen("analyze", folder, "--by", "roofline", "--all", "--no-timeline")
    assert full_screen.count("FLOP/s\n") == 2 * brief_screen.count("FLOP/s\n"), "both sides"


def test_all_shows_a_whole_check(folder):
    limits = ["--max-slowdown=1000%", "--max-operator-slowdown=100000%"]
    brief_screen = program.run("check", folder, *limits)
    # This width truncates no name, whatever the number of digits.
    full_screen = program.run("check", folder, *limits, "--all", width=140)
    assert (brief_screen.returncode, brief_screen.stderr) == (full_screen.returncode, full_screen.stderr)
    (pair,) = json.loads(program.run("check", folder, *limits, "--json").stdout)["pairs"]
    operators = [check for check in pair["checks"] if check["check"] == "operator"]
    # If other processes used the processor, no check passes.
    hidden_passes = re.search(r"pass(es)? \(--all shows them\)", brief_screen.stdout) is not None
    assert hidden_passes == any(check["result"] == "pass" for check in operators)
    assert "--all" not in full_screen.stdout
    for operator in operators:
        assert operator["name"] in full_screen.stdout.split("operators that changed")[0]


@pytest.mark.parametrize(
    "command", ["analyze", "check", "compare", "inspect", "isa", "kernels", "profile", "report", "run"]
)
def test_all_has_its_line_in_the_help_and_the_docs(command):
    assert find_lines(r"^ +--all +\S", run_screen(command, "--help"))
    section = (program.ROOT / "docs/concepts/reading.md").read_text(encoding="utf-8").split("## The screen")[1]
    assert f"`{command}`" in section.split("\n## ")[0]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_terminal(folder, width):
    for command in (["analyze", folder, "--no-timeline"], ["compare", *VARIANTS], ["inspect", MODEL]):
        for options in ([], ["--all"]):
            for line in run_screen(*command, *options, width=width).splitlines():
                # A path has no blank at which it could wrap.
                path = str(folder) in line or re.fullmatch(r" +\S+/\S+", line)
                assert len(line) <= width or path, line


@pytest.mark.parametrize("variables", [{"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, {"LC_CTYPE": "C"}, {"LANG": "C"}])
def test_without_utf8_the_screen_is_ascii(folder, variables):
    commands = [
        ["analyze", folder, "--no-timeline", "--all"],
        ["analyze", folder, "--no-timeline", "--by", "layer"],
        ["analyze", ETDUMP, *VARIANTS],
        ["compare", *VARIANTS],
        ["inspect", MODEL],
        ["isa"],
    ]
    for command in commands:
        text = with_locale(*command, **variables)
        assert text.isascii(), command
        assert "\\x" not in text
    assert "###" in with_locale("compare", *VARIANTS, **variables)
    # Output for programs does not change.
    assert "median" in with_locale("report", folder, "--brief", **variables)
    assert with_locale("report", folder, "--json", **variables) == with_locale(
        "report", folder, "--json", LC_ALL="C.UTF-8"
    )


def test_the_screen_has_bars_with_utf8_or_an_unset_locale():
    for variables in ({"LANG": "en_US.UTF-8"}, {"LC_ALL": "C.UTF-8", "LANG": "C"}, {}):
        assert "█" in with_locale("compare", *VARIANTS, **variables)


def test_colors_on_a_terminal_alone():
    """Verdicts have colors on a pseudo-terminal, but not with NO_COLOR, on a dumb terminal, or in a pipe."""
    script = shutil.which("script")
    if script is None:
        pytest.skip("no `script` to make a pseudo-terminal with")

    def run_on_terminal(**variables: str) -> bool:
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        completed = subprocess.run(
            [script, "-qec", f"{program.etprof()} analyze {ETDUMP}", "/dev/null"], capture_output=True, check=True,
            env={**environment, "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables},
        )  # fmt: skip
        return b"\x1b[" in completed.stdout

    assert run_on_terminal()
    assert not run_on_terminal(NO_COLOR="1")
    assert not run_on_terminal(TERM="dumb")
    assert "\x1b" not in with_locale("analyze", ETDUMP, TERM="xterm")


@pytest.mark.parametrize("command", ["analyze", "devices", "--version"])
def test_a_reader_that_leaves_is_no_error(command, tmp_path):
    """`etprof ... | head -1` prints nothing on stderr and ends by SIGPIPE. A full disk is an error."""
    arguments = [command, *([program.DATA / "toy_cnn.t1.etdump", "--all"] if command == "analyze" else [])]
    # A fake adb, because a real one would print messages of its server on stderr.
    (tmp_path / "adb").write_text("#!/bin/sh\necho List of devices attached\n")
    (tmp_path / "adb").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = '"$0" "$@" | true; echo ${PIPESTATUS[0]}'
    for _ in range(5):  # `true` may end before or after the output
        completed = subprocess.run(
            ["/bin/bash", "-c", script, program.etprof(), *arguments], capture_output=True, text=True, env=env
        )
        assert completed.stderr == ""
        assert completed.stdout in ("141\n", "0\n")
    with Path("/dev/full").open("w") as full:
        completed = subprocess.run(
            [program.etprof(), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=env
        )
    if command != "--version":
        assert completed.returncode == 4
        assert (
            completed.stderr
            == "error: Could not write to the standard output\nhint: Check the free space where it goes.\n"
        )
