"""`etprof kernels`: the microkernels of kernel logs, and the changes between the variants of a run."""

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

LOG = program.DATA / "toy_cnn.t1.log"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"
IGEMM = "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast"
SME2 = "xnn_pf32_igemm_minmax_ukernel_32x32__neonsme2"
KIT = [
    "model_id",
    "kernel_name",
    "category",
    "count",
    "dtype",
    "xnn_op",
    "variant",
    "ukernel_shape",
    "arch_chain",
    "has_sme",
    "has_sme2",
]


def kernels(*arguments) -> dict:
    completed = program.run("kernels", *arguments, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def with_sme2(tmp_path) -> Path:
    """The real log, modified as if the convolutions had an SME2 microkernel."""
    text = LOG.read_text(encoding="utf-8").replace("(Convolution (NHWC, F32)", "(Convolution (NHWC, PF32)")
    text = text.replace("mr=7, nr=32", "mr=32, nr=32").replace(IGEMM, SME2)
    path = tmp_path / "sme2_on_xnntrace.log"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_real_log():
    (log,) = kernels(LOG, "--etdump", ETDUMP)["logs"]
    assert log["etdump_agrees"] is True
    ran = {op["name"]: op["kernel"] for op in log["operators"]}
    assert {name: kernel for name, kernel in ran.items() if kernel} == {
        f"Convolution (NHWC, F32) IGEMM #{i}": IGEMM for i in (1, 2, 3)
    }
    by_status = {status: set() for status in ("used", "registered", "superseded")}
    for kernel in log["kernels"]:
        by_status[kernel["status"]].add(kernel["name"])
    assert by_status["used"] == {IGEMM}
    assert len([name for name in by_status["registered"] if "dwconv" in name]) == 4
    assert len(by_status["superseded"]) == 9
    assert all("transposec" in name for name in by_status["superseded"])
    (clamped,) = [op for op in log["operators"] if op["name"] == "Fully Connected (NC, F32) GEMM #2"]
    assert clamped["tile"] == {"m": 1, "n": 10, "mr": 1, "nr": 10}
    assert len(clamped["candidates"]) == 4


def line(text: str, function: str, place: str) -> str:
    """Returns a line as XNNPACK prints it in the real log."""
    root = "/src/executorch/backends/xnnpack/third-party/XNNPACK/src/"
    return f"Debug (XNNPACK): {text} ({function}, {root}{place})\n"


def graph(operators: list[str]) -> str:
    """Returns the lines of one call of a runtime: reshape, then run."""
    reshaped = [
        line(f"reshaping operator {i} ({name.rpartition(' ')[0]})", "xnn_reshape_runtime", "runtime.c:887")
        for i, name in enumerate(operators)
    ]
    ran = [
        line(f"running operator {i}:0 ({name})", "xnn_run_operator_with_index", "operator-run.c:2001")
        for i, name in enumerate(operators)
    ]
    return "".join(reshaped + ran)


MAKES_TABLE = line("Running unary subgraph to make LUT", "run_subgraph_to_make_lut", "subgraph.c:1835")


def test_a_quantized_model_with_lookup_tables(tmp_path):
    """While XNNPACK loads such a model, it runs internal graphs to fill tables. These are not in the ETDump."""
    etdump = program.DATA / "sme2_emulated" / "toy_q8.sme2_off.etdump"
    completed = program.run("analyze", etdump, "--json")
    rows = json.loads(completed.stdout)["experiments"][0]["operators"]
    rows.sort(key=lambda row: int(row["key"].rpartition("/")[2]))
    operators = [row["name"].rpartition(" #")[0] for row in rows]
    assert "Invalid Unary Op" in operators  # the model's GELU, for which XNNPACK uses a lookup table
    operators = [name if name.endswith("GEMM") else f"{name} Default" for name in operators]
    loads = MAKES_TABLE + graph(["Convert (NC) Default", "GELU (NC) Default", "Convert (NC) Default"])
    log = tmp_path / "toy_q8_xnntrace.log"
    log.write_text(loads + graph(operators) * 4)
    (read,) = kernels(log, "--etdump", etdump)["logs"]
    assert read["etdump_agrees"] is True
    assert not any(op["name"].startswith("GELU") for op in read["operators"])
    # Without the line that announces a table, the graphs count as graphs of the model.
    log.write_text(loads.replace(MAKES_TABLE, "") + graph(operators) * 4)
    (read,) = kernels(log, "--etdump", etdump)["logs"]
    assert read["etdump_agrees"] is False


def test_the_files(tmp_path):
    completed = program.run("kernels", LOG, "--out", tmp_path, "--model-id", "toy_cnn", "-q")
    assert (completed.returncode, completed.stdout) == (0, "")
    table = rows(tmp_path / "toy_cnn.t1_kernels.csv")
    assert list(table[0])[: len(KIT) + 1] == [*KIT, "status"]
    assert len(table) == 38
    assert {row["model_id"] for row in table} == {"toy_cnn"}
    (used,) = [row for row in table if row["status"] == "used"]
    assert (used["kernel_name"], used["operators"], used["arch_chain"]) == (IGEMM, "3", "avx512f")
    assert "Superseded" in (tmp_path / "kernel_view.md").read_text(encoding="utf-8")


def test_the_kits_commands(tmp_path, with_sme2):
    table = tmp_path / "toy_kernels.csv"
    assert program.run("kernels", "--xnntrace", LOG, "--out", table, "--model-id", "toy").returncode == 0
    assert len(rows(table)) == 38
    view = tmp_path / "kernel_view_gemm.md"
    variants = ["--sme2-on", with_sme2, "--sme2-off", table, "--filter-op", "GEMM", "--title", "What SME2 brings"]
    assert program.run("kernels", *variants, "--out", view).returncode == 0
    text = view.read_text(encoding="utf-8")
    assert text.startswith("# What SME2 brings\n")
    assert SME2.replace("_", "\\_") in text and "dwconv" not in text
    # The counts also cover only this operation.
    logs = ["--sme2-on", with_sme2, "--sme2-off", LOG]
    document = kernels(*logs, "--filter-op", "GEMM")
    names = [{kernel["name"] for kernel in log["kernels"]} for log in document["logs"]]
    assert 0 < document["comparison"]["alike"] + len(document["comparison"]["kernels"]) == len(names[0] | names[1])
    shown = program.run("kernels", LOG, "--filter-op", "GEM M")
    assert shown.returncode == 0 and "no operation is called `GEM M` (--filter-op)" in shown.stdout
    # In a folder, the view has this name by default.
    assert program.run("kernels", LOG, "--filter-op", "GEMM", "--out", tmp_path / "out").returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"toy_cnn.t1_kernels.csv", "kernel_view_gemm.md"}


