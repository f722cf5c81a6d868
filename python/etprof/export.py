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
    EXIT_INTERRUPTED,
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
    options,
    places,
    shapes,
    summary,
)
from etprof.exporting.manifest import Manifest, Method, Versions

if TYPE_CHECKING:
    import torch

_WORST = (EXIT_BAD_INPUT, EXIT_CHECK_FAILED, EXIT_UNDECIDED)  # of several exports

_TICK_SECONDS = 1  # between two updates of a stage's time on a terminal
_LINE_SECONDS = 60  # between two lines of a stage elsewhere, as in the log of a CI job

# Of the .json until the check has ended: what an interrupted one leaves behind must not look like --no-check.
_UNFINISHED = "the check was interrupted, or is still running"

Progress = Callable[[str], AbstractContextManager[None]]
Explained = Callable[[BaseException], tuple[str, str] | None]
Study = Callable[..., None]


@dataclass(frozen=True)
class Request:
    """What to export and how."""

    model: str  # a name, or path/to/model.py:Class
    backend: str = "xnnpack"  # or "portable", or package.module:Class of a partitioner
    dtype: str = "fp32"  # of weights and inputs before quantization
    quantize: str | None = None  # "static" or "dynamic" int8, "8da4w"
    outdir: Path | None = None  # default: out_<model>/artifacts[/executorch-<release>] below the current folder
    name: str | None = None  # in file names; default: find.default_name
    save_graph: bool = False
    input_shapes: Sequence[shapes.Bounds] = ()
    calibrate: Sequence[Path] = ()  # empty: on the example inputs
    keep: Sequence[str] = ()  # patterns of what of a quantized model stays in float
    on: Sequence[Path] = ()  # held-out inputs; empty: the example inputs drawn again
    label: str = ""  # the end of the file's name; default: "keep" where anything is kept
    check: bool = True
    min_sqnr_db: float | None = None  # default: agreement.MIN_SQNR_DB
    command: Sequence[str] = field(default=())
    executorch: str = ""  # the release that exports, if it is not the installed one
    notes: Sequence[str] = ()  # what to know of that release

    @property
    def model_name(self) -> str:
        """The model's name in file names and messages."""
        return self.name or find.default_name(self.model)

    @property
    def file_dtype(self) -> str:
        """The last part of the file's name: what the model computes in."""
        return {None: self.dtype, "static": "int8", "dynamic": "int8dyn", "8da4w": "8da4w"}[self.quantize]

    @property
    def computes_in(self) -> str:
        """By which type's measure its outputs are judged."""
        return "int8" if self.quantize else self.dtype

    @property
    def pte(self) -> Path:
        """Where the .pte goes; the other files' names begin with its name."""
        release = f"executorch-{self.executorch}" if self.executorch else ""
        outdir = self.outdir if self.outdir is not None else Path(f"out_{self.model_name}") / "artifacts" / release
        label = self.label or ("keep" if self.keep else "")
        end = f"{self.file_dtype}_{label}" if label else self.file_dtype
        return outdir / f"{self.model_name}_{backends.file_part(self.backend)}_{end}.pte"


@dataclass(frozen=True)
class Export:
    """What an export came to."""

    paths: list[Path]  # the .pte first and the .json last
    delegation: list[check.MethodDelegation] | str  # or why it is not known
    check: check.Check | None  # None: not asked for
    notes: list[str] = field(default_factory=list)  # what to know of the program, though nothing failed
    places: dict[str, list[str]] = field(default_factory=dict)  # by method: where what is not delegated is (places.of)
    hints: dict[str, list[hints.Hint]] = field(default_factory=dict)  # by method: what to write otherwise (hints.of)


