"""Compare outputs of a .pte with PyTorch's, and decide whether they agree (docs/reference/export.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    import torch

# The lowest signal-to-noise ratio that is accepted, in decibels, by the type in which a model computes. It is the ratio
# after n successive roundings to this type, each with a uniform error of at most u (half the distance of neighbors, relative
# to the number): 20 log10(sqrt(3) / u) - 10 log10(n). Errors add up like a random walk, which is Higham and Mary's
# probabilistic bound (SIAM J. Sci. Comput. 41, 2019).
# - fp32, u = 2^-24: sums are rounded in fp32 at every term, so n = 10^6, a thousand terms in a thousand operators: 89.
# - fp16, u = 2^-11: XNNPACK's kernels round at every term on CPUs with and without fp16 arithmetic, so n = 10^4, a hundred
#   terms in a hundred operators: 31.
# - bf16, u = 2^-8: sums have a wider type, so n = 1000 operators: 23.
# - int8: a value of 4 standard deviations fills the range of 2^8 steps, which is 6.02 x 8 - 7.3 = 41 dB for one rounding
#   (Bennett 1948; Nagel et al., arXiv:2106.08295), and n = 1000: 11.
# Each result is rounded down to a round number.
MIN_SQNR_DB = {"fp32": 85.0, "fp16": 30.0, "bf16": 20.0, "int8": 10.0}

# If an output is nearly constant, such as an uncertain softmax, the constant alone reaches MIN_SQNR_DB. So the deviation
# from the mean must also exceed the errors: by ten times their power, a correlation of 0.95.
MIN_VARIATION_SQNR_DB = 10.0

# One of a million Gaussian errors is expected beyond 4.9 standard deviations; 6 leaves room for heavier tails.
_MAX_ERROR_DEVIATIONS = 6.0


def max_over_largest(min_sqnr_db: float) -> float:
    """Return the largest allowed difference of a single element, as a share of the output's largest magnitude.

    Noise with this signal-to-noise ratio rarely has a larger difference.
    """
    return min(1.0, _MAX_ERROR_DEVIATIONS * 10 ** (-min_sqnr_db / 20))


# Maps a type to its name, its smallest positive number, and its smallest number with full precision.
_SMALLEST = {"float16": ("fp16", 2.0**-24, 2.0**-14), "bfloat16": ("bf16", 2.0**-133, 2.0**-126)}


@dataclass(frozen=True)
class NonFinite:
    """The number of elements that are NaN or infinite."""

    nan: Annotated[int, "elements that are NaN"]
    inf: Annotated[int, "elements that are infinite"]


@dataclass(frozen=True)
class Agreement:
    """One output compared with its reference, over the elements that are finite in both. Undefined values are None."""

    shape: Annotated[list[int], "of the output; empty also of a scalar"]
    dtype: Annotated[str, "of the output; empty: it could not be compared"]
    max_abs_diff: Annotated[
        float | None,
        "largest difference of two elements that are finite in both; null, as below: there are none, or they are integers",
    ] = None
    max_rel_diff: Annotated[float | None, "largest difference over the larger magnitude of the two elements"] = None
    diff_over_largest: Annotated[
        float | None, "max_abs_diff over the largest magnitude of the reference, or alone if that is 0"
    ] = None
    sqnr_db: Annotated[float | None, "signal-to-noise ratio in dB; null also where nothing differs"] = None
    variation_sqnr_db: Annotated[
        float | None, "the same with the deviation from the mean as the signal; null also of a constant"
    ] = None
    cosine: Annotated[float | None, "of the output and its reference as vectors; null also if one of them is 0"] = None
    differing: Annotated[
        int | None, "elements that are not equal, of integers and truth values; null: of other types"
    ] = None
    expected: Annotated[NonFinite, "of the reference"] = NonFinite(0, 0)
    actual: Annotated[NonFinite, "of the output"] = NonFinite(0, 0)
    nonfinite_mismatches: Annotated[int, "elements that are finite in one of the two only, or another infinity"] = 0
    problem: Annotated[str | None, "why it could not be compared with its reference; null: it was"] = None

    def incomparable(self) -> str | None:
        """Return why the ratios do not describe the whole output, or None if they do."""
        if self.problem is None and self.nonfinite_mismatches:
            return (
                f"{_elements(self.nonfinite_mismatches)} NaN or infinite on one side only "
                f"(PyTorch: {_format_counts(self.expected)}; .pte: {_format_counts(self.actual)})"
            )
        return self.problem

    def disagreement(self, min_sqnr_db: float, exact: bool) -> str | None:
        """Return how the output disagrees, or None if it agrees. `exact`: integers must be equal (fp32 models)."""
        if (reason := self.incomparable()) is not None:
            return reason
        if self.differing:
            return f"{_elements(self.differing)} not equal" if exact else None
        if self.sqnr_db is not None and self.sqnr_db < min_sqnr_db:
            return f"SQNR {self.sqnr_db:.1f} dB, at least {min_sqnr_db:g} dB is asked for"
        variation = self.variation_sqnr_db
        if variation is not None and variation < MIN_VARIATION_SQNR_DB:
            return f"SQNR {variation:.1f} dB of what varies in it, at least {MIN_VARIATION_SQNR_DB:g} dB is asked for"
        limit = max_over_largest(min_sqnr_db)
        if self.diff_over_largest is not None and self.diff_over_largest > limit:
            percent = 100 * self.diff_over_largest
            return f"an element is off by {percent:.3g} % of the largest one, {100 * limit:.2g} % is allowed"
        return None

    def underflow_problem(self) -> str | None:
        """Return a clause if the output is too small for its type, as with random weights, else None."""
        if not self.max_abs_diff or not self.diff_over_largest:
            return None
        largest = self.max_abs_diff / self.diff_over_largest
        name, smallest, smallest_precise = _SMALLEST.get(self.dtype, ("", 0.0, 0.0))
        # If the reference varies, a missing cosine and a difference of 100% mean that the output is 0 everywhere.
        if self.variation_sqnr_db is not None and self.cosine is None and self.diff_over_largest == 1:
            reason = (
                f": its largest value {largest:.2g} is below the smallest {name} number" if largest < smallest else ""
            )
            return f"is 0 throughout{reason}"
        if largest < smallest_precise:
            return f"is in the range where {name} has few digits: its largest value is {largest:.2g}"
        return None

    def is_meaningful(self, exact: bool) -> bool:
        """Return whether the comparison is meaningful: it compared a finite number, or integers that must be equal."""
        if self.problem is not None or self.nonfinite_mismatches:
            return True
        return self.max_abs_diff is not None or (exact and self.differing is not None)


def _elements(count: int) -> str:
    return "1 element is" if count == 1 else f"{count} elements are"


def _format_counts(counts: NonFinite) -> str:
    return f"{counts.nan} NaN, {counts.inf} Inf"


def compare(actual: Any, expected: Any) -> Agreement:
    """Compare an output, a tensor or a scalar, with its reference. Floating-point types may differ."""
    import torch

    if not isinstance(expected, torch.Tensor) and not isinstance(actual, torch.Tensor):
        return _compare_scalars(actual, expected)
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        kinds = [type(side).__name__ for side in (actual, expected)]
        return Agreement([], "", problem=f"a {kinds[0]} instead of a {kinds[1]}")
    shape, dtype = list(actual.shape), str(actual.dtype).removeprefix("torch.")
    if actual.shape != expected.shape:
        return Agreement(shape, dtype, problem=f"shape {shape} instead of {list(expected.shape)}")
    if actual.is_floating_point() != expected.is_floating_point():
        expected_dtype = str(expected.dtype).removeprefix("torch.")
        return Agreement(shape, dtype, problem=f"{dtype} instead of {expected_dtype}")
    if not actual.is_floating_point():
        return Agreement(shape, dtype, differing=int((actual != expected).sum()))
    return _compare_numbers(shape, dtype, actual.detach().double().flatten(), expected.detach().double().flatten())


def _compare_scalars(actual: Any, expected: Any) -> Agreement:
    if isinstance(expected, float) and isinstance(actual, float):
        import torch

        sides = [torch.tensor([side], dtype=torch.float64) for side in (actual, expected)]
        return _compare_numbers([], "double", *sides)
    is_equal = type(actual) is type(expected) and actual == expected
    return Agreement([], type(expected).__name__, differing=0 if is_equal else 1)


def count_nonfinite_mismatches(actual: torch.Tensor, expected: torch.Tensor) -> int:
    """Return the number of elements that are finite in one of the two only, or another infinity."""
    equal = (actual == expected) | (actual.isnan() & expected.isnan())
    return int((~(actual.isfinite() & expected.isfinite()) & ~equal).sum())


def _compare_numbers(shape: list[int], dtype: str, actual: torch.Tensor, expected: torch.Tensor) -> Agreement:
    import torch

    finite = torch.isfinite(actual) & torch.isfinite(expected)
    counts = [NonFinite(int(torch.isnan(side).sum()), int(torch.isinf(side).sum())) for side in (expected, actual)]
    mismatches = count_nonfinite_mismatches(actual, expected)
    actual, expected = actual[finite], expected[finite]
    if expected.numel() == 0:
        return Agreement(shape, dtype, expected=counts[0], actual=counts[1], nonfinite_mismatches=mismatches)
    difference = (actual - expected).abs()
    larger = torch.maximum(actual.abs(), expected.abs())
    relative = torch.where(larger > 0, difference / larger.clamp(min=torch.finfo(torch.float64).tiny), 0.0)
    largest = float(expected.abs().max())
    noise = float(difference.square().mean())
    centered = expected - expected.mean()
    # The mean is rounded, so a tiny remainder after centering is not variation.
    has_variation = float(centered.abs().max()) > 1e-12 * largest
    return Agreement(
        shape,
        dtype,
        max_abs_diff=float(difference.max()),
        max_rel_diff=float(relative.max()),
        # If the reference is all zeros, the differences are not scaled.
        diff_over_largest=float(difference.max()) / (largest or 1.0),
        sqnr_db=decibels(float(expected.square().mean()) or 1.0, noise),
        variation_sqnr_db=decibels(float(centered.square().mean()), noise) if has_variation else None,
        cosine=_cosine(actual, expected),
        expected=counts[0],
        actual=counts[1],
        nonfinite_mismatches=mismatches,
    )


def decibels(signal: float, noise: float) -> float | None:
    """Return the ratio in dB, or None without signal or noise."""
    return 10 * math.log10(signal / noise) if noise > 0 and signal > 0 else None


def rank(sqnr_db: float | None) -> float:
    """Return a ratio for comparisons: infinite if nothing differs (None)."""
    return math.inf if sqnr_db is None else sqnr_db


def _cosine(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    norms = float(actual.norm()) * float(expected.norm())
    return float(actual @ expected) / norms if norms > 0 else None
