"""The Python functions measure like the commands. Tested with a small model, and with scripted workers."""

import contextlib
import importlib.util
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import program
import pytest

import etprof

TOY = program.DATA / "toy_cnn.pte"
SHORT = {"launches": 2, "runs": 3, "no_peaks": True}
# Options that only the command line has: options that show results, and options for which Python has other functions.
VIEWS = {"all", "csv", "json", "help", "html", "markdown", "document", "junit", "github-summary", "dry-run"}
OTHERS = {
    "run": {"analysis-only", "config"},  # analyze; its argument
    "isa": {"widest"},  # isa()["widest"]
    "check": {"static", "thresholds"},  # check_programs
    "build": {"executorch", "preset", "trace", "llm", "clean"},  # build_executorch
    "build_executorch": {"target", "output"},  # build
}


@pytest.fixture(autouse=True)
def own_device_folder(monkeypatch, tmp_path):
    """Uses a separate device folder, so that no measurement waits for another test."""
    monkeypatch.setenv("ETPROF_DEVICE_DIR", str(tmp_path / "turns"))
    monkeypatch.setenv("ETPROF", str(program.etprof()))
    monkeypatch.setenv("ETPROF_PYTHON", sys.executable)


def children() -> set[int]:
    """Returns the running child processes of this process."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread may have ended
            found.update(map(int, (task / "children").read_text().split()))
    return found


def measured_launches(run: Path) -> int:
    """Returns the number of complete launches, clean or not. A busy machine may have no clean runs to compare."""
    return json.loads((run / "manifest.json").read_text())["schedule"]["launches"]


def test_a_profile_is_measured_and_analyzed_without_a_word(tmp_path, capfd):
    run, events = tmp_path / "run", []
    result = etprof.profile(TOY, "threads=2", output_root=run, progress=events.append, **SHORT)
    assert capfd.readouterr() == ("", "")
    assert len(result["comparisons"]) == 1 and measured_launches(run) == 2
    assert len(result["experiments"]) == 2 and result["status"] == "complete"
    assert result == json.loads((run / "analysis_summary.json").read_text())
    assert etprof.validate(run)["ok"]
    measuring = [event for event in events if event["kind"] == "measuring"]
    assert measuring and {event["device"] for event in measuring} <= {"local"}
    assert measuring[-1]["done"] == 2 and measuring[-1]["estimates"][0]["candidate"] == "2 threads"
    # The check takes stored runs, and models that it measures.
    assert etprof.check(run)["result"] in ("pass", "fail", "inconclusive")
    checked = etprof.check(TOY, "threads=2", max_slowdown=9, output_root=tmp_path / "check", launches=2, runs=3)
    assert [pair["candidate"] for pair in checked["pairs"]] == ["2 threads"]
    assert capfd.readouterr() == ("", "")


def test_a_configuration_is_planned_and_measured(tmp_path):
    config = {
        "model": str(TOY),
        "output_root": str(tmp_path / "run"),
        "runs": 3,
        "launches": 2,
        "rounds": 1,
        "peaks": False,
        "experiments": [{"name": "one"}, {"name": "two", "threads": 2}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    plan = etprof.run(tmp_path / "config.json", dry_run=True)
    planned = program.run("run", tmp_path / "config.json", "--dry-run", "--json")
    assert plan == json.loads(planned.stdout)
    assert not (tmp_path / "run").exists()
    assert etprof.run(config, dry_run=True) == plan
    result = etprof.run(config, only="two")
    assert [experiment["name"] for experiment in result["experiments"]] == ["two"]
    assert etprof.run(tmp_path / "config.json", only="two", resume=True)["experiments"] == result["experiments"]


def test_a_suite_is_measured_and_read_again(tmp_path):
    suite = {
        "models": [{"name": "toy", "programs": {"fp32": str(TOY)}}],
        "dtypes": ["fp32"],
        "devices": ["local"],
        "variants": ["threads=2"],
        "output_root": str(tmp_path / "out"),
        "runs": 3,
        "launches": 2,
        "rounds": 1,
        "peaks": False,
    }
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    result = etprof.suite(tmp_path / "suite.json")
    assert [cell["status"] for cell in result["cells"]] == ["measured"]
    assert etprof.suite(tmp_path / "out")["cells"] == result["cells"]


def test_isa_devices_and_doctor():
    assert etprof.isa()["features"]
    assert "local" in [device["name"] for device in etprof.devices(timeout=20)["devices"]]
    document = json.loads(program.run("doctor", "--json").stdout)
    assert [group["name"] for group in etprof.doctor()["groups"]] == [group["name"] for group in document["groups"]]


def test_a_quick_test_takes_the_whole_way(tmp_path):
    result = etprof.quick_test(outdir=tmp_path, model=TOY)
    assert result["passed"], result
    assert Path(result["report"]).is_file()


@pytest.fixture
def ctrl_c():
    """Makes Ctrl-C raise KeyboardInterrupt. Processes that a shell started in the background ignore it by default."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_at(event: threading.Event) -> threading.Thread:
    """Sends Ctrl-C as soon as the event is set."""

    def send_ctrl_c() -> None:
        assert event.wait(120)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send_ctrl_c)
    thread.start()
    return thread


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_workers_and_keeps_what_was_measured(tmp_path):
    run, second_launch = tmp_path / "run", threading.Event()

    def count_launches(event: dict) -> None:
        if event["kind"] == "measuring" and event["done"] >= 2:
            second_launch.set()

    before = children()
    interrupter = interrupt_at(second_launch)
    options = {"runs": 3, "no_peaks": True, "output_root": run}
    with pytest.raises(KeyboardInterrupt):
        etprof.profile(TOY, "threads=2", launches=10_000, progress=count_launches, **options)
    interrupter.join()
    assert children() <= before
    assert etprof.analyze(run)["status"] == "interrupted"
    assert etprof.recover(run)["ok"]
    assert etprof.recover(run) == {"recovered": False} | etprof.validate(run)
    launches = measured_launches(run)
    etprof.profile(TOY, "threads=2", launches=launches + 3, resume=True, **options)
    assert measured_launches(run) == launches + 3


