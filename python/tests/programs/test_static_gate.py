"""The static gate reports exactly the known change between two programs, and exactly the facts that got worse."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import jsonschema
import program
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, schema, to_edge_transform_and_lower
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, naive
from executorch.exir.passes import MemoryPlanningPass

from etprof.export import Request, export_model
from etprof.exporting import lower
from test_pairs import PAIRS, changes_to_portable

SMALL = program.ROOT / "tests" / "fuzz" / "corpus" / "program"
MIXED, PORTABLE = SMALL / "mixed_delegates.pte", SMALL / "portable.pte"

Changes = tuple[str, ...] | Callable[[list[str]], bool]


def is_around_transposes(changes: list[str]) -> bool:
    """Returns whether all changes are transposes around delegates, or other layouts of outputs."""
    return bool(changes) and all(change.endswith(" Transpose") or ": output " in change for change in changes)


# Baseline, candidate, the facts that get worse, and the changes.
WORSE: dict[str, tuple[str, str, set[str], Changes]] = {
    "divided by a portable kernel": (
        "Base",
        "Split",
        {"delegated", "delegates", "portable", "planned", "file_size"},
        PAIRS["divided by a portable kernel"].changes,
    ),
    "inserted": (
        "Base",
        "InsertedConv",
        {"file_size", "macs", "packed_weights", "delegated_bytes"},
        PAIRS["inserted"].changes,
    ),
    "wider": ("Base", "Wider", {"file_size"}, PAIRS["wider"].changes),
    "depthwise": ("Undilated", "Depthwise", {"sme2"}, PAIRS["depthwise"].changes),
    "repeated block": (
        "ThreeBlocks",
        "FourBlocks",
        {"file_size", "macs", "packed_weights", "delegated_bytes"},
        PAIRS["repeated block"].changes,
    ),
    "not delegated": (
        "Base",
        "Base portable",
        {"delegated", "delegated_macs", "sme2", "portable", "planned", "file_size"},
        changes_to_portable,
    ),
    "a delegate for each operator": (
        "Base",
        "Base gate_backends:PerOperatorPartitioner",
        {"delegates", "planned", "file_size", "delegated_bytes"},
        is_around_transposes,
    ),
    "linear layers not delegated": (
        "Base",
        "Base gate_backends:WithoutLinearPartitioner",
        {"delegated", "delegated_macs", "sme2", "delegates", "portable", "planned", "file_size"},
        (
            "+ fc1 Transpose",
            "fc1 Linear 16→32: delegate XnnpackBackend → portable",
            "+ fc2 Transpose",
            "fc2 Linear 32→10: delegate XnnpackBackend → portable",
        ),
    ),
    "larger inputs": ("Base", "LargerInputs", {"macs", "planned"}, bool),
    "memory planned without reuse": ("Split", "Split unplanned", {"planned"}, ()),
    "a method less": ("two methods", "one method", {"methods"}, ()),
}
# Changes that make no fact worse.
HARMLESS = [
    "other weights",
    "removed",
    "inserted activation",
    "fused",
    "swapped activation",
    "dilated",
    "wrapper",
    "wrappers with an operator of their own",
    "removed block",
    "removed residual",
    "other names",
]


def plan_without_reuse(edge, _quantized: bool):
    planning = MemoryPlanningPass(MemoryPlanningAlgorithmSuite(algo_list=[naive]))
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))


class Exports:
    """Exports each program at its first use."""

    def __init__(self, folder: Path, variant: Callable[[str], Path]) -> None:
        self.folder = folder
        self.variant = variant
        self.paths: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Path:
        if name not in self.paths:
            export = (
                self.unplanned if name.endswith(" unplanned") else self.methods if " method" in name else self.variant
            )
            self.paths[name] = export(name)
        return self.paths[name]

    def unplanned(self, name: str) -> Path:
        model = f"{Path(__file__).with_name('pairs.py')}:{name.partition(' ')[0]}"
        request = Request(model, outdir=self.folder, check=False, command=["pytest"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lower, "to_executorch", plan_without_reuse)
            export_model(request)
        return request.pte

    def methods(self, name: str) -> Path:
        method_names = ["encode", "decode"] if name == "two methods" else ["encode"]
        exported = {
            method: torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(1, 4),), strict=True)
            for method in method_names
        }
        lowered = to_edge_transform_and_lower(exported, partitioner={m: [XnnpackPartitioner()] for m in method_names})
        path = self.folder / f"{name.replace(' ', '_')}.pte"
        path.write_bytes(lowered.to_executorch().buffer)
        return path


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory, variant: Callable[[str], Path]) -> Exports:
    return Exports(tmp_path_factory.mktemp("gate"), variant)


def check(*arguments: str | Path, code: int) -> dict:
    completed = program.run("check", "--static", *arguments, "--json")
    assert completed.returncode == code, completed.stdout + completed.stderr
    return program.parse_with_schema("static_check", completed.stdout)


def failed_facts(found: dict) -> set[str]:
    return {item["fact"] for item in found["checks"] if item["result"] != "pass"}


def changed_operators(found: dict) -> list[str]:
    return [change["operator"] for change in found["changes"]]


def count_by_method(pte: Path) -> list[dict[str, int]]:
    """Returns counts of each method, read by ExecuTorch's own Python."""
    return [
        {
            "delegates": len(plan.delegates),
            "portable": sum(
                isinstance(instruction.instr_args, schema.KernelCall)
                for chain in plan.chains
                for instruction in chain.instructions
            ),
            "planned": sum(plan.non_const_buffer_sizes[1:]),
        }
        for plan in deserialize_pte_binary(pte.read_bytes()).program.execution_plan
    ]


