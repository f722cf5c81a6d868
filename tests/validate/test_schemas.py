"""The published JSON Schemas accept etprof's files and reject damaged files."""

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import program
import pytest

MODEL = program.DATA / "toy_cnn.pte"
SMALL_INT8 = program.ROOT / "tests" / "fuzz" / "corpus" / "program" / "int8.pte"
SCHEMAS = program.ROOT / "docs" / "schema"
RUN_DOCUMENTS = ["manifest", "metrics", "analysis_summary", "pipeline_summary", "peaks"]
# Files whose names begin with the name of a model or an experiment.
SUFFIXES = ["robust_stats", "robust_comparison", "watch"]
# Optional keys.
OPTIONAL = {
    "manifest": {
        "problem",
        "etdump_part",
        "traced_runs",
        "outputs",
        "runner_built",
        "read_ns",
        "quiet_seconds",
        "executorch_libraries",
        "rss_before_load_bytes",
        "place",
        "walk",
    },
    "analysis_summary": {
        *("baseline_key", "candidate_key", "baseline_name", "candidate_name"),
        *("memory", "load", "delegates"),  # optional as in watch
    },
    # Emulated CPUs and older runners do not have these keys.
    "watch": {"memory", "load", "delegates", "timeline"},
    "check": {"proven_kernels"},
    "timeline": {"watched"},  # only with --watch
}
# Objects whose keys are names, or whose format belongs to others.
FREE_FORM = re.compile(
    r"(\.|^)(node_types|category_totals_ms|fine_category_totals_ms|configuration|model_info)(\.|\[|$)"
)


def schema(name: str) -> jsonschema.Draft202012Validator:
    text = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


def errors(name: str, value) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in schema(name).iter_errors(value)]


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def places(value, path: str = "") -> Iterator[tuple[str, list]]:
    """Yields every member of every object, with its path. Of lists, only the first two entries, as the others are similar."""
    if isinstance(value, dict):
        for key, member in value.items():
            place = f"{path}.{key}" if path else key
            yield place, [value, key]
            yield from places(member, place)
    elif isinstance(value, list):
        for index, member in enumerate(value[:2]):
            yield from places(member, f"{path}[{index}]")


def shape(value):
    """Returns the keys of all objects, and the types of their members."""
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    return float if type(value) is int else type(value)


def without_repeats(value):
    """Returns the document with at most two entries of each list, which places() visits, and with one if both are objects of
    the same shape: a schema describes all entries of a list, so it refuses the same faults in each."""
    if isinstance(value, dict):
        return {key: without_repeats(member) for key, member in value.items()}
    if isinstance(value, list):
        entries = [without_repeats(member) for member in value[:2]]
        return (
            entries[:1]
            if isinstance(value[0] if value else None, dict) and shape(entries[:1]) == shape(entries[1:])
            else entries
        )
    return value


def mutations(name: str, document: dict) -> Iterator[str]:
    """Damages the document in one place after the other, and yields the kind of damage: a missing or misspelt key, or a wrong
    type.

    Before the next damage, the document is restored.
    """
    for path, (parent, member) in list(places(document)):
        if FREE_FORM.search(path):
            continue
        original = dict(parent)
        kinds = {
            "missing": {key: value for key, value in original.items() if key != member},
            "misspelt": {key + "s_" * (key == member): value for key, value in original.items()},
            "wrong type": original | {member: {"not": "this"} if not isinstance(original[member], dict) else [1]},
        }
        if member in OPTIONAL.get(name, ()):
            del kinds["missing"]
        for kind, damaged in kinds.items():
            parent.clear()
            parent.update(damaged)
            yield f"{kind}: {path}"
            parent.clear()
            parent.update(original)


