"""`etprof accuracy`: which quantized values make the error of a model, and which operators to keep in float.

`etprof accuracy ...` runs this file as `python -m etprof.accuracy ...`.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
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
from etprof.errors import EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_DONE, ExportError
from etprof.export import Export, Progress, Request, export_model, library_output, show_stage
from etprof.exporting import accuracy_options, agreement, device_operators, keep, noise, rounding
from etprof.exporting.check import HELD_OUT, Case

if TYPE_CHECKING:
    import torch

    from etprof.exporting.find import BuiltModel

_MAX_SHOWN_VALUES = 12  # values on the screen
_MAX_CANDIDATES = 24  # a choice contains only the values with the most noise, at most this many
_MAX_CHOICE_VALUES = 8  # values of a choice
_MAX_MEASURED_CHOICES = 4
_MIN_WORK_SHARE = 1e-3  # of the work of all operators; a smaller cost cannot be measured
_MEASURE_SECONDS = 60  # for each pair


@dataclass(frozen=True)
class Choice:
    """Operators to keep in float, with the cost and the resulting signal-to-noise ratio."""

    nodes: frozenset[str]
    unquantized: frozenset[str]
    work: float  # share of the operators that then compute in float, in all multiply-accumulates and elements
    sqnr_db: float | None  # emulated, of the output with the most noise; None: nothing differs


@dataclass
class MethodStudy:
    """The noise budget of one method, and what is needed to evaluate choices for it."""

    method: str
    held_out: bool
    budget: noise.Budget
    inputs: list[noise.Inputs]
    emulation: noise.Emulation
    # Maps nodes that stay in float to the values that therefore stay in float.
    find_unquantized: Callable[[frozenset[str]], frozenset[str]]


def study(request: Request, progress: Progress = nullcontext) -> tuple[Export, list[MethodStudy]]:
    """Export the model, and make the noise budget of each method.

    Raises:
        ExportError: As export_model.
    """
    from etprof.exporting import held_out

    studies: list[MethodStudy] = []

    def study_method(
        method: str,
        built: BuiltModel,
        held_out_cases: list[Case],
        module: torch.fx.GraphModule,
        find_unquantized: Callable[[frozenset[str]], frozenset[str]],
    ) -> None:
        remedy = "leave it out, or see the traceback with --verbose"
        with errors.failing_as(request.model_name, errors.NOISE, remedy), progress(errors.NOISE):
            cases = [case for case in held_out_cases if case.method == method] or held_out.cases(method, built)
            inputs = [(case.args, case.kwargs) for case in cases] or [(built.args, built.kwargs)]
            is_held_out = bool(cases) or request.quantize != "static"
            if request.quantize is None:
                inputs = [_in_fp32(args_and_kwargs) for args_and_kwargs in inputs]
                module = rounding.in_fp16(module)
            emulation = noise.Emulation(module)
            if request.quantize is None:
                emulation.drop_exact(inputs)
            studies.append(
                MethodStudy(method, is_held_out, emulation.budget(inputs), inputs, emulation, find_unquantized)
            )

    return export_model(request, progress, study_method), studies


def _in_fp32(inputs: noise.Inputs) -> noise.Inputs:
    import torch
    from torch.utils import _pytree

    def convert(leaf: Any) -> Any:
        return leaf.float() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    args, kwargs = _pytree.tree_map(convert, inputs)
    return args, kwargs


def device_sqnr(export: Export, method: str, output: int) -> tuple[float | None, str | None]:
    """Return the lowest SQNR of the .pte against eager fp32 on the held-out inputs, or on the example inputs without any.

    None: nothing differs, or no ratio describes the output. Then the second value is the reason.
    """
    cases = [case for case in (export.check.cases if export.check else []) if case.method == method]
    held_out_cases = [case for case in cases if case.inputs.startswith(HELD_OUT)]
    outputs = [case.outputs[min(output, len(case.outputs) - 1)] for case in held_out_cases or cases]
    if not outputs:
        return None, (export.check.why if export.check else None) or "it was not run"
    if reason := next((reason for reason in map(agreement.Agreement.incomparable, outputs) if reason), None):
        return None, reason
    if all(result.max_abs_diff is None for result in outputs):
        return None, "it gives no finite number to compare"
    return min((result.sqnr_db for result in outputs if result.sqnr_db is not None), default=None), None


def read_operators(
    request: Request, export: Export, studies: Sequence[MethodStudy]
) -> list[device_operators.DeviceOperator] | str:
    """Compare the .pte's operators with PyTorch's. Return a reason if that is impossible."""
    min_sqnr_db = agreement.MIN_SQNR_DB[request.computes_in]
    try:
        return [
            device_operator
            for study in studies
            for device_operator in device_operators.compare(export.paths[0], study.method, min_sqnr_db)
        ]
    except device_operators.NotComparedError as error:
        return str(error)
    except Exception as error:  # a library refuses the edge program; the noise budget is complete without it
        return errors.one_line(error)


def document(
    request: Request,
    export: Export,
    studies: Sequence[MethodStudy],
    operators: Sequence[device_operators.DeviceOperator] | str = (),
) -> dict[str, Any]:
    """Return the content of .accuracy.json (docs/schema/accuracy.schema.json)."""
    pte = export.paths[0]
    reason = operators if isinstance(operators, str) else ""
    return {
        "schema_version": 1,
        "model": request.model_name,
        "pte": pte.name,
        "pte_sha256": artifacts.hash_file(pte),
        "quantization": request.quantize or request.dtype,
        "budgets": [_output(export, study, output) for study in studies for output in study.budget.outputs],
        "least_db": agreement.MIN_SQNR_DB[request.computes_in],
        "operators": [] if isinstance(operators, str) else [dataclasses.asdict(row) for row in operators],
        "operators_why_not": reason,
    }


def _output(export: Export, study: MethodStudy, output: int) -> dict[str, Any]:
    budget = study.budget
    noises = budget.outputs[output]
    total = noises.all_values
    half = budget.values_of_half(output)
    device_db, device_problem = device_sqnr(export, study.method, output)
    return {
        "method": study.method,
        "output": output,
        "inputs": len(study.inputs),
        "held_out": study.held_out,
        "sqnr_db": agreement.decibels(noises.signal, total),
        "device_sqnr_db": device_db,
        "device_problem": device_problem or "",
        "interaction": noises.interaction / total if total > 0 else None,
        "values_of_half": half,
        "concentrated": 0 < half <= noise.MAX_CONCENTRATED_VALUES and total > 0,
        "not_finite": [budget.sites[number].name for number in budget.by_share(output) if number in noises.not_finite],
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
        "sqnr_db": agreement.decibels(noises.signal, noises.alone[number]),
        "clipped": budget.clipped[number],
        "low": site.low,
        "high": site.high,
        "readers": list(site.readers),
    }


def table(accuracy: dict[str, Any]) -> str:
    """Return the content of .accuracy.csv: a row for each value of each output."""
    text = io.StringIO()
    rows = [
        {
            "method": budget["method"],
            "output": budget["output"],
            **{key: " ".join(value) if key == "readers" else value for key, value in row.items()},
        }
        for budget in accuracy["budgets"]
        for row in budget["values"]
    ]
    names = list(rows[0]) if rows else ["method", "output", "value"]
    writer = csv.DictWriter(text, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def lines(accuracy: dict[str, Any], model: str) -> list[str]:
    """Return the noise budget as lines of text."""
    texts = []
    for budget in accuracy["budgets"]:
        label = f", {budget['method']} output {budget['output']}" if len(accuracy["budgets"]) > 1 else ""
        inputs = f"{budget['inputs']} {'held-out' if budget['held_out'] else 'calibration'} input"
        problem = budget["device_problem"]
        texts.append(
            f"{model}{label}: {_decibels(budget['sqnr_db'])} on {inputs}{'s' if budget['inputs'] != 1 else ''}, emulated; "
            + (
                f"not known of the .pte: {problem}"
                if problem
                else f"the .pte has {_decibels(budget['device_sqnr_db'])} on the worst"
            )
        )
        if budget["interaction"] is None:
            continue
        values = budget["values"]
        shown_rows = values[:_MAX_SHOWN_VALUES]
        width = max(len(row["value"]) for row in shown_rows)
        texts.append(f"  {'noise':>7}  {'value':<{width}}  {'kind':<10}  {'alone':>9}  operator")
        for row in shown_rows:
            place = f"{row['operator']} ({row['module'] or 'the model itself'})"
            texts.append(
                f"  {_percent(row['share'])}  {row['value']:<{width}}  {row['kind']:<10}  {_decibels(row['sqnr_db']):>9}  {place}"
            )
        other_rows = values[_MAX_SHOWN_VALUES:]
        if other_rows:
            texts.append(f"  {_percent(sum(row['share'] for row in other_rows))}  {len(other_rows)} other values")
        texts.append(f"  {_percent(budget['interaction'])}  interaction")
        if overflowing := [row["value"] for row in values if row["high"] == noise.MAX_FP16 and row["clipped"]]:
            texts.append(f"  beyond fp16's numbers, and infinite in the .pte: {', '.join(overflowing)}")
        if budget["not_finite"]:
            names = ", ".join(budget["not_finite"])
            texts.append(f"  make the output NaN or infinite, which counts as its largest value: {names}")
        half = budget["values_of_half"]
        kind = "concentrated" if budget["concentrated"] else "diffuse: no few values make it"
        texts.append(f"  half of the noise is in {half} of {len(values)} values: {kind}")
    return texts + _operator_lines(accuracy)


def _operator_lines(accuracy: dict[str, Any]) -> list[str]:
    """Return lines on the operators of the .pte, which show whether the type or the lowering causes the error."""
    if accuracy["operators_why_not"]:
        return [f"  the .pte's operators were not compared with PyTorch's: {accuracy['operators_why_not']}"]
    compared = [row for row in accuracy["operators"] if row["leaves"] or not row["note"]]
    if not compared:
        return []
    first = next((row for row in compared if row["leaves"]), None)
    if first is not None:
        ratio = "not finite" if first["sqnr_db"] is None else _decibels(first["sqnr_db"])
        place = first["module"] or "the model itself"
        return [
            f"  the first operator of the .pte that leaves PyTorch's value in the same type: {first['operator']} ({place}), "
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


def choices(study: MethodStudy) -> list[Choice]:
    """Return choices of operators to keep in float, cheapest first. Each choice has more dB than all cheaper choices.

    Candidates are the producers and readers of the values with the most noise, and of the values with the most noise per work.
    The quantizer determines which values then stay in float: operators that it fuses with a kept operator stay in float, too.
    Work estimates time, which is measured afterwards.
    """
    output = study.budget.worst
    if output is None:
        return []
    sites = [study.budget.sites[number] for number in study.budget.by_share(output)]
    works, total = study.emulation.works()
    neighbors = {site.name: _neighbors(site, works) for site in sites}

    def cost(unquantized: frozenset[str]) -> float:
        in_float = set().union(*(neighbors[site.name] for site in sites if site.name in unquantized))
        return sum(works[node] for node in in_float) / total

    def share_for_work(number: int) -> float:
        alone = cost(study.find_unquantized(frozenset(neighbors[study.budget.sites[number].name])))
        return study.budget.outputs[output].share(number) / max(alone, _MIN_WORK_SHARE)

    by_share = study.budget.by_share(output)[:_MAX_CANDIDATES]
    by_unquantized: dict[frozenset[str], Choice] = {}
    for order in (sorted(by_share, key=share_for_work, reverse=True), by_share):
        nodes: set[str] = set()
        for number in order[:_MAX_CHOICE_VALUES]:
            nodes |= neighbors[study.budget.sites[number].name]
            unquantized = study.find_unquantized(frozenset(nodes))
            if not unquantized or unquantized in by_unquantized:
                continue
            ratios = study.emulation.sqnr_db(study.inputs, unquantized)
            by_unquantized[unquantized] = Choice(frozenset(nodes), unquantized, cost(unquantized), ratios.get(output))
    frontier: list[Choice] = []
    for choice in sorted(
        by_unquantized.values(), key=lambda candidate: (candidate.work, -agreement.rank(candidate.sqnr_db))
    ):
        if not frontier or agreement.rank(choice.sqnr_db) > agreement.rank(frontier[-1].sqnr_db) + 0.1:
            frontier.append(choice)
    return frontier


def patterns(study: MethodStudy, choice: Choice) -> list[str]:
    """Return the --keep patterns of a choice. Operators that change nothing are left out, those with the least work first."""
    works, _ = study.emulation.works()
    nodes = choice.nodes
    for node in sorted(choice.nodes, key=lambda name: (works[name], name)):
        if study.find_unquantized(nodes - {node}) == choice.unquantized:
            nodes -= {node}
    return keep.shortest_patterns(nodes, study.emulation.module)


def _neighbors(site: noise.Site, works: dict[str, float]) -> set[str]:
    names = {*site.readers, site.name}
    return {name for name in names if name in works}


@dataclass(frozen=True)
class MeasuredProgram:
    """An exported program that was measured against the program without --keep."""

    name: str
    pte: Path
    emulated_db: float | None
    device_db: float | None
    latency: dict[str, Any]  # as in the analysis: verdict, ratio, ratio_low, ratio_high; empty: the baseline
    problem: str | None = None  # why the .pte has no ratio, although its outputs may differ


def select_choices(frontier: list[Choice], target: float) -> list[Choice]:
    """Select the choices to measure: from the cheapest that should reach the target on, else the choices with the most dB."""
    reaching = [choice for choice in frontier if agreement.rank(choice.sqnr_db) >= target]
    return reaching[:_MAX_MEASURED_CHOICES] if reaching else frontier[-_MAX_MEASURED_CHOICES:]


def measure(base: Path, candidates: Sequence[Path]) -> list[dict[str, Any]]:
    """Measure programs against the base, interleaved, and return the latency comparison of each.

    Raises:
        ExportError: The measurement failed.
    """
    etprof = programs.etprof()
    if etprof is None:
        raise ExportError(
            base.stem, errors.NOISE, "there is no etprof to measure with", "build it, or name it in ETPROF"
        )
    with tempfile.TemporaryDirectory(prefix="etprof-accuracy-") as folder:
        variants = [word for candidate in candidates for word in ("--vs", f"model={candidate}")]
        command = [etprof, "profile", base, *variants, "--output-root", folder, "--json", "--no-peaks"]
        limit = ["--max-seconds", str(_MEASURE_SECONDS * len(candidates))]
        process = subprocess.run([*command, *limit], capture_output=True, check=False)  # noqa: S603 - our own program
        if process.returncode != 0:
            error_lines = process.stderr.decode(errors="replace").strip().splitlines()
            raise ExportError(
                base.stem,
                errors.NOISE,
                f"it could not be measured: {error_lines[0] if error_lines else process.returncode}",
                "measure by hand",
            )
    pairs = json.loads(process.stdout)["comparisons"]
    return [pair["latency"] for pair in pairs]


def meets(program: MeasuredProgram, target: float, max_slowdown: float | None) -> bool:
    """Return whether the .pte reaches the target and is significantly not slower than allowed."""
    if program.problem is not None or (program.device_db is not None and program.device_db < target):
        return False
    low = program.latency.get("ratio_low")  # baseline / candidate
    return max_slowdown is None or (low is not None and low >= 1 / (1 + max_slowdown))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = accuracy_options.parse(arguments)
    return errors.run_command(lambda: _run(options, arguments))


def _run(options: Any, arguments: list[str]) -> int:
    with library_output(options.verbose) as (out, err):
        live = err.isatty() and not options.verbose
        try:
            return _accuracy(options, arguments, lambda stage: show_stage(err, stage, live), out, err)
        except ExportError as error:
            if options.verbose:
                traceback.print_exc(file=err)
            errors.report(str(error), error.remedy, err)
            return EXIT_BAD_INPUT


def _accuracy(options: Any, arguments: list[str], progress: Progress, out: TextIO, err: TextIO) -> int:
    request = Request(
        model=options.model,
        dtype=options.dtype,
        quantize=options.quantize,
        outdir=options.outdir,
        name=options.name,
        input_shapes=options.input_shape,
        calibrate=options.calibrate,
        on=options.on,
        keep=keep.split(options.keep),
        command=["etprof", "accuracy", *arguments],
    )
    export, studies = study(request, progress)
    with progress("read operators"):
        operators = read_operators(request, export, studies)
    accuracy = document(request, export, studies, operators)
    pte = export.paths[0]
    with errors.failing_as(request.model_name, errors.WRITE, f"make room in {pte.parent}"):
        text = json.dumps(accuracy, indent=1, allow_nan=False) + "\n"
        artifacts.replace_file(pte.with_name(f"{pte.name}.accuracy.json"), text.encode())
        artifacts.replace_file(pte.with_name(f"{pte.name}.accuracy.csv"), table(accuracy).encode())
    print(*(f"  {'note':<14}{note}" for note in export.notes), sep="\n", end="\n" if export.notes else "", file=err)
    print(*lines(accuracy, request.model_name), sep="\n", file=out, flush=True)
    print(f"wrote {pte}.accuracy.json and .csv", file=err)
    if options.target is None:
        return EXIT_DONE
    return _search(options, request, export, studies, progress, out)


def _search(
    options: Any, request: Request, export: Export, studies: Sequence[MethodStudy], progress: Progress, out: TextIO
) -> int:
    if len(studies) != 1:
        reason = "the model has several methods"
        raise ExportError(request.model_name, errors.NOISE, reason, "leave out --target, and choose with --keep")
    (method_study,) = studies
    output = method_study.budget.worst
    if output is None:
        print("nothing to keep: there is no noise", file=out)
        return EXIT_DONE
    candidates = select_choices(choices(method_study), options.target)
    base = export.paths[0]
    user_patterns = [*request.keep]
    variants: list[MeasuredProgram] = []

    def measured(name: str, exported: Export, emulated_db: float | None) -> MeasuredProgram:
        device_db, problem = device_sqnr(exported, method_study.method, output)
        return MeasuredProgram(name, exported.paths[0], emulated_db, device_db, {}, problem)

    for number, choice in enumerate(candidates, 1):
        keep_patterns = [*user_patterns, *patterns(method_study, choice)]
        exported = export_model(dataclasses.replace(request, keep=keep_patterns, label=f"keep{number}"), progress)
        variants.append(measured(" ".join(keep_patterns), exported, choice.sqnr_db))
    fp32_export = export_model(dataclasses.replace(request, quantize=None, calibrate=(), keep=(), on=()), progress)
    variants.append(measured("fp32", fp32_export, None))
    with progress("measure"):
        latencies = measure(base, [variant.pte for variant in variants])
    variants = [
        dataclasses.replace(variant, latency=latency) for variant, latency in zip(variants, latencies, strict=True)
    ]
    baseline = measured("as it is", export, None)
    print(*frontier_lines([baseline, *variants], latencies[0]["baseline_ms"]), sep="\n", file=out)
    passing = [variant for variant in variants if meets(variant, options.target, options.max_slowdown)]
    if not passing:
        print(f"no choice has {options.target:g} dB{_within(options.max_slowdown)}", file=out)
        return EXIT_CHECK_FAILED
    best = max(passing, key=lambda variant: variant.latency.get("ratio") or 0)
    reason = ", as no choice is certain to be faster" if best is variants[-1] else ""
    if best.latency.get("ratio") is None:
        reason = ", without a comparison of latencies: measure again on a quiet machine"
    print(f"use {best.pte}: {best.name}{reason}", file=out)
    return EXIT_DONE


def _within(max_slowdown: float | None) -> str:
    return "" if max_slowdown is None else f" at a slowdown that is certain to be {100 * max_slowdown:g}% at most"


def frontier_lines(variants: Sequence[MeasuredProgram], base_ms: float | None) -> list[str]:
    """Return a line per measured program. The first program is the baseline."""
    width = max(len(variant.name) for variant in variants)
    texts = [f"  {'kept in float':<{width}}  {'emulated':>9}  {'the .pte':>9}  {'latency':>9}  speed, 95% CI"]
    for variant in variants:
        ms = variant.latency.get("candidate_ms", base_ms)
        emulated = "" if variant.emulated_db is None else f"{variant.emulated_db:.1f} dB"
        device = "not known" if variant.problem else _decibels(variant.device_db)
        texts.append(
            f"  {variant.name:<{width}}  {emulated:>9}  {device:>9}  {'' if ms is None else f'{ms:.3f} ms':>9}  "
            f"{_speed(variant.latency)}".rstrip()
        )
    return texts


def _speed(latency: dict[str, Any]) -> str:
    if not latency or latency.get("ratio") is None:
        return latency.get("verdict", "")
    ratio, low, high = (latency[key] for key in ("ratio", "ratio_low", "ratio_high"))
    verdict = latency["verdict"]
    if verdict == "slower":
        ratio, low, high = 1 / ratio, 1 / high if high else None, 1 / low if low else None
    interval = ", ".join("?" if end is None else f"{end:.2f}" for end in (low, high))
    return f"{ratio:.2f}x {verdict} [{interval}]" if verdict in ("faster", "slower") else f"{verdict} [{interval}]"


if __name__ == "__main__":
    sys.exit(main())
