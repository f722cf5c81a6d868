"""Unusual inputs: pipes without a writer, endless files, and files that are truncated while they are read."""

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
READERS = ("analyze", "report", "trace", "kernels", "validate", "compare", "check")


@pytest.fixture
def measured(bench) -> Path:
    assert bench.run("run", bench.write([bench.experiment("a")], launches=2)).returncode == 0
    return bench.out


def run_reader(bench, reader: str, folder: Path) -> subprocess.CompletedProcess:
    """Checks that the command ends in time, with one message and without a stack trace."""
    reader_options = {"compare": [folder], "check": ["--baseline", folder]}.get(reader, [])
    completed = subprocess.run(
        [bench.etprof, reader, folder, *reader_options], capture_output=True, text=True, timeout=300, cwd=bench.folder
    )
    assert completed.returncode in (0, 1, 2, 3, 5), (reader, completed.stderr)
    assert "Internal error" not in completed.stderr, completed.stderr
    return completed


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "peaks.json",
        "config.json",
        "metrics.json",
        "etdump",
        "latency_csv",
        "log",
        "xnntrace_log",
        "counters",
        ".lock",
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "sparse"])
def test_any_file_of_a_run_directory(bench, measured, name, kind):
    file = measured / name
    if "." not in name:
        manifest = bench.manifest()
        result = manifest["results"][0]
        if name == "counters":
            file = next(measured.glob("a/*.etdump")).with_name("toy_cnn_a_t1_counters.csv")
        elif name == "xnntrace_log":
            file = measured / "a" / "mine.log"
            result[name] = "a/mine.log"
        else:
            file = measured / result[name]
        (measured / "manifest.json").write_text(json.dumps(manifest))
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    else:
        with file.open("wb") as out:
            out.truncate(100 << 30)
    for reader in READERS:
        run_reader(bench, reader, measured)


@pytest.mark.parametrize("kind", ["pipe", "sparse", "device"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "FILE.etdump"],
        ["analyze", "FILE.csv"],
        ["trace", "FILE.etdump", "-o", "/dev/null"],
        ["compare", "FILE.etdump", DATA / "toy_cnn.t1.etdump"],
        ["inspect", "FILE.pte"],
        ["inspect", DATA / "toy_cnn.pte", "--model-explorer", "out.json", "--etrecord", "FILE.etrecord"],
        ["kernels", "FILE.log"],
        ["run", "FILE.json"],
        ["run", "FILE.json", "--dry-run"],
        ["profile", "FILE.pte"],
        ["check", "FILE.pte", "--baseline", DATA / "toy_cnn.pte"],
    ],
    ids=lambda arguments: " ".join(Path(word).name for word in map(str, arguments)),
)
def test_any_argument(bench, arguments, kind):
    ending = next(Path(word).suffix for word in map(str, arguments) if word.startswith("FILE"))
    file = bench.folder / f"file{ending}"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "sparse":
        with file.open("wb") as out:
            out.truncate(100 << 30)
    else:
        file.symlink_to("/dev/zero")
    replaced = [file if str(word).startswith("FILE") else word for word in arguments]
    completed = subprocess.run([bench.etprof, *replaced], capture_output=True, text=True, timeout=300, cwd=bench.folder)
    assert completed.returncode in (2, 3), completed.stderr
    *_, error = [line for line in completed.stderr.splitlines() if line.startswith("error: ")]
    assert file.name in error, completed.stderr
    assert "Internal error" not in completed.stderr


# The other arguments that each command needs before it reads an option. Commands that are not listed read no file.
NEEDED = {
    "profile": ["MODEL"],
    "isa": ["MODEL"],
    "analyze": ["ETDUMP"],
    "compare": ["ETDUMP", "ETDUMP"],
    "report": ["ETDUMP"],
    "trace": ["ETDUMP"],
    "kernels": [],
    "check": ["MODEL", "--baseline", "MODEL"],
    "history": ["show"],
    "bisect": ["--good", "a", "--bad", "b", "--model", "MODEL", "--built-runner", "x"],
    "export": ["toy_cnn"],
    "inspect": ["MODEL"],
    "diff": ["MODEL", "MODEL"],
}
# Arguments that an option needs before it.
OPTION_ARGUMENTS = {
    ("check", "--thresholds"): ["--static"],
    ("inspect", "--run"): ["--model-explorer", "out.json"],
    ("inspect", "--etrecord"): ["--model-explorer", "out.json"],
    ("export", "--calibrate"): ["--quantize", "static"],
    ("fleet", "--from"): ["query", "latency"],
}
OUTPUTS = {"--html", "--markdown", "--document", "--junit", "--out", "-o", "--output", "--output-root", "--outdir"}
OUTPUTS |= {"--out-dir", "--output-dir", "--to", "--built-model", "--built-runner"}


