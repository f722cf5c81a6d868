"""What six exporters and the runtimes of ExecuTorch's releases have in common, and what etprof finds of a change that was made on purpose.

    .venv/bin/python bench/models/version_matrix.py [--exports-only] [--seconds 60] [--times 3] [--work DIR] [--out bench/results/models/version_matrix.md]

toy_cnn is exported by each release in three types, once per --work, and each export runs on each runtime. The wheels are fetched by pip into
etprof's cache. The changes are in tests/runner/changed_xnnpack.cc, made into a wheel of 1.5.0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from versions import ETPROF, ROOT, format_verdict, read_results

RUNNER = Path(os.environ.get("ETPROF_RUNNER", ROOT / "build" / "etprof-runner"))
EXPORTERS = ["1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.1", "1.5.1"]
RUNTIMES = ["1.3.1", "1.4.0", "1.4.1", "1.5.0", "1.5.1"]
TYPES = {
    "fp32": ["--dtype", "fp32"],
    "int8": ["--dtype", "int8"],
    "portable": ["--dtype", "fp32", "--backend", "portable"],
}
NEWEST = "1.5.1"
XNNPACK = "libexecutorch_backend_xnnpack.so"


def call(*command: object, **options: Any) -> str:
    """Returns the output of a program, which must succeed."""
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def export(release: str, dtype: str, work: Path) -> Path:
    """Returns the release's .pte of toy_cnn, and exports it unless an earlier call did."""
    folder = work / "exports" / f"{release}_{dtype}"
    if not list(folder.glob("*.pte.json")):
        call(ETPROF, "export", "toy_cnn", "--executorch", release, *TYPES[dtype], "--no-check", "--outdir", folder)
    (pte,) = folder.glob("*.pte")
    return pte


def measure(experiments: list[dict], pairs: list[tuple[str, str]], options: dict) -> dict[str, Any]:
    """Measures the experiments, and returns the analysis with the manifest."""
    compare_pairs = [{"baseline": baseline, "candidate": candidate} for baseline, candidate in pairs]
    config = {"peaks": False, **options, "experiments": experiments, "analysis": {"compare_pairs": compare_pairs}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config))
        call(ETPROF, "run", file, "--output-root", Path(folder) / "run")
        return read_results(Path(folder) / "run")


def format_outputs(pair: dict[str, Any]) -> str:
    """Formats the difference between the outputs of a pair."""
    outputs = pair["outputs"]
    if outputs is None or not outputs["comparable"]:
        return "no outputs"
    return "equal" if outputs["equal"] else f"{outputs['largest_absolute']:.2g}"


def runtime_folder(release: str) -> Path:
    """Returns the folder in which etprof keeps the release's libraries."""
    variables = ("ETPROF_DEVICE_DIR", "XDG_CACHE_HOME")
    cache = next((os.environ[name] for name in variables if os.environ.get(name)), Path.home() / ".cache")
    return Path(cache) / "etprof" / "executorch" / f"{release}-linux-x86_64"


def run_once(pte: Path, release: str, inputs: Path, outputs: Path) -> str:
    """Runs the program with the release's libraries; returns the error, or ""."""
    command = [RUNNER, "--model_path", pte, "--input-kind", "saved", "--inputs", inputs, "--save-outputs", outputs]
    env = {**os.environ, "LD_LIBRARY_PATH": str(runtime_folder(release))}
    process = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, check=False)
    return "" if process.returncode == 0 else f"does not run: {process.stderr.strip().splitlines()[-1]}"


def difference(reference: Path, outputs: Path) -> str:
    """Formats the difference between two files of outputs."""
    if reference.read_bytes() == outputs.read_bytes():
        return "equal"
    differences = json.loads(call(RUNNER, "--compare-outputs", reference, outputs))["outputs"]
    return f"{max(output['max_abs_diff'] for output in differences):.2g}"


