"""`etprof completion`: the scripts in real shells, compared with what --help says."""

import functools
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import program
import pytest

from etprof.backends import BUILT_IN

COMMANDS = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", program.run("--help").stdout, re.MULTILINE)


@functools.cache
def read_options(command: str) -> set[str]:
    """Returns the options in --help, which stand at the start of a line, short names first."""
    text = program.run(*command.split(), "--help").stdout
    found: set[str] = set()
    if command == "fleet":  # each of its actions has options
        actions = re.findall(r"^ {4}([a-z]+) +[A-Z]", text, re.MULTILINE)
        found = set().union(*(read_options(f"fleet {action}") for action in actions))
    for line in text.partition("Example:")[0].splitlines():
        names = re.match(r" {2}((?:-[\w-]+(?:, ?)?)+)", line)
        if names:
            found |= {name for name in re.split(", ?", names.group(1)) if name.startswith("-")}
        else:  # [Option Group]-style lists of a positional with names: "  path,--run-dir ..."
            found |= set(re.findall(r"--[\w-]+", line.split(" ")[2] if line.startswith("  ") else ""))
    return found


def shell(name: str) -> str:
    found = shutil.which(name)
    if found:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot be skipped in CI: {name} is not installed (script/bootstrap --dev)")
    return pytest.skip(f"{name} is not installed: run script/bootstrap --dev")