def test_every_schema_is_valid():
    names = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json")}
    assert names == {
        *RUN_DOCUMENTS,
        *SUFFIXES,
        "accuracy",  # python/tests/accuracy/test_noise.py
        "build",  # tests/devices
        "build_executorch",  # likewise
        "config",
        "check",
        "devices",
        "devices_report",
        "doctor",  # tests/devices
        "document",  # a report or breakdown
        "dry_run",
        "export",  # python/tests/export/test_matrix.py
        "generate",  # tests/runner
        "history_check",  # tests/measure/test_history.py
        "inspect",
        "inspect_data",
        "isa",
        "kernels",
        "machine_peaks",
        "quick_test",  # tests/measure
        "suite",  # tests/validate/test_configs.py
        "suite_report",  # tests/devices/test_suite.py
        "suite_state",  # likewise
        "static_check",  # python/tests/programs/test_static_gate.py
        "thresholds",  # likewise
        "timeline",  # on the page
        "validate",
    }
    for name in names:
        schema(name)


def test_every_json_file_of_a_real_run_has_a_schema_and_fits_it(measured):
    files = [path for path in measured.rglob("*.json") if "previous" not in path.parts]
    assert {path.stem for path in files} >= {*RUN_DOCUMENTS, "config"}
    seen = set()
    for path in files:
        (name,) = [
            name
            for name in (*RUN_DOCUMENTS, *SUFFIXES, "config")
            if path.stem == name or path.stem.endswith(f"_{name}")
        ]
        seen.add(name)
        assert errors(name, read(path)) == []
    assert seen == {*RUN_DOCUMENTS, *SUFFIXES, "config"}


def test_small_outputs_fit_their_schemas(measured, tmp_path):
    assert len(program.parse_with_schema("isa", program.run("isa", "--json").stdout)["levels"]) > 0
    run = shutil.copytree(measured, tmp_path / "run")
    (run / "metrics.json").write_text("{}")
    for folder, ok in ((measured, True), (run, False)):
        (found,) = program.parse_with_schema("validate", program.run("validate", folder, "--json").stdout)["runs"]
        assert found["ok"] is ok and ok != any(one["severity"] == "broken" for one in found["findings"])


@pytest.fixture(scope="session")
def devices_report_file(measured, tmp_path_factory) -> Path:
    """The report over two runs, as if from two devices."""
    folder = tmp_path_factory.mktemp("across")
    completed = program.run("report", measured, shutil.copytree(measured, folder / "again"), "--out", folder)
    assert completed.returncode == 0, completed.stderr
    return folder / "devices_report.json"


def test_the_report_over_devices_fits_its_schema(devices_report_file, measured):
    document = read(devices_report_file)
    assert errors("devices_report", document) == []
    shown = program.run("report", measured, devices_report_file.parent / "again", "--json")
    assert json.loads(shown.stdout) == document


def kernels_document(folder: Path) -> dict:
    run = folder / "kernels"
    run.mkdir(exist_ok=True)
    log = (program.DATA / "toy_cnn.t1.log").read_text(encoding="utf-8")
    for variant in ("off", "on"):
        shutil.copy(
            program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump", run / f"net_sme2_{variant}_t1.etdump"
        )
        (run / f"trace_sme2_{variant}_xnntrace.log").write_text(log, encoding="utf-8")
        log = log.replace("7x32__avx512f", "7x32__avx2").replace("init_f32_igemm_config,", "init_new_config,")
    return json.loads(program.run("kernels", run, "--filter-op", "IGEMM", "--json").stdout)


def make_document(name: str, measured: Path, devices_report_file: Path) -> dict:
    if name == "check":  # with checks of operators
        completed = program.run(
            "check", measured, "--max-operator-slowdown", "5%", "--max-memory-growth", "5%", "--json"
        )
        return json.loads(completed.stdout)
    if name == "inspect":  # an int8 model has quantization
        return json.loads(program.run("inspect", SMALL_INT8, "--json").stdout)
    if name == "kernels":  # two different logs, and the evidence of two variants; only some microkernels, for speed
        return kernels_document(devices_report_file.parent)
    if name == "devices_report":
        return read(devices_report_file)
    if name == "timeline":
        return json.loads(program.read_page_json(measured / "report.html", "etprof-timeline"))
    if name == "dry_run":
        return json.loads(program.run("run", measured / "config.json", "--dry-run", "--json").stdout)
    return read(next(measured.rglob(f"*_{name}.json")) if name in SUFFIXES else measured / f"{name}.json")


