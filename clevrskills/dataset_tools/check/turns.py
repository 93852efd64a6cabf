"""Checks and replay of an episode of turns."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clevrskills.core.env import Env, RecordableEnv
from clevrskills.core.interface import Step
from clevrskills.core.suite import Suite, all_views, find_interface
from clevrskills.dataset_tools.check.tables import RETURN_TOLERANCE, image_faults
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.layout import IMAGES_FILE, TURNS_FILE, Header
from clevrskills.dataset_tools.record.columns import owner
from clevrskills.dataset_tools.record.turns import COLUMNS, look, state_json, turn_facts
from clevrskills.jobs.files import StoredFile


def info_faults(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions of ``episode.json`` with its start or the limit of turns."""
    for key in ("task", "split", "seed"):
        if info["episode"].get(key) != info[key]:
            yield f"{key} is {info[key]!r}, but {info['episode'].get(key)!r} in the start"
    if info["turns"] > info["limit"]:
        yield f"{info['turns']} turns, but the limit is {info['limit']}"


def table_faults(
    files: Mapping[str, StoredFile], info: Mapping[str, Any], header: Header
) -> Iterator[tuple[str, str]]:
    """Yield faults of the table of turns and of its images, with the names of the files."""
    try:
        table = pq.read_table(pa.BufferReader(files[TURNS_FILE].read()))
    except (OSError, pa.ArrowException) as error:
        yield TURNS_FILE, f"damaged: {str(error).splitlines()[0]}"
        return
    if table.schema.remove_metadata() != pa.schema(list(COLUMNS.items())):
        differs = set(table.schema.remove_metadata()) ^ set(pa.schema(list(COLUMNS.items())))
        names = ", ".join(sorted({field.name for field in differs})) or "their order"
        yield TURNS_FILE, f"columns are not those of turns: {names}"
        return
    rows = table.to_pylist()
    yield from ((TURNS_FILE, what) for what in _row_faults(rows, info, header))
    yield from ((IMAGES_FILE, what) for what in _image_faults(files.get(IMAGES_FILE), rows, info))


def _row_faults(
    rows: list[dict[str, Any]], info: Mapping[str, Any], header: Header
) -> Iterator[str]:
    if len(rows) != info["turns"]:
        yield f"{len(rows)} rows, not {info['turns']}"
        return
    stop = 0
    for k, row in enumerate(rows):
        last = k == len(rows) - 1
        wrong = {
            "is of another episode": any(row[name] != value for name, value in owner(info).items()),
            f"turn is {row['turn']}": row["turn"] != k,
            "success is not at the last turn, or not only there": row["success"] != last,
            "holds of the whole goal and success disagree": row["holds"][:1] != [row["success"]],
            "pose is not of six numbers": row["pose"] is not None and len(row["pose"]) != 6,
            "holds and terms are not those of the nodes": not len(row["holds"])
            == len(row["terms"])
            == len(info["nodes"]),
            "reward is not finite": not np.isfinite(row["reward"]),
            "progress is outside [0, 1]": not 0 <= row["progress"] <= 1,
            "control steps do not follow those before": not stop
            == row["step_start"]
            <= row["step_stop"],
        }
        stop = row["step_stop"]
        yield from (f"row {k}: {what}" for what, so in wrong.items() if so)
    if stop != info["steps"]:
        yield f"{stop} control steps, not {info['steps']}"
    for place, seen in [*((f"row {k}", row) for k, row in enumerate(rows)), ("end", info["final"])]:
        try:
            shown = {**json.loads(seen["views"]), **json.loads(seen["texts"])}
            if not header.in_steps:
                json.loads(seen["state"])
        except (ValueError, TypeError) as error:
            yield f"{place}: state or views are damaged: {error}"
            continue
        if set(shown) != set(header.views):
            yield f"{place}: views are {', '.join(shown) or 'none'}, not those of the dataset"
    total = sum(row["reward"] for row in rows)
    if abs(total - info["return"]) > RETURN_TOLERANCE * sum(abs(row["reward"]) for row in rows):
        yield f"rewards add up to {total:.6g}, return is {info['return']:.6g}"


def _image_faults(
    file: StoredFile | None, rows: list[dict[str, Any]], info: Mapping[str, Any]
) -> Iterator[str]:
    try:
        named = {n for seen in (*rows, info["final"]) for n in json.loads(seen["views"]).values()}
    except (ValueError, AttributeError):
        return  # reported for the table
    if file is None:
        return  # reported as missing
    try:
        content = pa.BufferReader(file.read())
        table = pq.read_table(content, columns=["name", "image"]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        yield f"damaged: {str(error).splitlines()[0]}"
        return
    table = [row for row in table if row["name"].startswith("turns/")]  # others are of steps
    names = [row["name"] for row in table]
    if sorted(names) != sorted(named):
        differ = sorted({*names} ^ named) or sorted(n for n in names if names.count(n) > 1)
        yield f"images are not those that turns name: {differ[0]}"
    for row in table:
        yield from image_faults(row["name"], row["image"]["bytes"], "PNG", "TIFF")


def replay_turns(episode: Episode, env: Env, suite: Suite, interface: str) -> str:
    """Repeat the recorded turns; compare states, views, rewards and outcomes of each turn.

    Returns:
        The first difference; empty: all is equal.
    """
    info, rows = episode.info, episode.turns.to_dict("records")
    start = suite.read_episode(info["episode"])
    if start.content_hash != info["content_hash"]:
        return "the start is not that of the content_hash"
    env.reset(options={"episode": start})
    acts = find_interface(suite, interface)
    actuator, states = acts.begin(env), _States(episode, env)
    for k in range(len(rows) + 1):
        seen = rows[k] if k < len(rows) else info["final"]
        if state_json(env) != seen["state"]:
            return f"the state after {k} turns differs"
        recorded = episode.views(k)
        images = [view for view, kind in all_views(suite).items() if kind == "image"]
        now = look(env, tuple(recorded), [view for view in recorded if view in images])
        for view, shown in recorded.items():
            if not np.array_equal(shown, now[view]):
                return f"view {view} after {k} turns differs"
        if k < len(rows):
            text = rows[k]["action"]
            action = text if isinstance(acts.none(), str) else json.loads(text)
            action = np.array(action) if isinstance(action, list) else action
            turn = actuator.act(action, states.compare)
            if states.differs is not None:
                return f"the state after control step {states.differs} differs, in turn {k}"
            for name, value in turn_facts(env, turn, acts).items():
                kind = COLUMNS[name]
                again = pa.array([value], kind)
                if again != pa.array([_plain(rows[k][name])], kind):
                    return f"{name} of turn {k} differs"
    return ""


class _States:
    """Comparison of recorded states of an arm, if any, with those of an environment.

    Attributes:
        differs: Index of the first different state.
    """

    def __init__(self, episode: Episode, env: Env) -> None:
        self._env, self._made = env, -1
        self.differs: int | None = None
        recordable = isinstance(env, RecordableEnv)
        self._states = iter(episode.states if recordable else ())
        if recordable:
            self.compare()

    def compare(self, step: Step | None = None) -> None:
        """Compare the current state after a control step."""
        self._made += 1
        recorded, now = next(self._states, None), np.asarray(self._env.get_state()).reshape(-1)
        same = recorded is not None and recorded.tobytes() == now.tobytes()
        if not same and self.differs is None:
            self.differs = self._made


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