@pytest.fixture
def work_folder(tmp_path) -> Path:
    """A folder with files and folders to be completed."""
    for name in ("net work.pte", "config.json"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    return tmp_path


@pytest.fixture(scope="session")
def scripts(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    for name in ("bash", "zsh", "fish"):
        completed = program.run("completion", name)
        assert completed.returncode == 0, completed.stderr
        (folder / name).write_text(completed.stdout, encoding="utf-8")
    return {name: folder / name for name in ("bash", "zsh", "fish")}


def bash(scripts, work_folder: Path, *arguments: str) -> set[str]:
    """Returns bash's completions of the last word. Words are split as bash does ("=" is a separate word)."""
    line = " ".join(shlex.quote(word) for word in ("etprof", *arguments))
    text = (
        f"source {shlex.quote(str(scripts['bash']))}\n"
        f"COMP_WORDS=({line}); COMP_CWORD={len(arguments)}\n"
        "_etprof\n"
        """for word in "${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done\n"""  # echo takes "-n" for its own option
    )
    completed = subprocess.run(
        [shell("bash"), "--norc", "-u", "-c", text], cwd=work_folder, capture_output=True, text=True
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    return set(completed.stdout.splitlines())


def test_every_command_and_option_of_the_help_is_completed(scripts, work_folder):
    assert {"run", "quick-test", "completion"} < set(COMMANDS)
    assert bash(scripts, work_folder, "") == set(COMMANDS)
    for command in ["", *COMMANDS]:
        arguments = (command, "-") if command else ("-",)
        assert bash(scripts, work_folder, *arguments) == read_options(command), command
    assert "--dry-run" in bash(scripts, work_folder, "run", "--")
    assert {"--help", "-h", "--quantize", "--no-check"} < bash(scripts, work_folder, "export", "-")


def test_values_are_completed(scripts, work_folder):
    modes = {"unconstrained-boost", "app-developer"}
    assert bash(scripts, work_folder, "run", "c.json", "--power-mode", "") == modes
    assert bash(scripts, work_folder, "run", "c.json", "--power-mode", "=", "") == modes
    assert bash(scripts, work_folder, "run", "c.json", "--power-mode", "=") == modes
    assert bash(scripts, work_folder, "profile", "--power-mode", "app") == {"app-developer"}
    assert bash(scripts, work_folder, "trace", "x", "--format", "") == {"perfetto", "chrome"}
    assert {"layer", "source", "roofline"} < bash(scripts, work_folder, "analyze", "--by", "")
    assert "comparison" in bash(scripts, work_folder, "compare", "a", "b", "--csv", "=", "")
    assert bash(scripts, work_folder, "completion", "") == {"bash", "zsh", "fish"}
    # Options of the exporter, which is written in Python.
    assert bash(scripts, work_folder, "export", "--dtype", "") == {"fp32", "fp16", "bf16", "int8", "int8dyn", "8da4w"}
    assert bash(scripts, work_folder, "export", "--quantize", "s") == {"static"}
    assert bash(scripts, work_folder, "export", "--backend", "") == set(BUILT_IN)
    # Only etprof's own models are offered, because only a Python with PyTorch knows ExecuTorch's examples.
    offered = bash(scripts, work_folder, "export", "--model", "") - {path.name for path in work_folder.iterdir()}
    assert {"toy_cnn", "llm_decoder"} < offered <= set(program.run("export", "--list-models").stdout.split())
    assert bash(scripts, work_folder, "export", "--model", "toy") == {"toy_cnn"}
    assert bash(scripts, work_folder, "export", "--name", "") == set()
    # A number cannot be completed: no files and no commands are offered.
    assert bash(scripts, work_folder, "run", "--launches", "") == set()
    # A flag takes no value, so the next word is the configuration.
    assert "config.json" in bash(scripts, work_folder, "run", "--resume", "")
    # The name of a table is only accepted behind "=".
    assert "config.json" in bash(scripts, work_folder, "analyze", "--csv", "")


def test_files_and_folders_are_completed_where_they_are_expected(scripts, work_folder):
    all_files = {"net work.pte", "config.json", "runs"}
    assert bash(scripts, work_folder, "run", "") == all_files
    assert bash(scripts, work_folder, "profile", "net") == {"net work.pte"}
    assert bash(scripts, work_folder, "profile", "net work.pte", "--runner", "") == all_files
    assert bash(scripts, work_folder, "run", "--output-root", "") == {"runs"}
    assert all_files < bash(scripts, work_folder, "export", "")
    assert bash(scripts, work_folder, "export", "net") == {"net work.pte"}
    assert bash(scripts, work_folder, "export", "--calibrate", "") == all_files
    assert bash(scripts, work_folder, "export", "--outdir", "") == {"runs"}
    assert bash(scripts, work_folder, "isa", "--threads", "") == set()
    assert bash(scripts, work_folder, "doctor", "") == set()


def test_a_value_that_is_offered_is_taken(scripts, work_folder):
    """Uses the parser as an oracle: a value that is not offered is refused."""
    for value in sorted(bash(scripts, work_folder, "trace", "--format", "")):
        assert "--format" not in program.run("trace", "nowhere", "--format", value).stderr
    assert program.run("trace", "nowhere", "--format", "svg").returncode == 2
    assert program.run("completion", "tcsh").returncode == 2


def test_fish(scripts, work_folder):
    fish = shell("fish")

    def complete(line: str) -> dict[str, str]:
        text = f"source {scripts['fish']}; complete -C {shlex.quote(line)}"
        completed = subprocess.run([fish, "--no-config", "-c", text], cwd=work_folder, capture_output=True, text=True)
        assert (completed.returncode, completed.stderr) == (0, "")
        return dict((line + "\t").split("\t")[:2] for line in completed.stdout.splitlines())

    assert set(complete("etprof ")) == set(COMMANDS)
    assert complete("etprof va")["validate"].startswith("Verify the integrity")
    for command in COMMANDS:
        longs = {name for name in read_options(command) if name.startswith("--")}
        assert {name.rstrip("=") for name in complete(f"etprof {command} --")} == longs, command
    assert set(complete("etprof run --power-mode ")) == {"unconstrained-boost", "app-developer"}
    assert set(complete("etprof completion ")) >= {"bash", "zsh", "fish"}
    assert "config.json" in complete("etprof run ")
    assert {"toy_cnn", "config.json"} < set(complete("etprof export "))
    assert {"toy_cnn", "config.json"} < set(complete("etprof export --model "))
    assert set(complete("etprof export --dtype ")) == {"fp32", "fp16", "bf16", "int8", "int8dyn", "8da4w"}
    assert set(complete("etprof export --backend ")) == set(BUILT_IN)
    assert set(complete("etprof run --output-root ")) == {"runs/"}
    assert complete("etprof run --launches ") == {}


class Zsh:
    """An interactive zsh on a terminal. `complete` types a line and a tab, and returns the resulting line."""

    def __init__(self, program_: str, script: Path, folder: Path):
        self.line = folder / "line"
        self.folder = folder
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.update({"TERM": "dumb", "HOME": str(folder), "PS1": "> "})
            os.execv(program_, [program_, "-f", "-i"])  # noqa: S606
        self.pid = pid
        setup = (
            f"autoload -Uz compinit && compinit -u -D && source {script}; "
            f"dump() {{ print -r -- $BUFFER >{self.line}.new; mv {self.line}.new {self.line}; BUFFER= }}; "
            "zle -N dump; bindkey '^T' dump; bindkey '^I' complete-word; touch ready"
        )
        self.type(setup + "\n")
        self.wait_for(folder / "ready")
        (folder / "ready").unlink()

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_for(self, path: Path) -> None:
        end = time.monotonic() + 240
        while not path.exists():
            assert time.monotonic() < end, f"zsh did not write {path.name}"
            if select.select([self.terminal], [], [], 0.02)[0]:
                os.read(self.terminal, 65536)

    def complete(self, line: str) -> str:
        self.line.unlink(missing_ok=True)
        self.type(line + "\t\x14")
        self.wait_for(self.line)
        return self.line.read_text().rstrip("\n")

    def close(self) -> None:
        self.type("\x03\x04exit\n")
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def test_zsh(scripts, work_folder):
    zsh = Zsh(shell("zsh"), scripts["zsh"], work_folder)
    try:
        assert zsh.complete("etprof valid") == "etprof validate "
        assert zsh.complete("etprof quick") == "etprof quick-test "
        assert zsh.complete("etprof run --dry") == "etprof run --dry-run "
        assert zsh.complete("etprof trace x --format chr") == "etprof trace x --format chrome "
        assert zsh.complete("etprof trace x --format=chr") == "etprof trace x --format=chrome "
        assert zsh.complete("etprof run conf") == "etprof run config.json "
        assert zsh.complete("etprof run --output-root ru") == "etprof run --output-root runs/"
        assert zsh.complete("etprof run --output-root conf") == "etprof run --output-root conf"
        assert zsh.complete("etprof run --launches conf") == "etprof run --launches conf"
        assert zsh.complete("etprof export --save") == "etprof export --save-graph "
        assert zsh.complete("etprof export --model toy") == "etprof export --model toy_cnn "
        assert zsh.complete("etprof export --model conf") == "etprof export --model config.json "
        assert zsh.complete("etprof export --dtype bf") == "etprof export --dtype bf16 "
        assert zsh.complete("etprof completion fi") == "etprof completion fish "
    finally:
        zsh.close()


def test_the_scripts_are_words_of_their_shells(scripts):
    for name in ("bash", "zsh", "fish"):
        completed = subprocess.run([shell(name), "-n", str(scripts[name])], capture_output=True, text=True)
        assert (completed.returncode, completed.stderr) == (0, "")
