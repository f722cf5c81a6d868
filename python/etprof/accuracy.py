"""`etprof accuracy`: which quantized values make the error of a model, and which operators to keep in float.

`etprof accuracy ...` runs this file as `python -m etprof.accuracy ...`.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from etprof import artifacts, errors, programs
from etprof.errors import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_DONE, EXIT_INTERRUPTED, ExportError
from etprof.export import Export, Progress, Request, export_model, library_output, show_stage
from etprof.exporting import accuracy_options, agreement, in_place, keep, noise, rounding
from etprof.exporting.check import HELD_OUT, Case

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

_SHOWN = 12  # values on the screen
_CANDIDATES = 24  # values that may be in a choice: those with the most noise
_MOST_KEPT = 8  # values of a choice
_MEASURED = 4  # choices
_LEAST_WORK = 1e-3  # of all: what less costs could not be measured
_MEASURE_SECONDS = 60  # of each pair


@dataclass(frozen=True)
class Choice:
    """Operators to keep in float, and what that gives."""

    nodes: frozenset[str]
    freed: frozenset[str]
    work: float  # of the operators that compute in float then, as a share of all multiply-accumulates and elements
    sqnr_db: float | None  # emulated, of the worst output; None: nothing differs


@dataclass
class Studied:
    """What was found of one method while it was exported."""

    method: str
    held_out: bool
    budget: noise.Budget
    inputs: list[noise.Inputs]
    emulation: noise.Emulation
    freed: Callable[[frozenset[str]], frozenset[str]]


def study(request: Request, progress: Progress = nullcontext) -> tuple[Export, list[Studied]]:
    """Export the model, and make the noise budget of each method.

    Raises:
        ExportError: As export_model.
    """
    from etprof.exporting import held_out

    studied: list[Studied] = []

    def look(
        method: str,
        built: BuiltModel,
        unseen: list[Case],
        module: torch.fx.GraphModule,
        freed: Callable[[frozenset[str]], frozenset[str]],
    ) -> None:
        what_to_do = "leave it out, or see the traceback with --verbose"
        with errors.failing_as(request.model_name, errors.NOISE, what_to_do), progress(errors.NOISE):
            cases = [case for case in unseen if case.method == method] or held_out.cases(method, built)
            inputs = [(case.args, case.kwargs) for case in cases] or [(built.args, built.kwargs)]
            is_held_out = bool(cases) or request.quantize != "static"
            if request.quantize is None:
                inputs = [_in_fp32(one) for one in inputs]
                module = rounding.in_fp16(module)
            emulation = noise.Emulation(module)
            if request.quantize is None:
                emulation.drop_exact(inputs)
            studied.append(Studied(method, is_held_out, emulation.budget(inputs), inputs, emulation, freed))

    return export_model(request, progress, look), studied


def _in_fp32(inputs: noise.Inputs) -> noise.Inputs:
    import torch
    from torch.utils import _pytree

    def convert(leaf: Any) -> Any:
        return leaf.float() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    args, kwargs = _pytree.tree_map(convert, inputs)
    return args, kwargs


def device_sqnr(done: Export, method: str, output: int) -> float | None:
    """Of the .pte against eager fp32: the worst of the held-out inputs, or of the example where there are none."""
    cases = [case for case in (done.check.cases if done.check else []) if case.method == method]
    unseen = [case for case in cases if case.inputs.startswith(HELD_OUT)]
    ratios = [case.outputs[output].sqnr_db for case in unseen or cases if output < len(case.outputs)]
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def read_operators(request: Request, done: Export, studied: Sequence[Studied]) -> list[in_place.DeviceOperator] | str:
    """The .pte's operators against PyTorch's, or why they were not compared."""
    least = agreement.MIN_SQNR_DB[request.computes_in]
    try:
        return [one for method in studied for one in in_place.operators(done.paths[0], method.method, least)]
    except in_place.NotComparedError as error:
        return str(error)
    except Exception as error:  # whatever a library says of the edge program: the budget is there
        return errors.one_line(error)


def document(
    request: Request,
    done: Export,
    studied: Sequence[Studied],
    operators: Sequence[in_place.DeviceOperator] | str = (),
) -> dict[str, Any]:
    """The .accuracy.json: docs/schema/accuracy.schema.json."""
    pte = done.paths[0]
    why_not = operators if isinstance(operators, str) else ""
    return {
        "schema_version": 1,
        "model": request.model_name,
        "pte": pte.name,
        "pte_sha256": artifacts.sha256_of(pte),
        "quantization": request.quantize or request.dtype,
        "budgets": [_output(done, one, output) for one in studied for output in one.budget.outputs],
        "least_db": agreement.MIN_SQNR_DB[request.computes_in],
        "operators": [] if isinstance(operators, str) else [dataclasses.asdict(one) for one in operators],
        "operators_why_not": why_not,
    }


def _output(done: Export, studied: Studied, output: int) -> dict[str, Any]:
    budget = studied.budget
    noises = budget.outputs[output]
    total = noises.all_values
    half = budget.values_of_half(output)
    return {
        "method": studied.method,
        "output": output,
        "inputs": len(studied.inputs),
        "held_out": studied.held_out,
        "sqnr_db": noise.decibels(noises.signal, total),
        "device_sqnr_db": device_sqnr(done, studied.method, output),
        "interaction": noises.interaction / total if total > 0 else None,
        "values_of_half": half,
        "concentrated": 0 < half <= noise.FEW_VALUES and total > 0,
        "values": [_value(budget, noises, site) for site in budget.by_share(output)],
    }


def _value(budget: noise.Budget, noises: noise.Noise, number: int) -> dict[str, Any]:
    site = budget.sites[number]
    return {
        "value": site.name,
        "kind": site.kind,
        "operator": site.operator,
        "module": site.module,
        "source": site.source,
        "share": noises.share(number),
        "sqnr_db": noise.decibels(noises.signal, noises.alone[number]),
        "clipped": budget.clipped[number],
        "low": site.low,
        "high": site.high,
        "readers": list(site.readers),
    }


def table(found: dict[str, Any]) -> str:
    """The .accuracy.csv: a row for each value of each output."""
    text = io.StringIO()
    rows = [
        {
            "method": budget["method"],
            "output": budget["output"],
            **{key: " ".join(value) if key == "readers" else value for key, value in row.items()},
        }
        for budget in found["budgets"]
        for row in budget["values"]
    ]
    names = list(rows[0]) if rows else ["method", "output", "value"]
    writer = csv.DictWriter(text, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def lines(found: dict[str, Any], model: str) -> list[str]:
    """For a person."""
    said = []
    for budget in found["budgets"]:
        several = f", {budget['method']} output {budget['output']}" if len(found["budgets"]) > 1 else ""
        inputs = f"{budget['inputs']} {'held-out' if budget['held_out'] else 'calibration'} input"
        said.append(
            f"{model}{several}: {_decibels(budget['sqnr_db'])} on {inputs}{'s' if budget['inputs'] != 1 else ''}, "
            f"emulated; the .pte has {_decibels(budget['device_sqnr_db'])} on the worst"
        )
        if budget["interaction"] is None:
            continue
        values = budget["values"]
        shown = values[:_SHOWN]
        wide = max(len(row["value"]) for row in shown)
        said.append(f"  {'noise':>7}  {'value':<{wide}}  {'kind':<10}  {'alone':>9}  operator")
        for row in shown:
            where = f"{row['operator']} ({row['module'] or 'the model itself'})"
            said.append(
                f"  {_percent(row['share'])}  {row['value']:<{wide}}  {row['kind']:<10}  {_decibels(row['sqnr_db']):>9}  {where}"
            )
        rest = values[_SHOWN:]
        if rest:
            said.append(f"  {_percent(sum(row['share'] for row in rest))}  {len(rest)} other values")
        said.append(f"  {_percent(budget['interaction'])}  interaction")
        if overflowing := [row["value"] for row in values if row["high"] == noise.LARGEST_FP16 and row["clipped"]]:
            said.append(f"  beyond fp16's numbers, and infinite in the .pte: {', '.join(overflowing)}")
        half = budget["values_of_half"]
        kind = "concentrated" if budget["concentrated"] else "diffuse: no few values make it"
        said.append(f"  half of the noise is in {half} of {len(values)} values: {kind}")
    return said + _operator_lines(found)


def _operator_lines(found: dict[str, Any]) -> list[str]:
    """Whether the type or the lowering makes the error."""
    if found["operators_why_not"]:
        return [f"  the .pte's operators were not compared with PyTorch's: {found['operators_why_not']}"]
    compared = [row for row in found["operators"] if row["leaves"] or not row["note"]]
    if not compared:
        return []
    first = next((row for row in compared if row["leaves"]), None)
    if first is not None:
        ratio = "not finite" if first["sqnr_db"] is None else _decibels(first["sqnr_db"])
        where = first["module"] or "the model itself"
        return [
            f"  the first operator of the .pte that leaves PyTorch's value in the same type: {first['operator']} ({where}), "
            f"{ratio}"
        ]
    lowest = min((row["sqnr_db"] for row in compared if row["sqnr_db"] is not None), default=None)
    nearest = "all are identical" if lowest is None else f"the lowest has {_decibels(lowest)}"
    return [f"  {len(compared)} operators of the .pte agree with PyTorch's in the same type: {nearest}"]


def _decibels(ratio: float | None) -> str:
    return "no noise" if ratio is None else _minus(f"{ratio:.1f} dB")


def _minus(text: str) -> str:
    return text.replace("-", "−")  # noqa: RUF001 - the minus sign of all etprof's numbers


def _percent(share: float) -> str:
    return _minus(f"{100 * share:6.1f}%")


def choices(studied: Studied) -> list[Choice]:
    """What could be kept in float, cheapest first: each has more dB than all that cost less.

    Candidates are the makers and readers of the noisiest values, and of those with the most noise for the work. Which values
    they free the quantizer says: keeping an operator frees those that it fuses with, too. Work stands for time, which is then
    measured.
    """
    output = studied.budget.worst
    if output is None:
        return []
    sites = [studied.budget.sites[number] for number in studied.budget.by_share(output)]
    works, total = studied.emulation.works()
    makers = {site.name: _around(site, works) for site in sites}

    def cost(freed: frozenset[str]) -> float:
        in_float = set().union(*(makers[site.name] for site in sites if site.name in freed))
        return sum(works[node] for node in in_float) / total

    def share_for_work(number: int) -> float:
        alone = cost(studied.freed(frozenset(makers[studied.budget.sites[number].name])))
        return studied.budget.outputs[output].share(number) / max(alone, _LEAST_WORK)

    by_share = studied.budget.by_share(output)[:_CANDIDATES]
    found: dict[frozenset[str], Choice] = {}
    for order in (sorted(by_share, key=share_for_work, reverse=True), by_share):
        nodes: set[str] = set()
        for number in order[:_MOST_KEPT]:
            nodes |= makers[studied.budget.sites[number].name]
            freed = studied.freed(frozenset(nodes))
            if not freed or freed in found:
                continue
            ratios = studied.emulation.sqnr_db(studied.inputs, freed)
            found[freed] = Choice(frozenset(nodes), freed, cost(freed), ratios.get(output))
    frontier: list[Choice] = []
    for choice in sorted(found.values(), key=lambda one: (one.work, -_ratio(one.sqnr_db))):
        if not frontier or _ratio(choice.sqnr_db) > _ratio(frontier[-1].sqnr_db) + 0.1:
            frontier.append(choice)
    return frontier


def patterns(studied: Studied, choice: Choice) -> list[str]:
    """What `--keep` takes for it, without operators that free nothing; of those that fuse, the one with the most work."""
    works, _ = studied.emulation.works()
    nodes = choice.nodes
    for node in sorted(choice.nodes, key=lambda name: (works[name], name)):
        if studied.freed(nodes - {node}) == choice.freed:
            nodes -= {node}
    return keep.patterns_of(nodes, studied.emulation.module)


def _around(site: noise.Site, works: dict[str, float]) -> set[str]:
    names = {*site.readers, site.name}
    return {name for name in names if name in works}


def _ratio(sqnr_db: float | None) -> float:
    return math.inf if sqnr_db is None else sqnr_db


@dataclass(frozen=True)
class Measured:
    """A program that was exported and measured against the one that keeps nothing."""

    name: str
    pte: Path
    emulated_db: float | None
    device_db: float | None
    latency: dict[str, Any]  # as in the analysis: verdict, ratio, ratio_low, ratio_high; empty: the baseline


def selected(frontier: list[Choice], target: float) -> list[Choice]:
    """Those to measure: from the cheapest that should reach the target on, else those with the most dB."""
    reaching = [choice for choice in frontier if _ratio(choice.sqnr_db) >= target]
    return reaching[:_MEASURED] if reaching else frontier[-_MEASURED:]


def measure(base: Path, others: Sequence[Path]) -> list[dict[str, Any]]:
    """The latency of each against the base, interleaved.

    Raises:
        ExportError: It could not be measured.
    """
    program = programs.etprof()
    if program is None:
        raise ExportError(
            base.stem, errors.NOISE, "there is no etprof to measure with", "build it, or name it in ETPROF"
        )
    with tempfile.TemporaryDirectory(prefix="etprof-accuracy-") as folder:
        variants = [word for other in others for word in ("--vs", f"model={other}")]
        command = [program, "profile", base, *variants, "--output-root", folder, "--json", "--no-peaks"]
        limit = ["--max-seconds", str(_MEASURE_SECONDS * len(others))]
        done = subprocess.run([*command, *limit], capture_output=True, check=False)  # noqa: S603 - our own program
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip().splitlines()
            raise ExportError(
                base.stem,
                errors.NOISE,
                f"it could not be measured: {why[0] if why else done.returncode}",
                "measure by hand",
            )
    pairs = json.loads(done.stdout)["comparisons"]
    return [pair["latency"] for pair in pairs]


def meets(one: Measured, target: float, max_slowdown: float | None) -> bool:
    """Whether the .pte has the ratio, and is certain to be no slower than allowed."""
    if one.device_db is not None and one.device_db < target:
        return False
    low = one.latency.get("ratio_low")  # baseline / candidate
    return max_slowdown is None or (low is not None and low >= 1 / (1 + max_slowdown))


def main(argv: Sequence[str] | None = None) -> int:
    """The command; gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = accuracy_options.parse(arguments)
    return errors.exit_code_of(lambda: _run(chosen, arguments))


