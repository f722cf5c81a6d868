"""Tables that every Arrow library takes without a copy: pyarrow, Polars, DuckDB, pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Formats of the Arrow C data interface, by NumPy's names of types.
_FORMATS = {
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float64": "g",
}


@dataclass(frozen=True)
class Coded:
    """Texts that repeat: each row has the index of its text (Arrow's dictionary)."""

    codes: np.ndarray
    texts: Sequence[str]


@dataclass(frozen=True)
class Nullable:
    """Numbers, some of them missing: `valid` is True where there is one."""

    values: np.ndarray
    valid: np.ndarray


Column = np.ndarray | Coded | Nullable | Sequence[str | None]


class Table:
    """Columns of equal length, for `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.from_arrow(t)` and the like.

    Arrays are passed on where they lie. They live as long as anything that was made of them.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = dict(columns)
        lengths = {_length(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of one table have {sorted(lengths)} rows")
        self._rows = lengths.pop() if lengths else 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows of {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's protocol. Another schema than this one is not made, which the protocol permits."""
        del requested_schema
        from etprof import _native

        return _native.arrow_stream([_exported(name, column) for name, column in self.columns.items()], len(self))


def _length(column: Column) -> int:
    if isinstance(column, Coded):
        return len(column.codes)
    return len(column.values if isinstance(column, Nullable) else column)


def _bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little")


def _exported(name: str, column: Column) -> tuple[str, str, int, int, list[np.ndarray | None], Any]:
    """A column as `arrow_stream` takes it; the buffers are in the order of Arrow's columnar format."""
    if isinstance(column, Coded):
        codes = np.ascontiguousarray(column.codes)
        return name, _format(codes), len(codes), 0, [None, codes], _texts("", column.texts)
    if isinstance(column, Nullable):
        _, kind, length, _, (_, values), _ = _exported(name, column.values)
        missing = length - int(np.count_nonzero(column.valid))
        return name, kind, length, missing, [_bits(column.valid) if missing else None, values], None
    if isinstance(column, np.ndarray) and column.dtype.kind == "b":
        return name, "b", len(column), 0, [None, _bits(column)], None
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return name, _format(column), len(column), 0, [None, np.ascontiguousarray(column)], None
    return _texts(name, column)


def _format(values: np.ndarray) -> str:
    return _FORMATS[values.dtype.name]


def _texts(name: str, texts: Sequence[str | None]) -> tuple[str, str, int, int, list[np.ndarray | None], Any]:
    encoded = [b"" if text is None else text.encode("utf-8", "replace") for text in texts]
    valid = np.array([text is not None for text in texts], dtype=bool)
    missing = len(texts) - int(np.count_nonzero(valid))
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    # Texts of 2 GiB and more have offsets of 64 bits.
    kind, offsets = ("u", offsets.astype(np.int32)) if offsets[-1] < 2**31 else ("U", offsets)
    return name, kind, len(texts), missing, [_bits(valid) if missing else None, offsets, data], None
