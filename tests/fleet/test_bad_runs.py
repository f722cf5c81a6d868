"""`etprof fleet add` of runs that are damaged, next to good ones."""

import json
import os
import random
import shutil

from program import run

from etprof.fleet import ingest, store

MANIFESTS = int(os.environ.get("ETPROF_TEST_MANIFESTS", "300"))

NUMBERS = [0, -1, 1, 0.5, 1e308, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30]
TEXTS = ["", "..", "a/b", "\u202e\x1b[2J\n", "x" * 300, "\0", "2026-01-01", "9999-12-31T23:59:59Z", "complete"]
VALUES = [None, True, False, *NUMBERS, *TEXTS, [], {}, [{}], [None], {"": 1}, [[["a"]]]]


def value_paths(value, path=()):
    """Paths of all values within a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from value_paths(value[key], (*path, key))


def damaged(manifest: dict, rng: random.Random) -> dict:
    """The manifest with one to three values replaced, removed, or doubled."""
    manifest = json.loads(json.dumps(manifest))
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice([place for place in value_paths(manifest) if place])
        holder = manifest
        for key in path:
            holder = holder[key]
        action = rng.random()
        if action < 0.2:
            del holder[last]
        elif action < 0.3 and isinstance(holder, list):
            holder.append(holder[last])
        else:
            holder[last] = rng.choice(VALUES)
    return manifest


def small(manifest: dict) -> dict:
    """A manifest with few bursts, so that most damage is in values that a fleet reads."""
    for result in manifest["results"]:
        for launch in result["launches"]:
            launch["bursts"] = launch["bursts"][:1]
    return manifest


def test_a_damaged_manifest_keeps_no_other_run_out(measured, tmp_path):
    manifest = json.loads((measured / "manifest.json").read_text())
    few = small(json.loads(json.dumps(manifest)))
    rng = random.Random(42)  # noqa: S311
    bad = tmp_path / "bad"
    shutil.copytree(measured, bad)
    goods = []
    for number in range(2):
        good = shutil.copytree(measured, tmp_path / f"good{number}")
        (good / "manifest.json").write_text(json.dumps(manifest | {"generated_at": f"2026-01-01T00:00:0{number}Z"}))
        goods.append(good)
    added = 0
    for number in range(MANIFESTS):
        text = json.dumps(damaged(few, rng))
        (bad / "manifest.json").write_text(text)
        # Good runs give the same rows each time, so most fleets get the damaged run alone.
        paths = [goods[0], bad, goods[1]] if number % 100 == 0 else [bad]
        fleet = store.Fleet(f"memory://{tmp_path.name}/{number}", create=True)
        done = ingest.add(fleet, paths)
        added += done.runs + done.known
        assert done.runs + done.known + len(done.refused) == len(paths), text
        assert len(done.refused) <= 1, text
        for error in done.refused:
            assert "\n" not in str(error) and str(bad) in str(error), text
        fleet.fs.rm(fleet.root, recursive=True)
    assert added > MANIFESTS / 10


def test_one_bad_run_is_one_message(measured, tmp_path):
    manifest = json.loads((measured / "manifest.json").read_text())
    folders = []
    for number, keys in enumerate(({}, {"results": 2**70}, {})):
        folder = shutil.copytree(measured, tmp_path / f"run{number}")
        keys = keys | {"generated_at": f"2026-01-01T00:00:0{number}Z"}
        (folder / "manifest.json").write_text(json.dumps(manifest | keys))
        folders.append(folder)
    manifest["results"][0]["launches"][0]["load_ns"] = 2**64
    (folders[1] / "manifest.json").write_text(json.dumps(manifest))
    process = run("fleet", "add", *folders, "--to", tmp_path / "fleet")
    assert process.returncode == 3
    assert "2 runs added" in process.stderr
    assert [line for line in process.stderr.splitlines() if "load_ns" in line and "run1" in line]
    assert process.stderr.splitlines()[-1].startswith("hint: ")


def test_a_manifest_without_results_keeps_no_other_run_out(measured, tmp_path):
    bad = tmp_path / "bad"
    shutil.copytree(measured, bad)
    manifest = json.loads((bad / "manifest.json").read_text())
    manifest["experiments"] = manifest.pop("results")
    (bad / "manifest.json").write_text(json.dumps(manifest))
    done = ingest.add(store.Fleet(f"memory://{tmp_path.name}", create=True), [bad, measured])
    assert done.runs == 1
    assert [str(bad) in str(error) and "results" in str(error) for error in done.refused] == [True]
