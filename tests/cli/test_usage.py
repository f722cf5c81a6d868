"""Messages for invalid command lines."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ETDUMP = program.DATA / "toy_cnn.t1.etdump"
ROW = re.compile(r"^\| (`-[^|]*?) \| `([^|`]+)`", re.MULTILINE)


def options():
    """Returns all options with a value, of all commands except `accuracy`, `export`, and `fleet`, written in Python."""
    text = (program.ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        command = section.split("\n", 1)[0]
        for names, value in ROW.findall(section):
            if command not in ("accuracy", "export", "fleet") and not value.startswith("="):
                yield command, names.split("`")[1]


def run_refused(*arguments):
    completed = program.run(*arguments)
    assert (completed.returncode, completed.stdout) == (2, "")
    return completed.stderr


def test_an_option_without_its_value_is_named_with_what_to_give():
    found = list(options())
    assert len(found) > 100
    for command, option in found:
        problem, hint = run_refused(command, option).splitlines()
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
            "error: `--out-dir` needs a value\nhint: Give `--out-dir DIR`: folder for tables and reports",
        ),
        (
            ["profile", "net.pte", "--vs", "threads=2", "-o", "out"],
            "error: Unknown option `-o`\n",
        ),
        (
            ["kernels", "--compare", "one.log"],
            "error: `--compare` needs 2 values\n"
            "hint: Give `--compare LOG_ON LOG_OFF`: compare two logs, the one with SME2 first.\n",
        ),
    ],
)
def test_a_hidden_a_short_and_a_long_option(arguments, message):
    assert run_refused(*arguments).startswith(message)


def test_an_option_given_twice():
    assert run_refused("bisect", "--good", "a", "--good", "b", "--", "make", "--bad") == (
        "error: `--good` is given more than once\nhint: See `etprof bisect --help`.\n"
    )


@pytest.mark.parametrize("other", [["--json"], ["--csv"], ["--markdown", "-"]])
def test_only_one_result_goes_to_the_standard_output(other):
    completed = program.run("analyze", program.DATA / "toy_cnn.t1.etdump", "--html", "-", *other)
    assert completed.returncode == 2
    assert completed.stdout == ""
    assert "can write to the standard output" in program.one_error(completed.stderr)
    assert program.run("analyze", program.DATA / "toy_cnn.t1.etdump", "--html", "-", "--quiet").returncode == 0


@pytest.mark.parametrize("shown", [["--json"], ["--csv", "operators"], ["--by", "kernel"]])
def test_nothing_is_shown_with_quiet(shown):
    for command, file in (("analyze", ETDUMP), ("kernels", program.DATA / "toy_cnn.t1.log")):
        if command == "kernels" and shown[0] == "--by":
            continue
        arguments = ["--csv=operators"] if command == "analyze" and shown[0] == "--csv" else shown
        message = run_refused(command, file, "--quiet", *arguments)
        assert "`--quiet`" in message and f"`{shown[0]}`" in message and "do not go together" in message


def test_a_table_of_another_command_is_refused_before_a_measurement():
    assert "is not a table that every run has" in run_refused("profile", program.DATA / "toy_cnn.pte", "--csv=ladder")


def test_nan_is_not_a_number():
    for option, low, high in (
        ("--margin", "0.000001", "1"),
        ("--max-seconds", "0.1", "1000000"),
        ("--wait-minutes", "0", "10000"),
    ):
        assert run_refused("profile", program.DATA / "toy_cnn.pte", option, "nan") == (
            f"error: `{option} nan` is not a number from {low} to {high}\nhint: See `etprof profile --help`.\n"
        )


def test_a_percentage_where_a_share_is_expected():
    assert run_refused("profile", program.DATA / "toy_cnn.pte", "--precision", "5%") == (
        "error: `--precision 5%` is not a number from 0.000001 to 1\n"
        "hint: Give it as a share: `--precision 0.05`. See `etprof profile --help`.\n"
    )
    assert run_refused("profile", program.DATA / "toy_cnn.pte", "--wait-minutes", "5%").endswith("--help`.\n")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--vs", "threads=2", "--vs", "threads=2"], "`--vs threads=2` is given more than once"),
        (
            ["--vs", "isa=-avx,threads=2", "--threads", "1,2"],
            "`--vs isa=-avx,threads=2` and several numbers of `--threads` do not go together",
        ),
        (["--inputs", "ones", "--inputs", "random"], "`--inputs ones` is for all inputs of the method"),
        (["--max-temp-wait", "30"], "`--max-temp-wait` needs `--max-temp`"),
    ],
)
def test_options_of_a_measurement_that_contradict(options, problem):
    assert run_refused("profile", program.DATA / "toy_cnn.pte", *options).startswith(f"error: {problem}\nhint: ")


def test_too_many_arguments():
    assert run_refused("check", "a.pte", "b.pte", "c.pte").startswith(
        "error: `path` takes at most 2 values, and 3 are given\n"
    )


@pytest.mark.parametrize("option", ["--junit={}", "--html={}", "--github-summary={}", "--github-summary={}/no/file"])
def test_an_output_that_cannot_be_written_is_known_before_it_measures(option, tmp_path):
    models = [program.DATA / "toy_cnn.pte", "--candidate", "threads=2", "--output-root", tmp_path / "out"]
    completed = program.run("check", *models, option.format(tmp_path))
    assert completed.returncode == 4
    assert "cannot be written: " in completed.stderr
    assert not list(tmp_path.iterdir())


def test_a_missing_model_is_known_before_wheels_are_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("ETPROF_DEVICE_DIR", str(tmp_path))
    completed = program.run("versions", "missing.pte", "--versions", "1.4.1,1.5.1")
    assert completed.returncode == 3
    assert completed.stderr.startswith("error: `") and "missing.pte`: no such file\n" in completed.stderr


@pytest.mark.parametrize("limit", ["--max-cache-growth", "--max-first-token-slowdown"])
def test_limits_of_language_models_are_not_ignored(limit):
    model = program.DATA / "toy_cnn.pte"
    assert "need `--generate`" in run_refused("check", model, model, limit, "5%")


def test_a_plan_of_a_suite_without_a_time_limit_has_no_upper_bound(tmp_path):
    suite = {"models": [str(program.DATA / "toy_cnn.pte")], "launches": 2}
    file = tmp_path / "s.json"
    for limit, text in (({}, "no upper bound"), ({"max_minutes": 2}, "at most 2 min")):
        file.write_text(json.dumps(suite | limit))
        plan = program.run("suite", file, "--dry-run").stdout
        assert f"\n{text.capitalize()}" in plan and f"1 cell, {text}\n" in plan


@pytest.mark.parametrize("command", ["analyze", "report", "trace", "validate", "inspect", "kernels", "profile", "isa"])
def test_an_empty_name_is_not_the_current_folder(command):
    """An empty value, as from a shell variable that is not set."""
    assert re.match("error: `[a-z]+` is empty\nhint: ", run_refused(command, ""))


@pytest.mark.parametrize(
    "arguments", [("--versions", ",,", "--launches", "2"), ("--threads=,",), ("--inputs", ","), ("--inputs=[]",)]
)
def test_a_list_without_an_item_does_not_take_the_next_option(arguments):
    value = " ".join(arguments[:2]).replace("=", " ")
    assert run_refused("versions", program.DATA / "toy_cnn.pte", *arguments).startswith(
        f"error: `{value}` has no value\n"
    )


def test_a_hidden_option_is_named():
    expected = "error: `--platform` does not take `nope`\nhint: Give one of mac, linux, android."
    assert run_refused("quick-test", "--platform", "nope").startswith(expected)
    assert run_refused("quick-test", "--platform=nope").startswith(expected)
    assert "Give `--platform VALUE`: mac,linux,android" in run_refused("quick-test", "--platform")


def test_an_empty_output_name_is_reported():
    assert run_refused("analyze", ETDUMP, "-o", "").startswith("error: `--out-dir` is empty\n")
    assert run_refused("compare", ETDUMP, "").startswith("error: `candidate` is empty\n")


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_every_name_of_stdout_is_stdout(name):
    for option in ("--html", "--markdown", "--document"):
        assert program.run("analyze", ETDUMP, option, name).stdout == program.run("analyze", ETDUMP, option, "-").stdout
    for other in ("--json", "--csv=operators"):
        assert "can write to the standard output" in run_refused("analyze", ETDUMP, "--html", name, other)
    report = program.run("report", ETDUMP, ETDUMP, "--out", name)
    assert report.returncode == 0, report.stderr
    assert report.stdout.startswith("# ") and name not in report.stdout


@pytest.mark.parametrize("option", ["--json", "--csv", "--by=delegate", "--all"])
@pytest.mark.parametrize("form", ["--brief", "--out=report.md"])
def test_a_report_has_one_form(option, form):
    error = run_refused("report", ETDUMP, form, option)
    names = sorted(name.partition("=")[0] for name in (form, option))
    assert all(f"`{name}`" in error for name in names) and "do not go together" in error


@pytest.mark.parametrize(
    "arguments",
    [["report", "--out"], ["analyze", "--html"], ["trace", "-o"], ["analyze", "--document"], ["kernels", "--out"]],
)
def test_inputs_are_not_overwritten(arguments, tmp_path):
    etdump = tmp_path / "mine.etdump"
    shutil.copy(ETDUMP, etdump)
    command, option = arguments
    other = f"{tmp_path}/../{tmp_path.name}/mine.etdump"
    assert " would write over what the same command reads or writes\nhint: " in run_refused(
        command, etdump, option, other
    )
    assert etdump.read_bytes() == ETDUMP.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.etdump"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["history", "export", "--history", "h.sqlite", "--out", "h.sqlite"],
        ["history", "--html", "etprof-history.sqlite"],
        ["analyze", "a.etdump", "--model", "m.pte", "--html", "m.pte"],
        ["inspect", "m.pte", "--thresholds", "t.json", "--junit", "./t.json"],
        ["inspect", "m.pte", "--max-delegates", "5", "--github-summary=m.pte"],
        ["analyze", "a.etdump", "--html", "x", "--markdown", "x"],
    ],
)
def test_inputs_and_new_outputs_are_not_overwritten(arguments, tmp_path):
    for name in (
        "a.etdump",
        "m.pte",
        "t.json",
        "h.sqlite",
        "etprof-history.sqlite",
    ):
        (tmp_path / name).write_text("years of work")
    completed = subprocess.run([program.etprof(), *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert " would write over " in program.one_error(completed.stderr)
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"years of work"}


PRECIOUS = {
    "other.etdump": ETDUMP.read_bytes(),
    "net.etdp": b"\x20\0\0\0ED00" + bytes(32),
    "net.pte": (program.DATA / "toy_cnn.pte").read_bytes(),
    "weights.ptd": b"\x1c\0\0\0FT01" + bytes(32),
    "net.bpte": b"\x1c\0\0\0BP08" + bytes(32),
    "net.pte.inputs": b"\x58\0\0\0\0\0\0\0{}" + bytes(32),
    "net.pte.etrecord": b"PK\x03\x04" + bytes(32),
    "run/manifest.json": b'{"results": [{"log": "on/net.log"}]}',
    "run/on/net.log": b"years of work",
}


@pytest.mark.parametrize("name", PRECIOUS)
@pytest.mark.parametrize("option", ["--html", "--markdown", "--document", "trace -o", "report --out", "kernels --out"])
def test_results_and_exports_are_not_overwritten(name, option, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "run/on").mkdir(parents=True, exist_ok=True)
    (tmp_path / "run/manifest.json").write_bytes(PRECIOUS["run/manifest.json"])
    file.write_bytes(PRECIOUS[name])
    command, _, option = option.rpartition(" ")
    completed = program.run(command or "analyze", ETDUMP, option, file)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert " is not overwritten: it " in program.one_error(completed.stderr)
    assert file.read_bytes() == PRECIOUS[name]
    assert list(file.parent.glob(".etprof-*")) == []


@pytest.mark.parametrize("option", ["--html", "--markdown", "--document"])
def test_an_earlier_output_is_replaced(option, tmp_path):
    file, first = tmp_path / "out", b""
    for before in (None, "same", b""):
        if isinstance(before, bytes):
            file.write_bytes(before)
        completed = program.run("analyze", ETDUMP, option, file)
        assert completed.returncode == 0, completed.stderr
        assert file.read_bytes()[:16] == (first or file.read_bytes())[:16]
        first = file.read_bytes()
    file.write_text("a,b\n1,2\n")
    assert (
        "is not overwritten: it is not an earlier output of this kind"
        in program.run("analyze", ETDUMP, option, file).stderr
    )


def test_a_table_that_a_check_does_not_have_is_known_before_it_measures():
    model = program.DATA / "toy_cnn.pte"
    completed = program.run("check", model, model, "--csv", "limits")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert program.one_error(completed.stderr).startswith("error: `--csv` does not take `limits`")


def test_a_graph_for_model_explorer_has_the_name_that_it_opens(tmp_path):
    completed = program.run("inspect", program.DATA / "toy_cnn.pte", "--model-explorer", tmp_path / "graph")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr.splitlines()[1] == f"hint: Give `--model-explorer {tmp_path}/graph.json`."


def test_the_command_that_opens_a_graph_can_be_pasted(tmp_path):
    graph = tmp_path / "a graph.json"
    completed = program.run("inspect", program.DATA / "toy_cnn.pte", "--model-explorer", graph)
    assert completed.returncode == 0, completed.stderr
    (command,) = re.findall("^Open it with: (.*)", completed.stderr, re.MULTILINE)
    assert shlex.split(command) == ["model-explorer", str(graph)]


def test_a_report_of_several_runs_shows_all_that_its_screen_leaves_out():
    runs = [program.DATA / "toy_cnn.t1.etdump", program.DATA / "toy_cnn.avx.t1.etdump"]
    shown = program.run("report", *runs, "--all", width=60)
    assert shown.returncode == 0 and "hidden" not in shown.stdout, shown.stderr


def test_a_gate_whose_baseline_is_the_same_file_passes():
    model = program.DATA / "toy_cnn.pte"
    assert program.run("check", model, "--baseline", model, "--static").returncode == 0


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_report_next_to_etdumps_is_the_users_own(name, tmp_path):
    shutil.copy(ETDUMP, tmp_path / "mine.etdump")
    (tmp_path / name).write_text("years of work")
    for command, path, option in (("report", tmp_path / "mine.etdump", "--out"), ("analyze", tmp_path, "-o")):
        completed = program.run(command, path)
        assert (completed.returncode, completed.stdout) == (3, "")
        assert f"{name}` already exists, and may not be etprof's" in program.one_error(completed.stderr)
        assert f"`{option} {tmp_path}` to replace it" in completed.stderr
        assert (tmp_path / name).read_text() == "years of work"
        assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / name).unlink()
    for _ in range(2):  # this text is replaced
        assert program.run("analyze", tmp_path).returncode == 0
        assert program.run("report", tmp_path).returncode == 0


@pytest.mark.parametrize("command", ["export --list-models", "new-model {}", "fleet tables"])
def test_an_output_that_is_closed_or_full(command, tmp_path):
    """A reader that closes the pipe is not an error, and a full disk is one message. Neither causes a stack trace."""
    for name, target, code in (("seen_enough", "| true", 0), ("is_full", "> /dev/full", 4)):
        line = f"{shlex.quote(str(program.etprof()))} {command.format(name)} {target}; exit ${{PIPESTATUS[0]}}"
        completed = subprocess.run(["/bin/bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
        assert completed.returncode == code, completed.stderr
        assert "Traceback" not in completed.stderr and "Exception" not in completed.stderr
        if code:
            program.one_error(completed.stderr)


def test_names_that_json_cannot_contain_are_refused_early(tmp_path):
    """Linux allows file names that are not UTF-8, which a configuration cannot contain, because it is JSON."""
    model = tmp_path / os.fsdecode(b"net\xff.pte")
    shutil.copy(program.DATA / "toy_cnn.pte", model)
    completed = program.run("profile", model, "--output-root", tmp_path / "out")
    assert (completed.returncode, completed.stdout) == (3, "")
    assert "is not UTF-8" in program.one_error(completed.stderr)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damaged", ["", "{", "[1]"])
def test_a_damaged_state_of_a_suite_is_one_message(damaged, tmp_path):
    (tmp_path / "suite_state.json").write_text(damaged)
    completed = program.run("report", tmp_path)
    assert (completed.returncode, completed.stdout) == (3, "")
    assert "suite_state.json` is damaged: it is not a JSON object" in program.one_error(completed.stderr)
