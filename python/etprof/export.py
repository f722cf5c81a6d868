"""`etprof export`: a PyTorch model to a .pte, with its .etrecord, .inputs and .json beside it, checked.

`etprof export ...` runs this file as `python -m etprof.export ...`.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import etprof
from etprof import artifacts, backends, errors, models, programs, releases
from etprof.errors import (
    EXIT_BAD_INPUT,
    EXIT_CHECK_FAILED,
    EXIT_DONE,
    EXIT_UNDECIDED,
    ExportError,
    failing_as,
)
from etprof.exporting import (
    agreement,
    calibration,
    check,
    explain,
    find,
    held_out,
    hints,
    inputs,
    keep,
    lowerings,
    noise,
    options,
    places,
    shapes,
    summary,
)
from etprof.exporting.manifest import Manifest, Method, Versions

if TYPE_CHECKING:
    import torch

# Exit codes of several exports: the first one that occurs is the exit code of the command.
_EXIT_CODES_BY_SEVERITY = (EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_UNDECIDED)

_TICK_SECONDS = 1  # between two updates of a stage's time on a terminal
_LINE_SECONDS = 60  # between two lines of a stage elsewhere, as in the log of a CI job

# The check in the .json until the check has ended. The .json of an interrupted export must not look like --no-check.
_UNFINISHED = "the check was interrupted, or is still running"

Progress = Callable[[str], AbstractContextManager[None]]
Explain = Callable[[BaseException], tuple[str, str] | None]
Study = Callable[..., None]


@dataclass(frozen=True)
class Request:
    """The model to export, and the options of the export."""

    model: str  # name, or path/to/model.py:Class
    backend: str = "xnnpack"  # or "portable", or package.module:Class of a partitioner
    dtype: str = "fp32"  # of weights and inputs before quantization
    quantize: str | None = None  # "static" or "dynamic" int8, "8da4w"
    outdir: Path | None = None  # default: out_<model>/artifacts[/executorch-<release>] below the current folder
    name: str | None = None  # in file names; default: find.default_name
    save_graph: bool = False
    input_shapes: Sequence[shapes.Bounds] = ()
    calibrate: Sequence[Path] = ()  # files of calibration inputs; empty: the example inputs
    keep: Sequence[str] = ()  # patterns of the operators of a quantized model that stay in float
    on: Sequence[Path] = ()  # held-out inputs; empty: the example inputs drawn again
    label: str = ""  # the end of the file's name; default: "keep" if `keep` is not empty
    check: bool = True
    min_sqnr_db: float | None = None  # default: agreement.MIN_SQNR_DB
    command: Sequence[str] = ()
    executorch: str = ""  # the release that exports; empty: the installed release
    notes: Sequence[str] = ()  # notes on that release

    @property
    def model_name(self) -> str:
        """The model's name in file names and messages."""
        return self.name or find.default_name(self.model)

    @property
    def file_dtype(self) -> str:
        """The last part of the file's name: the type in which the model computes."""
        return {None: self.dtype, "static": "int8", "dynamic": "int8dyn", "8da4w": "8da4w"}[self.quantize]

    @property
    def computes_in(self) -> str:
        """The type whose limits apply to the outputs."""
        return "int8" if self.quantize else self.dtype

    @property
    def pte(self) -> Path:
        """The path of the .pte. The names of the other files begin with its name."""
        release = f"executorch-{self.executorch}" if self.executorch else ""
        outdir = self.outdir if self.outdir is not None else Path(f"out_{self.model_name}") / "artifacts" / release
        label = self.label or ("keep" if self.keep else "")
        end = f"{self.file_dtype}_{label}" if label else self.file_dtype
        return outdir / f"{self.model_name}_{backends.file_part(self.backend)}_{end}.pte"