def _run(chosen: Any, arguments: list[str]) -> int:
    with library_output(chosen.verbose) as (out, err):
        live = err.isatty() and not chosen.verbose
        try:
            return _accuracy(chosen, arguments, lambda stage: show_stage(err, stage, live), out, err)
        except ExportError as error:
            if chosen.verbose:
                traceback.print_exc(file=err)
            errors.report(str(error), error.what_to_do, err)
            return EXIT_BAD_INPUT
        except KeyboardInterrupt:
            print("Interrupted", file=err)
            return EXIT_INTERRUPTED


def _accuracy(chosen: Any, arguments: list[str], progress: Progress, out: TextIO, err: TextIO) -> int:
    request = Request(
        model=chosen.model,
        dtype=chosen.dtype,
        quantize=chosen.quantize,
        outdir=chosen.outdir,
        name=chosen.name,
        input_shapes=chosen.input_shape,
        calibrate=chosen.calibrate,
        on=chosen.on,
        keep=keep.split(chosen.keep),
        command=["etprof", "accuracy", *arguments],
    )
    done, studied = study(request, progress)
    with progress("read operators"):
        operators = read_operators(request, done, studied)
    found = document(request, done, studied, operators)
    pte = done.paths[0]
    with errors.failing_as(request.model_name, errors.WRITE, f"make room in {pte.parent}"):
        text = json.dumps(found, indent=1, allow_nan=False) + "\n"
        artifacts.replace_file(pte.with_name(f"{pte.name}.accuracy.json"), text.encode())
        artifacts.replace_file(pte.with_name(f"{pte.name}.accuracy.csv"), table(found).encode())
    print(*(f"  {'note':<14}{note}" for note in done.notes), sep="\n", end="\n" if done.notes else "", file=err)
    print(*lines(found, request.model_name), sep="\n", file=out, flush=True)
    print(f"wrote {pte}.accuracy.json and .csv", file=err)
    if chosen.target is None:
        return EXIT_DONE
    return _search(chosen, request, done, studied, progress, out)


