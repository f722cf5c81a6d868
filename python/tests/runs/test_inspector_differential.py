"""etprof and ExecuTorch's own Inspector read the same events and the same nanoseconds from an ETDump."""

import csv
import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

from exports import Exported
from inspector_compare import LOAD_BLOCK, differences, inspector_runs, timeline_runs

REPOSITORY = Path(__file__).parents[3]
DATA = REPOSITORY / "tests" / "data"
ETPROF = REPOSITORY / "build" / "etprof"
RUNNER = REPOSITORY / "build" / "etprof-runner"

RUNS = 5
MODELS = [
    {"model": "toy_cnn"},
    {"model": "toy_cnn", "dtype": "fp16"},
    {"model": "toy_cnn", "quantize": "static"},
    {"model": "toy_cnn", "backend": "portable"},
    {"model": "mixed_delegates"},
    {"model": "transformer_layer"},
]
FOREIGN_ETDUMPS = sorted(DATA.rglob("*.etdump"))  # written by third-party runners


@pytest.fixture
def needs_build() -> None:
    """Skips the test if the programs are not built. On CI, fails instead."""
    missing = [str(path.relative_to(REPOSITORY)) for path in (ETPROF, RUNNER) if not path.is_file()]
    if missing:
        message = f"not built: {', '.join(missing)} (script/bootstrap builds them)"
        if os.environ.get("CI", "") == "true":
            pytest.fail(message)
        pytest.skip(message)


def run_program(*arguments: object) -> None:
    completed = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, f"{arguments}\n{completed.stdout}\n{completed.stderr}"


def analyze(etdump: Path, folder: Path) -> Path:
    """Returns the timeline that `etprof analyze` writes."""
    run_program(ETPROF, "analyze", etdump, "-o", folder)
    (timeline,) = folder.rglob("*_exec_all_runs_timeline.csv")
    return timeline


def number_of_runs(groups: dict) -> int:
    return sum(len(runs) for runs in groups.values())


@pytest.mark.usefixtures("needs_build")
@pytest.mark.parametrize("options", MODELS, ids=lambda options: "-".join(map(str, options.values())))
def test_our_own_traces(exported: Exported, tmp_path: Path, options: dict):
    pte = exported(**options)
    etdump = tmp_path / "trace.etdump"
    run_program(
        RUNNER,
        f"--model_path={pte}",
        "--input-kind=saved",
        f"--num_executions={RUNS}",
        "--cpu_threads=1",
        f"--etdump_path={etdump}",
    )
    expected = inspector_runs(etdump)
    assert number_of_runs(expected) == RUNS
    assert differences(expected, timeline_runs(analyze(etdump, tmp_path / "out"))) == []


@pytest.mark.usefixtures("needs_build")
@pytest.mark.parametrize("etdump", FOREIGN_ETDUMPS, ids=lambda path: path.stem)
def test_other_runners_traces(tmp_path: Path, etdump: Path):
    assert differences(inspector_runs(etdump), timeline_runs(analyze(etdump, tmp_path))) == []


def write_timeline(etdump: Path, timeline: Path, change=lambda rows: rows) -> Path:
    """Writes a timeline directly from the fields of the file, with an error from `change`, to test the comparison itself."""
    rows = []
    run_index = 0
    for block in deserialize_from_etdump_flatcc(etdump.read_bytes()).run_data:
        events = [event.profile_event for event in block.events if event.profile_event is not None]
        for event in events:
            duration = Decimal(event.end_time - event.start_time) / 1_000_000
            name = event.name or event.delegate_debug_id_str
            rows.append({"name": name, "duration_ms": str(duration), "run_index": run_index, "block": block.name})
        run_index += block.name != LOAD_BLOCK
    with timeline.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["name", "duration_ms", "run_index", "block"])
        writer.writeheader()
        writer.writerows(change(rows))
    return timeline


