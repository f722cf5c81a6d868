"""Finds commands in Markdown, and runs them as a reader would: top to bottom, in one shell, in a separate folder.

A block of sh is run, and a command that fails fails the document. `stray_commands` finds a command that hides in another
block. blocks.yaml lists blocks that are not run, with the reason, and commands that run before a block (`setup`). A setup
makes the files that the text mentions, and provokes the messages that the text shows (`fails COMMAND...`). The first line
of a block (`key`) identifies it there.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
from collections.abc import Mapping

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKS = pathlib.Path(__file__).with_name("blocks.yaml")
BLOCK = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^ *```[ \t]*$", re.M | re.S)
# A line such as "etprof export: the file is not there" is a message, not a command.
COMMAND = re.compile(
    r"^\s*(?:\$ +)?(?:build/)?(?:script/[\w-]+|(?:etprof|adb|ssh|pip|python3?|git|cmake)(?= [\w./$<-])(?! [\w-]+: ))"
)


@dataclasses.dataclass(frozen=True)
class Setup:
    """Commands that run before the block with this key; None: at the end of the document."""

    before: str | None
    commands: str


@dataclasses.dataclass(frozen=True)
class Marks:
    """The entries of blocks.yaml for one document."""

    not_run: Mapping[str, str] = dataclasses.field(default_factory=dict)  # reason by key
    setups: tuple[Setup, ...] = ()


def all_marks() -> dict[str, Marks]:
    """Returns the marks by the document's path below ROOT. Raises ValueError for entries of another form."""
    marks = {}
    for name, entry in yaml.safe_load(MARKS.read_text()).items():
        not_run = entry.pop("not run", {})
        setups = tuple(Setup(setup.pop("before", None), setup.pop("commands")) for setup in entry.get("setup", []))
        unknown = [*entry.keys() - {"setup"}, *(key for setup in entry.get("setup", []) for key in setup)]
        silent = [key for key, why in not_run.items() if not (isinstance(why, str) and why.strip())]
        if unknown or silent:
            raise ValueError(f"{MARKS.name}: {name}: unknown {unknown}, without a reason {silent}")
        marks[name] = Marks(not_run, setups)
    return marks


def find_marks(document: pathlib.Path) -> Marks:
    return all_marks().get(str(document.relative_to(ROOT)), Marks())


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block or a setup. `line` is the first line of the body, from 1; for a setup, that of the next block."""

    language: str
    why_not: str  # empty: the block is run
    body: str
    line: int

    @property
    def is_run(self) -> bool:
        return self.language in ("sh", "setup") and not self.why_not

    @property
    def key(self) -> str:
        """Returns the first line without a trailing comment."""
        first = next((line for line in self.body.splitlines() if line.strip()), "")
        return re.split(r"\s+#\s", first)[0].strip()


def find_fenced_blocks(text: str) -> list[Block]:
    """Returns all fenced blocks in the order of the text."""
    found = []
    for match in BLOCK.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        line = text.count("\n", 0, match.start("body")) + 1
        if rest:
            raise ValueError(f"line {line - 1}: what is '{rest}' next to {language}?")
        found.append(Block(language, "", re.sub(rf"^{match['indent']}", "", match["body"], flags=re.M), line))
    return found


def blocks(text: str, marks: Marks = Marks()) -> list[Block]:
    """Returns all blocks and setups in the order in which they run."""
    found = []
    for block in find_fenced_blocks(text):
        found += [Block("setup", "", s.commands, block.line) for s in marks.setups if s.before == block.key]
        found.append(dataclasses.replace(block, why_not=marks.not_run.get(block.key, "")))
    last = text.count("\n") + 1
    return found + [Block("setup", "", s.commands, last) for s in marks.setups if s.before is None]


def wrong_marks(text: str, marks: Marks) -> list[str]:
    """Returns the keys that do not name exactly one block of the text."""
    keys = [block.key for block in find_fenced_blocks(text)]
    named = [*marks.not_run, *(setup.before for setup in marks.setups if setup.before is not None)]
    return [key for key in named if keys.count(key) != 1]


def stray_commands(text: str, marks: Marks = Marks()) -> list[str]:
    """Returns `line: command` for each line that looks like a command in a block without the language sh, or an indented one."""
    in_blocks = [
        (block.line + number, line)
        for block in blocks(text, marks)
        if block.language not in ("sh", "setup") and not block.why_not
        for number, line in enumerate(block.body.splitlines())
    ]
    prose = BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text)
    indented = [(number, line) for number, line in enumerate(prose.splitlines(), 1) if line.startswith("    ")]
    return [f"{number}: {line.strip()}" for number, line in in_blocks + indented if COMMAND.match(line)]


# The Python for `etprof export` if a document does not name one (warm.py); empty: etprof's default.
warm_python = ""

# Commands that measure do so for only two seconds, because the test checks only that they work.
WRAPPER = """#!/bin/bash
# {program} as it is, but for how long it measures.
case "${{1:-}}$([ $# -gt 1 ] && echo +)" in
  profile+|run+|check+|isa+) [[ " $* " == *" --max-seconds "* || " $* " == *" --help "* || " $* " == *" --dry-run "* ||
                        " $* " == *" --analysis-only "* || " $* " == *" --static "* ]] || set -- "$@" --max-seconds 2
                        [ "$1" != isa ] || set -- "$@" --launches 2 ;;
  export*) [ -z {warm} ] || [ -n "${{ETPROF_PYTHON:-}}" ] ||
             export ETPROF_PYTHON={warm} PYTHONPATH={python}"${{PYTHONPATH:+:$PYTHONPATH}}" ;;