def delegated_bytes(pte: Path) -> int:
    """Returns the bytes of all payloads (each counted once) and of named data."""
    file = deserialize_pte_binary(pte.read_bytes())
    payloads = {
        (delegate.processed.location, delegate.processed.index)
        for plan in file.program.execution_plan
        for delegate in plan.delegates
    }
    changed_operators = file.named_data.buffers if file.named_data else []
    return sum(len(file.program.backend_delegate_data[index].data) for _, index in payloads) + sum(
        map(len, changed_operators)
    )


@pytest.mark.parametrize("name", WORSE)
def test_worse_facts_and_changes_are_reported(exports: Exports, name: str) -> None:
    baseline, candidate, worse, changes = WORSE[name]
    found = check(exports[baseline], exports[candidate], code=1)
    assert failed_facts(found) == worse
    assert (
        changes(changed_operators(found)) if callable(changes) else sorted(changed_operators(found)) == sorted(changes)
    )
    assert found["result"] == "fail"
    # The static gate reports lines of the model if the export knows them.
    assert all(change["source"].startswith("pairs.py:") for change in found["changes"])


@pytest.mark.parametrize("name", HARMLESS)
def test_a_change_that_makes_nothing_worse_passes_and_is_named(exports: Exports, name: str) -> None:
    pair = PAIRS[name]
    found = check(exports[pair.baseline], exports[pair.candidate], code=0)
    assert failed_facts(found) == set()
    assert sorted(changed_operators(found)) == sorted(pair.changes)


@pytest.mark.parametrize("name", sorted({variant for pair in WORSE.values() for variant in pair[:2]}))
def test_a_program_is_not_worse_than_itself(exports: Exports, name: str) -> None:
    found = check(exports[name], exports[name], code=0)
    assert (failed_facts(found), changed_operators(found)) == (set(), [])


@pytest.mark.parametrize("name", sorted({variant for pair in WORSE.values() for variant in pair[:2]}))
def test_its_counts_are_those_of_executorch(exports: Exports, name: str) -> None:
    pte = exports[name]
    found = check(pte, pte, code=0)
    values = {}
    for item in found["checks"]:
        assert item["low"] == item["high"] == item["baseline_low"], "etprof reads all of XNNPACK's payloads"
        values.setdefault(item["method"], {})[item["fact"]] = item["low"]
    assert values.pop(None) == {"file_size": pte.stat().st_size, "delegated_bytes": delegated_bytes(pte)}
    counts = [{fact: facts[fact] for fact in ("delegates", "portable", "planned")} for facts in values.values()]
    assert counts == count_by_method(pte)


def test_operators_that_are_not_delegated_have_module_line_and_reason(exports: Exports) -> None:
    completed = program.run("inspect", exports["Split"], "--require-delegated", "100%", width=120)
    assert completed.returncode == 1
    assert "layer2.0 Cumsum (pairs.py:" in completed.stdout
    assert "XNNPACK has no such operator" in completed.stdout
    assert program.run("inspect", exports["Base"], "--require-delegated", "100%").returncode == 0