@dataclass(frozen=True)
class Export:
    """The result of an export."""

    paths: list[Path]  # the .pte first and the .json last
    delegation: list[check.MethodDelegation] | str  # or the reason why it is not known
    check: check.Check | None  # None: --no-check
    notes: list[str] = field(default_factory=list)  # remarks on the program that are not failures
    # By method: the places of operators that are not delegated, and changes of the model that help.
    places: dict[str, list[str]] = field(default_factory=dict)  # of places.locate_operators
    hints: dict[str, list[hints.Hint]] = field(default_factory=dict)  # of hints.find_hints


def export_model(request: Request, progress: Progress = nullcontext, study: Study | None = None) -> Export:
    """Export a model and check it. Files that do not pass the check are kept.

    `progress` returns a context for a stage's name, in which the stage runs. `study` is called for each method with its name,
    its example, the held-out inputs, and the arguments of `lower.Study`. Without quantization, the graph is the fp32 graph.

    Raises:
        ExportError: A stage failed. Files of an earlier export are unchanged.
    """
    name = request.model_name

    @contextmanager
    def stage(stage_name: str, remedy: str, explain_error: Explain = lambda _error: None) -> Iterator[None]:
        with progress(stage_name), failing_as(name, stage_name, remedy, explain_error):
            yield

    with failing_as(name, errors.WRITE, f"make {request.pte.parent} writable or give another --outdir"):
        artifacts.check_writable(request.pte.parent)
    with stage(errors.FIND_MODEL, "run `script/bootstrap`"):
        _require("torch", name)
        _require("executorch", name)
        from etprof.exporting import lower

        found = find.find_model(request.model)
        partitioners = backends.partitioners(name, request.backend, request.quantize)
    with stage(errors.BUILD_MODEL, "see the class of the model"):
        built = find.build_methods(found)
    with stage(
        errors.EXAMPLE_INPUTS,
        f"make get_example_inputs() return inputs of these types. See {explain.GUIDE}#inputs-that-are-not-tensors",
    ):
        built = lower.with_precision(shapes.with_bounds(name, built, request.input_shapes), "fp32")
        with failing_as(name, errors.BUILD_MODEL, "see the class of the model", explain.not_copied):
            converted = lower.with_precision(built, request.dtype)
        flat_inputs = {method: inputs.flatten(model.args, model.kwargs) for method, model in converted.items()}
        inputs_bytes = inputs.encode(flat_inputs)
    with stage(
        errors.TORCH_EXPORT,
        "make torch.export.export(model, example_inputs) work; --verbose shows where it fails",
        lambda error: explain.not_traced(error, converted, [bounds.text for bounds in request.input_shapes]),
    ):
        exported, notes = _trace(converted)
        notes = [*request.notes, *notes]
        if (explanation := explain.no_tensors(exported)) is not None:
            raise ExportError(name, errors.TORCH_EXPORT, *explanation)
    held_out_cases: list[check.Case] = []
    if request.quantize or study is not None:
        with stage(errors.QUANTIZE, "leave --quantize out, or see the traceback with --verbose"):
            samples = _samples(request, converted, flat_inputs) if request.quantize else {}
            held_out_cases = _held_out(request, converted, flat_inputs, samples, notes, draw_always=study is not None)
            exported = _quantized(request, built, converted, exported, samples, held_out_cases, study)
    with stage(
        errors.LOWER,
        "try --backend portable to see whether the backend is the cause; --verbose shows where",
        lambda error: explain.not_lowered(error, exported, request.dtype),
    ):
        edge = lower.to_edge(exported, partitioners, request.quantize in ("dynamic", "8da4w"))
        lowered = {method: edge.exported_program(method) for method in edge.methods}
        explanation = explain.changed_inputs(lowered, exported) or explain.no_kernel(lowered)
        if explanation is not None:
            raise ExportError(name, errors.LOWER, *explanation)
        # to_executorch changes these graphs: it puts numbers of instructions in place of their debug handles.
        hints_by_method = hints.find_hints(lowered, exported, converted)
        program = lower.to_executorch(edge, request.quantize is not None)
        methods = lower.summarize(program)
        for method, model in converted.items():
            methods[method] = dataclasses.replace(
                methods[method],
                input_names=shapes.input_names(model),
                output_names=shapes.output_names(exported[method]),
            )
        notes += shapes.narrowed(converted, exported, methods, request.input_shapes)
    pte = request.pte
    etrecord, graph = f"{pte.name}.etrecord", f"{pte.name}.graph.txt"
    writers: dict[str, artifacts.Writer] = {
        pte.name: lambda path: _write_program(program, path),
        etrecord: lambda path: program.get_etrecord().save(path),
        f"{pte.name}.inputs": lambda path: _write_bytes(inputs_bytes, path),
    }
    if request.save_graph:
        writers[graph] = lambda path: _write_bytes(lower.graphs(exported, edge, program).encode(), path)
    with stage(
        errors.WRITE,
        f"make room in {pte.parent} or give another --outdir; older files there are untouched",
        explain.not_written,
    ):
        manifest = _manifest(request, found.source, _parameters(built), methods, inputs_bytes)
        paths, failures = artifacts.write_artifacts(
            pte.parent,
            writers,
            f"{pte.name}.json",
            asdict(manifest),
            optional=[etrecord],
            removed={graph} - writers.keys(),
        )
    if etrecord in failures:
        notes.append(explain.no_etrecord(failures[etrecord]))
    delegation = check.delegation(pte)
    checked = None
    if request.check:
        with stage(errors.CHECK, "see whether the model runs by itself; --no-check leaves the check out"):
            checked = _check(request, built, converted, exported, methods, held_out_cases)
        if request.file_dtype == "fp32" and checked.verdict == check.FAIL:
            with progress("locate"):
                checked = _locate_failure(request, checked, converted, exported, methods)
    with failing_as(name, errors.WRITE, f"make room in {pte.parent}"):
        artifacts.add_to_manifest(paths[-1], {**_results(delegation, checked, notes), "hints": hints_by_method})
    return Export(paths, delegation, checked, notes, places.locate_operators(lowered), hints_by_method)


