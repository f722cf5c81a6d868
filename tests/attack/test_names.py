"""Names may contain anything, and no output interprets them. All names of a run contain sequences that terminals, Markdown,
spreadsheets, or browsers interpret, and the tests read each output as its reader would."""

import csv
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

# Terminal control sequences (CSI in C0 and C1, OSC, bell, carriage return), marks that reverse text, line ends, HTML and
# Markdown syntax, and a formula.
HOSTILE = "=cmd|'/C calc'!A0\x1b[2J\x1b]0;title\x07\r\u009b31m\u202eabc\u2066\nINJECTED\n# heading\n<img src=x onerror=alert(1)>`**[a](http://b)|\u2028\x7f"
HARMFUL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ETDUMP_NAME = b"Transpose (ND, X32) #"
READERS = {
    "analyze": [],
    "analyze --all": [],
    "analyze --json": [],
    "analyze --by layer": [],
    "analyze --by delegate": [],
    "analyze --by roofline": [],
    "analyze --csv=operators": [],
    "analyze --csv=comparison": [],
    "analyze --csv=groups": [],
    "report": [],
    "report --brief": [],
    "report --all": [],
    "trace -o hostile.pftrace": [],
    "trace -o hostile.json": [],
    "kernels --out kernel_view": [],
    "kernels --json": [],
    "validate": [],
    "validate --json": [],
    "compare": ["again"],
    "compare --json": ["again"],
    "check --junit check.xml --github-summary=check.md": ["--baseline", "again"],
    "check --json": ["--baseline", "again"],
}


def check_harmless(text: bytes, source: str) -> str:
    """Returns the text, which must be UTF-8 without control sequences and without line breaks from names."""
    read = text.decode("utf-8")  # raises an error for invalid UTF-8
    found = HARMFUL_CHARACTERS.search(read)
    assert found is None, (source, read[max(0, found.start() - 80) : found.end() + 20])
    assert not re.search(r"^\s*INJECTED", read, re.M), (source, read[:2000])
    return read