def test_limits_of_one_program() -> None:
    """The gate passes at a limit and fails beyond it. The numbers are those of `etprof inspect`."""
    (method,) = json.loads(program.run("inspect", MIXED, "--json").stdout)["methods"]
    portable = sum(operator["calls"] for operator in method["operators"])
    nodes = sum(delegate["nodes"] * delegate["calls"] for delegate in method["delegates"])
    at = {
        "--max-delegates": len(method["delegates"]),
        "--max-portable": portable,
        "--max-planned": method["planned_bytes"],
        "--max-file-size": MIXED.stat().st_size,
    }
    for option, limit in at.items():
        assert program.run("inspect", MIXED, option, str(limit)).returncode == 0, option
        assert program.run("inspect", MIXED, option, str(limit - 1)).returncode == 1, option
    percent = 100 * nodes // (nodes + portable)
    assert program.run("inspect", MIXED, "--require-delegated", f"{percent}%").returncode == 0
    assert program.run("inspect", MIXED, "--require-delegated", f"{percent + 1}%").returncode == 1
    assert program.run("inspect", MIXED, "--require-delegated-macs", "100%").returncode == 0
    assert program.run("inspect", MIXED, "--require-sme2", "100%").returncode == 0
    assert program.run("inspect", PORTABLE, "--require-sme2", "1%").returncode == 1


def test_junit_json_and_markdown_say_the_same(tmp_path: Path) -> None:
    junit, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    found = check(MIXED, PORTABLE, "--junit", junit, f"--github-summary={summary}", code=1)
    suite = ElementTree.parse(junit).getroot().find("testsuite")  # noqa: S314 - ours
    cases = suite.findall("testcase")
    assert len(cases) == len(found["checks"]) == int(suite.get("tests"))
    failures = [case for case in cases if case.find("failure") is not None]
    assert len(failures) == int(suite.get("failures")) == sum(item["result"] == "fail" for item in found["checks"])
    assert all(case.find("failure").get("type") == "regression" for case in failures)
    assert "Linear 4→3: delegate XnnpackBackend → portable" in failures[0].find("failure").text
    text = summary.read_text(encoding="utf-8")
    assert text.count("FAIL |") == len(failures)
    assert f"FAIL: {len(failures)} of {len(cases)} checks fail" in text


def test_limits_in_a_file(tmp_path: Path) -> None:
    thresholds = tmp_path / "limits.json"
    thresholds.write_text(
        '{\n  // of every model\n  "require_delegated": "60%", "max_delegates": 2, "max_planned": "1 kB"\n}'
    )
    limits = ["inspect", MIXED, "--thresholds", thresholds]
    assert program.run(*limits).returncode == 0
    assert program.run(*limits, "--max-delegates", "1").returncode == 1, "the option is before the file"
    found = check(MIXED, PORTABLE, "--thresholds", thresholds, code=1)
    limit_checks = [item for item in found["checks"] if item["check"] == "limit"]
    assert {(item["fact"], item["result"]) for item in limit_checks} == {
        ("delegated", "fail"),
        ("delegates", "pass"),
        ("planned", "fail"),
    }


def test_a_tolerance_in_a_file(tmp_path: Path, exports: Exports) -> None:
    thresholds = tmp_path / "limits.json"
    growth_facts = {"file_size", "delegated_bytes", "macs", "packed_weights"}
    thresholds.write_text(json.dumps({"tolerance": dict.fromkeys(growth_facts, "20%")}))
    variants = [exports["Base"], exports["InsertedConv"]]
    assert failed_facts(check(*variants, code=1)) == growth_facts
    assert failed_facts(check(*variants, "--thresholds", thresholds, code=0)) == set()


LIMITS = jsonschema.Draft202012Validator(
    json.loads((program.ROOT / "docs" / "schema" / "thresholds.schema.json").read_text())
)


