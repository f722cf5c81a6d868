"""Fixtures of the documents' commands: a model, and a results directory with two variants, measured once."""

import pathlib
import shutil
import subprocess
import sys
import time

import documents
import pytest
import warm
from documents import ROOT


@pytest.fixture(scope="session", autouse=True)
def warm_python(tmp_path_factory):
    """Runs exports in forks of one Python process."""
    folder = tmp_path_factory.mktemp("warm")
    client = folder / "python"
    client.write_text(warm.client(ROOT / ".venv/bin/python", folder / "socket"))
    client.chmod(0o755)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([sys.executable, warm.__file__, folder / "socket"], stdout=log, stderr=log)
    while not (folder / "socket").exists():
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.01)
    documents.warm_python = str(client)
    yield
    documents.warm_python = ""
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def measured(tmp_path_factory) -> dict[str, str]:
    """The environment of a document: MODEL is a .pte, and RUN is its results directory, measured for two seconds."""
    folder = tmp_path_factory.mktemp("measured")
    model = folder / "toy_cnn.pte"
    shutil.copy(ROOT / "tests/data/toy_cnn.pte", model)
    run = folder / "run"
    command = [ROOT / "build/etprof", "profile", model, "--vs", "threads=2", "--max-seconds", "2", "--output-root", run]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return {"MODEL": str(model), "RUN": str(pathlib.Path(run))}


def git_status() -> str | None:
    """Returns git's status of the checkout; None outside a git checkout."""
    completed = subprocess.run(
        ["/usr/bin/env", "git", "-C", ROOT, "status", "--porcelain"], capture_output=True, text=True
    )
    return completed.stdout if completed.returncode == 0 else None


@pytest.fixture(autouse=True)
def check_checkout_unchanged():
    """Checks that a document's commands do not change the checkout, to which some folders of the workspace are links."""
    before = git_status()
    yield
    assert git_status() == before