def test_two_logs_against_each_other(with_sme2):
    comparison = kernels("--compare", with_sme2, LOG)["comparison"]
    assert [(row["name"], row["baseline"], row["candidate"], row["sme2"]) for row in comparison["kernels"]] == [
        (IGEMM, "used", None, False),
        (SME2, None, "used", True),
    ]
    changed = [row for row in comparison["operators"] if row["baseline"] != row["candidate"]]
    assert [row["candidate_kernel"] for row in changed] == [SME2] * 3
    shown = program.run("kernels", "--compare", with_sme2, LOG, width=100)
    assert "SME2" in shown.stdout and shown.stderr == ""


@pytest.mark.parametrize("model", ["toy_cnn", "toy_fp16", "toy_q8"])
def test_the_operators_that_change_under_the_mask(tmp_path, model):
    for variant in ("off", "on"):
        source = program.DATA / "sme2_emulated" / f"{model}.sme2_{variant}.etdump"
        shutil.copy(source, tmp_path / f"{model}_sme2_{variant}_t1.etdump")
    document = kernels(tmp_path)
    assert document["logs"] == []
    (pair,) = document["pairs"]
    assert (pair["baseline_kleidiai"], pair["candidate_kleidiai"]) == (0, 5)
    packed = {"toy_cnn": "PF32", "toy_fp16": "PF16", "toy_q8": "PQS8"}[model]
    for row in pair["changed"]:
        if row["candidate_sme"]:
            assert packed in row["candidate"] and packed not in row["baseline"]
    shown = program.run("kernels", tmp_path, width=120)
    assert "KleidiAI, SME\n" in shown.stdout
    assert "`etprof profile --watch` shows which functions" in shown.stdout


