"""Columns of the tables of episodes."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from clevrskills.core.episode import episode_id

OWNER = {**{"episode": pa.string(), "task": pa.string(), "split": pa.string()}, "seed": pa.int64()}
"""Columns that identify the episode of a row; see :func:`owner`."""
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
    """Return a column of vectors (n,) of one length; with ``varies`` its type does not depend on
    that length, so that tables of episodes with other lengths can be concatenated.
    """
    flat, size = pa.array(np.concatenate(rows)), len(rows[0])
    if not varies:
        return pa.FixedSizeListArray.from_arrays(flat, size)
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * size)
    return pa.ListArray.from_arrays(offsets, flat)


def segments(rows: Sequence[dict[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """Return runs of rows with equal values of the keys ``by``: ``start``, ``stop`` (exclusive),
    and all values that are constant in the run.
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
    """Return the values of the columns :data:`OWNER` for an episode."""
    of = {name: info[name] for name in ("task", "split", "seed")}
    return {"episode": episode_id(**of), **of}


def owned(columns: Mapping[str, pa.Array], info: Mapping[str, Any]) -> pa.Table:
    """Return a table of the columns of :func:`owner` and further ones."""
    rows = len(next(iter(columns.values())))
    whose = {name: pa.array([of] * rows, OWNER[name]) for name, of in owner(info).items()}
    return pa.table({**whose, **columns})


def steps_table(rows: list[dict[str, Any]], info: Mapping[str, Any]) -> pa.Table:
    """Return the table of control steps."""
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