def _quantized(
    request: Request,
    built: dict[str, find.BuiltModel],
    converted: dict[str, find.BuiltModel],
    exported: dict[str, torch.export.ExportedProgram],
    samples: dict[str, list[list[Any]]],
    held_out_cases: list[check.Case],
    study: Study | None,
) -> dict[str, torch.export.ExportedProgram]:
    """Return the programs, quantized if requested, and call `study` for each."""
    from etprof.exporting import lower

    if request.quantize is None:
        if study is not None:
            for method, model in built.items():
                study(method, model, held_out_cases, lower.trace(model).module(), lambda _names: frozenset())
        return exported
    keep_options = lower.Keep(request.model_name, request.keep) if request.keep or request.quantize == "8da4w" else None
    quantized = {
        method: lower.quantize(
            program,
            converted[method],
            request.quantize,
            samples[method],
            keep_options,
            functools.partial(study, method, converted[method], held_out_cases) if study else None,
        )
        for method, program in exported.items()
    }
    if not request.keep and not any(noise.quantized_values(program.graph_module) for program in quantized.values()):
        raise ExportError(
            request.model_name,
            errors.QUANTIZE,
            "XNNPACK's quantizer quantizes none of its operators",
            "export it without --quantize; nn.LSTM and nn.GRU are quantized only if they are written with nn.Linear",
        )
    return quantized


def _trace(methods: dict[str, find.BuiltModel]) -> tuple[dict[str, torch.export.ExportedProgram], list[str]]:
    """Return torch.export's programs, and notes from its warnings."""
    from etprof.exporting import lower

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exported = {method: lower.trace(model) for method, model in methods.items()}
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    modules = [model.module for model in methods.values()]
    notes = [note for warning in caught if (note := explain.unregistered_attributes(str(warning.message), modules))]
    return exported, list(dict.fromkeys(notes))


def _samples(
    request: Request, methods: dict[str, find.BuiltModel], examples: dict[str, list[Any]]
) -> dict[str, list[list[Any]]]:
    """Return the calibration inputs of each method, from the files or from the example."""
    if not request.calibrate:
        return {method: [example] for method, example in examples.items()}
    files = list(request.calibrate)
    return {
        method: calibration.read_samples(request.model_name, method, model, len(methods) == 1, files)
        for method, model in methods.items()
    }