def foreign_run(folder: Path, trace: bool) -> Path:
    folder.mkdir()
    times = "".join(f"Iteration {i + 1} of 20: {2 + i % 3 / 100:.6f} ms\n" for i in range(20))
    for variant in ("off", "on"):
        shutil.copy(ETDUMP, folder / f"toy_cnn_mac_sme2_{variant}_t1.etdump")
        log = LOG.read_text(encoding="utf-8") if trace and variant == "on" else times
        (folder / f"toy_cnn_mac_sme2_{variant}_t1_latency.log").write_text(log, encoding="utf-8")
    return folder


def test_times_of_a_runner_that_was_trace_enabled_are_refused(tmp_path):
    timed, traced = foreign_run(tmp_path / "timed", False), foreign_run(tmp_path / "traced", True)
    for folder, verdicts in ((timed, 1), (traced, 0)):
        completed = program.run("analyze", folder, "--json")
        assert completed.returncode == 0, completed.stderr
        summary = json.loads(completed.stdout)
        assert len(summary["comparisons"]) == verdicts
        assert [e["trace_enabled"] for e in summary["experiments"]] == [False, not verdicts]
    assert (traced / "toy_cnn_mac_sme2_on_t1_kernels.csv").exists()
    assert (traced / "kernel_view.md").exists()
    assert not (timed / "kernel_view.md").exists()
    # A comparison of two runs uses the measured variants, and not the kernel-log runs.
    completed = program.run("compare", timed, traced, "--json")
    assert completed.returncode == 0, completed.stderr
    compared = json.loads(completed.stdout)
    assert [(c["baseline"], c["candidate"]) for c in compared["comparisons"]] == [
        ("mac_sme2_off (A)", "mac_sme2_off (B)")
    ]
    assert any("kernel-log" in warning for warning in compared["warnings"])
    accepted = ("--allow-mismatch", "device,runner", "--max-slowdown", "10%")
    completed = program.run("check", timed, traced, *accepted, width=200)
    assert completed.returncode == 0, completed.stderr
    assert "mac_sme2_on with 1 thread is a kernel-log run: not checked" in completed.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [("Iteration 1 of 2: 2.0 ms\n", "no line of XNNPACK"), ("", "no line of XNNPACK"), (None, "no such file")],
)
def test_other_files_than_logs_are_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "some.log"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    completed = program.run("kernels", path)
    assert completed.returncode == 3
    assert message in completed.stderr and program.one_error(completed.stderr) and completed.stdout == ""


def test_an_etdump_is_no_log_and_says_what_reads_it():
    variants = [program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump" for variant in ("on", "off")]
    completed = program.run("kernels", "--sme2-on", variants[0], "--sme2-off", variants[1])
    assert completed.returncode == 3 and "is an ETDump, not a log of XNNPACK" in program.one_error(completed.stderr)
    assert "etprof compare OFF.etdump ON.etdump --all" in completed.stderr
    shown = program.run("compare", variants[1], variants[0], "--all", width=120)
    assert "KleidiAI, SME or SME2" in shown.stdout


def test_a_folder_that_holds_nothing_of_it(tmp_path):
    (tmp_path / "x.txt").write_text("x")
    completed = program.run("kernels", tmp_path)
    assert completed.returncode == 3 and program.one_error(completed.stderr)
    # A log without an ETDump is enough.
    shutil.copy(LOG, tmp_path / "net_trace_t1_xnntrace.log")
    assert [log["label"] for log in kernels(tmp_path)["logs"]] == ["net_trace_t1"]


@pytest.mark.parametrize(
    "arguments", [[], ["--sme2-on", LOG], [LOG, "--compare", LOG, LOG], ["--compare", LOG, LOG, "--out", "x.csv"]]
)
def test_wrong_usage(arguments):
    completed = program.run("kernels", *arguments)
    assert completed.returncode == 2, completed.stderr
    assert completed.stderr.strip()


def test_a_table_as_csv():
    shown = program.run("kernels", LOG, "--csv", "operators")
    assert (shown.returncode, shown.stderr) == (0, "")
    table = list(csv.DictReader(shown.stdout.splitlines()))
    (log,) = kernels(LOG)["logs"]
    assert [row["operator"] for row in table] == [op["name"] for op in log["operators"]]
    assert {row["log"] for row in table} == {"toy_cnn.t1"}
    refused = program.run("kernels", LOG, "--csv", "nothing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Give one of operators, kernels" in refused.stderr
    assert program.run("kernels", LOG, "--csv", "operators", "--json").returncode == 2