def export_model(request: Request, progress: Progress = nullcontext, study: Study | None = None) -> Export:
    """Export a model and check it. Files that do not pass the check stay.

    `progress` makes a context of each stage's name, in which the stage runs. `study` is told of each method that is
    quantized: its name, what `lower.Study` is told, its example, and the held-out inputs. In a method that is not, it is
    told of the fp32 graph.

    Raises:
        ExportError: With the stage that failed. Files of an earlier export are then as they were.
    """
    name = request.model_name

    @contextmanager
    def stage(stage_name: str, what_to_do: str, explained: Explained = lambda _error: None) -> Iterator[None]:
        with progress(stage_name), failing_as(name, stage_name, what_to_do, explained):
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
        flat = {method: inputs.flatten(model.args, model.kwargs) for method, model in converted.items()}
        inputs_bytes = inputs.encode(flat)
    with stage(
        errors.TORCH_EXPORT,
        "make torch.export.export(model, example_inputs) work; --verbose shows where it fails",
        lambda error: explain.not_traced(error, converted, [bounds.text for bounds in request.input_shapes]),
    ):
        exported, notes = _trace(converted)
        notes = [*request.notes, *notes]
        if (refused := explain.no_tensors(exported)) is not None:
            raise ExportError(name, errors.TORCH_EXPORT, *refused)
    unseen: list[check.Case] = []
    if request.quantize or study is not None:
        with stage(errors.QUANTIZE, "leave --quantize out, or see the traceback with --verbose"):
            samples = _samples(request, converted, flat) if request.quantize else {}
            unseen = _held_out(request, converted, flat, samples, notes, drawn=study is not None)
            exported = _quantized(request, built, converted, exported, samples, unseen, study)
    with stage(
        errors.LOWER,
        "try --backend portable to see whether the backend is the cause; --verbose shows where",
        lambda error: explain.not_lowered(error, exported, request.dtype),
    ):
        edge = lower.to_edge(exported, partitioners, request.quantize in ("dynamic", "8da4w"))
        lowered = {method: edge.exported_program(method) for method in edge.methods}
        refused = explain.changed_inputs(lowered, exported) or explain.no_kernel(lowered)
        if refused is not None:
            raise ExportError(name, errors.LOWER, *refused)
        # to_executorch changes these graphs: it puts numbers of instructions in place of their debug handles.
        advice = hints.of(lowered, exported, converted)
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
        paths, left_out = artifacts.write_artifacts(
            pte.parent,
            writers,
            f"{pte.name}.json",
            asdict(manifest),
            optional=[etrecord],
            gone={graph} - writers.keys(),
        )
    if etrecord in left_out:
        notes.append(explain.no_etrecord(left_out[etrecord]))
    delegation = check.delegation(pte)
    answer = None
    if request.check:
        with stage(errors.CHECK, "see whether the model runs by itself; --no-check leaves the check out"):
            answer = _check(request, built, converted, exported, methods, unseen)
        if request.file_dtype == "fp32" and answer.verdict == check.FAIL:
            with progress("locate"):
                answer = _located(request, answer, converted, exported, methods)
    with failing_as(name, errors.WRITE, f"make room in {pte.parent}"):
        artifacts.add_to_manifest(paths[-1], {**_results(delegation, answer, notes), "hints": advice})
    return Export(paths, delegation, answer, notes, places.of(lowered), advice)


def _quantized(
    request: Request,
    built: dict[str, find.BuiltModel],
    converted: dict[str, find.BuiltModel],
    exported: dict[str, torch.export.ExportedProgram],
    samples: dict[str, list[list[Any]]],
    unseen: list[check.Case],
    study: Study | None,
) -> dict[str, torch.export.ExportedProgram]:
    """The programs as they are asked for; `study` is told of each."""
    from etprof.exporting import lower

    if request.quantize is None:
        if study is not None:
            for method, model in built.items():
                study(method, model, unseen, lower.trace(model).module(), lambda _names: frozenset())
        return exported
    kept = lower.Keep(request.model_name, request.keep) if request.keep or request.quantize == "8da4w" else None
    return {
        method: lower.quantize(
            program,
            converted[method],
            request.quantize,
            samples[method],
            kept,
            functools.partial(study, method, converted[method], unseen) if study else None,
        )
        for method, program in exported.items()
    }


def _trace(methods: dict[str, find.BuiltModel]) -> tuple[dict[str, torch.export.ExportedProgram], list[str]]:
    """torch.export's programs, and what to know of them though nothing failed."""
    from etprof.exporting import lower

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exported = {method: lower.trace(model) for method, model in methods.items()}
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    modules = [model.module for model in methods.values()]
    notes = [note for one in caught if (note := explain.forgotten(str(one.message), modules))]
    return exported, list(dict.fromkeys(notes))


