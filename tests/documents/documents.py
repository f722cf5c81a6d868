"""Commands in Markdown, and running them as a reader would: top to bottom, in one shell, in a folder of their own.

    ```sh                          is run; a command that fails fails the document
    ```sh not run: NO PHONE HERE   is not, and says why
    ```text, ```json, ...          is no command: `stray_commands` finds one that hides there

A comment `<!-- setup ... -->` in the document, which no reader sees, is run where it stands: it makes the files that
the text speaks of. In it `fails COMMAND...` runs what has to fail: a message that the text shows is provoked there.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
from collections.abc import Mapping

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^ *```[ \t]*$", re.M | re.S)
SETUP = re.compile(r"^<!-- setup\n(?P<body>.*?)^-->$", re.M | re.S)
# "etprof export: the file is not there" is what a command says.
COMMAND = re.compile(
    r"^\s*(?:\$ +)?(?:build/)?(?:script/[\w-]+|(?:etprof|adb|ssh|pip|python3?|git|cmake)(?= [\w./$<-])(?! [\w-]+: ))"
)
NOT_RUN = "not run:"


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block or setup comment: `line` is the first of its body, from 1."""

    language: str
    why_not: str  # empty: it is run
    body: str
    line: int

    @property
    def is_run(self) -> bool:
        return self.language in ("sh", "setup") and not self.why_not


def blocks(text: str) -> list[Block]:
    """Every block, in the order of the text."""
    found = []
    for match in BLOCK.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        if rest.startswith(NOT_RUN) and not rest.removeprefix(NOT_RUN).strip():
            raise ValueError(f"line {text.count(chr(10), 0, match.start()) + 1}: '{NOT_RUN}' without a reason")
        if rest and not rest.startswith(NOT_RUN):
            raise ValueError(f"line {text.count(chr(10), 0, match.start()) + 1}: what is '{rest}' beside {language}?")
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.M)
        line = text.count("\n", 0, match.start("body")) + 1
        found.append((match.start(), Block(language, rest.removeprefix(NOT_RUN).strip(), body, line)))
    for match in SETUP.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        found.append((match.start(), Block("setup", "", match["body"], line)))
    return [block for _, block in sorted(found, key=lambda item: item[0])]


def stray_commands(text: str) -> list[str]:
    """`line: command` of each line that looks like a command in a block that is not sh, or in an indented one."""
    fenced = [
        (block.line + number, line)
        for block in blocks(text)
        if block.language not in ("sh", "setup") and not block.why_not
        for number, line in enumerate(block.body.splitlines())
    ]
    prose = BLOCK.sub(
        lambda match: "\n" * match[0].count("\n"), SETUP.sub(lambda match: "\n" * match[0].count("\n"), text)
    )
    indented = [(number, line) for number, line in enumerate(prose.splitlines(), 1) if line.startswith("    ")]
    return [f"{number}: {line.strip()}" for number, line in fenced + indented if COMMAND.match(line)]


# What takes its time measures for two seconds here: that the command works is what is tested.
WRAPPER = """#!/bin/bash
# {program} as it is, but for how long it measures.
case "${{1:-}}$([ $# -gt 1 ] && echo +)" in
  profile+|run+|check+|isa+) [[ " $* " == *" --max-seconds "* || " $* " == *" --help "* || " $* " == *" --dry-run "* ||
                        " $* " == *" --analysis-only "* ]] || set -- "$@" --max-seconds 2
                        [ "$1" != isa ] || set -- "$@" --launches 2 ;;
esac
exec {program} "$@"
"""


def workspace(folder: pathlib.Path) -> pathlib.Path:
    """A folder that looks like a checkout that was built, whose outputs stay in it."""
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
    wrapper.write_text(WRAPPER.format(program=shlex.quote(str(ROOT / "build/etprof"))))
    wrapper.chmod(0o755)
    return folder


def script(document: str) -> str:
    """The blocks that are run, one after the other."""
    return "\n".join(f"echo '=== line {block.line}' >&2\n{block.body}" for block in blocks(document) if block.is_run)


START = """set -euo pipefail
export PATH="$PWD/build:$PATH"
fails() {
  if "$@"; then echo "did not fail: $*" >&2; exit 1; fi
}
"""


def run_in(
    there: pathlib.Path, commands: str, variables: Mapping[str, str] | None = None, seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs them as one bash script, which ends at the first that fails, in a workspace. TESTS is the folder tests/;
    `variables` are set too."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ETPROF_")}
    environment |= {"TESTS": str(ROOT / "tests"), "HOME": str(there.parent), "NO_COLOR": "1", **(variables or {})}
    return subprocess.run(
        ["/bin/bash", "-c", START + commands],
        cwd=there,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def run_commands(
    commands: str, folder: pathlib.Path, variables: Mapping[str, str] | None = None, seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """The same in a new workspace in `folder`."""
    return run_in(workspace(folder / "workspace"), commands, variables, seconds)


def run(
    document: pathlib.Path, folder: pathlib.Path, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a document's commands. `stderr` names the line of each block as it begins."""
    return run_commands(script(document.read_text()), folder, variables)
