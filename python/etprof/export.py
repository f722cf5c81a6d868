"""`etprof export`: a PyTorch model to a .pte, with its .etrecord, .inputs and .json beside it.

`etprof export ...` runs this file as `python -m etprof.export ...`.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import etprof
from etprof import artifacts, errors, find, inputs, models
from etprof.errors import ExportError, failing_as

if TYPE_CHECKING:
    from etprof import lower

BACKENDS = ("xnnpack", "portable")
DTYPES = ("fp32", "fp16")

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_BAD_INPUT = 3
EXIT_INTERRUPTED = 130

_EXAMPLES = """examples:
  etprof export --model toy_cnn
  etprof export --model mobilenet_v3_small --dtype fp16 --outdir out_mobilenet_v3_small/artifacts
  etprof export --model path/to/model.py:MyModel --quantize
"""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Request:
    """What to export and how."""

    model: str  # a name, or path/to/model.py:Class
    backend: str = "xnnpack"
    dtype: str = "fp32"  # of weights and inputs before quantization
    quantize: bool = False
    outdir: Path | None = None  # default: out_<model>/artifacts below the current folder
    name: str | None = None  # in file names; default: find.default_name
    save_graph: bool = False
    command: Sequence[str] = field(default=())

    @property
    def model_name(self) -> str:
        """The model's name in file names and messages."""
        return self.name or find.default_name(self.model)

    @property
    def file_dtype(self) -> str:
        """The last part of the file's name: what the model computes in."""
        return "int8" if self.quantize else self.dtype

    @property
    def pte(self) -> Path:
        """Where the .pte goes; the other files' names begin with its name."""
        outdir = self.outdir if self.outdir is not None else Path(f"out_{self.model_name}") / "artifacts"
        return outdir / f"{self.model_name}_{self.backend}_{self.file_dtype}.pte"


def _ignore_progress(_stage: str, _seconds: float) -> None:
    pass


def export_model(request: Request, progress: Progress = _ignore_progress) -> list[Path]:
    """Export a model; gives the paths written, the .pte first and the .json last.

    `progress` hears of each finished stage and its seconds.

    Raises:
        ExportError: With the stage that failed. Files of an earlier export are then as they were.
    """
    name = request.model_name

    @contextmanager
    def stage(stage_name: str, what_to_do: str) -> Iterator[None]:
        begin = time.monotonic()
        with failing_as(name, stage_name, what_to_do):
            yield
        progress(stage_name, time.monotonic() - begin)

    with failing_as(name, errors.WRITE, f"make {request.pte.parent} writable or give another --outdir"):
        artifacts.check_writable(request.pte.parent)
    with stage(errors.FIND_MODEL, "run script/bootstrap"):
        _require("torch", name)
        _require("executorch", name)
        from etprof import lower

        found = find.find_model(request.model)
    with stage(errors.BUILD_MODEL, "see the class of the model"):
        model = lower.with_precision(find.build_model(found), request.dtype)
        parameters = sum(parameter.numel() for parameter in model.module.parameters())
    with stage(errors.EXAMPLE_INPUTS, "make get_example_inputs() return inputs of these types"):
        inputs_bytes = inputs.encode({lower.METHOD: inputs.flatten(model.args, model.kwargs)})
    with stage(
        errors.TORCH_EXPORT, "make torch.export.export(model, example_inputs) work; --verbose shows where it fails"
    ):
        exported = lower.trace(model)
    if request.quantize:
        with stage(errors.QUANTIZE, "leave --quantize out, or see the traceback with --verbose"):
            exported = lower.quantize(exported, model)
    with stage(errors.LOWER, "try --backend portable to see whether the backend is the cause; --verbose shows where"):
        edge = lower.to_edge(exported, request.backend)
        graphs = f"# torch.export\n{exported}\n# lowered\n{edge.exported_program()}\n" if request.save_graph else ""
        program = lower.to_executorch(edge, request.quantize)
        summary = lower.summarize(program)
    pte = request.pte
    writers: dict[str, artifacts.Writer] = {
        pte.name: lambda path: _write_program(program, path),
        f"{pte.name}.etrecord": lambda path: program.get_etrecord().save(path),
        f"{pte.name}.inputs": lambda path: _write_bytes(inputs_bytes, path),
    }
    if request.save_graph:
        writers[f"{pte.name}.graph.txt"] = lambda path: _write_bytes(graphs.encode(), path)
    with stage(errors.WRITE, f"make room in {pte.parent} or give another --outdir; older files there are untouched"):
        manifest = _manifest(request, found.source, parameters, summary, hashlib.sha256(inputs_bytes).hexdigest())
        return artifacts.write_artifacts(pte.parent, writers, f"{pte.name}.json", manifest)