def _search(
    chosen: Any, request: Request, done: Export, studied: Sequence[Studied], progress: Progress, out: TextIO
) -> int:
    if len(studied) != 1:
        why = "the model has several methods"
        raise ExportError(request.model_name, errors.NOISE, why, "leave out --target, and choose with --keep")
    (only,) = studied
    output = only.budget.worst
    if output is None:
        print("nothing to keep: there is no noise", file=out)
        return EXIT_DONE
    picked = selected(choices(only), chosen.target)
    base = done.paths[0]
    names = [*request.keep]
    variants: list[Measured] = []
    for number, choice in enumerate(picked, 1):
        kept = [*names, *patterns(only, choice)]
        exported = export_model(dataclasses.replace(request, keep=kept, label=f"keep{number}"), progress)
        variants.append(
            Measured(
                " ".join(kept),
                exported.paths[0],
                choice.sqnr_db,
                device_sqnr(exported, only.method, output),
                {},
            )
        )
    exact = export_model(dataclasses.replace(request, quantize=None, calibrate=(), keep=(), on=()), progress)
    variants.append(Measured("fp32", exact.paths[0], None, device_sqnr(exact, only.method, output), {}))
    with progress("measure"):
        latencies = measure(base, [one.pte for one in variants])
    variants = [dataclasses.replace(one, latency=latency) for one, latency in zip(variants, latencies, strict=True)]
    first = latencies[0]
    print(
        *frontier_lines(
            [Measured("as it is", base, None, device_sqnr(done, only.method, output), {}), *variants],
            first["baseline_ms"],
        ),
        sep="\n",
        file=out,
    )
    good = [one for one in variants if meets(one, chosen.target, chosen.max_slowdown)]
    if not good:
        print(f"no choice has {chosen.target:g} dB{_within(chosen.max_slowdown)}", file=out)
        return EXIT_CHECK_FAILED
    best = min(good, key=lambda one: -(one.latency.get("ratio") or 0))
    print(
        f"use {best.pte}: {best.name}{', as no choice is certain to be faster' if best is variants[-1] else ''}",
        file=out,
    )
    return EXIT_DONE


