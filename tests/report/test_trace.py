"""The traces of `etprof trace`, read with Perfetto's protos and a JSON parser, match ExecuTorch's own reader."""

import gzip
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BUILTIN_CLOCK_BOOTTIME, BUILTIN_CLOCK_MONOTONIC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import program
import traces
from traces import READERS

ETDUMPS = sorted(program.DATA.rglob("*.etdump"))
TOY = program.DATA / "toy_cnn.t1.etdump"


def trace(*arguments: str | Path, output: Path) -> traces.ReadTrace:
    completed = program.run("trace", *arguments, "-o", output)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == f"{output}\n"
    data = output.read_bytes()
    if output.suffix == ".gz":
        data = gzip.decompress(data)
    return READERS[output.name.split(".")[-1 if output.suffix != ".gz" else -2]](data)


def read_events(etdump: Path) -> Counter:
    """Returns name, start, and end of every event from ExecuTorch's own reader. Times start at the first event."""
    found = []
    for block in deserialize_from_etdump_flatcc(etdump.read_bytes()).run_data:
        for event in block.events:
            profile = event.profile_event
            if profile is not None:
                name = profile.delegate_debug_id_str or profile.name
                found.append((name, profile.start_time, profile.end_time))
    origin = min(start for _, start, _ in found)
    return Counter((name, start - origin, end - origin) for name, start, end in found)


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_every_event_of_an_etdump_once_to_the_nanosecond(etdump, form, tmp_path):
    read = trace(etdump, output=tmp_path / f"out.{form}")
    assert len(read.processes) == 1
    assert Counter((slice_.name, slice_.start, slice_.end) for slice_ in read.slices()) == read_events(etdump)


@pytest.mark.parametrize("form", READERS)
def test_slices_nest_as_calls_do(form, tmp_path):
    read = trace(TOY, output=tmp_path / f"out.{form}")
    seen = set()
    for slice_ in read.processes["toy_cnn.t1"].slices["forward"]:
        if slice_.name == "Method::execute":
            assert slice_.parents == []
        elif slice_.name in ("OPERATOR_CALL", "DELEGATE_CALL"):
            assert slice_.parents == ["Method::execute"]
        elif slice_.name.startswith("native_call_"):
            assert slice_.parents == ["Method::execute", "OPERATOR_CALL"]
        else:
            assert slice_.parents == ["Method::execute", "DELEGATE_CALL"]
        seen.add(len(slice_.parents))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("form", READERS)
def test_slices_say_what_they_are(form, tmp_path):
    read = trace(TOY, "--model", program.DATA / "toy_cnn.pte", output=tmp_path / f"out.{form}")
    completed = program.run("analyze", TOY, "--model", program.DATA / "toy_cnn.pte", "--json")
    (experiment,) = json.loads(completed.stdout)["experiments"]
    operators = {operator["key"]: operator for operator in experiment["operators"]}
    runs = [slice_ for slice_ in read.processes["toy_cnn.t1"].slices["forward"] if slice_.name == "Method::execute"]
    assert [int(slice_.arguments["run"]) for slice_ in runs] == list(range(len(runs)))
    assert runs[0].arguments["phase"] == "first" and runs[-1].arguments["phase"] == "steady"
    checked = set()
    for slice_ in read.processes["toy_cnn.t1"].slices["forward"]:
        operator = operators.get(slice_.arguments["node_id"])
        if operator is None:  # spans of the framework
            assert slice_.arguments["kind"] in ("method", "operator_call", "delegate_call")
            continue
        assert slice_.name == operator["name"]
        assert slice_.arguments["kernel"] == operator["type"]
        assert slice_.arguments["category"] == operator["category"]
        assert slice_.arguments["group"] == operator["group"]
        checked.add(slice_.arguments["node_id"])
    assert checked == set(operators)
    first = next(slice_ for slice_ in read.processes["toy_cnn.t1"].slices["forward"] if "Convolution" in slice_.name)
    assert first.arguments["shape"] == "1x224x224x3, 32x3x3x3, 32 -> 1x112x112x32 fp32"
    assert int(first.arguments["macs"]) == 112 * 112 * 32 * 3 * 3 * 3


def test_each_traced_run_has_its_latency(tmp_path):
    for form in READERS:
        read = trace(TOY, output=tmp_path / f"out.{form}")
        process = read.processes["toy_cnn.t1"]
        runs = [slice_ for slice_ in process.slices["forward"] if slice_.name == "Method::execute"]
        (counter,) = [name for name in process.counters if name.startswith("traced latency")]
        assert process.counters[counter] == [
            (slice_.start, pytest.approx((slice_.end - slice_.start) / 1e6)) for slice_ in runs
        ]