def _held_out(
    request: Request,
    methods: dict[str, find.BuiltModel],
    examples: dict[str, list[Any]],
    samples: dict[str, list[list[Any]]],
    notes: list[str],
    *,
    draw_always: bool,
) -> list[check.Case]:
    """Return additional inputs for the check of each method that was calibrated on the example inputs, and add notes.

    `draw_always`: also for methods that were not calibrated.
    """
    cases: list[check.Case] = []
    for method, model in methods.items():
        if request.on:
            files = list(request.on)
            samples_of_files = calibration.read_samples(request.model_name, method, model, len(methods) == 1, files)
            cases += held_out.make_cases(method, model, samples_of_files)
            continue
        if request.quantize != "static":  # the ranges do not depend on calibration inputs
            cases += held_out.cases(method, model) if draw_always else []
            continue
        label = f"{method}: " if len(methods) > 1 else ""
        if len(samples[method]) == 1:
            notes.append(f"{label}calibrated on 1 input: real inputs may leave its ranges. --calibrate takes more")
        if not any(held_out.equal_inputs(examples[method], sample) for sample in samples[method]):
            continue  # the example is itself a held-out input
        drawn_cases = held_out.cases(method, model)
        if not drawn_cases:
            notes.append(
                f"{label}checked on an input that it was calibrated on, and the example inputs cannot be drawn again: "
                "others may be worse. Calibrate on other inputs than the example's"
            )
        cases += drawn_cases
    return cases


def _parameters(methods: dict[str, find.BuiltModel]) -> int:
    """Return the number of weights. Weights that methods share count once."""
    parameters = {id(parameter): parameter for method in methods.values() for parameter in method.module.parameters()}
    return sum(weight.numel() for weight in parameters.values())


def _check(
    request: Request,
    reference: dict[str, find.BuiltModel],
    converted: dict[str, find.BuiltModel],
    exported: dict[str, Any],
    lowered: dict[str, Method],
    held_out_cases: list[check.Case],
) -> check.Check:
    """Compare the .pte with the fp32 modules of `reference`, on the values of the converted inputs."""
    runner = programs.runner()
    if runner is None:
        return check.not_checked("there is no etprof-runner to run it: build it, or name it in ETPROF_RUNNER")
    from etprof.exporting import lower

    def eager(case: check.Case) -> list[Any]:
        model = find.BuiltModel(reference[case.method].module, case.args, case.kwargs, None)
        widened = lower.with_precision({case.method: model}, "fp32")[case.method]
        return check.eager_outputs(widened.module, widened.args, widened.kwargs)

    def same_type(case: check.Case) -> list[Any]:
        return check.eager_outputs(exported[case.method].module(), case.args, case.kwargs)

    def as_lowered(case: check.Case) -> tuple[list[Any], list[Any], str] | None:
        lowered_module = lowerings.as_lowered(exported[case.method], request.backend)
        return (
            (same_type(case), check.eager_outputs(lowered_module[0], case.args, case.kwargs), lowered_module[1])
            if lowered_module
            else None
        )

    cases = [
        case
        for method, model in converted.items()
        for case in shapes.cases(method, model, exported[method], lowered[method])
    ]
    cases += held_out_cases
    is_fp32 = request.computes_in == "fp32"
    run = check.make_run(request.pte, runner)
    return check.check(
        cases,
        run,
        eager,
        None if is_fp32 else same_type,
        request.computes_in,
        request.min_sqnr_db,
        as_lowered,
    )