def _samples(
    request: Request, methods: dict[str, find.BuiltModel], examples: dict[str, list[Any]]
) -> dict[str, list[list[Any]]]:
    """Of each method the inputs to calibrate on: those of the files, or the example's."""
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
    drawn: bool,
) -> list[check.Case]:
    """Further inputs to check with, of each method that was calibrated on the example inputs; what to know of that is noted.

    `drawn`: of the others, too.
    """
    cases: list[check.Case] = []
    for method, model in methods.items():
        if request.on:
            files = list(request.on)
            read = calibration.read_samples(request.model_name, method, model, len(methods) == 1, files)
            cases += held_out.cases_of(method, model, read)
            continue
        if request.quantize != "static":  # no range is taken from any input
            cases += held_out.cases(method, model) if drawn else []
            continue
        where = f"{method}: " if len(methods) > 1 else ""
        if len(samples[method]) == 1:
            notes.append(f"{where}calibrated on 1 input: real inputs may leave its ranges. --calibrate takes more")
        if not any(held_out.same(examples[method], sample) for sample in samples[method]):
            continue  # the example is held out itself
        drawn = held_out.cases(method, model)
        if not drawn:
            notes.append(
                f"{where}checked on an input that it was calibrated on, and the example inputs cannot be drawn again: "
                "others may be worse. Calibrate on other inputs than the example's"
            )
        cases += drawn
    return cases


def _parameters(methods: dict[str, find.BuiltModel]) -> int:
    """How many numbers the weights are; those that methods share count once."""
    parameters = {id(one): one for method in methods.values() for one in method.module.parameters()}
    return sum(parameter.numel() for parameter in parameters.values())


def _check(
    request: Request,
    reference: dict[str, find.BuiltModel],
    converted: dict[str, find.BuiltModel],
    exported: dict[str, Any],
    lowered: dict[str, Method],
    unseen: list[check.Case],
) -> check.Check:
    """The .pte against the fp32 modules of `reference`, on the numbers that the converted inputs hold."""
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
        found = lowerings.as_lowered(exported[case.method], request.backend)
        return (same_type(case), check.eager_outputs(found[0], case.args, case.kwargs), found[1]) if found else None

    cases = [
        case
        for method, model in converted.items()
        for case in shapes.cases(method, model, exported[method], lowered[method])
    ]
    cases += unseen
    is_fp32 = request.computes_in == "fp32"
    run = check.runner_of(request.pte, runner)
    return check.check(
        cases,
        run,
        eager,
        None if is_fp32 else same_type,
        request.computes_in,
        request.min_sqnr_db,
        as_lowered,
    )


def _located(
    request: Request,
    answer: check.Check,
    methods: dict[str, find.BuiltModel],
    exported: dict[str, Any],
    lowered: dict[str, Method],
) -> check.Check:
    """With the operator whose value leaves PyTorch's first, if a difference of outputs has no known cause."""
    runner = programs.runner()
    causes = [one.what for one in lowerings.KNOWN.get(request.backend, [])]
    if runner is None or not answer.cases or any(cause in (answer.why or "") for cause in causes):
        return answer
    least = answer.min_sqnr_db
    failed = (
        one for one in answer.cases if any(output.why_not(least, exact=True) is not None for output in one.outputs)
    )
    if (first := next(failed, None)) is None:
        return answer
    from etprof.exporting import locate

    cases = shapes.cases(first.method, methods[first.method], exported[first.method], lowered[first.method])
    case = next(one for one in cases if one.name == first.inputs)
    try:
        expected, traced = (
            check.eager_outputs(module, case.args, case.kwargs)
            for module in (methods[first.method].module, exported[first.method].module())
        )
    except Exception:  # PyTorch does not run what torch.export gave: nothing is said
        return answer
    if len(traced) != len(expected) or any(
        agreement.compare(*pair).why_not(least, exact=True) is not None for pair in zip(traced, expected, strict=False)
    ):
        return dataclasses.replace(
            answer, why=f"{answer.why}; torch.export's program differs in PyTorch, too: the lowering is not the cause"
        )
    said = locate.first_wrong(
        exported[first.method],
        case,
        least,
        lambda: backends.partitioners(request.model_name, request.backend, None),
        runner,
    )
    return dataclasses.replace(answer, why=f"{answer.why}; {said}") if said else answer


def _results(
    delegation: list[check.MethodDelegation] | str, answer: check.Check | None, notes: list[str]
) -> dict[str, Any]:
    known = not isinstance(delegation, str)
    return {
        "delegation": [asdict(method) for method in delegation] if known else None,
        "check": {**asdict(answer), "warnings": [*notes, *answer.warnings]} if answer else None,
    }


def sources_sha256() -> str:
    """SHA-256 over this package's source files: it changes when the exporter or an example model does."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def versions() -> Versions:
    """The versions of all that shapes a .pte; None where a package is not installed."""
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
    """The .json but for "files" and the results: what was exported, by what, when."""
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
    """The command; gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = options.parse(arguments)
    # Graphs are many objects that live long: to look through them as often as Python does takes a tenth of an export.
    gc.set_threshold(100_000)
    return errors.exit_code_of(lambda: _export(chosen, arguments))