def test_one_run_of_several(tmp_path):
    all_slices = trace(TOY, output=tmp_path / "all.pftrace").processes["toy_cnn.t1"].slices["forward"]
    times = {
        slice_.arguments["run"]: slice_.end - slice_.start for slice_ in all_slices if slice_.name == "Method::execute"
    }
    third = trace(TOY, "--run", "3", output=tmp_path / "3.pftrace").processes["toy_cnn.t1"].slices["forward"]
    assert [slice_.arguments["run"] for slice_ in third if slice_.name == "Method::execute"] == [3]
    median = trace(TOY, "--run", "median", output=tmp_path / "m.pftrace").processes["toy_cnn.t1"].slices["forward"]
    (method_slice,) = [slice_ for slice_ in median if slice_.name == "Method::execute"]
    steady = sorted(
        slice_.end - slice_.start
        for slice_ in all_slices
        if slice_.name == "Method::execute" and slice_.arguments["phase"] == "steady"
    )
    assert times[method_slice.arguments["run"]] == steady[(len(steady) - 1) // 2]
    completed = program.run("trace", TOY, "--run", "999", "-o", tmp_path / "none.pftrace")
    assert completed.returncode == 2 and "Run 999 is not in the trace" in completed.stderr
    assert not (tmp_path / "none.pftrace").exists()


def test_two_variants_are_two_processes(tmp_path):
    variants = [program.DATA / "sme2_emulated" / f"toy_q8.sme2_{variant}.etdump" for variant in ("off", "on")]
    for form in READERS:
        read = trace(*variants, output=tmp_path / f"out.{form}")
        assert set(read.processes) == {"sme2_off", "sme2_on"}  # the part of the names that differs
        for variant in variants:
            slices = [
                slice_ for thread in read.processes[variant.stem.split(".")[-1]].slices.values() for slice_ in thread
            ]
            assert Counter((slice_.name, slice_.start, slice_.end) for slice_ in slices) == read_events(variant)


def test_compressed_is_the_same(tmp_path):
    for form in READERS:
        plain = trace(TOY, output=tmp_path / f"out.{form}")
        packed = trace(TOY, output=tmp_path / f"out.{form}.gz")
        assert Counter((slice_.name, slice_.start, slice_.end) for slice_ in plain.slices()) == Counter(
            (slice_.name, slice_.start, slice_.end) for slice_ in packed.slices()
        )
        assert (tmp_path / f"out.{form}.gz").stat().st_size < (tmp_path / f"out.{form}").stat().st_size / 2


HOSTILE = ['<script>alert("1")</script>', 'quote " and \\ and \n line', "\u202eright to left", "x" * 10_000, "\x1b[31m"]


def test_hostile_names(tmp_path):
    timeline = tmp_path / "hostile_exec_all_runs_timeline.csv"
    rows = ["name,start_us,end_us,run_index"]
    for i, name in enumerate(HOSTILE):
        rows.append(f'"{name.replace(chr(34), chr(34) * 2)}",{10 * i + 1},{10 * i + 5},0')
    rows += ["DELEGATE_CALL,0,90,0", "Method::execute,0,100,0"]
    timeline.write_text("\n".join(rows) + "\n", encoding="utf-8")
    chrome = trace(timeline, output=tmp_path / "out.json")
    assert set(HOSTILE) <= {slice_.name for slice_ in chrome.slices()}
    perfetto = trace(timeline, output=tmp_path / "out.pftrace")
    shown = {"\x1b": "\\x1b", "\n": "\\x0a", "\u202e": "\\u202e"}
    expected = {"".join(shown.get(c, c) for c in name) for name in HOSTILE}
    assert expected <= {slice_.name for slice_ in perfetto.slices()}


def boottime_offset() -> int:
    """Returns CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in ns."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory) -> tuple[Path, int, int]:
    """A run of this machine with --watch, and the times of the clock before and after it."""
    folder = tmp_path_factory.mktemp("trace")
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    run = program.measure_two(folder, ("on", "again:2"), 2, 3, "--watch")
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return run, before, after


def test_a_run_has_the_clock_of_its_device(run_directory, tmp_path):
    run, before, after = run_directory
    read = trace(run, output=tmp_path / "out.pftrace")
    slices = read.slices()
    assert before < min(slice_.start for slice_ in slices) and max(slice_.end for slice_ in slices) < after
    assert len(read.clocks) == 4  # two launches of two experiments
    for clocks in read.clocks:
        assert before < clocks[BUILTIN_CLOCK_MONOTONIC] < after
        offset = clocks[BUILTIN_CLOCK_BOOTTIME] - clocks[BUILTIN_CLOCK_MONOTONIC]
        assert abs(offset - boottime_offset()) < 1_000_000_000  # read a moment apart
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    # Two launches of two rounds. Disturbed bursts are repeated. A burst without a clean run has no median.
    for result in manifest["results"]:
        bursts = [burst for launch in result["launches"] for burst in launch["bursts"]]
        assert len(bursts) >= 4
        counters = read.processes[result["experiment"]].counters
        medians = counters.get("untraced latency, median of a burst", [])
        assert len(medians) == sum(burst.get("clean_runs", burst["recorded_runs"]) > 0 for burst in bursts)
    untraced = [
        read.processes[name].counters.get("untraced latency, median of a burst", []) for name in ("on", "again")
    ]
    assert all(before < at < after and value > 0 for series in untraced for at, value in series)
    assert read.attributes["model_id"] == "toy_cnn"
    assert read.attributes["model_sha256"] == manifest["model_sha256"]
    assert read.attributes["on.threads"] == 1


@pytest.mark.parametrize("form", READERS)
def test_threads_have_tracks_whose_tasks_lie_in_their_operators(run_directory, form, tmp_path):
    run, _, _ = run_directory
    read = trace(run, output=tmp_path / f"out.{form}")
    for name, threads in (("on", 1), ("again", 2)):
        watched = read.processes[f"{name}, watched"]
        (file,) = run.rglob(f"*{name}_t{threads}_watch.json")
        spans = json.loads(file.read_text(encoding="utf-8"))["timeline"]["spans"]
        # On a busy machine a thread may have no tasks.
        recorded = Counter(slice_["thread"] for span in spans for slice_ in span["slices"])
        tracks = [["thread 0 (caller)", "thread 1"][thread] for thread in sorted(recorded)]
        assert set(watched.slices) == {"forward", *tracks} and not watched.counters
        assert len(watched.slices["forward"]) == len(spans)
        assert [len(watched.slices[track]) for track in tracks] == [recorded[thread] for thread in sorted(recorded)]
        operators = {slice_.arguments["node_id"]: slice_ for slice_ in watched.slices["forward"]}
        steady = [slice_ for slice_ in read.processes[name].slices["forward"] if slice_.name == "Method::execute"][-1]
        traced = [
            slice_ for slice_ in read.processes[name].slices["forward"] if steady.start <= slice_.start < steady.end
        ]
        assert {slice_.arguments["node_id"] for slice_ in traced} == set(operators)
        worked = set()
        for track in tracks:
            for slice_ in watched.slices[track]:
                operator = operators[slice_.arguments["node_id"]]
                assert slice_.parents == [] and slice_.name == operator.name
                assert operator.start <= slice_.start <= slice_.end <= operator.end
                assert int(slice_.arguments["tasks"]) > 0
                assert int(slice_.arguments["busy_ns"]) <= slice_.end - slice_.start
                worked.add(slice_.arguments["node_id"])
        convolutions = {key for key, slice_ in operators.items() if "Convolution" in slice_.name}
        assert len(convolutions) == 3 and convolutions <= worked
    one_run = trace(run, "--run", "0", output=tmp_path / f"one.{form}")
    assert set(one_run.processes) == {"on", "again"}


def test_the_trace_of_a_run_directory_lies_in_it(run_directory):
    run, _, _ = run_directory
    completed = program.run("trace", run)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == f"{run / 'trace.pftrace'}\n"
    assert set(traces.read_perfetto((run / "trace.pftrace").read_bytes()).processes) == {
        "on",
        "again",
        "on, watched",
        "again, watched",
    }
    assert program.run("validate", run).returncode == 0


def test_a_run_directory_takes_no_other_program(run_directory, tmp_path):
    run, _, _ = run_directory
    completed = program.run("trace", run, "--model", program.DATA / "toy_cnn.pte", "-o", tmp_path / "out.pftrace")
    assert completed.returncode == 2
    assert "`--model` is not used: a results directory names its own programs" in program.one_error(completed.stderr)
    assert not list(tmp_path.iterdir())


def test_the_trace_of_an_etdump_replaces_no_other_json(tmp_path):
    etdump, config = tmp_path / "toy.etdump", tmp_path / "toy.json"
    etdump.write_bytes(TOY.read_bytes())
    config.write_text('{"mine": 1}')
    completed = program.run("trace", etdump, "--format", "chrome")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == f"{tmp_path / 'toy.trace.json'}\n"
    assert json.loads((tmp_path / "toy.trace.json").read_text())["traceEvents"]
    assert config.read_text() == '{"mine": 1}'


def test_a_full_disk_is_reported():
    with Path("/dev/full").open("wb") as full:
        completed = subprocess.run([program.etprof(), "trace", TOY, "-o", "-"], stdout=full, stderr=subprocess.PIPE)
    assert completed.returncode == 4
    assert b"Could not write to the standard output" in completed.stderr


def test_ctrl_c_leaves_nothing(tmp_path):
    """Traces so many files that it takes seconds. The interrupt comes as soon as a file is written."""
    process = subprocess.Popen(
        [program.etprof(), "trace", *[str(TOY)] * 3000, "-o", tmp_path / "out.json.gz"], stderr=subprocess.PIPE
    )
    while not list(tmp_path.iterdir()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=240)
    assert process.returncode == 130
    assert b"Interrupted: nothing was written" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.etdump"], 3, "nowhere.etdump"),
        ([TOY, "--run", "some"], 2, "`--run some` is not a run"),
        ([TOY, "--format", "svg"], 2, "--format"),
        ([program.DATA, program.DATA], 2, "one results directory"),
        ([program.DATA / "toy_cnn.pte"], 3, "toy_cnn.pte"),
    ],
)
def test_inputs_that_cannot_be_traced_are_reported(arguments, code, message, tmp_path):
    completed = program.run("trace", *arguments, "-o", tmp_path / "out.pftrace")
    assert completed.returncode == code
    assert message in completed.stderr and "Traceback" not in completed.stderr
    assert list(tmp_path.iterdir()) == []