def sources_sha256() -> str:
    """SHA-256 over this package's source files: it changes when the exporter or an example model does."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str | None]:
    """The versions of all that shapes a .pte; None where a package is not installed."""
    from executorch import version as executorch_version

    return {
        "etprof": etprof.__version__,
        "etprof_sources_sha256": sources_sha256(),
        "executorch": executorch_version.__version__,
        "executorch_git_sha": executorch_version.git_version,
        "python": platform.python_version(),
        "torch": _package_version("torch"),
        "torchao": _package_version("torchao"),
    }


def _package_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _require(package: str, model: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ExportError(model, errors.FIND_MODEL, f"{package} is not installed", "run script/bootstrap")


def _write_bytes(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _write_program(program: Any, path: Path) -> None:
    with path.open("wb") as file:
        program.write_to_file(file)


def _manifest(
    request: Request, source: str, parameters: int, summary: lower.ProgramSummary, inputs_sha256: str
) -> dict[str, Any]:
    """The .json but for "files": what was exported, by what, when."""
    return {
        "schema_version": 1,
        "model": request.model_name,
        "source": source,
        "backend": request.backend,
        "dtype": request.file_dtype,
        "quantized": request.quantize,
        "parameters": parameters,
        "inputs": summary.inputs,
        "outputs": summary.outputs,
        "example_inputs_sha256": inputs_sha256,
        "delegate_calls": summary.delegate_calls,
        "portable_operators": summary.kernel_calls,
        "created_utc": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": list(request.command),
        "versions": versions(),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """The command; gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parse(arguments)
    with _library_output(options.verbose) as (out, err):
        try:
            if options.list_models:
                print(*models.model_names(), *sorted(find.executorch_examples()), sep="\n", file=out)
                return EXIT_DONE
            for path in export_model(_request(options, arguments), lambda *stage: _print_stage(err, *stage)):
                print(path, file=out)
            return EXIT_DONE
        except ExportError as error:
            if options.verbose:
                traceback.print_exc(file=err)
            print(f"etprof export: {error}\nwhat to do: {error.what_to_do}", file=err)
            return EXIT_BAD_INPUT
        except KeyboardInterrupt:
            print("etprof export: interrupted", file=err)
            return EXIT_INTERRUPTED


def _request(options: argparse.Namespace, arguments: list[str]) -> Request:
    return Request(
        model=options.model,
        backend=options.backend,
        dtype=options.dtype,
        quantize=options.quantize,
        outdir=options.outdir,
        name=options.name,
        save_graph=options.save_graph,
        command=["etprof", "export", *arguments],
    )


def _print_stage(err: TextIO, stage: str, seconds: float) -> None:
    print(f"  {stage:<16}{seconds:6.1f} s", file=err, flush=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="etprof export",
        description="Export a PyTorch model to ExecuTorch: <model>_<backend>_<dtype>.pte and, beside it, its "
        ".etrecord, .inputs and .json.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("positional", nargs="?", metavar="MODEL", help="the same as --model MODEL")
    actions = [
        parser.add_argument("--model", metavar="MODEL", help="a model's name, or path/to/model.py:Class"),
        parser.add_argument("--list-models", action="store_true", help="print the names of the models known"),
        parser.add_argument("--backend", choices=BACKENDS, default="xnnpack", help="default: xnnpack"),
        parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: fp32"),
        parser.add_argument("--quantize", action="store_true", help="static int8, calibrated on the example inputs"),
        parser.add_argument("--outdir", type=Path, metavar="DIR", help="default: out_<model>/artifacts"),
        parser.add_argument("--name", help="the model's name in file names; default: the class's in snake case"),
        parser.add_argument("--save-graph", action="store_true", help="write the graphs as .pte.graph.txt too"),
        parser.add_argument("--verbose", action="store_true", help="show what PyTorch and ExecuTorch print"),
    ]
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        known = [option for action in actions for option in action.option_strings]
        close = difflib.get_close_matches(unknown[0].partition("=")[0], known, n=1)
        parser.error(f"unknown argument {unknown[0]}" + (f"; did you mean {close[0]}?" if close else ""))
    _check_usage(parser, options)
    return options


def _check_usage(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Settle which model is meant, and refuse what contradicts itself."""
    if options.model and options.positional:
        parser.error(f"two models were given: {shlex.join([options.positional, options.model])}")
    options.model = options.model or options.positional
    if not options.model and not options.list_models:
        parser.error("no model was given; --list-models lists those known")
    if options.quantize and options.dtype == "fp16":
        parser.error("--quantize makes an int8 model out of an fp32 one; leave --dtype fp16 out")
    if options.name and (Path(options.name).name != options.name or options.name in (".", "..")):
        parser.error(f"--name is a part of a file name, not a path: {options.name}")


@contextmanager
def _library_output(verbose: bool) -> Iterator[tuple[TextIO, TextIO]]:
    """Our own stdout and stderr; what libraries, C++ ones too, print meanwhile goes to stderr or nowhere."""
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(os.dup(1), "w") as out, os.fdopen(os.dup(2), "w") as err:
        sink = os.dup(2) if verbose else os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.close(sink)
        try:
            yield out, err
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)


if __name__ == "__main__":
    sys.exit(main())