def test_thresholds_of_the_schema_are_accepted(tmp_path: Path) -> None:
    """The gate accepts each key of the schema with a value of each of its forms."""
    properties = LIMITS.schema["properties"]
    values = {"require": ["99.5%", "100 %", "0%"], "max": [0, 7, "3"], "tolerance": [{"planned": "2.5%"}]}
    sizes = ["300kB", "2 MB", "1.5MiB", "12 b", "4GB"]
    limits = {key: values[key.split("_")[0]] for key in properties if key != "$schema"}
    for key in ("max_planned", "max_file_size", "max_packed_weights", "max_delegated_bytes"):
        limits[key] = [*limits[key], *sizes]
    thresholds = tmp_path / "limits.json"
    for key, forms in limits.items():
        for value in forms:
            document = {"$schema": "thresholds.schema.json", key: value}
            assert LIMITS.is_valid(document), document
            thresholds.write_text(json.dumps(document))
            completed = program.run("check", "--static", MIXED, MIXED, "--thresholds", thresholds)
            assert completed.returncode in (0, 1), completed.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"max_delegates": 1,\n"max_delegate": 1\n}', "line 3"),
        ('{"max_delegate": 1}', 'did you mean "max_delegates"?'),
        ('{\n\n"require_delegated": "101%"}', "line 3"),
        ('{"require_delegated": 0.9}', "must be a percentage from 0% to 100%, but is 0.9"),
        ('{"max_planned": "2 parsecs"}', "must be a size"),
        ('{"max_portable": 1.5}', "must be a whole number"),
        ('{"tolerance": {"planed": "1%"}}', 'did you mean "planned"?'),
        ('{"tolerance": {"planned": "-1%"}}', "must be a percentage from 0%"),
        ('{"tolerance": 1}', "must be an object"),
        ('{"max_delegates": 1', "is not JSON"),
        ("", "is empty"),
        ("{}", "has no limit"),
    ],
)
def test_invalid_thresholds(tmp_path: Path, text: str, message: str) -> None:
    thresholds = tmp_path / "limits.json"
    thresholds.write_text(text)
    completed = program.run("inspect", MIXED, "--thresholds", thresholds)
    assert completed.returncode == 3
    assert completed.stdout == ""
    assert message.lower() in program.one_error(completed.stderr).lower()
    if text not in ("", "{}") and "not JSON" not in message:
        assert not LIMITS.is_valid(json.loads(text))


def test_invalid_input(tmp_path: Path) -> None:
    truncated = tmp_path / "cut.pte"
    truncated.write_bytes(MIXED.read_bytes()[:-100])
    missing = tmp_path / "gone.pte"
    for command, code, message in [
        (["check", "--static", MIXED, missing], 3, "no such file"),
        (["check", "--static", MIXED, truncated], 3, "cut.pte"),
        (["check", "--static", truncated, MIXED], 3, "cut.pte"),
        (["check", "--static", MIXED], 2, "`--static` compares two programs"),
        (["check", "--static", MIXED, MIXED, "--baseline", MIXED], 2, "is a third input"),
        (["check", "--static", MIXED, MIXED, "--max-slowdown", "2%"], 2, "do not go together"),
        (["check", "--static", MIXED, MIXED, "--thresholds", missing], 3, "no such file"),
        (["check", MIXED, MIXED, "--thresholds", missing], 2, "`--thresholds` needs `--static`"),
        (["inspect", truncated, "--max-delegates", "1"], 3, "cut.pte"),
        (["inspect", MIXED, "--require-delegated", "101%"], 2, "is not a percentage from 0% to 100%"),
        (["inspect", MIXED, "--max-delegates", "-1"], 2, "is not a whole number"),
        (["inspect", MIXED, "--junit", tmp_path / "x.xml"], 2, "none is given"),
    ]:
        completed = program.run(*command)
        assert completed.returncode == code, completed.stderr
        assert message in program.one_error(completed.stderr)
    assert list(tmp_path.iterdir()) == [truncated], "nothing is written for what cannot be read"


def test_methods_have_results_of_their_own(exports: Exports) -> None:
    completed = program.run(
        "inspect", exports["two methods"], "--max-delegates", "1", "--max-file-size", "1MB", "--json"
    )
    assert completed.returncode == 0
    items = program.parse_with_schema("static_check", completed.stdout)["checks"]
    assert [(item["fact"], item["method"]) for item in items] == [
        ("delegates", "decode"),
        ("delegates", "encode"),
        ("file_size", None),
    ]
    found = check(exports["two methods"], exports["one method"], code=1)
    (missing_method,) = [item for item in found["checks"] if item["fact"] == "methods"]
    assert missing_method["why"] == "the candidate has no method `decode`"
    found = check(exports["one method"], exports["two methods"], code=1)
    assert failed_facts(found) == {"file_size", "delegated_bytes"}
    assert found["notes"] == ["`decode` is a method of the candidate only"]


def test_thresholds_are_read_only_on_request(tmp_path: Path) -> None:
    """The gate ignores a thresholds.json in the current folder."""
    (tmp_path / "thresholds.json").write_text("{")
    command = [program.etprof(), "check", "--static", MIXED, MIXED]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
