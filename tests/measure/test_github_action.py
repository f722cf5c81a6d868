"""Runs the steps of action.yml like GitHub: with bash, the environment of the step, and the files that steps write."""

import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml
from measure_bench import FAKE_WORKER, MODEL

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}

# A fake `gh` with the commands that the action uses. Comments are files.
GH = """#!/usr/bin/env python3
import json, pathlib, sys
folder = pathlib.Path(__file__).parent / "comments"
folder.mkdir(exist_ok=True)
words = sys.argv[2:]
(url,) = [word for word in words if word.startswith("repos/")]
assert url.startswith("repos/me/model/issues/")
if "--method" not in words:
    comments = [{"id": int(path.name), "body": path.read_text()} for path in sorted(folder.iterdir())]
    mark = json.loads(words[words.index("--jq") + 1].split("startswith(")[1].split(")")[0])
    print(*[comment["id"] for comment in comments if comment["body"].startswith(mark)], sep="\\n")
    sys.exit()
body = pathlib.Path(words[words.index("--field") + 1].removeprefix("body=@")).read_text()
if words[words.index("--method") + 1] == "PATCH":
    (folder / url.rsplit("/", 1)[1]).write_text(body)
else:
    (folder / str(100 + len(list(folder.iterdir())))).write_text(body)
"""


class Job:
    """A job on a pull request, in which the action's steps run."""

    def __init__(self, bench, monkeypatch, **inputs: str) -> None:
        self.folder = bench.folder / "job"
        self.bin = self.folder / "bin"
        self.bin.mkdir(parents=True)
        (self.bin / "etprof").symlink_to(bench.etprof)
        (self.bin / "gh").write_text(GH)
        (self.bin / "gh").chmod(0o755)
        defaults = {name: description.get("default", "") for name, description in ACTION["inputs"].items()}
        self.inputs = defaults | inputs
        self.workspace = bench.folder
        monkeypatch.setenv("ETPROF_RUNNER", str(FAKE_WORKER))

    def value(self, expression: str) -> str:
        name = expression.strip()
        values = {
            "github.repository": "me/model",
            "github.server_url": "https://github.com",
            "github.run_id": "7",
            "github.action_path": str(ROOT),
            "github.event.pull_request.number": "12",
            "runner.temp": str(self.folder),
        }
        return self.inputs[name.removeprefix("inputs.")] if name.startswith("inputs.") else values[name]

    def run(self, name: str) -> subprocess.CompletedProcess:
        step = STEPS[name]
        assert step["shell"] == "bash"
        given = {
            key: re.sub(r"\$\{\{(.*?)\}\}", lambda found: self.value(found[1]), text)
            for key, text in step.get("env", {}).items()
        }
        files = {f"GITHUB_{name}": str(self.folder / name.lower()) for name in ("OUTPUT", "STEP_SUMMARY", "PATH")}
        environment = {
            **os.environ,
            **given,
            **files,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
        }
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax (`bash`)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(
            command, cwd=self.workspace, env=environment, capture_output=True, text=True, check=False, timeout=600
        )

    def read_file(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def comments(self) -> list[str]:
        return [path.read_text() for path in sorted((self.bin / "comments").iterdir())]


@pytest.fixture(autouse=True)
def models(bench):
    for name, more in (("main.pte", b""), ("slow.pte", b"1"), ("open.pte", b"2")):
        (bench.folder / name).write_bytes(MODEL.read_bytes() + more)


def job(bench, monkeypatch, candidate: str, **inputs: str) -> Job:
    monkeypatch.setenv("FAKE_MODEL_FACTORS", json.dumps({"slow.pte": 1.1}))
    arguments = "--launches 2 --runs 10"
    return Job(bench, monkeypatch, baseline="main.pte", candidate=candidate, arguments=arguments, **inputs)


def test_a_slower_model_fails_and_is_commented_on_once(bench, monkeypatch):
    pull_request = job(bench, monkeypatch, "slow.pte")
    failed = pull_request.run("Check")
    assert failed.returncode == 1
    assert "::error title=etprof check%3A slow against main::latency: " in failed.stderr
    assert pull_request.read_file("output") == "result=fail\n"
    assert pull_request.read_file("step_summary").startswith("## etprof check")
    assert {"check.html", "check.xml", "summary.md"} <= {
        path.name for path in (pull_request.folder / "etprof").iterdir()
    }
    for _ in range(2):
        commented = pull_request.run("Comment")
        assert commented.returncode == 0, commented.stderr
        (comment,) = pull_request.comments()
        assert comment.startswith("<!-- etprof check -->\n## etprof check")
        assert "actions/runs/7" in comment


def test_an_equally_fast_model_passes(bench, monkeypatch):
    action_job = job(bench, monkeypatch, "main.pte")
    assert action_job.run("Check").returncode == 0
    assert action_job.read_file("output") == "result=pass\n"


@pytest.mark.parametrize(
    ("policy", "code", "result"),
    [("warn", 0, "inconclusive"), ("fail", 1, "inconclusive"), ("retry", 0, "pass"), ("count", 0, "pass")],
)
def test_a_team_says_what_undecided_means(bench, monkeypatch, policy, code, result):
    variants = {}
    for name, factors in (("main", "1"), ("open", "1.0,1.04,1.0,1.04,1")):
        environment = {"FAKE_LAUNCH_FACTORS": factors, "FAKE_STATE": str(bench.folder / f"launches_of_{name}")}
        config = bench.write([bench.experiment("net", env=environment)], launches=4)
        variants[name] = str(config.rename(bench.folder / f"{name}.json"))
    action_job = Job(bench, monkeypatch, baseline=variants["main"], candidate=variants["open"], inconclusive=policy)
    completed = action_job.run("Check")
    assert completed.returncode == code, completed.stderr
    assert action_job.read_file("output") == f"result={result}\n"
    assert completed.stderr.count("::warning title=etprof check%3A net::latency: ") == 1


def test_wrong_inputs_are_reported(bench, monkeypatch):
    action_job = job(bench, monkeypatch, "open.pte", inconclusive="maybe")
    completed = action_job.run("Check")
    assert (completed.returncode, action_job.read_file("output")) == (2, "")
    assert "maybe is none of warn, fail, retry, count" in completed.stdout


def test_a_wheel_is_installed_or_the_checkout_built(bench, monkeypatch):
    action_job = Job(bench, monkeypatch, baseline="a", candidate="b", wheel="dist/etprof-*.whl")
    (bench.folder / "dist").mkdir()
    (bench.folder / "dist" / "etprof-1-py3-none-any.whl").touch()
    (action_job.bin / "python3").write_text('#!/bin/sh\necho "$@"\n')
    (action_job.bin / "python3").chmod(0o755)
    installed = action_job.run("Install etprof")
    assert installed.stdout == "-m pip install --quiet dist/etprof-1-py3-none-any.whl\n"
    assert action_job.read_file("path") == ""


def test_references_of_steps_exist():
    text = (ROOT / "action.yml").read_text()
    used = set(re.findall(r"inputs\.([a-z]+)", text))
    assert used == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.([a-z]+)\.", text)) == {step["id"] for step in STEPS.values() if "id" in step}
    for step in STEPS.values():
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            assert "${{" not in step["run"]  # names from a pull request must not become code
