"""Columns of tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa


def vectors(rows: Sequence[np.ndarray], varies: bool = False) -> pa.Array:
    """A column of vectors (n,).

    Args:
        rows: Vectors of one length.
        varies: Whether other episodes have vectors of another length; their tables can be read as
            one only if the type does not tell it.
    """
    flat, size = pa.array(np.concatenate(rows)), len(rows[0])
    if not varies:
        return pa.FixedSizeListArray.from_arrays(flat, size)
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * size)
    return pa.ListArray.from_arrays(offsets, flat)


def segments(rows: Sequence[dict[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """Runs of equal rows.

    Args:
        rows: One entry for each control step.
        by: Names of the values that are the same throughout a run.

    Returns:
        For each run ``start``, ``stop`` (exclusive), and the values that are the same in all its
        rows.
    """
    runs, start = [], 0
    for _, group in groupby(rows, key=lambda row: [row[name] for name in by]):
        run = list(group)
        first = run[0]
        same = {key: v for key, v in first.items() if all(row[key] == v for row in run)}
        runs.append({"start": start, "stop": start + len(run), **same})
        start += len(run)
    return runs
