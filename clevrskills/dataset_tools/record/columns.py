"""Columns of tables."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from clevrskills.core.episode import episode_id

OWNER = {**{"episode": pa.string(), "task": pa.string(), "split": pa.string()}, "seed": pa.int64()}
"""Columns that say what a row is of, the same in all rows of an episode; see :func:`owner`."""
_PER_NODE_OR_OBJECT = ("holds", "terms", "object_poses")
_TYPES = {
    "step": pa.int32(),
    "subgoal": pa.int32(),
    "attempt": pa.int32(),
    "timestamp": pa.float32(),
    "reward": pa.float32(),
    "progress": pa.float32(),
}


def vectors(rows: Sequence[np.ndarray], varies: bool = False) -> pa.Array:
    """Return a column of vectors (n,).

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
    """Return runs of equal rows.

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


def measured(value: np.ndarray, flag: bool) -> Any:
    """Return a measurement as an array (k,); a number or flag as a Python scalar."""
    array = np.array(value).reshape(-1)
    if array.size > 1:
        return array
    return bool(array[0]) if flag else array[0].item()


def owner(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns :data:`OWNER` of the rows of the episode that ``info`` describes."""
    of = {name: info[name] for name in ("task", "split", "seed")}
    return {"episode": episode_id(**of), **of}


def owned(columns: Mapping[str, pa.Array], info: Mapping[str, Any]) -> pa.Table:
    """Return the table of columns of one length, behind those of :func:`owner`."""
    rows = len(next(iter(columns.values())))
    whose = {name: pa.array([of] * rows, OWNER[name]) for name, of in owner(info).items()}
    return pa.table({**whose, **columns})


def steps_table(rows: list[dict[str, Any]], info: Mapping[str, Any]) -> pa.Table:
    """Return one row per control step, each with what it is of."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return owned(
        {
            name: vectors(values, varies=name in _PER_NODE_OR_OBJECT)
            if isinstance(values[0], np.ndarray)
            else pa.array(values, type=_TYPES.get(name))
            for name, values in columns.items()
        },
        info,
    )
