"""docs/reference/cli.md is what the program says of itself."""

import re
import subprocess

import program

REFERENCE = program.ROOT / "docs" / "reference" / "cli.md"


def test_it_is_up_to_date():
    made = program.run("reference")
    assert made.returncode == 0
    assert REFERENCE.read_text(encoding="utf-8") == made.stdout, "renew it: script/reference"


def test_the_script_writes_it(tmp_path):
    """On a copy, so that the test changes nothing."""
    (tmp_path / "script").mkdir()
    (tmp_path / "docs").mkdir()
    script = tmp_path / "script" / "reference"
    script.write_text((program.ROOT / "script" / "reference").read_text())
    script.chmod(0o755)
    subprocess.run([script], env={"ETPROF": str(program.etprof()), "PATH": "/usr/bin:/bin"}, check=True)
    assert (tmp_path / "docs" / "reference" / "cli.md").read_bytes() == REFERENCE.read_bytes()
    schemas = list((tmp_path / "docs" / "schema").iterdir())
    assert {"config", "dry_run", "manifest"} <= {path.name.partition(".")[0] for path in schemas}
    for path in schemas:
        assert (REFERENCE.parents[1] / "schema" / path.name).read_bytes() == path.read_bytes(), (
            "renew it: script/reference"
        )


def test_every_command_and_option_stands_in_it_once():
    text = REFERENCE.read_text(encoding="utf-8")
    shown = program.run("--help").stdout.partition("Subcommands:")[2]
    commands = re.findall(r"^  ([a-z-]+) +[a-z]", shown, re.MULTILINE)
    assert re.findall(r"^## ([a-z-]+)$", text, re.MULTILINE) == commands
    sections = dict(zip(commands, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))
    for command in set(commands) - {"export"}:
        help_ = program.run(command, "--help").stdout.partition("Example:")[0]
        named = re.findall(r"`(--[\w-]+)`", re.sub(r"\| [^|]* \|$", "", sections[command], flags=re.MULTILINE))
        assert len(named) == len(set(named)), command
        for option in named:
            assert option in help_, (command, option)
        for line in help_.splitlines():
            found = re.match(r" {2}(?:-\w,)?(--[\w-]+)", line)
            assert found is None or found.group(1) in named, (command, line)
    assert "reference" not in commands  # hidden: it is of no use to who measures


def test_it_says_what_the_help_says():
    text = REFERENCE.read_text(encoding="utf-8")
    assert "| `--power-mode` | `unconstrained-boost`, `app-developer` | Android:" in text
    assert "| `config`, `--config` (needed) | `CONFIG.json` |" in text
    assert "etprof run configs/examples/isa_on_off.json" in text