def output_matrix(work: Path) -> list[str]:
    """Runs every exporter's program on every runtime, and compares the outputs with those of the newest release."""
    header = ["type", "exporter", "export", "delegates", *RUNTIMES]
    lines = [f"| {' | '.join(header)} |", "|---|---|---|--:|" + "---|" * len(RUNTIMES)]
    for dtype in TYPES:
        programs = {release: export(release, dtype, work) for release in EXPORTERS}
        inputs = Path(f"{programs[NEWEST]}.inputs")  # drawn by PyTorch, so equal for all exporters
        with tempfile.TemporaryDirectory() as folder:
            reference, outputs = Path(folder) / "reference", Path(folder) / "outputs"
            if error := run_once(programs[NEWEST], NEWEST, inputs, reference):
                raise SystemExit(error)
            for exporter, pte in programs.items():
                cells = [
                    run_once(pte, runtime, inputs, outputs) or difference(reference, outputs) for runtime in RUNTIMES
                ]
                delegates = json.loads(Path(f"{pte}.json").read_text())["delegate_calls"]
                same = pte.read_bytes() == programs[NEWEST].read_bytes()
                first = [dtype, exporter, "as 1.5.1's" if same else "other", str(sum(delegates.values()))]
                lines.append(f"| {' | '.join([*first, *cells])} |")
    return lines


def exporter_difference(work: Path, seconds: int) -> list[str]:
    """Compares the exports of toy_cnn by 1.0.1 and 1.5.1 on two runtimes, in the same launches."""
    runtimes = ["1.4.1", NEWEST]
    experiments = [
        {"name": f"{exporter}_on_{runtime}", "model": str(export(exporter, "fp32", work)), "executorch": runtime}
        for exporter in ("1.0.1", NEWEST)
        for runtime in runtimes
    ]
    pairs = [(f"1.0.1_on_{runtime}", f"{NEWEST}_on_{runtime}") for runtime in runtimes]
    analysis = measure(experiments, pairs, {"max_seconds": seconds})
    stored = analysis["manifest"]["pairs"]
    lines = ["| runtime | 1.5.1's export compared with 1.0.1's | outputs |", "|---|---|---|"]
    for runtime, pair, outputs in zip(runtimes, analysis["comparisons"], stored, strict=True):
        lines.append(f"| {runtime} | {format_verdict(pair['latency'])} | {format_outputs(outputs)} |")
    return lines


def changed_wheel(runtime: Path, folder: Path, sizes: dict[str, int]) -> Path:
    """Makes a wheel with the libraries of a runtime's folder and a changed XNNPACK."""
    folder.mkdir()
    empty = folder / "nothing.cc"
    empty.touch()
    real, changed = folder / "libreal_xnnpack.so", folder / XNNPACK
    link = ["c++", "-shared", "-fPIC", "-O2"]
    call(*link, f"-Wl,-soname,{real.name}", "-o", real, empty)  # an empty library: only its name is linked
    macros = [f"-D{name}={size}" for name, size in sizes.items()]
    source = ROOT / "tests" / "runner" / "changed_xnnpack.cc"
    call(*link, f"-Wl,-soname,{XNNPACK}", "-o", changed, source, *macros, "-Wl,--no-as-needed", real)
    wheel = folder / "executorch-1.5.0+changed-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in runtime.glob("*.so*"):
            archive.write(path, f"executorch/lib/{real.name if path.name == XNNPACK else path.name}")
        archive.write(changed, f"executorch/lib/{XNNPACK}")
    return wheel


