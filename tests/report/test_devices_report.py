"""`etprof report` over several runs, as from several devices: also for bare ETDumps, and with the kit's options."""

import base64
import csv
import gzip
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ETDUMP = program.DATA / "toy_cnn.t1.etdump"


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    """Two results directories with nothing but ETDumps in them, as the profiling kit leaves them."""
    folders = [tmp_path / "runs" / name for name in ("mac", "android")]
    for folder in folders:
        folder.mkdir(parents=True)
        for variant in ("off", "on"):
            shutil.copy(ETDUMP, folder / f"toy_cnn_sme2_{variant}_t1.etdump")
    return folders


def test_the_kits_combined_report(runs, tmp_path):
    options = ["--mac-dir", runs[0], "--android-dir", runs[1], "--out", tmp_path / "combined.md"]
    completed = program.run("report", *options, "--model-name", "toy CNN")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.strip().endswith("combined.md")
    text = (tmp_path / "combined.md").read_text()
    assert text.startswith("# toy CNN\n")
    for section in ("Latency across platforms", "Speedup per platform", "Categories per platform"):
        assert section in text
    # The conditions of the measurement are unknown.
    assert "were interleaved where launches and rounds are shown" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| sme2\\_on, 1 thread | mac |")]
    assert row.endswith("| — |"), row
    document = json.loads((tmp_path / "combined.json").read_text())
    assert [device["name"] for device in document["devices"]] == ["mac", "android"]
    # Traces without launches: the report shows the medians side by side, without a ratio.
    for experiment in document["models"][0]["experiments"]:
        assert experiment["devices"][1]["against_first"]["ratio"] is None
        assert experiment["devices"][1]["against_first"]["verdict"] == "inconclusive"


def test_the_report_is_in_the_common_folder_of_the_runs(runs):
    completed = program.run("report", *runs)
    assert completed.returncode == 0, completed.stderr
    assert (runs[0].parent / "devices_report.md").exists() and (runs[0].parent / "devices_report.json").exists()
    # Nothing says on how many devices the ETDumps were recorded.
    assert (runs[0].parent / "devices_report.md").read_text().startswith("# toy\\_cnn: 2 runs\n")
    # The files of the runs do not change, and --json writes no file.
    assert {path.suffix for folder in runs for path in folder.iterdir()} == {".etdump"}
    (runs[0].parent / "devices_report.md").unlink()
    assert json.loads(program.run("report", *runs, "--json").stdout)["schema_version"] == 1
    assert not (runs[0].parent / "devices_report.md").exists()


def test_the_page_has_every_table(runs, tmp_path):
    for name in ("report.md", "report.html"):
        completed = program.run("report", *runs, "--out", tmp_path / name)
        assert completed.returncode == 0, completed.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    embedded = re.search(r'id="etprof-document">([^<]*)<', page)
    document = json.loads(gzip.decompress(base64.b64decode(embedded[1])))
    tables = [part["table"] for section in document["sections"] for part in section["parts"] if "table" in part]
    assert {"devices", "latency", "categories"} <= {table["id"] for table in tables}
    text = (tmp_path / "report.md").read_text(encoding="utf-8").replace("\\", "")  # removes escapes
    for table in tables:
        for row in table["rows"]:
            assert f"| {row['cells'][0]['text']} |" in text


def test_threads_of_bare_etdumps_are_not_known(tmp_path):
    """Nothing in an ETDump says with how many threads it was recorded."""
    files = [shutil.copy(ETDUMP, tmp_path / f"{name}.etdump") for name in ("a", "b")]
    document = program.parse_with_schema("devices_report", program.run("report", *files, "--json").stdout)
    assert [experiment["threads"] for model in document["models"] for experiment in model["experiments"]] == [
        None,
        None,
    ]
    assert "1 thread" not in program.run("report", *files, "--markdown", "-").stdout
    summary = program.parse_with_schema("analysis_summary", program.run("compare", *files, "--json").stdout)
    assert [experiment["threads"] for experiment in summary["experiments"]] == [None, None]
    for table in ("latency", "operators", "comparison"):
        rows = list(csv.DictReader(program.run("compare", *files, f"--csv={table}").stdout.splitlines()))
        assert rows and {row["threads"] for row in rows} == {""}, table


def test_the_report_replaces_no_foreign_file(runs, tmp_path):
    notes, settings = runs[0].parent / "devices_report.md", tmp_path / "both.json"
    notes.write_text("# My notes\n")
    settings.write_text('{"mine": 1}\n')
    for arguments, kept in [([], notes), (["--out", tmp_path / "both.md"], settings)]:
        before = kept.read_bytes()
        completed = program.run("report", *runs, *arguments)
        assert completed.returncode == 2, completed.stdout
        error = program.one_error(completed.stderr)
        assert f"`{kept}` is not overwritten" in error and "`--out FILE`" in error
        assert kept.read_bytes() == before
    assert not (tmp_path / "both.md").exists()
    # A file that the user names, and an earlier report, are replaced.
    for _ in range(2):
        assert program.run("report", *runs, "--out", notes).returncode == 0
        assert program.run("report", *runs).returncode == 0
    assert notes.read_text().startswith("# toy")


def test_several_have_every_table_and_format_that_others_have(runs, tmp_path):
    completed = program.run("report", *runs, "--csv=latency")
    assert completed.returncode == 0, completed.stderr
    assert len(completed.stdout.splitlines()) > len(runs)
    files = {name: tmp_path / f"several.{name}" for name in ("html", "markdown", "document")}
    completed = program.run("report", *runs, *(word for name, file in files.items() for word in (f"--{name}", file)))
    assert completed.returncode == 0, completed.stderr
    assert "Latency across platforms" in completed.stdout
    assert not (runs[0].parent / "devices_report.md").exists()
    for name in ("html", "markdown"):
        assert program.run("report", *runs, "--out", tmp_path / f"out.{name}").returncode == 0
        assert files[name].read_bytes() == (tmp_path / f"out.{name}").read_bytes()
    document = json.loads(files["document"].read_text(encoding="utf-8"))
    assert any("table" in part for section in document["sections"] for part in section["parts"])


def test_invalid_arguments_for_several_runs(runs, tmp_path):
    assert program.run("report", *runs, "--csv").returncode == 2
    missing = program.run("report", runs[0], tmp_path / "nothing")
    assert missing.returncode == 3 and "nothing" in missing.stderr
    assert program.run("report").returncode == 2
