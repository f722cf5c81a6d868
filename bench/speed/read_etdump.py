"""etprof.read_etdump(...).to_pandas() against ExecuTorch's Inspector(...).to_dataframe(), on one large ETDump in the page cache.

    .venv/bin/python bench/speed/read_etdump.py BIG.etdump [--out FILE.md] [--times 5]

BIG.etdump: as for inspector.py. Needs the wheel of this checkout (pip install --no-deps WHEEL into .venv or on PYTHONPATH).
Both in this process, after their imports, and their values are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from processes import cache


def time_call(call) -> tuple[float, object]:
    """Returns the wall time (s) of a call, and its result."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def same_values(ours, theirs) -> bool:
    """Whether all numbers of the two frames are equal, within the rounding of Inspector's doubles (1e-9 ms)."""
    numbers = [column for column in theirs.columns if theirs[column].dtype.kind == "f"]
    return (
        list(ours.columns) == list(theirs.columns)
        and ours["event_name"].tolist() == theirs["event_name"].tolist()
        and all(np.allclose(ours[column], theirs[column], rtol=1e-9, atol=1e-9) for column in numbers)
        and all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(ours["raw"], theirs["raw"], strict=True))
    )


def main() -> None:
    """Measures both, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etdump", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()

    import pandas as pd
    from executorch.devtools import Inspector

    import etprof

    pd.DataFrame()
    cache(options.etdump)
    warnings.simplefilter("ignore")

    def read():
        return etprof.read_etdump(options.etdump).to_pandas()

    events = len(etprof.read_etdump(options.etdump))
    before = [time_call(read)[0] for _ in range(options.times)]
    theirs_s, theirs = time_call(lambda: Inspector(etdump_path=str(options.etdump)).to_dataframe())
    after = [time_call(read) for _ in range(options.times)]  # again afterwards, since the machine drifts
    ours_s = statistics.median(before + [wall for wall, _ in after])
    columns_s = statistics.median(
        time_call(lambda: etprof.read_etdump(options.etdump).duration_ns.sum())[0] for _ in range(options.times)
    )
    same = "the same values" if same_values(after[-1][1], theirs) else "OTHER VALUES"
    lines = [
        f"{events / 1e6:.2f} million events, {options.etdump.stat().st_size / 2**20:.0f} MiB, one run of the bench; {same}.",
        "",
        "| what | wall time | |",
        "|---|---:|---|",
        f"| Inspector(...).to_dataframe() | {theirs_s:.1f} s | |",
        f"| etprof.read_etdump(...).to_pandas() | {1000 * ours_s:.0f} ms | {theirs_s / ours_s:.0f} times less |",
        f"| etprof.read_etdump(...).duration_ns.sum() | {1000 * columns_s:.0f} ms | {theirs_s / columns_s:.0f} times less |",
        "",
    ]
    text = "\n".join(lines)
    print(text)
    if options.out:
        options.out.write_text("# etprof.read_etdump\n\n" + text)


if __name__ == "__main__":
    main()