def measure_changes(times: int, seconds: int) -> list[str]:
    """Compares 1.5.0 with itself, changed in one way at a time."""
    pte = ROOT / "tests" / "data" / "toy_cnn.pte"
    lines = ["| change | latency | peak memory, MB | outputs |", "|---|---|--:|---|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unchanged = measure([{"name": "own", "model": str(pte), "executorch": "1.5.0"}], [], {"max_seconds": 10})
        spin = round(0.02 * unchanged["experiments"][0]["latency_ms"]["p50"] * 1e6)
        changes = {
            "nothing": {},
            f"2% longer: {spin} ns": {"SPIN": spin},
            "20 MB": {"MEGABYTES": 20},
            "one bit": {"BITS": 1},
        }
        for number, (change, sizes) in enumerate(changes.items()):
            all_sizes = {"SPIN": 0, "MEGABYTES": 0, "BITS": 0} | sizes
            wheel = changed_wheel(runtime_folder("1.5.0"), folder / str(number), all_sizes)
            for repetition in range(times):
                out = folder / f"out{number}_{repetition}"
                options = ["--versions", f"1.5.0,{wheel}", "--max-seconds", seconds, "--no-peaks", "--output-root", out]
                call(ETPROF, "versions", pte, *options, env={**os.environ, "ETPROF_DEVICE_DIR": str(folder / "cache")})
                results = read_results(out)
                (pair,), (stored,) = results["comparisons"], results["manifest"]["pairs"]
                memory = (pair["peak_memory"]["candidate_bytes"] - pair["peak_memory"]["baseline_bytes"]) / 1e6
                lines.append(
                    f"| {change} | {format_verdict(pair['latency'])} | {memory:+.1f} | {format_outputs(stored)} |"
                )
    return lines


def timed_sections(settings: argparse.Namespace) -> str:
    """Returns the sections that depend on the machine's noise."""
    load = os.getloadavg()[0]
    return f"""\

## A difference between exporters

Up to {settings.seconds} s per pair. The load average was {load:.1f} at the start.

1.0.1 exports toy_cnn in two delegates, 1.5.1 in one. Above 1x, 1.5.1's export is faster.

{chr(10).join(exporter_difference(settings.work, settings.seconds))}

## Changes on purpose

A wheel of 1.5.0 whose XNNPACK was changed in one way, compared with 1.5.0 by `etprof versions`,
times measured: {settings.times}. Below 1x, the changed one is slower.

{chr(10).join(measure_changes(settings.times, settings.seconds))}
"""


def main() -> None:
    """Measures, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exports-only", action="store_true")
    parser.add_argument(
        "--untimed", action="store_true", help="only the matrix, which does not depend on the machine's load"
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "version_matrix")
    parser.add_argument("--out", type=Path)
    settings = parser.parse_args()
    for dtype in TYPES:
        for release in EXPORTERS:
            export(release, dtype, settings.work)
    if settings.exports_only:
        return
    with tempfile.TemporaryDirectory() as folder:  # fetches the wheels
        file = Path(folder) / "config.json"
        model = str(ROOT / "tests" / "data" / "toy_cnn.pte")
        file.write_text(
            json.dumps(
                {"model": model, "experiments": [{"name": runtime, "executorch": runtime} for runtime in RUNTIMES]}
            )
        )
        call(ETPROF, "run", file, "--dry-run", "--output-root", Path(folder) / "run")
    text = f"""\
# Exporters and runtimes of ExecuTorch's releases

Made by `bench/models/version_matrix.py` in one run: {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, one thread.

## Each exporter's program on each runtime

toy_cnn by {len(EXPORTERS)} exporters, all with the installed PyTorch, on the {len(RUNTIMES)} runtimes that etprof has,
with the same inputs.
*Outputs* are compared with those of 1.5.1's export on 1.5.1: `equal` bit for bit, or the largest
absolute difference. *export* says whether the file is 1.5.1's, byte for byte.

{chr(10).join(output_matrix(settings.work))}

Runtimes before 1.3 are not in the table: their `Module` has another layout than in the runner's
headers, and etprof refuses them.
"""
    if not settings.untimed:
        text += timed_sections(settings)
    print(text)
    if settings.out:
        settings.out.write_text(text)


if __name__ == "__main__":
    main()