esac
exec {program} "$@"
"""


def workspace(folder: pathlib.Path) -> pathlib.Path:
    """Makes a folder that looks like a built checkout and receives all outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (
        ".venv",
        "CMakeLists.txt",
        "CMakePresets.json",
        "README.md",
        "configs",
        "docs",
        "presets",
        "python",
        "pyproject.toml",
        "requirements",
        "script",
        "skills",
        "tests",
    ):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").mkdir()
    for entry in (ROOT / "build").iterdir():
        if entry.name != "etprof":
            (folder / "build" / entry.name).symlink_to(entry)
    wrapper = folder / "build" / "etprof"
    paths = {"program": ROOT / "build/etprof", "warm": warm_python, "python": ROOT / "python"}
    wrapper.write_text(WRAPPER.format(**{name: shlex.quote(str(path)) for name, path in paths.items()}))
    wrapper.chmod(0o755)
    return folder


def script(text: str, marks: Marks = Marks()) -> str:
    """Returns the blocks to run, in order."""
    run = [block for block in blocks(text, marks) if block.is_run]
    return "\n".join(f"echo '=== line {block.line}' >&2\n{block.body}" for block in run)


START = """set -euo pipefail
export PATH="$PWD/build:$PATH"
fails() {
  if "$@"; then echo "did not fail: $*" >&2; exit 1; fi
}
"""


def run_in(
    directory: pathlib.Path, commands: str, variables: Mapping[str, str] | None = None, seconds: float = 1800
) -> subprocess.CompletedProcess[str]:
    """Runs commands as one bash script in a workspace. The script ends at the first failure. TESTS is the folder tests/, and
    `variables` are set, too."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ETPROF_")}
    environment |= {"TESTS": str(ROOT / "tests"), "HOME": str(directory.parent), "NO_COLOR": "1", **(variables or {})}
    return subprocess.run(
        ["/bin/bash", "-c", START + commands],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def run_commands(
    commands: str, folder: pathlib.Path, variables: Mapping[str, str] | None = None, seconds: float = 1800
) -> subprocess.CompletedProcess[str]:
    """Runs commands in a new workspace in `folder`."""
    return run_in(workspace(folder / "workspace"), commands, variables, seconds)


def run(
    text: str,
    folder: pathlib.Path,
    variables: Mapping[str, str] | None = None,
    marks: Marks = Marks(),
) -> subprocess.CompletedProcess[str]:
    """Runs a document's commands. `stderr` names the line of each block as it begins."""
    return run_commands(script(text, marks), folder, variables)