@pytest.mark.parametrize(
    "name", [*RUN_DOCUMENTS, *SUFFIXES, "check", "devices_report", "dry_run", "inspect", "kernels", "timeline"]
)
def test_damaged_documents_are_refused(name, measured, devices_report_file):
    document = without_repeats(make_document(name, measured, devices_report_file))
    assert errors(name, document) == []
    accepted = []
    count = 0
    validator = schema(name)
    original = copy.deepcopy(document)
    for mutation in mutations(name, document):
        count += 1
        assert document != original
        if validator.is_valid(document):
            accepted.append(mutation)
    assert document == original
    assert accepted == []
    assert count > (15 if name == "metrics" else 40)


def test_the_configuration_that_a_run_keeps_fits(measured):
    assert errors("config", read(measured / "config.json")) == []


ONE = {"name": "a"}


@pytest.mark.parametrize(
    "keys",
    [
        {"experiments": []},
        {"experiments": [{}]},
        {"experiments": [ONE], "experimets": 1},
        {"experiments": [ONE | {"run": 3}]},
        {"experiments": [ONE | {"runs": 0}]},
        {"experiments": [ONE | {"runs": "3"}]},
        {"experiments": [ONE | {"threads": []}]},
        {"experiments": [ONE | {"threads": [1, 1]}]},
        {"experiments": [ONE | {"threads": 0}]},
        {"experiments": [ONE | {"mode": "fast"}]},
        {"experiments": [ONE | {"device": "pi5"}]},
        {"experiments": [ONE | {"device": []}]},
        {"experiments": [ONE | {"device": ["local", "local"]}]},
        {"experiments": [ONE | {"cpu_affinity": 5000}]},
        {"experiments": [ONE | {"period": 33}]},
        {"experiments": [ONE | {"extra_args": [1]}]},
        {"experiments": [ONE | {"env": {"A": []}}]},
        {"experiments": [ONE | {"env": {"A=B": "c"}}]},
        {"experiments": [{"name": "../a"}]},
        {"experiments": [{"name": "-a"}]},
        {"experiments": [ONE], "launches": 1},
        {"experiments": [ONE], "margin": 2},
        {"experiments": [ONE], "seed": -1},
        {"experiments": [ONE], "seed": 1.5},
        {"experiments": [ONE], "analysis": {"compare_pairs": {}}},
        {"experiments": [ONE], "analysis": {"compare_pairs": [{"baseline": "a"}]}},
        {"experiments": [ONE], "analysis": {"pairs": []}},
        {"experiments": {"a": ONE}},
    ],
    ids=json.dumps,
)
def test_etprof_refuses_configurations_that_the_schema_refuses(keys, tmp_path):
    config = {"model": str(MODEL)} | keys
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert errors("config", config)
    completed = program.run("run", path, "--dry-run")
    assert completed.returncode == 3, completed.stdout
    assert program.one_error(completed.stderr)


def test_etprof_accepts_configurations_that_the_schema_accepts(tmp_path):
    config = {
        "_note": "free",
        "$schema": "../config.schema.json",
        "comment": {"also": "free"},
        "model": str(MODEL),
        "num_threads": [1, 2],
        "margin": 1e-6,
        "max_seconds": None,
        "isa": ["-sse3"],
        "experiments": [
            {
                "name": "a",
                "cpu_affinity": "0x1",
                "env": {"A": 1},
                "inputs": "random:3",
                "period": "33ms",
                "extra_args": "--a b",
            },
            {"name": "b", "cpu_affinity": [0], "threads": 1, "warmup": 0, "device": ["local"]},
        ],
        "analysis": {
            "compare_pairs": [{"baseline": "a", "candidate": {"experiment": "b", "threads": 1, "label": "B"}}]
        },
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert errors("config", config) == []
    completed = program.run("run", path, "--dry-run")
    assert completed.returncode == 0, completed.stderr