def _locate_failure(
    request: Request,
    checked: check.Check,
    methods: dict[str, find.BuiltModel],
    exported: dict[str, Any],
    lowered: dict[str, Method],
) -> check.Check:
    """Add the first operator whose value differs from PyTorch's to a failed check that has no known cause."""
    runner = programs.runner()
    causes = [lowering.difference for lowering in lowerings.KNOWN.get(request.backend, [])]
    if runner is None or not checked.cases or any(cause in (checked.why or "") for cause in causes):
        return checked
    min_sqnr_db = checked.min_sqnr_db
    failed_cases = (
        failed_case
        for failed_case in checked.cases
        if any(output.disagreement(min_sqnr_db, exact=True) is not None for output in failed_case.outputs)
    )
    if (first := next(failed_cases, None)) is None:
        return checked
    from etprof.exporting import locate

    cases = shapes.cases(first.method, methods[first.method], exported[first.method], lowered[first.method])
    case = next(case for case in cases if case.name == first.inputs)
    try:
        expected, traced = (
            check.eager_outputs(module, case.args, case.kwargs)
            for module in (methods[first.method].module, exported[first.method].module())
        )
    except Exception:  # PyTorch cannot run the exported program, so the cause stays unknown
        return checked
    if len(traced) != len(expected) or any(
        agreement.compare(*pair).disagreement(min_sqnr_db, exact=True) is not None
        for pair in zip(traced, expected, strict=False)
    ):
        return dataclasses.replace(
            checked, why=f"{checked.why}; torch.export's program differs in PyTorch, too: the lowering is not the cause"
        )
    location = locate.first_wrong(
        exported[first.method],
        case,
        min_sqnr_db,
        lambda: backends.partitioners(request.model_name, request.backend, None),
        runner,
    )
    return dataclasses.replace(checked, why=f"{checked.why}; {location}") if location else checked


def _results(
    delegation: list[check.MethodDelegation] | str, checked: check.Check | None, notes: list[str]
) -> dict[str, Any]:
    is_known = not isinstance(delegation, str)
    return {
        "delegation": [asdict(method) for method in delegation] if is_known else None,
        "check": {**asdict(checked), "warnings": [*notes, *checked.warnings]} if checked else None,
    }