def _export(chosen: options.Options, arguments: list[str]) -> int:
    with library_output(chosen.verbose) as (out, err):
        release, notes = "", []
        try:
            if chosen.executorch or chosen.wheel:
                release, notes = releases.use(
                    chosen.executorch, chosen.wheel, lambda stage: show_stage(err, stage, _is_live(chosen, err))
                )
            if chosen.list_models:
                known = [*sorted(models.EXAMPLES), *sorted(find.executorch_examples()), *find.own_models()]
                print(*known, sep="\n", file=out)
                return EXIT_DONE
            requests = {kind: _request(chosen, kind, arguments, release, notes) for kind in chosen.dtypes}
            codes = [_export_one(chosen, kind, request, out, err) for kind, request in requests.items()]
            return next((code for code in _WORST if code in codes), EXIT_DONE)
        except releases.ReleaseError as error:
            errors.report(str(error), error.what_to_do, err)
            return error.exit_code
        except KeyboardInterrupt:
            print("Interrupted", file=err)
            return EXIT_INTERRUPTED


def _is_live(chosen: options.Options, err: TextIO) -> bool:
    """Whether a line may be rewritten; else the libraries' lines would be in between."""
    return err.isatty() and not chosen.verbose


def _export_one(chosen: options.Options, kind: str, request: Request, out: TextIO, err: TextIO) -> int:
    """Of the types that were asked for one; gives its exit code."""
    if len(chosen.dtypes) > 1:
        print(f"{kind} ({chosen.dtypes.index(kind) + 1} of {len(chosen.dtypes)})", file=err, flush=True)
    live = _is_live(chosen, err)
    try:
        done = export_model(request, lambda stage: show_stage(err, stage, live))
    except ExportError as error:
        if chosen.verbose:
            traceback.print_exc(file=err)
        errors.report(str(error), error.what_to_do, err)
        return EXIT_BAD_INPUT
    print(*done.paths, sep="\n", file=out, flush=True)
    said = summary.lines(chosen.backend, done.delegation, done.check, done.notes, done.places, done.hints)
    print(*said, sep="\n", file=err)
    return _exit_code(done.check)


def _exit_code(answer: check.Check | None) -> int:
    if answer is None:
        return EXIT_DONE
    return {check.PASS: EXIT_DONE, check.FAIL: EXIT_CHECK_FAILED, check.UNDECIDED: EXIT_UNDECIDED}[answer.verdict]


def _request(chosen: options.Options, kind: str, arguments: list[str], release: str, notes: Sequence[str]) -> Request:
    dtype, quantize = options.TYPES[kind]
    return Request(
        model=chosen.model,
        backend=chosen.backend,
        dtype=dtype,
        quantize=chosen.quantize or quantize,
        outdir=chosen.outdir,
        name=chosen.name,
        save_graph=chosen.save_graph,
        input_shapes=chosen.input_shape,
        calibrate=chosen.calibrate if (chosen.quantize or quantize) == "static" else (),
        keep=keep.split(chosen.keep) if chosen.quantize or quantize else (),
        check=chosen.check,
        min_sqnr_db=chosen.min_sqnr,
        command=["etprof", "export", *arguments],
        executorch=release,
        notes=notes,
    )


@contextmanager
def show_stage(err: TextIO, stage: str, live: bool) -> Iterator[None]:
    """Print a stage's seconds when it is done, and those so far: if `live` every second in a line that is rewritten, else seldom."""
    begin = time.monotonic()
    ended = threading.Event()

    def line() -> str:
        return f"  {stage:<16}{time.monotonic() - begin:6.1f} s"

    def tick() -> None:
        before, after = ("\r", "") if live else ("", " so far\n")
        while not ended.wait(_TICK_SECONDS if live else _LINE_SECONDS):
            os.write(err.fileno(), f"{before}{line()}{after}".encode())
        if live:
            os.write(err.fileno(), b"\r\x1b[K")

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        ended.set()
        ticking.join()
    print(line(), file=err, flush=True)


@contextmanager
def library_output(verbose: bool) -> Iterator[tuple[TextIO, TextIO]]:
    """Our own stdout and stderr; what libraries, C++ ones too, print meanwhile goes to stderr or nowhere."""
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