def test_exceptions_of_progress_end_the_measurement(tmp_path):
    def raise_at_measuring(event: dict) -> None:
        if event["kind"] == "measuring":
            raise ZeroDivisionError(event["kind"])

    before = children()
    with pytest.raises(ZeroDivisionError, match="measuring"):
        etprof.profile(TOY, launches=10_000, no_peaks=True, output_root=tmp_path / "run", progress=raise_at_measuring)
    assert children() <= before


def test_a_killed_python_leaves_a_run_to_recover(tmp_path):
    run = tmp_path / "run"
    text = f"""
import etprof, os, signal
def kill(event):
    if event["kind"] == "measuring" and event["done"] >= 2:
        os.kill(os.getpid(), signal.SIGKILL)
etprof.profile({str(TOY)!r}, launches=10_000, no_peaks=True, output_root={str(run)!r}, progress=kill)
"""
    path = os.pathsep.join([str(Path(etprof.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    completed = subprocess.run(
        [sys.executable, "-c", text], env=os.environ | {"PYTHONPATH": path}, timeout=300, check=False
    )
    assert completed.returncode == -signal.SIGKILL
    recovered = etprof.recover(run)
    assert recovered["recovered"] and recovered["ok"], recovered


def test_other_threads_go_on_and_may_measure(tmp_path):
    results: dict[str, object] = {}

    def measure() -> None:
        results["result"] = etprof.profile(TOY, output_root=tmp_path / "run", progress=lambda _: None, **SHORT)

    thread = threading.Thread(target=measure)
    thread.start()
    iterations = 0
    while thread.is_alive():
        thread.join(0.01)
        iterations += 1
    assert results["result"]["status"] == "complete"
    assert iterations > 5


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: etprof.profile(TOY, max_secnds=1), TypeError, "unexpected keyword argument 'max_secnds'"),
        (lambda: etprof.profile(TOY, max_secnds=1), TypeError, "it takes max_seconds, "),
        (lambda: etprof.profile(TOY, vs="threads=2"), TypeError, r"^profile\(\) takes variants by position: "),
        (lambda: etprof.profile(TOY, launches=1), ValueError, "launches"),
        (lambda: etprof.profile(TOY, launches="many"), ValueError, "launches"),
        (lambda: etprof.profile(TOY, "speed=2"), ValueError, "speed"),
        (lambda: etprof.profile("nowhere.pte"), ValueError, "nowhere"),
        (lambda: etprof.run("nowhere.json"), ValueError, "nowhere"),
        (lambda: etprof.check(TOY), ValueError, "nothing to be compared with"),
        (lambda: etprof.check(TOY, TOY, allow_mismatch="weather"), ValueError, "`weather` is not a condition"),
        (lambda: etprof.report(program.DATA / "toy_cnn.t1.etdump", out="-"), ValueError, "standard output"),
        (lambda: etprof.bisect("HEAD", "HEAD", ["true"]), ValueError, "built"),
        (
            lambda: etprof.run({"model": TOY, "experiments": [{"name": "one"}], "rns": 3}),
            ValueError,
            "^config: rns: unknown key. Did you mean",
        ),
        (lambda: etprof.build("toaster"), ValueError, "unknown target `toaster`"),
        (lambda: etprof.build_executorch("/usr"), ValueError, "has no CMakeLists.txt"),
        (lambda: etprof.recover("nowhere"), ValueError, "nowhere"),
        (lambda: etprof.profile(TOY, runner="/bin/false", launches=2, runs=1), RuntimeError, "exited with 1"),
    ],
)
def test_errors_are_exceptions(call, error, match, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=match):
        call()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", etprof.__all__)
def test_no_module_takes_a_name_of_the_package(name):
    assert importlib.util.find_spec(f"etprof.{name}") is None


@pytest.mark.parametrize(
    "name",
    [
        "profile",
        "run",
        "isa",
        "peaks",
        "check",
        "bisect",
        "suite",
        "devices",
        "quick_test",
        "build",
        "build_executorch",
    ],
)
def test_the_options_are_the_commands(name):
    command = name.removesuffix("_executorch").replace("_", "-")
    help_text = program.run(command, "--help", width=200).stdout
    command_options = set(re.findall(r"^ +(?:-\w,\s*)?--([a-z][a-z-]*)", help_text, re.MULTILINE))
    documented = set(re.findall(r"^    (\w+)(?::|$)", getattr(etprof, name).__doc__, re.MULTILINE))
    documented -= {"ValueError", "RuntimeError", "KeyboardInterrupt", "Exception"}
    parameters = set(getattr(etprof, name).__code__.co_varnames)
    options = {option.replace("-", "_") for option in command_options - VIEWS - OTHERS.get(name, set())}
    assert documented == options - parameters
    assert documented == inspect.signature(getattr(etprof, name)).parameters.keys() - parameters


def test_signatures_have_types_and_defaults():
    profile = inspect.signature(etprof.profile).parameters
    assert {name: (profile[name].annotation, profile[name].default) for name in list(profile)[2:]}.items() >= {
        "progress": ("Progress | None", None),
        "max_seconds": ("float", 60.0),
        "threads": ("int | Sequence[int] | None", None),
        "output_root": ("Path_ | None", None),
        "wait_for_device": ("float", 60.0),
        "power_mode": ("Literal['unconstrained-boost', 'app-developer'] | None", None),
        "method": ("str", "forward"),
        "resume": ("bool", False),
    }.items()
    # In C++, 0 means that Ninja chooses. Users cannot give 0, so the default in Python is None.
    assert inspect.signature(etprof.build).parameters["jobs"].default is None
    config = {"model": str(TOY), "experiments": [{"name": "one"}]}
    defaults = {
        name: each.default for name, each in inspect.signature(etprof.run).parameters.items() if name != "config"
    }
    assert etprof.run(config, **defaults | {"dry_run": True}) == etprof.run(config, dry_run=True)


@pytest.mark.parametrize("name", ["profile", "run", "versions", "isa", "generate", "check", "bisect"])
def test_the_time_limit_is_that_of_the_command(name):
    command_default = re.search(r"--max-seconds .*?\(default: (.*?)\)", program.run(name, "--help", width=300).stdout)[
        1
    ]
    text = re.search(r"^    max_seconds: .*\(default: (.*)\)$", getattr(etprof, name).__doc__, re.MULTILINE)[1]
    assert text.removeprefix("the configuration's, or ") == command_default.replace("--", "")
    default = inspect.signature(getattr(etprof, name)).parameters["max_seconds"].default
    assert default == {"run": None, "isa": None}.get(name, 60)


def test_dir_lists_the_public_names():
    code = "import etprof, sys; print(dir(etprof) == sorted(etprof.__all__), 'etprof.workflows' in sys.modules)"
    path = os.pathsep.join([str(Path(etprof.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    completed = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert completed.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_host_without_standard_streams_measures(tmp_path, closed):
    """A daemon has no standard streams."""
    script = tmp_path / "daemon.py"
    script.write_text(
        "import pathlib, traceback\n"
        "result = pathlib.Path('result')\n"
        "try:\n"
        "    import etprof\n"
        f"    done = etprof.profile({str(TOY)!r}, output_root='run', **{SHORT!r})\n"
        "    result.write_text(done['status'])\n"
        "except BaseException:\n"
        "    result.write_text(traceback.format_exc())\n"
    )
    command = ["sh", "-c", f'exec "$0" "$1" {closed}', sys.executable, script.name]
    subprocess.run(command, cwd=tmp_path, timeout=300, check=False)
    assert (tmp_path / "result").read_text() == "complete"


@pytest.mark.parametrize("order", ["before", "after", "twice"])
def test_a_host_keeps_its_signal_handlers(tmp_path, order):
    """Files of more than 16 MB are mapped, so etprof handles SIGBUS. Other signals still reach faulthandler."""
    (tmp_path / "large.etdump").write_bytes(bytes(20 << 20))
    enable = "import faulthandler; faulthandler.enable()\n"
    read = (
        "import contextlib, etprof\n"
        "from etprof import _native\n"
        "with contextlib.suppress(ValueError):\n"
        "    _native.read_etdump('large.etdump')\n"
    )
    script = {"before": enable + read, "after": read + enable, "twice": read + enable + read}[order]
    script += (
        "import os, signal\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        f"etprof.profile({str(TOY)!r}, output_root='run', **{SHORT!r})\n"
        "[ignored] = [line for line in open('/proc/self/status') if line.startswith('SigIgn:')]\n"
        "assert not int(ignored.split()[1], 16) >> signal.SIGPIPE - 1 & 1\n"
        "os.kill(os.getpid(), signal.SIGBUS)\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, timeout=300, check=False, capture_output=True, text=True
    )
    assert completed.returncode == -signal.SIGBUS, completed.stderr
    assert completed.stderr.count("Fatal Python error: Bus error") == 1, completed.stderr