def sources_sha256() -> str:
    """Return the SHA-256 over this package's source files, which identifies the exporter and the example models."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def versions() -> Versions:
    """Return the versions of all packages that affect a .pte; None: not installed."""
    from executorch import version as executorch_version

    return Versions(
        etprof=etprof.__version__,
        etprof_sources_sha256=sources_sha256(),
        executorch=executorch_version.__version__,
        executorch_git_sha=executorch_version.git_version,
        python=platform.python_version(),
        torch=releases.installed_version("torch"),
        torchao=releases.installed_version("torchao"),
    )


def _require(package: str, model: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ExportError(model, errors.FIND_MODEL, f"{package} is not installed", "run `script/bootstrap`")


def _write_bytes(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _write_program(program: Any, path: Path) -> None:
    with path.open("wb") as file:
        program.write_to_file(file)


def _manifest(
    request: Request, source: str, parameters: int, methods: dict[str, Method], inputs_bytes: bytes
) -> Manifest:
    """Return the .json without "files" and results."""
    return Manifest(
        schema_version=1,
        model=request.model_name,
        source=source,
        backend=request.backend,
        dtype=request.file_dtype,
        quantized=request.quantize is not None,
        quantization=request.quantize,
        calibration=[str(path) for path in request.calibrate],
        kept=list(request.keep),
        parameters=parameters,
        **vars(next(iter(methods.values()))),
        methods=methods,
        example_inputs_sha256=hashlib.sha256(inputs_bytes).hexdigest(),
        created_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        command=list(request.command),
        versions=versions(),
        delegation=None,
        hints={},
        check=check.not_checked(_UNFINISHED) if request.check else None,
        files={},
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    settings = options.parse(arguments)
    # Graphs consist of many long-lived objects. With Python's default threshold, garbage collection takes a tenth of an export.
    gc.set_threshold(100_000)
    return errors.run_command(lambda: _export(settings, arguments))


def _export(settings: options.Options, arguments: list[str]) -> int:
    with library_output(settings.verbose) as (out, err):
        release, notes = "", []
        if settings.executorch or settings.wheel:
            release, notes = releases.use(
                settings.executorch, settings.wheel, lambda stage: show_stage(err, stage, _is_live(settings, err))
            )
        if settings.list_models:
            names = [*sorted(models.EXAMPLES), *sorted(find.executorch_examples()), *find.own_models()]
            print(*names, sep="\n", file=out)
            return EXIT_DONE
        requests = {kind: _request(settings, kind, arguments, release, notes) for kind in settings.dtypes}
        codes = [_export_one(settings, kind, request, out, err) for kind, request in requests.items()]
        return next((code for code in _EXIT_CODES_BY_SEVERITY if code in codes), EXIT_DONE)


def _is_live(settings: options.Options, err: TextIO) -> bool:
    """Return whether a line may be rewritten. With --verbose, lines of libraries are in between."""
    return err.isatty() and not settings.verbose


def _export_one(settings: options.Options, kind: str, request: Request, out: TextIO, err: TextIO) -> int:
    """Export one of the requested types and return its exit code."""
    if len(settings.dtypes) > 1:
        print(f"{kind} ({settings.dtypes.index(kind) + 1} of {len(settings.dtypes)})", file=err, flush=True)
    live = _is_live(settings, err)
    try:
        export = export_model(request, lambda stage: show_stage(err, stage, live))
    except ExportError as error:
        if settings.verbose:
            traceback.print_exc(file=err)
        errors.report(str(error), error.remedy, err)
        return EXIT_BAD_INPUT
    print(*export.paths, sep="\n", file=out, flush=True)
    lines = summary.lines(settings.backend, export.delegation, export.check, export.notes, export.places, export.hints)
    print(*lines, sep="\n", file=err)
    return _exit_code(export.check)


def _exit_code(checked: check.Check | None) -> int:
    if checked is None:
        return EXIT_DONE
    return {check.PASS: EXIT_DONE, check.FAIL: EXIT_CHECK_FAILED, check.UNDECIDED: EXIT_UNDECIDED}[checked.verdict]


def _request(settings: options.Options, kind: str, arguments: list[str], release: str, notes: Sequence[str]) -> Request:
    dtype, quantize = options.TYPES[kind]
    return Request(
        model=settings.model,
        backend=settings.backend,
        dtype=dtype,
        quantize=settings.quantize or quantize,
        outdir=settings.outdir,
        name=settings.name,
        save_graph=settings.save_graph,
        input_shapes=settings.input_shape,
        calibrate=settings.calibrate if (settings.quantize or quantize) == "static" else (),
        keep=keep.split(settings.keep) if settings.quantize or quantize else (),
        check=settings.check,
        min_sqnr_db=settings.min_sqnr,
        command=["etprof", "export", *arguments],
        executorch=release,
        notes=notes,
    )


@contextmanager
def show_stage(err: TextIO, stage: str, live: bool) -> Iterator[None]:
    """Print a stage's seconds at its end, and meanwhile every minute, or every second in a rewritten line if `live`."""
    start = time.monotonic()
    ended = threading.Event()

    def line() -> str:
        return f"  {stage:<16}{time.monotonic() - start:6.1f} s"

    def print_time() -> None:
        before, after = ("\r", "") if live else ("", " so far\n")
        while not ended.wait(_TICK_SECONDS if live else _LINE_SECONDS):
            os.write(err.fileno(), f"{before}{line()}{after}".encode())
        if live:
            os.write(err.fileno(), b"\r\x1b[K")

    ticker = threading.Thread(target=print_time, daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()
    print(line(), file=err, flush=True)


@contextmanager
def library_output(verbose: bool) -> Iterator[tuple[TextIO, TextIO]]:
    """Yield etprof's stdout and stderr. Inside this context, output of libraries goes to stderr if `verbose`, else nowhere."""
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(os.dup(1), "w") as out, os.fdopen(os.dup(2), "w") as err:
        sink = os.dup(2) if verbose else os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.close(sink)
        try:
            yield errors.PrintableStream(out), errors.PrintableStream(err)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)


if __name__ == "__main__":
    sys.exit(main())