def _within(max_slowdown: float | None) -> str:
    return "" if max_slowdown is None else f" at a slowdown that is certain to be {100 * max_slowdown:g}% at most"


def frontier_lines(variants: Sequence[Measured], base_ms: float | None) -> list[str]:
    """What was measured, a line each; the first is the baseline."""
    wide = max(len(one.name) for one in variants)
    said = [f"  {'kept in float':<{wide}}  {'emulated':>9}  {'the .pte':>9}  {'latency':>9}  speed, 95% CI"]
    for one in variants:
        ms = one.latency.get("candidate_ms", base_ms)
        emulated = "" if one.emulated_db is None else f"{one.emulated_db:.1f} dB"
        said.append(
            f"  {one.name:<{wide}}  {emulated:>9}  {_decibels(one.device_db):>9}  {'' if ms is None else f'{ms:.3f} ms':>9}  "
            f"{_speed(one.latency)}".rstrip()
        )
    return said


def _speed(latency: dict[str, Any]) -> str:
    if not latency or latency.get("ratio") is None:
        return ""
    ratio, low, high = (latency[key] for key in ("ratio", "ratio_low", "ratio_high"))
    verdict = latency["verdict"]
    if verdict == "slower":
        ratio, low, high = 1 / ratio, 1 / high if high else None, 1 / low if low else None
    ends = ", ".join("?" if end is None else f"{end:.2f}" for end in (low, high))
    return f"{ratio:.2f}x {verdict} [{ends}]" if verdict in ("faster", "slower") else f"{verdict} [{ends}]"


if __name__ == "__main__":
    sys.exit(main())