@pytest.mark.parametrize("etdump", FOREIGN_ETDUMPS, ids=lambda path: path.stem)
def test_the_comparison_accepts_the_files_own_times(tmp_path: Path, etdump: Path):
    expected = inspector_runs(etdump)
    assert number_of_runs(expected) == (20 if etdump.parent == DATA else 4)
    assert differences(expected, timeline_runs(write_timeline(etdump, tmp_path / "timeline.csv"))) == []


def one_nanosecond_more(rows: list[dict]) -> list[dict]:
    changed = str(Decimal(rows[-1]["duration_ms"]) + Decimal("0.000001"))
    return [*rows[:-1], {**rows[-1], "duration_ms": changed}]


def without_an_event(rows: list[dict]) -> list[dict]:
    return [row for number, row in enumerate(rows) if number != len(rows) - 2]


def without_the_last_run(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["run_index"] != rows[-1]["run_index"]]


def with_another_name(rows: list[dict]) -> list[dict]:
    return [*rows[:-1], {**rows[-1], "name": "Method::forward"}]


def with_two_runs_exchanged(rows: list[dict]) -> list[dict]:
    exchanged = {1: 2, 2: 1}
    return [
        {**row, "run_index": exchanged.get(row["run_index"], row["run_index"])} if row["block"] != LOAD_BLOCK else row
        for row in rows
    ]


@pytest.mark.parametrize(
    "change",
    [one_nanosecond_more, without_an_event, without_the_last_run, with_another_name, with_two_runs_exchanged],
)
def test_the_comparison_refuses_a_wrong_timeline(tmp_path: Path, change):
    etdump = DATA / "sme2_emulated" / "toy_fp16.sme2_on.etdump"
    timeline = write_timeline(etdump, tmp_path / "timeline.csv", change)
    assert differences(inspector_runs(etdump), timeline_runs(timeline)) != []


@pytest.fixture(scope="module")
def two_methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ETDump of a program whose two methods ran alternately, written by ExecuTorch's own Python runtime."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    class Block(torch.nn.Module):
        def __init__(self, layers: int):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(layers))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return x.argmax(-1)

    inputs = {"prefill": torch.randn(4, 64), "decode": torch.randn(1, 64)}
    layers = {"prefill": 3, "decode": 1}
    programs = {
        name: torch.export.export(Block(layers[name]).eval(), (value,), strict=False) for name, value in inputs.items()
    }
    folder = tmp_path_factory.mktemp("two_methods")
    program = to_edge_transform_and_lower(
        programs, partitioner={name: [XnnpackPartitioner()] for name in programs}
    ).to_executorch()
    with (folder / "two.pte").open("wb") as file:
        program.write_to_file(file)
    module = _load_for_executorch(str(folder / "two.pte"), enable_etdump=True)
    for _ in range(RUNS):
        for name, value in inputs.items():
            module.run_method(name, (value,))
    module.write_etdump_result_to_file(str(folder / "two.etdump"))
    return folder / "two.etdump"


@pytest.mark.usefixtures("needs_build")
def test_an_etdump_of_two_methods(two_methods: Path, tmp_path: Path):
    expected = inspector_runs(two_methods)
    assert len(expected) == 2, "the methods have the same events: nothing tells them apart"
    assert number_of_runs(expected) == 2 * RUNS
    run_program(ETPROF, "analyze", two_methods, "-o", tmp_path)
    timelines = sorted(tmp_path.glob("*_exec_all_runs_timeline.csv"))
    assert len(timelines) == 2
    actual = {names: runs for timeline in timelines for names, runs in timeline_runs(timeline).items()}
    assert differences(expected, actual) == []
    experiments = json.loads((tmp_path / "analysis_summary.json").read_text())["experiments"]
    assert [experiment["label"].rpartition(" method ")[2] for experiment in experiments] == ["1", "2"]
    assert [
        sum(experiment["runs"][phase] for phase in ("first", "warmup", "steady")) for experiment in experiments
    ] == [
        RUNS,
        RUNS,
    ]
