"""Smoke test: the model exports, and its .pte computes in etprof-runner what the model computes in PyTorch.

Run it with pytest, or with python test_my_model.py. It uses the program $ETPROF, else etprof on the PATH, else build/etprof of a
folder above.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NAME = "my_model"


def etprof() -> str:
    """Return the etprof program."""
    candidates = [folder / "build" / "etprof" for folder in FOLDER.parents]
    program = (
        os.environ.get("ETPROF")
        or shutil.which("etprof")
        or next((str(path) for path in candidates if path.is_file()), None)
    )
    assert program, "there is no etprof: put it on the PATH or name it in ETPROF"
    return program


def test_the_pte_computes_what_the_model_computes(tmp_path: Path) -> None:
    """Export the model. `etprof export` checks it on the example inputs."""
    command = [etprof(), "export", "--model", NAME, "--outdir", str(tmp_path)]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / f"{NAME}_xnnpack_fp32.pte.json").read_text(encoding="utf-8"))
    assert manifest["check"]["verdict"] == "pass", manifest["check"]["why"]
    assert manifest["delegate_calls"].get("XnnpackBackend"), "nothing of it is delegated to XNNPACK"


if __name__ == "__main__":
    try:
        with tempfile.TemporaryDirectory() as folder:
            test_the_pte_computes_what_the_model_computes(Path(folder))
    except AssertionError as error:
        sys.exit(f"failed: {error}")
    print("passed")
