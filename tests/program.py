"""Runs the built etprof, and reads its files, for tests."""

import base64
import gzip
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
# The columns of the profiling kit's timeline CSV. etprof's timeline CSV starts with the same columns.
KIT_TIMELINE = [
    "model_id",
    "name",
    "type",
    "delegate_backend",
    "start_us",
    "end_us",
    "duration_ms",
    "pct_total",
    "node_id",
    "run_index",
    "block",
]


def wait_until(condition: Callable[[], object], seconds: float = 240) -> None:
    """Waits until `true` returns a true value, and fails after a timeout."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def etprof() -> Path:
    """Returns the program under test: $ETPROF, else build/etprof."""
    program = Path(os.environ.get("ETPROF", ROOT / "build" / "etprof"))
    if not program.exists():
        pytest.fail(f"{program} is not built: run script/bootstrap")
    return program.resolve()


def run(*arguments: str | Path, width: int = 80) -> subprocess.CompletedProcess[str]:
    """Runs etprof in the root of the repository, as on a terminal of a given width without colors."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": str(width), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [etprof(), *map(str, arguments)], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


def one_error(stderr: str) -> str:
    """Returns the single error of a command on one line: problem and hint. Fails if stderr has anything else."""
    lines = stderr.splitlines()
    assert lines and lines[0].startswith("error: "), stderr
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: ")), stderr
    return " ".join(lines)


def parse_with_schema(schema: str, text: str) -> dict:
    """Parses the JSON of an output, and validates it with its published schema."""
    document = json.loads(text)
    schema_text = (ROOT / "docs" / "schema" / f"{schema}.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(document, json.loads(schema_text), cls=jsonschema.Draft202012Validator)
    return document


def read_page_json(page: Path, name: str) -> bytes:
    """Returns the JSON in the element `name` of a report.html."""
    match = re.search(f'id="{name}"[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))
    assert match
    return gzip.decompress(base64.b64decode(match[1], validate=True))


def measure_two(
    folder: Path, names: tuple[str, str], launches: int, runs: int, *options: str, model: Path = DATA / "toy_cnn.pte"
) -> Path:
    """Measures toy_cnn, or `model`, in two experiments, and returns the results directory below `folder`. A name may end in
    a number of threads: "four:4"."""
    config = {
        "model": str(model),
        "output_root": str(folder / "out"),
        "launches": launches,
        "rounds": 2,
        "experiments": [
            {"name": name, "runs": runs, "threads": int(threads or 1)}
            for name, _, threads in (text.partition(":") for text in names)
        ],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    completed = run("run", folder / "config.json", *options)
    assert completed.returncode == 0, completed.stderr
    (manifest,) = (folder / "out").rglob("manifest.json")
    return manifest.parent


def without_comments(text: str) -> str:
    """Removes // and /* */ comments from a configuration, and keeps its line numbers."""
    tokens = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

    def replacement(match: re.Match[str]) -> str:
        token = match.group()
        return token if token.startswith('"') else "\n" * token.count("\n")

    return tokens.sub(replacement, text)
