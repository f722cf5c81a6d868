"""`etprof bisect` over small repositories, whose commands write runners with scripted latencies."""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess

import pytest
from measure_bench import FAKE_WORKER, MODEL
from program import wait_until

FOUND, NOT_SLOWER, USAGE, BAD_INPUT, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 5, 130
RUNNER = """#!/bin/sh
export FAKE_LATENCY_NS={latency}
export FAKE_LAUNCH_FACTORS={factors}
export FAKE_STATE="{state}/$(basename $(dirname $0))"
exec "{worker}" "$@"
"""


class Repository:
    """A repository of commits with one file each, from which a command makes a runner."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder / "repository"
        self.state = folder / "state"
        self.folder.mkdir()
        self.git("init", "-q")
        self.commits: list[str] = []

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        # If a git hook runs the tests, its environment must not select the repository.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        completed = subprocess.run(
            command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
        return completed.stdout.strip()

    def commit(self, latency: int | None, factors: str = "1") -> None:
        """Adds a commit with a latency. None: the commit cannot be built."""
        # The built file differs in every commit, as real builds do.
        text = f"# {len(self.commits)}\n" + RUNNER
        text = text.replace(f"# {len(self.commits)}\n#!/bin/sh", f"#!/bin/sh\n# {len(self.commits)}")
        fields = {"latency": latency, "factors": factors, "state": self.state, "worker": FAKE_WORKER}
        (self.folder / "runner").write_text(
            f"broken {len(self.commits)}\n" if latency is None else text.format(**fields)
        )
        self.git("add", "runner")
        self.git("commit", "-q", "-m", f"change {len(self.commits)}")
        self.commits.append(self.git("rev-parse", "HEAD"))


BUILD = "if grep -q broken runner; then echo 'does not compile' >&2; exit 1; fi; mkdir -p out; cp runner out/runner; chmod +x out/runner"


def bisect(
    bench,
    repository: Repository,
    *more,
    good: int = 0,
    bad: int = -1,
    out: pathlib.Path | None = None,
    command: str = BUILD,
) -> subprocess.CompletedProcess:
    range_options = [
        "--good",
        repository.commits[good],
        "--bad",
        repository.commits[bad],
        "--repository",
        repository.folder,
    ]
    build_options = ["--built-runner", "out/runner", "--model", MODEL, "--output-root", out or bench.folder / "bisect"]
    return bench.run("bisect", *range_options, *build_options, *more, "--", "sh", "-c", command)


def rows(result: subprocess.CompletedProcess) -> list[dict]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def repository(tmp_path) -> Repository:
    return Repository(tmp_path)


def test_a_background_process_of_the_build_is_not_waited_for(bench, repository):
    """The build starts a process that keeps its stdout open for longer than the test may take."""
    for latency in (1_000_000, 1_000_000, 1_200_000):
        repository.commit(latency)
    result = bisect(bench, repository, "--launches", "3", command=f"sleep 3600 & {BUILD}; yes | head -n 200000")
    assert result.returncode == FOUND, result.stderr
    assert "change 2" in result.stdout


def test_the_commit_among_64(bench, repository):
    for number in range(65):
        repository.commit(1_000_000 if number < 42 else 1_050_000)
    (repository.folder / "runner").write_text("what the user is working on")
    before = repository.git("status", "--porcelain", "--branch"), repository.git("worktree", "list")
    result = bisect(bench, repository, "--json", "--launches", "3")
    assert result.returncode == FOUND, result.stderr
    document = json.loads(result.stdout)
    assert repository.commits[42][:12] in document["answers"][0]["text"]
    steps = next(part["table"] for section in document["sections"] for part in section["parts"] if "table" in part)
    assert len(steps["rows"]) <= 7
    assert (repository.git("status", "--porcelain", "--branch"), repository.git("worktree", "list")) == before
    assert (repository.folder / "runner").read_text() == "what the user is working on"


def test_unbuilt_and_inconclusive_commits(bench, repository):
    # Commit 4 is in the middle and broken. Commit 5, its neighbor, is so noisy that it is inconclusive.
    for number in range(9):
        noisy = ",".join(["0.95", "1.1"] * 9) if number == 5 else "1"
        repository.commit(None if number == 4 else 1_000_000 if number < 7 else 1_100_000, noisy)
    result = bisect(bench, repository, "--csv", "steps", "--launches", "2")
    assert result.returncode == FOUND, result.stderr
    outcomes = {
        repository.commits.index(next(c for c in repository.commits if c.startswith(row["commit"]))): row
        for row in rows(result)
    }
    assert outcomes[4]["outcome"] == "not built"
    assert "does not compile" in outcomes[4]["why"]
    assert outcomes[5]["outcome"] == "inconclusive"
    assert [outcomes[n]["outcome"] for n in (6, 7)] == ["good", "bad"]


def test_unbuilt_commits_leave_several_candidates(bench, repository):
    for latency in (1_000_000, None, None, 1_100_000):
        repository.commit(latency)
    result = bisect(bench, repository, "--json", "--launches", "2")
    assert result.returncode == INCONCLUSIVE
    assert "3 commits" in json.loads(result.stdout)["answers"][0]["text"]


def test_nothing_to_find(bench, repository):
    for factors in ("1", "1", ",".join(["0.9", "1.2"] * 9)):
        repository.commit(1_000_000, factors)
    repository.commit(900_000)
    assert bisect(bench, repository, "--launches", "2", bad=3).returncode == NOT_SLOWER
    assert bisect(bench, repository, "--launches", "2", bad=2).returncode == INCONCLUSIVE


class Started:
    """A bisection that waits in the build of its bad commit while a file exists, or that is already measuring."""

    def __init__(self, bench, repository: Repository, name: str, *, measuring: bool = False):
        self.temporary = bench.folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.gate, building = bench.folder / f"gate_{name}", bench.folder / f"building_{name}"
        if not measuring:
            self.gate.touch()
        self.out = bench.folder / f"bisect_{name}"
        wait = f"touch {building}; while test -e {self.gate}; do sleep 0.05; done"
        range_options = [
            "--good",
            repository.commits[0],
            "--bad",
            repository.commits[-1],
            "--repository",
            repository.folder,
        ]
        build_options = [
            "--built-runner",
            "out/runner",
            "--model",
            MODEL,
            "--output-root",
            self.out,
            "--max-seconds",
            "60",
        ]
        self.process = bench.start(
            *(
                "bisect",
                *range_options,
                *build_options,
                "--",
                "sh",
                "-c",
                f"{BUILD}; if grep -q '# 1' runner; then {wait}; fi",
            ),
            env=os.environ | {"TMPDIR": str(self.temporary)},
            start_new_session=True,
        )
        is_ready = building.exists if not measuring else lambda: any(self.out.glob("*/manifest.json"))
        wait_until(lambda: is_ready() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def worktrees(self) -> set[pathlib.Path]:
        return set(self.temporary.glob("etprof-bisect-*"))

    def end(self, number: int, *, group: bool) -> str:
        """Ends the bisection by a signal, and returns its stderr."""
        os.killpg(self.process.pid, number) if group else self.process.send_signal(number)
        err = self.process.communicate(timeout=240)[1]
        self.gate.unlink(missing_ok=True)
        return err


def add_noisy_pair(repository: Repository) -> None:
    """Adds two commits. The second is so noisy that its measurement uses the whole time limit."""
    repository.commit(1_000_000)
    repository.commit(1_050_000, ",".join(["0.8", "1.4"] * 200))


@pytest.mark.parametrize("measures", [False, True], ids=["in a build", "in a measurement"])
def test_ctrl_c_leaves_the_repository_as_it_was(bench, repository, measures):
    add_noisy_pair(repository)
    (repository.folder / "runner").write_text("what the user is working on")
    state = [("status", "--porcelain", "--branch"), ("worktree", "list"), ("rev-parse", "HEAD"), ("stash", "list")]
    before = [repository.git(*arguments) for arguments in state]
    started = Started(bench, repository, "one", measuring=measures)
    assert len(started.worktrees()) == 1
    # git, the build, and the workers also get the signal, as from a terminal.
    stderr = started.end(signal.SIGINT, group=True)
    assert started.process.returncode == INTERRUPTED, stderr
    assert [repository.git(*arguments) for arguments in state] == before
    assert started.worktrees() == set()
    assert (repository.folder / "runner").read_text() == "what the user is working on"


def test_a_resumed_bisection_reuses_measured_steps(bench, repository):
    for latency in (1_000_000, 1_000_000, 1_050_000):
        repository.commit(latency)
    started = Started(bench, repository, "one")  # in the build of the second step
    (first,) = started.out.glob("1_*/manifest.json")
    stderr = started.end(signal.SIGINT, group=True)
    assert started.process.returncode == INTERRUPTED, stderr
    assert stderr.splitlines()[-2:] == [
        "Interrupted",
        f"hint: Repeat the command with `--resume`; the measured steps are in `{started.out}`.",
    ]
    before = json.loads(first.read_text())["results"]
    result = bisect(bench, repository, "--max-seconds", "60", "--resume", "--csv", "steps", out=started.out)
    assert result.returncode == FOUND, result.stderr
    assert [row["outcome"] for row in rows(result)] == ["bad", "good"]
    assert json.loads(first.read_text())["results"] == before


def test_the_next_bisection_removes_leftover_worktrees(bench, repository):
    add_noisy_pair(repository)
    # git keeps a worktree of the user that is not reachable.
    user_worktree = bench.folder / "mine"
    repository.git("worktree", "add", "-q", str(user_worktree))
    user_worktree.rename(bench.folder / "moved")
    before = repository.git("worktree", "list")
    killed = Started(bench, repository, "killed")
    (folder,) = killed.worktrees()
    killed.end(signal.SIGKILL, group=False)
    assert killed.worktrees() == {folder}
    assert len(repository.git("worktree", "list").splitlines()) == 3
    others = [killed.temporary / name for name in ("etprof-bisect-mine", "etprof-bisect", "other-1-x")]
    for other in others:
        other.mkdir()
    running = Started(bench, repository, "living")
    assert not folder.exists()
    (worktree,) = running.worktrees() - set(others)
    other = Started(bench, repository, "other")
    assert worktree.exists()
    assert other.end(signal.SIGINT, group=True) is not None
    assert (worktree / "checkout").is_dir()
    running.end(signal.SIGINT, group=True)
    assert [running.process.returncode, other.process.returncode] == [INTERRUPTED] * 2
    assert repository.git("worktree", "list") == before
    assert all(other.is_dir() for other in others)


def test_bad_input(bench, repository):
    for latency in (1_000_000, None):
        repository.commit(latency)
    turned = bisect(bench, repository, good=1, bad=0)
    assert turned.returncode == USAGE
    assert "ancestor" in turned.stderr
    same = bisect(bench, repository, good=0, bad=0)
    assert same.returncode == USAGE
    assert "the same commit" in same.stderr
    broken = bisect(bench, repository)
    assert broken.returncode == BAD_INPUT
    assert "does not compile" in broken.stderr
    ends = ["--good", "nothing", "--bad", "HEAD", "--repository", repository.folder]
    assert bench.run("bisect", *ends, "--built-model", "x", "--", "true").returncode == USAGE
    for outside in ("/x", "../x", "a/../../x"):
        refused = bench.run("bisect", *ends, "--built-model", outside, "--", "true")
        assert refused.returncode == USAGE and "is not in the checkout" in refused.stderr
    versions = ["--good", "HEAD~1", "--bad", "HEAD", "--repository", repository.folder, "--built-model", "x"]
    empty = bench.run("bisect", *versions, "--", "sh", "-c", ": > x")
    assert empty.returncode == BAD_INPUT and "left an empty x" in empty.stderr
    assert bench.run("bisect", *ends, "--built-model", "x").returncode == USAGE
    assert bench.run("bisect", *ends, "--", "true").returncode == USAGE