def check_markdown(text: str, source: str) -> None:
    """Checks that no heading, image, link, or code comes from a name. The only code is etprof's own command."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for element in [token, *(token.children or [])]:
            is_command = element.type == "code_inline" and element.content.startswith("etprof ")
            assert is_command or element.type not in ("image", "link_open", "code_inline", "code_block"), (
                source,
                element,
            )
            if element.type in ("html_inline", "html_block"):
                rest = re.sub(r"</?(details|summary)>|&lt;|<br>", "", element.content)
                assert "<" not in rest or "onerror" not in rest, (source, element.content)
            if element.type == "inline" and element.level == 1 and token.map and "INJECTED" in element.content:
                assert not element.content.startswith("INJECTED"), (source, element.content)


def check_csv(text: str, source: str) -> None:
    """Checks that a spreadsheet computes no cell, and that every row has all cells."""
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len({len(row) for row in rows}) <= 1, source
    for cell in (cell for row in rows for cell in row):
        assert not re.match(r"[=@]|[+-][^\d.].*[(|!]", cell), (source, cell)


def check_file(path: Path) -> None:
    source = path.name
    data = path.read_bytes()
    if path.suffix == ".md":
        check_markdown(check_harmless(data, source), source)
    elif path.suffix == ".csv":
        check_csv(check_harmless(data.replace(b"\nINJECTED", b""), source), source)
    elif path.suffix == ".json":
        json.loads(check_harmless(data, source))
    elif path.suffix == ".xml":
        xml.etree.ElementTree.fromstring(check_harmless(data.replace(b"\nINJECTED", b""), source))  # noqa: S314 - ours
    elif path.suffix == ".html":
        page = data.decode("utf-8")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "onerror=alert" not in page


def read_files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def make_hostile(value, key: str):
    """Appends HOSTILE to all texts of a JSON value, except file names and enumerated values of a schema."""
    if isinstance(value, dict):
        return {k: make_hostile(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [make_hostile(v, key) for v in value]
    unchanged = ("etdump", "log", "latency_csv", "status", "sha256", "generated_at", "experiment", "mode", "platform")
    if not isinstance(value, str) or not value or any(word in key for word in unchanged) or value.startswith("/"):
        return value
    return value + HOSTILE


@pytest.fixture
def hostile(bench) -> Path:
    """A run whose files contain HOSTILE in all names."""
    experiments = [bench.experiment("a"), bench.experiment("b")]
    assert bench.run("run", bench.write(experiments, launches=2)).returncode == 0
    manifest = json.loads((bench.out / "manifest.json").read_text())
    for key in ("device", "conditions", "warnings", "executorch", "host", "notes"):
        if key in manifest:
            manifest[key] = make_hostile(manifest[key], key)
    manifest.setdefault("warnings", []).append("watch out: " + HOSTILE)
    for result in manifest["results"]:
        for key in ("label", "error", "isa", "runner_version", "executorch_version", "warnings", "cpu_affinity"):
            if key in result:
                result[key] = make_hostile(result[key] or "x" if key == "label" else result[key], key)
        result["label"] = result["experiment"] + HOSTILE
    (bench.out / "manifest.json").write_text(json.dumps(manifest))
    for dump in bench.out.rglob("*.etdump"):
        data = dump.read_bytes()
        # The number of bytes stays the same, and some of them are not UTF-8.
        name = "=A(\x1b[2J\u202e\n# \u009b<b>`*".encode() + b"\xff\xc3"
        assert ETDUMP_NAME in data
        dump.write_bytes(data.replace(ETDUMP_NAME, name[: len(ETDUMP_NAME)].ljust(len(ETDUMP_NAME), b"!")))
    copied_run = bench.folder / "again"
    shutil.copytree(bench.out, copied_run)
    return bench.out


@pytest.mark.parametrize("reader", READERS)
def test_no_output_obeys_a_name(bench, hostile, reader):
    command, *options = reader.split()
    completed = subprocess.run(
        [bench.etprof, command, hostile, *READERS[reader], *options], capture_output=True, timeout=60, cwd=bench.folder
    )
    assert completed.returncode in (0, 1, 5), completed.stderr
    check_harmless(completed.stderr, "stderr")
    if any(option.startswith("--csv") for option in options):
        check_csv(check_harmless(completed.stdout.replace(b"\nINJECTED", b""), reader), reader)
    else:
        text = check_harmless(completed.stdout, reader)
        if "--json" in options and text:
            json.loads(text)
        if "--brief" in options:
            check_markdown(text, reader)
    for path in read_files(bench.folder):
        if path.name not in ("manifest.json", "config.json") and "again" not in path.parts:
            check_file(path)


def test_paths_and_arguments_in_messages(bench):
    for arguments in (
        ["analyze", HOSTILE],
        ["inspect", HOSTILE],
        ["run", HOSTILE],
        [HOSTILE],
        ["analyze", "--" + HOSTILE],
    ):
        completed = subprocess.run([bench.etprof, *arguments], capture_output=True, timeout=30, cwd=bench.folder)
        assert completed.returncode in (2, 3), arguments
        check_harmless(completed.stderr, "stderr")
        check_harmless(completed.stdout, "stdout")


def test_a_timeline_of_hostile_names(bench):
    """Names in a timeline CSV from another tool are escaped, too."""
    file = bench.folder / "theirs_exec_all_runs_timeline.csv"
    columns = ["model_id", "name", "type", "delegate_backend", "start_us", "end_us", "duration_ms", "pct_total"]
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*columns, "node_id", "run_index", "block"])
        for run in range(4):
            writer.writerow(["m" + HOSTILE, "Method::execute", "", "", 0, 100, 0.1, 100, 0, run, "Execute"])
            writer.writerow(["m" + HOSTILE, "op" + HOSTILE, HOSTILE, HOSTILE, 10, 60, 0.05, 50, 1, run, "Execute"])
    for options in ([], ["--all"], ["--json"], ["--csv=operators"], ["-o", "out"]):
        completed = subprocess.run(
            [bench.etprof, "analyze", file, *options], capture_output=True, timeout=30, cwd=bench.folder
        )
        assert completed.returncode == 0, completed.stderr
        text = completed.stdout.replace(b"\nINJECTED", b"") if "--csv=operators" in options else completed.stdout
        check_harmless(text, options)
        check_harmless(completed.stderr, "stderr")
    files = list(read_files(bench.folder / "out"))
    assert files
    for path in files:
        check_file(path)
        assert path.parent == bench.folder / "out", "a model's name is no folder"
        check_harmless(path.name.encode(), "a file's name")
