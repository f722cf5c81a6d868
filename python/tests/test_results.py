"""Results have short texts at a prompt and tables in a notebook, and reading them changes no file."""

import hashlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import program
import pytest

import etprof
from etprof.arrow import Records
from etprof.etdump import _warn_of_disturbed_runs
from etprof.fleet import ingest
from etprof.fleet.store import Fleet
from etprof.results import Result, html_table, plot

TOY = program.DATA / "toy_cnn.pte"
ETDUMPS = [program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump" for variant in ("off", "on")]
# The scripted latencies are 1 ms and 0.5 ms.
WORKER = program.ROOT / "tests" / "measure" / "fake_worker.py"


def scripted(folder: Path, **keys) -> dict:
    experiments = [
        {"name": name, "runner_path": str(WORKER), "env": {"FAKE_LATENCY_NS": latency}}
        for name, latency in (("plain", "1000000"), ("fast", "500000"))
    ]
    return {"model": str(TOY), "output_root": str(folder), "experiments": experiments, "runs": 10, "launches": 4} | keys


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A results directory with an experiment that is significantly faster: by a factor of 2."""
    folder = tmp_path_factory.mktemp("measured") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETPROF", str(program.etprof()))
        etprof.run(scripted(folder))
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """The files of a killed measurement: an unfinished manifest, and ETDumps in parts."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    text = f"""
import etprof, os, signal
def kill(event):
    if event["kind"] == "measuring" and event["done"] >= 2:
        os.kill(os.getpid(), signal.SIGKILL)
etprof.run({scripted(str(folder), launches=1000)!r}, progress=kill)
"""
    path = os.pathsep.join([str(Path(etprof.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "ETPROF": str(program.etprof())}
    completed = subprocess.run([sys.executable, "-c", text], env=environment, timeout=300, check=False)
    assert completed.returncode == -signal.SIGKILL
    assert list(folder.rglob("launches/*.etdump")), "the ETDumps are merged already"
    return folder


def contents(folder: Path) -> dict[Path, tuple[int, str]]:
    """Returns the modification time of each file and folder, and the SHA-256 of each file."""
    return {
        path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("which", ["run", "killed"])
@pytest.mark.filterwarnings("ignore:.*disturbed by other processes")
def test_only_analyze_writes_into_a_results_directory(which, request, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(request.getfixturevalue(which), folder)
    before = contents(folder)
    for etdump in folder.rglob("*.etdump"):
        etprof.read_etdump(etdump).to_pandas()
    assert etprof.compare(folder / "plain", folder / "fast").verdict
    etprof.check(folder, folder)
    etprof.validate(folder)
    etprof.kernels(folder)
    etprof.diff(TOY, TOY, folder)
    etprof.trace(folder, out=tmp_path / "run.pftrace")
    etprof.report(folder, out=tmp_path / "report.html")
    etprof.report(folder, out=tmp_path / "report.md")
    ingest.add(Fleet(str(tmp_path / "fleet"), create=True), [folder], events=2)
    if which == "run":
        etprof.History(tmp_path / "history.sqlite").add(folder, commit="first")
    assert contents(folder) == before
    result = etprof.analyze(folder)
    # A finished measurement has been analyzed already.
    contents_before = contents(folder)
    assert (contents_before == before) == (which == "run")
    assert etprof.analyze(folder) == result and contents(folder) == contents_before
    # In a current analysis, only a missing file and an edited file are written again.
    (folder / "report.md").unlink()
    (folder / "pipeline_summary.md").write_text("edited")
    etprof.analyze(folder)
    after = contents(folder)
    assert {path.name for path in after if after[path][0] != contents_before.get(path, (0,))[0]} == {
        *("report.md", "pipeline_summary.md", folder.name)
    }
    assert {path: text for path, (_, text) in after.items()} == {
        path: text for path, (_, text) in contents_before.items()
    }


def test_a_current_analysis_is_read_from_a_folder_that_cannot_be_written(run, tmp_path):
    """Runs as another user if the tests run as root, because file modes do not restrict root."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    user_command = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("runs as root, and there is no setpriv")
        user_command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for above in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
            above.chmod(above.stat().st_mode | 0o001)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    analyze = [*user_command, program.etprof(), "analyze", folder, "--json"]
    if subprocess.run([*user_command, program.etprof(), "--version"], capture_output=True).returncode != 0:
        pytest.skip("the other user may not run etprof")
    assert json.loads(subprocess.run(analyze, check=True, capture_output=True, text=True).stdout) == etprof.analyze(run)
    folder.chmod(0o755)
    (folder / "report.md").unlink()
    folder.chmod(0o555)
    failed = subprocess.run(analyze, capture_output=True, text=True)
    assert failed.returncode != 0 and "report.md" in failed.stderr


def test_a_result_is_a_dict_with_its_numbers_on_one_line(run):
    compared = "fast vs plain: verdict faster, speedup 2.00x, 95% CI [2.00, 2.00], candidate ms 0.5, baseline ms 1"
    result = etprof.analyze(run)
    assert result == json.loads((run / "analysis_summary.json").read_text())
    assert repr(result) == f"<status complete; {compared}>"
    assert repr(etprof.compare(run / "plain", run / "fast")) == f"<Comparison: {compared}>"
    checked = etprof.check(run, run, max_slowdown=0.05)
    assert re.fullmatch(
        r"<result \w+; plain: check latency, change \+0\.0%, .*limit \+5\.0%, result \w+>", repr(checked)
    )
    assert repr(etprof.validate(run)).startswith("<ok ")
    inspected = etprof.inspect(TOY)
    method_text = f"forward: MACs {inspected.methods[0].macs / 1e6:.3g} M, delegates 1 XnnpackBackend"
    assert repr(inspected) == f"<{method_text}, operators not delegated 0; size {TOY.stat().st_size / 1000:.3g} kB>"
    (profile,) = etprof.read_etdump(ETDUMPS[0]).profiles()
    assert re.fullmatch(r"<Profile: \d+ operators, \d+ steady runs, median [\d.]+ ms>", repr(profile))
    assert re.fullmatch(r"<Records: \d+ rows of key, name, .*>", repr(profile.operators))


def test_an_etdump_alone_has_no_clean_runs():
    """Its runs are traced, and nothing says which of them other processes disturbed."""
    assert repr(etprof.analyze(ETDUMPS[0])).startswith("<status unknown; toy_cnn.sme2_off: latency ms ")
    assert "clean runs" not in repr(etprof.analyze(ETDUMPS[0]))


def test_keys_of_results_are_attributes(run):
    result = etprof.analyze(run)
    assert isinstance(result, dict) and json.loads(json.dumps(result)) == result == pickle.loads(pickle.dumps(result))  # noqa: S301
    assert result.status == result["status"] == "complete"
    assert result.comparisons[0].latency.verdict == "faster"
    assert {"status", "comparisons", "items"} <= set(dir(result))
    assert "ratio" in dir(result.comparisons[0].latency)
    with pytest.raises(AttributeError, match=r"there is no 'stats', only schema_version, .*status"):
        result.stats  # noqa: B018
    assert not hasattr(result, "_repr_svg_")
    # A key that is the name of a method of dict does not replace the method.
    assert list(Result(values=[1], x=2).values()) == [[1], 2]


def test_methods_without_delegates_or_macs():
    operators = [{"calls": 2}, {"calls": 3}]
    delegates = [{"backend": name} for name in ("A", "B", "A")]
    method = {"name": "a", "macs": None, "delegates": [], "operators": operators}
    other = {"name": "b", "macs": 999_500, "delegates": delegates, "operators": []}
    result = Result(methods=[method, other], file_bytes=512)
    assert repr(result) == (
        "<a: delegates none, operators not delegated 5; "
        "b: MACs 1 M, delegates 2 A, 1 B, operators not delegated 0; size 512 B>"
    )


def read_plot(svg: str) -> tuple[list[float], list[tuple[float, float]], str]:
    """Returns the places of the points and of the intervals (px), and the texts."""
    root = ElementTree.fromstring(svg)  # noqa: S314  our own
    points = [float(circle.get("cx")) for circle in root.iter("circle")]
    lines = [(float(line.get("x1")), float(line.get("x2"))) for line in root.iter("line") if line.get("opacity")]
    return points, lines, " ".join(root.itertext())


def test_notebooks_get_a_plot_of_medians_with_intervals(run):
    rows = [("a", 1.0, 0.5, 2.0), ("<b>", 4.0, None, None), ("none", None, None, None), ("c", 3.0, 3.0, 3.0)]
    points, intervals, texts = read_plot(plot(rows, " ms"))
    zero, scale = 240, 380 / 4
    assert points == [zero + scale * value for value in (1, 4, 3)]
    assert intervals == [(zero + scale * 0.5, zero + scale * 2), (zero + scale * 3, zero + scale * 3)]
    assert "1 ms [0.5, 2]" in texts and "<b>" in texts and "none" not in texts
    # The reference is on the axis, also where no value is on its other side.
    points, _, texts = read_plot(plot([("a", 0.5, None, None)], "x", 1))
    assert points == [zero] and texts.split()[-2:] == ["0.5", "1"]
    assert plot([], "x") == plot([("a", None, None, None)], "x") == plot([("a", 1.0, 1.0, 1.0)], "x", 1) == ""

    for shown, count in ((etprof.analyze(run), 2), (etprof.compare(run / "plain", run / "fast"), None)):
        (svg,) = re.findall("<svg .*?</svg>", shown._repr_html_())
        points, intervals, texts = read_plot(svg)
        assert len(points) == (count or 1 + sum(group["ratio"] is not None for group in shown.data["groups"]))
        assert ("fast" in texts and "0.5 ms" in texts) if count else "2x [2, 2]" in texts
        if count:
            # The fast experiment takes half of the time.
            assert points[1] - zero == pytest.approx((points[0] - zero) / 2, abs=0.1)


def test_a_suite_has_a_row_for_each_pair():
    cell = {"model": "net", "dtype": None, "device": "local", "status": "measured", "reason": None, "latency_ms": 1.0}
    pair = {"candidate": "2 threads", "baseline": "1 thread", "candidate_ms": 0.5, "baseline_ms": 1.0, "ratio": 2.0}
    pair |= {"ratio_low": 1.9, "ratio_high": 2.1, "confidence": 0.95, "verdict": "faster"}
    failed = {"pairs": [], "dtype": "fp16", "status": "failed", "reason": "no export", "latency_ms": None}
    result = Result(result="fail", cells=[cell | {"pairs": [pair]}, cell | failed])
    assert repr(result) == (
        "<result fail; net local, 2 threads vs 1 thread: verdict faster, speedup 2.00x, 95% CI [1.90, 2.10], "
        "candidate ms 0.5, baseline ms 1; net fp16 local: status failed, reason no export>"
    )
    assert "<td>2.00x</td>" in result._repr_html_() and "<td>no export</td>" in result._repr_html_()


def test_many_measurements_are_cut():
    experiment = {"label": "a", "latency_ms": {"p50": 0.5}, "latency_interval_ms": None, "clean_runs": 3, "all_runs": 4}
    result = Result(status="complete", experiments=[experiment | {"label": f"x{number}"} for number in range(6)])
    assert repr(result).startswith("<status complete; x0: latency ms 0.5, clean runs 3 of 4; x1: ")
    assert repr(result).endswith("x3: latency ms 0.5, clean runs 3 of 4; 2 more>")
    assert repr(Result(features=["avx"])) == "<features>"
    assert html_table([{"number": number} for number in range(100)]).endswith("<p>40 more rows</p>")


def test_names_reach_neither_terminals_nor_pages_raw():
    experiment = {"latency_ms": {"p50": None}, "latency_interval_ms": None, "clean_runs": 0, "all_runs": 0}
    result = Result(experiments=[experiment | {"label": "a\x1b[2J<script>"}], status="\x1b")
    assert "\x1b" not in repr(result) + result._repr_html_()
    assert "<script>" not in result._repr_html_() and "&lt;script&gt;" in result._repr_html_()
    assert "<i>" not in html_table([{"<i>": 1}], "<i>")


def test_notebooks_get_tables_without_internals(run):
    comparison = etprof.compare(run / "plain", run / "fast")
    assert "delta_numerator_ns" in comparison.data["operators"][0]
    (profile,) = etprof.read_etdump(ETDUMPS[0]).profiles()
    shown = [etprof.analyze(run), etprof.check(run, run), comparison, comparison.rows(), comparison.rows("groups")]
    for item in [*shown, profile, profile.operators, etprof.inspect(TOY), etprof.validate(run), etprof.doctor()]:
        table = item._repr_html_()
        assert table.startswith("<table>") and "<td>" in table, item
        assert not re.search(r"<th>\w*(_ns|_score|_denominator)</th>", table), item
    assert "<td>2.00x</td>" in comparison._repr_html_()
    for frame in (comparison.operators(), comparison.groups()):
        assert not [name for name in frame.columns if name.endswith("_ns")]
        assert {"name", "baseline_ms", "candidate_ms", "ratio", "verdict"} <= set(frame.columns)
    assert Records([])._repr_html_() == ""


def test_a_disturbed_etdump_names_its_results_directory(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    phase_keys = {"launch": 0, "round": 0, "phase": "steady", "runs": 5}
    manifest["results"][0]["etdump_runs"] = [phase_keys, phase_keys | {"phase": "disturbed", "runs": 3}]
    manifest["results"][1]["etdump_runs"] = [phase_keys]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    ((disturbed,), (quiet,)) = ((folder / name).glob("*.etdump") for name in ("plain", "fast"))
    with pytest.warns(
        UserWarning, match=f"3 of the 8 traced runs .* in {disturbed.name} .*{re.escape(str(folder))}"
    ) as w:
        etprof.read_etdump(disturbed)
    assert w[0].filename == __file__
    copied = shutil.copy(disturbed, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        etprof.read_etdump(quiet)
        etprof.read_etdump(copied)
        etprof.read_etdump(disturbed.read_bytes())
        for broken in ("[]", '{"results": 1}', '{"results": [{}]}', "{"):
            (folder / "manifest.json").write_text(broken)
            etprof.read_etdump(disturbed)
        _warn_of_disturbed_runs(Path("/model.etdump"))  # a file in the root folder