def inputs(etprof: Path) -> list[tuple[str, str]]:
    """Returns each command with each option that takes a file or folder; "" stands for the command's own arguments."""
    script = subprocess.run([etprof, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    options = []
    for line in script.splitlines():
        names, mark, action = line.strip().partition(")")
        if mark and "_etprof_paths -" in action:
            options += [tuple((name.strip("'") + " ").split(" ")[:2]) for name in names.split("|")]
    return [(command, option) for command, option in options if option not in OUTPUTS]


def test_every_option_that_takes_a_file_refuses_a_pipe_at_once(bench):
    """A pipe without a writer. It is executable, like a runner."""
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe, 0o777)
    files = {"MODEL": DATA / "toy_cnn.pte", "ETDUMP": DATA / "toy_cnn.t1.etdump"}
    cases = inputs(bench.etprof)
    assert {("profile", "--runner"), ("run", ""), ("check", "--thresholds"), ("analyze", "--model")} <= set(cases)
    for command, option in dict.fromkeys(cases):
        needed = [files.get(word, word) for word in NEEDED.get(command, [])]
        if option in needed:
            at = needed.index(option)
            del needed[at : at + 2]
        if not option:
            arguments = [pipe, *needed[1:]]
        elif (command, option) == ("kernels", "--compare"):
            arguments = [option, pipe, pipe]
        else:
            arguments = [*needed, *OPTION_ARGUMENTS.get((command, option), []), option, pipe]
        arguments += ["--", "true"] if command == "bisect" else []
        completed = subprocess.run(
            [bench.etprof, command, *arguments], capture_output=True, text=True, timeout=120, cwd=bench.folder
        )
        assert completed.returncode in (2, 3), (command, option, completed.stdout, completed.stderr)
        assert len([line for line in completed.stderr.splitlines() if line.startswith("error: ")]) == 1, (
            command,
            option,
        )
        assert "Traceback" not in completed.stderr


@pytest.mark.parametrize("key", ["model", "runner_path", "data", "inputs"])
def test_every_path_of_a_configuration_may_not_be_a_pipe(bench, key):
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe, 0o777)
    completed = subprocess.run(
        [bench.etprof, "run", bench.write([bench.experiment("a", **{key: str(pipe)})])],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=bench.folder,
    )
    assert completed.returncode in (2, 3), completed.stderr
    assert "pipe` is not a regular file" in completed.stderr


def test_a_report_may_not_be_a_pipe(bench, measured):
    (measured / "report.html").unlink()
    os.mkfifo(measured / "report.html")
    run_reader(bench, "validate", measured)


def test_files_that_become_shorter_while_they_are_read(bench, tmp_path):
    """Truncates and restores a large ETDump and timeline while etprof reads them: they are complete, or an error is reported."""
    part = (DATA / "toy_cnn.t1.etdump").read_bytes()
    config = bench.write([bench.experiment("a")], launches=2)
    assert bench.run("run", config).returncode == 0
    table = next(bench.out.glob("a/*_exec_all_runs_timeline.csv")).read_text()
    header, rows = table.split("\n", 1)
    large = {"small.etdump": part, "large_exec_all_runs_timeline.csv": (header + "\n" + rows * 220).encode()}
    assert max(map(len, large.values())) > 16 << 20
    for name, content in large.items():
        file = tmp_path / name
        file.write_bytes(content)
        ended = threading.Event()

        def truncate_and_restore(file=file, content=content, ended=ended) -> None:
            while not ended.is_set():
                os.truncate(file, len(content) // 3)
                with file.open("r+b") as out:
                    out.write(content)

        thread = threading.Thread(target=truncate_and_restore)
        thread.start()
        try:
            for _ in range(10):
                completed = subprocess.run(
                    [bench.etprof, "trace", file, "-o", tmp_path / "out.json"],
                    capture_output=True,
                    text=True,
                    timeout=300,
                )
                assert completed.returncode in (0, 3), (completed.returncode, completed.stderr)
        finally:
            ended.set()
            thread.join()
    shutil.rmtree(tmp_path, ignore_errors=True)
