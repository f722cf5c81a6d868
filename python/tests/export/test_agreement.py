"""Comparison of outputs: its numbers agree with NumPy's, and wrong outputs do not pass."""

import math

import numpy as np
import pytest
import torch

from etprof.exporting import agreement
from etprof.exporting.agreement import MIN_SQNR_DB, compare

RANDOM = torch.randn(1000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def with_noise(signal: torch.Tensor, decibels: float) -> torch.Tensor:
    """Returns the signal with noise of exactly this ratio: the same power in every element."""
    signs = torch.where(torch.arange(signal.numel()) % 2 == 0, 1.0, -1.0).to(signal.dtype)
    return signal + signs * signal.square().mean().sqrt() * 10 ** (-decibels / 20)


def test_the_numbers_are_numpys():
    actual, expected = with_noise(RANDOM, 30), RANDOM
    found = compare(actual, expected)
    a, b = actual.numpy(), expected.numpy()
    assert found.max_abs_diff == np.abs(a - b).max()
    assert found.max_rel_diff == pytest.approx((np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))).max())
    assert found.sqnr_db == pytest.approx(10 * np.log10((b**2).sum() / ((a - b) ** 2).sum()))
    assert found.sqnr_db == pytest.approx(30)
    assert found.variation_sqnr_db == pytest.approx(10 * np.log10(b.var() / ((a - b) ** 2).mean()))
    assert found.cosine == pytest.approx(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))
    assert found.diff_over_largest == pytest.approx(np.abs(a - b).max() / np.abs(b).max())


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
def test_the_limit_is_min_sqnr_db(dtype: str):
    least = MIN_SQNR_DB[dtype]
    assert compare(with_noise(RANDOM, least + 0.5), RANDOM).disagreement(least, exact=True) is None
    assert "SQNR" in compare(with_noise(RANDOM, least - 0.5), RANDOM).disagreement(least, exact=True)


@pytest.mark.parametrize(
    ("dtype", "unit", "roundings"), [("fp32", 2**-24, 1e6), ("fp16", 2**-11, 1e4), ("bf16", 2**-8, 1e3)]
)
def test_the_bounds_are_those_of_many_roundings(dtype: str, unit: float, roundings: float):
    derived = 20 * math.log10(math.sqrt(3) / unit) - 10 * math.log10(roundings)
    assert derived - 5 < MIN_SQNR_DB[dtype] <= derived
    # The first step of the derivation is compared with the type itself: one rounding of numbers that are uniform in a binade.
    # The place of a mantissa in its binade changes the ratio by up to 6 dB.
    torch_type = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]
    numbers = torch.rand(20_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 1
    one = compare(numbers.to(torch_type), numbers).sqnr_db
    assert derived + 10 * math.log10(roundings) <= one < derived + 10 * math.log10(roundings) + 6


def test_int8_loses_what_bennett_says():
    numbers = torch.randn(200_000, generator=torch.Generator().manual_seed(3), dtype=torch.float64).clamp(-4, 4)
    step = 8 / 255
    ratio = compare((numbers / step).round() * step, numbers).sqnr_db
    assert ratio == pytest.approx(6.02 * 8 - 7.3, abs=0.3)


def test_a_constant_part_does_not_hide_that_nothing_is_computed():
    uniform = 0.1 + 1e-4 * RANDOM  # probabilities of ten classes, all nearly equal
    constant = compare(torch.full_like(uniform, 0.1), uniform)
    assert constant.sqnr_db > MIN_SQNR_DB["fp16"]
    assert "of what varies" in constant.disagreement(MIN_SQNR_DB["fp16"], exact=False)
    assert compare(uniform.half(), uniform).disagreement(MIN_SQNR_DB["fp16"], exact=False) is None


def test_one_wrong_element_among_many_is_seen():
    wrong = RANDOM.repeat(1000).clone()
    expected = wrong.clone()
    wrong[5] = -wrong[5] + 3
    found = compare(wrong, expected)
    assert found.sqnr_db > MIN_SQNR_DB["fp16"]
    assert "an element is off" in found.disagreement(MIN_SQNR_DB["fp16"], exact=False)


def test_outputs_that_are_not_finite():
    expected = torch.tensor([1.0, math.inf, math.nan, -math.inf, 2.0])
    same = compare(expected.clone(), expected)
    assert (same.nonfinite_mismatches, same.expected.nan, same.actual.inf) == (0, 1, 2)
    assert same.disagreement(85, exact=True) is None
    assert same.is_meaningful(exact=True)
    for wrong in ([math.nan, math.inf, math.nan, -math.inf, 2.0], [1.0, -math.inf, math.nan, -math.inf, 2.0]):
        found = compare(torch.tensor(wrong), expected)
        assert found.nonfinite_mismatches == 1
        assert "on one side only" in found.disagreement(1, exact=False)
    nan_only = compare(torch.tensor([math.nan]), torch.tensor([math.nan]))
    assert nan_only.disagreement(85, exact=True) is None
    assert not nan_only.is_meaningful(exact=True)


def test_integers_scalars_and_what_cannot_be_compared():
    expected = torch.tensor([1, 2, 3])
    assert compare(torch.tensor([1, 2, 4]), expected).differing == 1
    assert compare(torch.tensor([1, 2, 4]), expected).disagreement(85, exact=True) == "1 element is not equal"
    assert compare(torch.tensor([1, 2, 4]), expected).disagreement(40, exact=False) is None
    assert compare(expected.clone(), expected).disagreement(85, exact=True) is None
    assert "shape [3, 1]" in compare(expected[:, None], expected).disagreement(85, exact=True)
    assert "float32 instead of int64" in compare(expected.float(), expected).disagreement(85, exact=True)
    assert "instead of a Tensor" in compare(3, expected).disagreement(85, exact=True)
    assert compare(3, 3).disagreement(85, exact=True) is None
    assert compare(3, 4).disagreement(85, exact=True) is not None
    assert compare(3.0, 3.5).disagreement(85, exact=True) is not None
    assert compare(None, None).disagreement(85, exact=True) is None


def test_zeros_and_constants():
    zeros = torch.zeros(4)
    assert compare(zeros.clone(), zeros).disagreement(85, exact=True) is None
    assert compare(zeros + 0.1, zeros).disagreement(85, exact=True) is not None
    reference = torch.ones(4)
    assert compare(reference.clone(), reference).disagreement(85, exact=True) is None
    assert compare(-reference, reference).disagreement(10, exact=False) is not None


def test_the_limit_of_one_element():
    assert agreement.max_over_largest(40) == pytest.approx(0.06)
    assert agreement.max_over_largest(0) == 1
