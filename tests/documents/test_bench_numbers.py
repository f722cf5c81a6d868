"""The numbers that documents quote from README.md's screen and from bench/results/statistics/noise.md match those."""

import re

import pytest
from documents import ROOT

QUOTED = re.compile(r"without any effect, (\d+) in 100 .*?one variant after the other, (\d+) in 100", re.S)
ROUNDING = 0.5 + 1e-9


def false_claims(noise: str) -> list[float]:
    """Returns the percentages of false claims without an effect for the first model: etprof's, then the kit's."""
    return [float(share) for share in re.findall(r"^\| as fast \| \*\*([\d.]+) %", noise, re.M)[:2]]


def test_the_readme_quotes_the_noise_bench_as_it_is():
    quoted = QUOTED.search((ROOT / "README.md").read_text())
    assert quoted is not None, "README.md says it in other words now"
    claims = false_claims((ROOT / "bench/results/statistics/noise.md").read_text())
    assert [int(number) for number in quoted.groups()] == pytest.approx(claims, abs=ROUNDING)


def test_shares_are_read_from_the_lines_without_effect():
    table = "| candidate | false claim |\n| as fast | **3.6 %** | - |\n| 2.0 % slower | **9.0 %** | 1.0 % |\n"
    claims = false_claims(table + table.replace("3.6", "93.5") + table.replace("3.6", "1.0"))
    assert claims == [3.6, 93.5]
    assert claims != pytest.approx([4, 92], abs=ROUNDING)


@pytest.mark.parametrize("name", ["README.md", "docs/concepts/reading.md"])
def test_documents_quote_the_screen_of_the_readme_as_it_is(name):
    screen = " ".join(re.search(r"^```\n(mobilenet.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1].split())
    bold = [" ".join(text.split()) for text in re.findall(r"\*\*([^*]+)\*\*", (ROOT / name).read_text())]
    quoted = [text for text in bold if re.search(r"\d\.\d\dx|\[\d", text)]
    assert quoted
    assert [text for text in quoted if text not in screen] == []
