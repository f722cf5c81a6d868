"""docs/reference/cli.md matches the program's own description."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import program

REFERENCE = program.ROOT / "docs" / "reference" / "cli.md"


def test_it_is_up_to_date():
    generated = program.run("reference")
    assert generated.returncode == 0
    assert REFERENCE.read_text(encoding="utf-8") == generated.stdout, "renew it: script/reference"


def test_the_script_writes_it(tmp_path):
    """Runs the script on a copy, so that the test changes no file."""
    (tmp_path / "script").mkdir()
    pages = ["reference/config.md", "guides/suites.md", "guides/ci.md"]  # these have a table of keys between marks
    for page in pages:
        (tmp_path / "docs" / page).parent.mkdir(parents=True, exist_ok=True)
        text = (program.ROOT / "docs" / page).read_text()
        begin, end = text.index("| key |"), text.index("<!-- end of keys -->")
        (tmp_path / "docs" / page).write_text(text[:begin] + "\n" + text[end:])
    (tmp_path / "python" / "etprof").mkdir(parents=True)
    for name in ("reference", "stub"):
        shutil.copy(program.ROOT / "script" / name, tmp_path / "script")
    python_environment = {"ETPROF_PYTHON": sys.executable, "PYTHONPATH": str(program.ROOT / "python")}
    environment = {"ETPROF": str(program.etprof()), "PATH": "/usr/bin:/bin", **python_environment}
    subprocess.run([tmp_path / "script" / "reference"], env=environment, check=True)
    stub = Path("python", "etprof", "workflows.pyi")
    assert (program.ROOT / stub).read_text() == (tmp_path / stub).read_text(), f"renew {stub}: script/reference"
    for page in [*pages, *(f"reference/{name}.md" for name in ("cli", "csv", "json"))]:
        generated = (tmp_path / "docs" / page).read_bytes()
        assert (program.ROOT / "docs" / page).read_bytes() == generated, f"renew {page}: script/reference"
    schemas = list((tmp_path / "docs" / "schema").iterdir())
    assert {"config", "dry_run", "export", "manifest"} <= {path.name.partition(".")[0] for path in schemas}
    for path in schemas:
        assert (REFERENCE.parents[1] / "schema" / path.name).read_bytes() == path.read_bytes(), (
            "renew it: script/reference"
        )


def test_commands_with_tables_have_all():
    """Commands whose tables may hide columns have the option --all, which the tables mention."""
    sections = re.split(r"^## ", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    with_tables = [section for section in sections if "\n| `--csv` |" in section]
    assert len(with_tables) > 15
    assert [section.split()[0] for section in with_tables if "\n| `--all` |" not in section] == []


def find_undescribed(schema: dict, place: str) -> list[str]:
    found = []
    for key, member in schema.get("properties", {}).items():
        if not member.get("description"):
            found.append(f"{place}.{key}")
        found += find_undescribed(member, f"{place}.{key}")
    nested = [*schema.get("anyOf", []), *schema.get("oneOf", []), schema.get("items")]
    nested.append(schema.get("additionalProperties"))
    for each in nested:
        if isinstance(each, dict):
            found += find_undescribed(each, place)
    for name, definition in schema.get("$defs", {}).items():
        found += find_undescribed(definition, f"{place}/{name}")
    return found


def test_every_key_says_what_it_means(tmp_path):
    completed = program.run("reference", "--schemas", tmp_path / "docs" / "schema")
    assert completed.returncode == 0, completed.stderr
    schemas = sorted((tmp_path / "docs" / "schema").iterdir())
    assert len(schemas) > 20
    for path in schemas:
        assert find_undescribed(json.loads(path.read_text()), path.name) == []


def test_every_column_says_what_it_means(tmp_path):
    completed = program.run("reference", "--schemas", tmp_path / "docs" / "schema")
    assert completed.returncode == 0, completed.stderr
    text = (tmp_path / "docs" / "reference" / "csv.md").read_text(encoding="utf-8")
    columns = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(columns) > 200
    assert [line for line in columns if re.search(r"\|\s*\|$", line)] == []


def test_every_command_and_option_is_in_the_reference_once():
    text = REFERENCE.read_text(encoding="utf-8")
    shown = program.run("--help").stdout
    commands = re.findall(r"^  ([a-z][a-z-]*) +[A-Z]", shown, re.MULTILINE)
    assert re.findall(r"^([A-Z]\w+):$", shown, re.MULTILINE) == [
        "Options",
        "Measure",
        "Analyze",
        "CI",
        "Models",
        "Setup",
    ]
    assert re.findall(r"^## ([a-z-]+)$", text, re.MULTILINE) == commands
    sections = dict(zip(commands, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))
    for command in set(commands) - {"accuracy", "export", "fleet"}:
        help_ = program.run(command, "--help").stdout.partition("Example:")[0]
        named = re.findall(r"`(--[\w-]+)`", re.sub(r"\| [^|]* \|$", "", sections[command], flags=re.MULTILINE))
        assert len(named) == len(set(named)), command
        assert "--csv{" not in help_, "the value of --csv without a table is internal"
        for option in named:
            assert option in help_, (command, option)
        for line in help_.splitlines():
            found = re.match(r" {2}(?:-\w,)?(--[\w-]+)", line)
            assert found is None or found.group(1) in named, (command, line)
    assert "reference" not in commands  # the command is hidden, because it is only useful to developers


def test_the_reference_agrees_with_the_help():
    text = REFERENCE.read_text(encoding="utf-8")
    assert "| `--power-mode` | `unconstrained-boost`, `app-developer` | Power mode of Android" in text
    assert "| `config` (required) | `CONFIG.json` |" in text
    assert "etprof run configs/examples/isa_on_off.json" in text


def test_help_is_in_one_form():
    """Help texts follow the style guide (rules 21 and 22): capitalized, no final period, "(default: X)"."""
    text = REFERENCE.read_text(encoding="utf-8")
    for meaning in re.findall(r"^\| `.*\| ([^|]+) \|$", text, re.MULTILINE):
        if meaning == "show this help message and exit":  # text of argparse
            continue
        assert not meaning.endswith("."), meaning
        assert re.match("[A-Z0-9]", meaning), meaning
        assert not re.search(r"\[[^\]]*\]$", meaning), meaning


def test_the_kits_options_are_accepted_and_hidden(tmp_path):
    for arguments in (
        ("analyze", "--run-dir"),
        ("trace", "--etdump"),
        ("run", "--config"),
        ("kernels", "--xnntrace"),
        ("validate", "--results"),
        ("report", "--mac-dir"),
    ):
        missing = tmp_path / "nowhere"
        completed = program.run(*arguments, missing)
        assert completed.returncode == 3, (arguments, completed.stderr)
        assert str(missing) in completed.stderr
        assert arguments[1] not in program.run(arguments[0], "--help").stdout
    assert "--platform" not in program.run("quick-test", "--help").stdout
