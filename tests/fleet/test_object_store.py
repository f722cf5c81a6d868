"""A fleet in an object store: Amazon's protocol over HTTP, from a server of this machine."""

import json
import logging
import os
import signal
import subprocess
import sys

import fsspec
import pytest
import simulated
from program import ROOT, one_error, run

from etprof.fleet import ingest, query, store
from etprof.fleet.__main__ import main

pytest.importorskip("s3fs", reason="run script/bootstrap --dev")
moto_server = pytest.importorskip("moto.server", reason="run script/bootstrap --dev")

CELL = ("2026-11-01", "net ü/50%=x")
# A process that is killed when it has written the operators of a run, and not its launches.
KILLED = """
import os, signal, sys
from etprof.fleet import store
from etprof.fleet.__main__ import main
write = store.Fleet._write
def dying(self, path, contents):
    if "/launches/" in path:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, path, contents)
store.Fleet._write = dying
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def endpoint():
    # Without a handler, the server's log gets one for the standard error of whichever moment it first logs in: one that
    # pytest has closed by the next test, which then sees "Logging error" on its own.
    logging.getLogger("werkzeug").addHandler(logging.NullHandler())
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def environment(endpoint, monkeypatch, tmp_path):
    """Sets the environment variables that any client of the protocol reads."""
    variables = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    yield
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.fixture
def uri(environment, request):  # noqa: ARG001
    bucket = request.node.name.replace("_", "-")
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/some/fleet"


def link_with_manifest(measured, folder, **keys):
    """The same run with other keys in its manifest."""
    folder.mkdir()
    manifest = json.loads((measured / "manifest.json").read_text())
    for part in measured.iterdir():
        if part.name != "manifest.json":
            (folder / part.name).symlink_to(part)
    (folder / "manifest.json").write_text(json.dumps(manifest | keys))
    return folder


def test_the_commands(uri, measured, tmp_path, capsys):
    done = run("fleet", "add", measured, "--to", uri, "--version", "1.4", "--device", "d1", "--events", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith("1 run added: 4 launches, ")
    done = run("fleet", "query", "coverage", "--from", uri, "--format", "json")
    assert [(row["version"], row["runs"], row["launches"]) for row in json.loads(done.stdout)] == [("1.4", 1, 4)]

    def run_main(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        captured = capsys.readouterr()
        return captured.out or captured.err.splitlines()[-1]

    later = link_with_manifest(measured, tmp_path / "later", generated_at="2026-01-02T03:04:05Z")
    run_main("add", str(measured), str(later), "--to", uri, "--version", "1.5", "--device", "d1")
    assert "0 runs added" in run_main("add", str(measured), str(later), "--to", uri)
    assert run_main("query", "conservation", "--from", uri, "--format", "csv").count("\n") == 1
    judged = run_main("verdict", "--baseline", "1.4", "--candidate", "1.5", "--from", uri, "--format", "json")
    assert [row["verdict"] for row in json.loads(judged)] == ["inconclusive"]
    files = json.loads(run_main("files", "--from", uri))
    assert [len(files[name]) for name in ("runs", "launches", "operators", "events")] == [2, 2, 2, 1]
    assert all(path.startswith(uri + "/") for paths in files.values() for path in paths)


def test_the_same_rows_as_in_a_folder(uri, tmp_path):
    fleets = [store.Fleet(uri, create=True), store.Fleet(str(tmp_path / "fleet"), create=True)]
    for fleet in fleets:
        for i in range(3):
            fleet.write(CELL, simulated.batch(f"class{i % 2}", 2, {"1": 0.0, "2": 0.1 * i}, seed=i, tag=f"{i}-"))

    def rows(fleet: store.Fleet) -> dict[str, list[tuple]]:
        return {name: query.ask(fleet, f"FROM {name} ORDER BY ALL").rows for name in ("runs", "launches", "operators")}

    local = rows(fleets[1])
    assert rows(fleets[0]) == local
    assert len(local["operators"]) == 12 * 3 * simulated.OPERATORS
    assert [fleet.compact() for fleet in fleets] == [store.Compacted(before=3, after=1, removed_files=9)] * 2
    assert rows(store.Fleet(uri)) == local
    assert len(fleets[0].fs.find(fleets[0].root)) == 4


def test_a_kill_in_the_middle_of_an_add(uri, measured, tmp_path):
    later = link_with_manifest(measured, tmp_path / "later", generated_at="2026-01-02T03:04:05Z")
    fleet = store.Fleet(uri, create=True)
    ingest.add(fleet, [later])
    before = query.ask(fleet, "FROM operators ORDER BY ALL").rows
    killed = subprocess.run([sys.executable, "-c", KILLED, "add", str(measured), "--to", uri])
    assert killed.returncode == -signal.SIGKILL
    assert len(fleet._files_by_batch("operators")) == 2
    assert len(fleet.batches()) == 1
    assert query.ask(fleet, "FROM operators ORDER BY ALL").rows == before
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert fleet.compact().removed_files == 0, "files that a writer may still need are kept"
    assert ingest.add(fleet, [measured, later]).runs == 1
    assert query.ask(fleet, query.read_sql("conservation")).rows == []
    assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    assert query.ask(fleet, "SELECT count(DISTINCT run) FROM operators").rows == [(2,)]


def test_another_clients_files_are_seen(uri):
    """A compaction does not use the client's cached listings of folders."""
    ours = store.Fleet(uri, create=True)
    ours.write(CELL, simulated.batch("a", 1, {"1": 0.0}, seed=1))
    ours.compact()
    theirs = store.Fleet(uri)
    theirs.fs = fsspec.filesystem("s3", skip_instance_cache=True)
    batches = [theirs.write(CELL, simulated.batch("b", 1, {"1": 0.0}, seed=i, tag=f"{i}")) for i in (2, 3)]
    # This compaction is killed before it removes the replaced batches.
    replaced = [batch for batch in theirs.batches() if batch in batches]
    stored = {name: theirs._files_by_batch(name) for name in ("operators", "events", "launches", "runs")}
    theirs.write(CELL, dict(theirs._merge(replaced, stored)), replaced)
    expected = query.ask(theirs, "FROM operators ORDER BY ALL").rows
    ours.compact()
    for fleet in (ours, theirs):
        assert query.ask(fleet, "FROM operators ORDER BY ALL").rows == expected
        assert query.ask(fleet, query.read_sql("duplicates")).rows == []
    assert len(ours._files_by_batch("runs")) == 1


def test_what_cannot_be_reached_is_two_lines(uri, measured, monkeypatch, capsys):
    def run_main(code: int, *arguments: str) -> str:
        fsspec.filesystem("s3").clear_instance_cache()
        assert main(list(arguments)) == code
        return one_error(capsys.readouterr().err)

    assert "no-such-bucket" in run_main(3, "add", str(measured), "--to", "s3://no-such-bucket/fleet")
    assert "is not a fleet" in run_main(3, "query", "trend", "--from", uri)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in run_main(4, "query", "trend", "--from", uri)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "redentials" in run_main(4, "query", "trend", "--from", uri)
