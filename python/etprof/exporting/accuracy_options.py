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
    """The options, of which completion and docs/reference/cli.md are made, too."""
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
    """The options; a wrong command line ends the process with 2, as argparse does."""
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    if chosen.dtype == "fp16" and (chosen.quantize or chosen.keep or chosen.target):
        parser.error("`--dtype fp16` rounds all values: `--quantize`, `--keep`, and `--target` do not go with it")
    if chosen.dtype == "fp32":
        chosen.quantize = chosen.quantize or "static"
    options.check_samples(parser, "--calibrate", chosen.calibrate)
    options.check_samples(parser, "--on", chosen.on)
    options.check_calibrated(parser, chosen.calibrate, quantized_statically=chosen.quantize == "static")
    options.check_name(parser, chosen.name)
    if chosen.max_slowdown is not None and chosen.target is None:
        parser.error("`--max-slowdown` goes with `--target`")
    try:
        chosen.input_shape = [shapes.parse_bounds(text) for text in chosen.input_shape]
        chosen.target = _number(chosen.target, r"dB", 0, 400)
        slowdown = _number(chosen.max_slowdown, "%", -1, 1000)
        chosen.max_slowdown = None if slowdown is None else slowdown / 100
    except ValueError as error:
        parser.error(str(error))
    return chosen


def _number(text: str | None, unit: str, above: float, below: float) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*(?:{unit})?", text)
    if found is None or not above < float(found[1]) < below:
        raise ValueError(f"`{text}` is not a number of {unit} above {max(above, 0):g}")
    return float(found[1])
