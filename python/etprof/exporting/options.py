"""The command line of `etprof export`."""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from etprof import backends, errors, models, releases
from etprof.exporting import calibration, shapes
from etprof.exporting.agreement import MIN_SQNR_DB

QUANTIZATIONS = ("static", "dynamic", "8da4w")
# Maps the type in file names to the type of weights and inputs, and to the quantization.
TYPES = {
    "fp32": ("fp32", None),
    "fp16": ("fp16", None),
    "bf16": ("bf16", None),
    "int8": ("fp32", "static"),
    "int8dyn": ("fp32", "dynamic"),
    "8da4w": ("fp32", "8da4w"),
}

Options = argparse.Namespace


_EXAMPLES = """examples:
  etprof export --model toy_cnn
  etprof export --model mobilenet_v3_small --dtype fp16 --outdir out_mobilenet_v3_small/artifacts
  etprof export --model path/to/model.py:MyModel --quantize --calibrate images.npz
  etprof export --model path/to/model.py:MyModel --input-shape image=1x3x64..512x64..512

exit codes: 0 done, 1 the .pte does not compute what the model computes (the files are kept), 2 usage, 3 bad input,
5 the check could not decide, 130 interrupted. docs/reference/export.md has the details.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `etprof export`. The build generates completion and docs/reference/cli.md from it, too.

    The optional attribute `suggestions` of an action contains values for completion. Other values are also accepted.
    """
    parser = errors.Parser(
        prog="etprof export",
        description="Export a PyTorch model to ExecuTorch: <model>_<backend>_<dtype>.pte and, next to it, its "
        ".etrecord, .inputs, and .json. Then run it and compare it with PyTorch.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    model = parser.add_argument("positional", nargs="?", metavar="MODEL", help="Same as --model MODEL")
    suggest(model, models.model_names())
    _add_options(parser)
    return parser


def parse(arguments: list[str]) -> Options:
    """Parse the options. A wrong command line ends the process with exit code 2, as argparse does."""
    parser = make_parser()
    options, unknown = parser.parse_known_args(_complete_quantize(arguments))
    if unknown:
        known = [option for action in parser._actions for option in action.option_strings]
        close = difflib.get_close_matches(unknown[0].partition("=")[0], known, n=1)
        parser.error(f"unknown argument `{unknown[0]}`" + (f". Did you mean `{close[0]}`?" if close else ""))
    _check_usage(parser, options)
    try:
        options.input_shape = [shapes.parse_bounds(text) for text in options.input_shape]
    except ValueError as error:
        parser.error(f"--input-shape {error}")
    return options


def suggest(action: argparse.Action, values: Iterable[str]) -> None:
    """Set the values that completion offers. Other values are also accepted."""
    action.suggestions = tuple(values)  # type: ignore[attr-defined]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    model = add(
        "--model",
        metavar="MODEL",
        help="Model to export: one of --list-models or of a package in this folder, path/to/model.py:Class, or "
        "path/to/package",
    )
    add("--list-models", action="store_true", help="Print the names of all known models")
    backend = add(
        "--backend",
        default="xnnpack",
        help=f"Backend: {', '.join(backends.BUILT_IN)}, or package.module:Class of a partitioner (default: xnnpack)",
    )
    dtype = add(
        "--dtype",
        default="fp32",
        metavar="TYPE[,TYPE]...",
        help=f"Data type of weights and inputs: {', '.join(TYPES)} (the last three as --quantize). Each of several makes a "
        ".pte (default: fp32)",
    )
    suggest(dtype, TYPES)
    add(
        "--quantize",
        choices=QUANTIZATIONS,
        help="Quantize to int8: static (default if no value is given), with ranges from the calibration inputs, or dynamic, "
        "with ranges computed in every run; or linear layers to 8da4w: weights of 4 bits in groups of 32, dynamic inputs",
    )
    add_calibrate(parser)
    add_keep(parser)
    add_input_shape(parser)
    add_files(parser)
    add(
        "--executorch",
        metavar="V",
        help="Export with this ExecuTorch release, e.g., 1.4.1, and the installed PyTorch (docs/guides/versions.md)",
    )
    add("--wheel", type=Path, metavar="FILE", help="Export with the ExecuTorch of this wheel, e.g., of a nightly build")
    add("--save-graph", action="store_true", help="Write the exported, edge, and lowered graphs as .pte.graph.txt")
    add("--no-check", dest="check", action="store_false", help="Do not run the .pte and compare it with PyTorch")
    add(
        "--min-sqnr",
        type=float,
        metavar="DB",
        help="Minimum signal-to-noise ratio in dB that passes the check "
        f"(default: {', '.join(f'{kind} {least:g}' for kind, least in MIN_SQNR_DB.items())})",
    )
    add("--verbose", action="store_true", help="Show what PyTorch and ExecuTorch print")
    suggest(model, models.model_names())
    suggest(backend, backends.BUILT_IN)


