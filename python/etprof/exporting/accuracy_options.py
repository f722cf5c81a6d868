"""The command line of `etprof accuracy`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from etprof import errors, models
from etprof.exporting import options, shapes

_EXAMPLES = """examples:
  etprof accuracy transformer_layer
  etprof accuracy path/to/model.py:MyModel --calibrate images.npz --on others.npz
  etprof accuracy transformer_layer --target 45dB --max-slowdown 5%
  etprof accuracy transformer_layer --dtype fp16

exit codes: 0 done, 1 no choice meets the target, 2 usage, 3 bad input, 130 interrupted. docs/guides/accuracy.md has the
details.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. Completion and docs/reference/cli.md are generated from it, too."""
    parser = errors.Parser(
        prog="etprof accuracy",
        description="Export a PyTorch model to int8, 8da4w, or fp16, show which values make the error of its outputs, and find "
        "the operators to keep in float. Writes .pte.accuracy.json and .csv next to the .pte.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    model = parser.add_argument("model", metavar="MODEL", help="As of `etprof export`")
    options.suggest(model, models.model_names())
    add = parser.add_argument
    add("--quantize", choices=options.QUANTIZATIONS, help="Kind of int8, or 8da4w (default: static)")
    add("--dtype", choices=("fp32", "fp16"), default="fp32", help="Round to fp16 instead (default: fp32, quantized)")
    options.add_calibrate(parser)
    add(
        "--on",
        type=Path,
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="Inputs on which noise is measured: .inputs, .pt, or .npz (default: the example inputs drawn from other seeds)",
    )
    options.add_keep(parser)
    options.add_input_shape(parser)
    add(
        "--target",
        metavar="DB",
        help="Keep operators in float until the output has this signal-to-noise ratio, e.g., 40dB, and measure the choices",
    )
    add(
        "--max-slowdown",
        metavar="PERCENT",
        help="With --target: the most that a choice may be slower than without, e.g., 5%%",
    )
    options.add_files(parser)
    add("--verbose", action="store_true", help="Show what PyTorch and ExecuTorch print")
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the options. A wrong command line ends the process with exit code 2, as argparse does."""
    parser = make_parser()
    settings = parser.parse_args(arguments)
    if settings.dtype == "fp16" and (settings.quantize or settings.keep or settings.target):
        parser.error("`--dtype fp16` rounds all values: `--quantize`, `--keep`, and `--target` do not go with it")
    if settings.dtype == "fp32":
        settings.quantize = settings.quantize or "static"
    options.check_samples(parser, "--calibrate", settings.calibrate)
    options.check_samples(parser, "--on", settings.on)
    options.check_calibrated(parser, settings.calibrate, quantized_statically=settings.quantize == "static")
    options.check_name(parser, settings.name)
    if settings.max_slowdown is not None and settings.target is None:
        parser.error("`--max-slowdown` goes with `--target`")
    try:
        settings.input_shape = [shapes.parse_bounds(text) for text in settings.input_shape]
        settings.target = _number(settings.target, r"dB", 0, 400)
        slowdown = _number(settings.max_slowdown, "%", -1, 1000)
        settings.max_slowdown = None if slowdown is None else slowdown / 100
    except ValueError as error:
        parser.error(str(error))
    return settings


def _number(text: str | None, unit: str, low: float, high: float) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*(?:{unit})?", text)
    if match is None or not low < float(match[1]) < high:
        raise ValueError(f"`{text}` is not a number of {unit} above {max(low, 0):g}")
    return float(match[1])
