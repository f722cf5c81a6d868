"""`etprof bisect` over 64 commits of a repository whose model has other weights in each, and one block more from a known one on.

    .venv/bin/python bench/speed/bisection.py [--out bench/results/speed/bisection.md] [--max-seconds 60]

Every step exports the model with PyTorch, and measures it with the real runner, interleaved with the good version.
"""

import argparse
import csv
import io
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMITS, FIRST_BAD = 64, 42
NET = """import torch
from torch import nn


class Net(nn.Module):  # change {number}
    def __init__(self):
        super().__init__()
        torch.manual_seed({number})
        self.blocks = nn.Sequential(*[nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()) for _ in range({blocks})])

    def forward(self, x):
        return self.blocks(x)

    def get_example_inputs(self):
        return (torch.ones(1, 32, 48, 48),)
"""


def make_repository(folder: pathlib.Path) -> list[str]:
    """Makes a repository of net.py and returns its commits, the oldest first."""
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        process = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        return process.stdout.strip()

    git("init", "-q")
    for number in range(COMMITS + 1):
        (folder / "net.py").write_text(NET.format(number=number, blocks=7 if number >= FIRST_BAD else 6))
        git("add", "net.py")
        git("commit", "-q", "-m", f"change {number}")
    return git("rev-list", "--reverse", "HEAD").split()


def main() -> None:
    """Makes the repository, searches, and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results/speed/bisection.md")
    parser.add_argument("--max-seconds", type=float, default=60)
    parser.add_argument("--etprof", default=str(ROOT / "build/etprof"))
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="etprof-bisect-bench-"))
    try:
        commits = make_repository(folder / "repository")
        command = [arguments.etprof, "bisect", "--good", commits[0], "--bad", commits[-1], "--repository"]
        command += [folder / "repository", "--built-model", "out/net_xnnpack_fp32.pte", "--csv", "steps"]
        command += ["--max-seconds", str(arguments.max_seconds), "--output-root", folder / "bisect", "--"]
        command += [arguments.etprof, "export", "--model", "net.py:Net", "--dtype", "fp32", "--outdir", "out"]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
    finally:
        shutil.rmtree(folder)
    steps = list(csv.DictReader(io.StringIO(output)))
    index_by_commit = {commit[:12]: index for index, commit in enumerate(commits)}
    bad = [index_by_commit[step["commit"]] for step in steps if step["outcome"] == "bad"]
    is_right = process.returncode == 0 and min(bad) == FIRST_BAD
    measured = sum(step["launches"] not in ("", None) for step in steps)
    text = [
        "# A bisection",
        "",
        f"One run of `bench/speed/bisection.py` on a shared two-core x86-64 virtual machine: {COMMITS} commits, of which number "
        f"{FIRST_BAD} adds a seventh convolution of 32 channels to six; each has weights of its own. **{'Found' if is_right else 'Not found'}**, exit code "
        f"{process.returncode}, with {measured} measured steps in {seconds:.0f} s, {len(steps) + 1} exports by PyTorch "
        f"included. Peak memory of the largest process: {usage.ru_maxrss / 1e3:.0f} MB.",
        "",
        "| step | commit | change against good | launches | outcome |",
        "| ---: | ---: | ---: | ---: | --- |",
    ]
    for index, step in enumerate(steps):
        change = f"{100 * float(step['change']):+.1f} %" if step["change"] else "-"
        position = index_by_commit[step["commit"]]
        text.append(f"| {index + 1} | {position} | {change} | {step['launches']} | {step['outcome']} |")
    arguments.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