def add_calibrate(parser: argparse.ArgumentParser) -> None:
    """Add the option for calibration inputs."""
    parser.add_argument(
        "--calibrate",
        type=Path,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="Inputs to calibrate static int8 on: .inputs, .pt, or .npz (default: the example inputs)",
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option for operators that stay in float."""
    parser.add_argument(
        "--keep",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="Keep operators of an int8 model in float: a module's path (features.0, *.attention), an operator (add, cat), "
        "or a node of the exported graph (node:add_1)",
    )


def add_input_shape(parser: argparse.ArgumentParser) -> None:
    """Add the option for sizes and ranges of inputs."""
    parser.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="NAME=SHAPE",
        help="Shape of an input. A range makes a dimension dynamic: image=1x3x64..512x64..512. May be repeated",
    )


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folder and the names of files."""
    parser.add_argument(
        "--outdir", type=Path, metavar="DIR", help="Folder to write to (default: out_<model>/artifacts)"
    )
    parser.add_argument("--name", help="Model's name in file names (default: the name of the class in snake case)")


def _complete_quantize(arguments: list[str]) -> list[str]:
    """Replace `--quantize` without a value by `--quantize=static`, because the next argument may be the model."""
    next_arguments = [*arguments[1:], ""][: len(arguments)]
    return [
        "--quantize=static" if argument == "--quantize" and next_argument not in QUANTIZATIONS else argument
        for argument, next_argument in zip(arguments, next_arguments, strict=True)
    ]


def _check_usage(parser: argparse.ArgumentParser, options: Options) -> None:
    """Determine the model, and refuse contradictory options."""
    if options.model and options.positional:
        parser.error(f"two models are given: {shlex.join([options.positional, options.model])}")
    options.model = options.model or options.positional
    if not options.model and not options.list_models:
        parser.error("no model is given. --list-models lists the known ones")
    if (problem := backends.find_problem(options.backend)) is not None:
        parser.error(f"--backend: {problem}")
    options.dtypes = list(dict.fromkeys(options.dtype.split(",")))
    if unknown := [kind for kind in options.dtypes if kind not in TYPES]:
        parser.error(
            f"`--dtype` does not take {f'`{unknown[0]}`' if unknown[0] else 'an empty type'}, but {', '.join(TYPES)}"
        )
    if options.quantize and options.dtype != "fp32":
        parser.error(f"`--quantize` makes an int8 model of an fp32 one, without `--dtype {options.dtype}`")
    if (refusal := backends.find_refusal(options.backend, options.dtypes, options.quantize)) is not None:
        parser.error(refusal)
    check_name(parser, options.name)
    _check_release(parser, options)
    if options.min_sqnr is not None and not (options.check and 0 < options.min_sqnr < 400):
        parser.error("`--min-sqnr` is a number of decibels above 0, and goes with the check")
    check_calibrated(
        parser, options.calibrate, quantized_statically=options.quantize == "static" or "int8" in options.dtypes
    )
    check_samples(parser, "--calibrate", options.calibrate)
    if options.keep and not (options.quantize or {"int8", "int8dyn", "8da4w"} & set(options.dtypes)):
        parser.error("`--keep` leaves operators of an int8 model in float: give `--quantize`")


def _check_release(parser: argparse.ArgumentParser, options: Options) -> None:
    """Refuse invalid releases and wheels."""
    if options.executorch is not None and not releases.VERSION.fullmatch(options.executorch):
        parser.error(f"`--executorch {options.executorch}` is not a version such as 1.4.1")
    if options.wheel is not None and not options.wheel.is_file():
        parser.error(f"`--wheel {options.wheel}`: no such file")


def check_name(parser: argparse.ArgumentParser, name: str | None) -> None:
    """Refuse a --name that is a path."""
    if name and (Path(name).name != name or name in (".", "..")):
        parser.error(f"`--name {name}` is a path, not a part of a file name")


def check_calibrated(parser: argparse.ArgumentParser, files: Sequence[Path], *, quantized_statically: bool) -> None:
    """Refuse calibration inputs for models without calibrated ranges."""
    if files and not quantized_statically:
        parser.error("`--calibrate` goes with `--quantize static` only")


def check_samples(parser: argparse.ArgumentParser, option: str, files: Sequence[Path]) -> None:
    """Refuse files of inputs that etprof cannot read."""
    for path in files:
        if path.suffix not in calibration.SUFFIXES:
            parser.error(f"`{option}` reads {', '.join(calibration.SUFFIXES)} files, not `{path}`")
