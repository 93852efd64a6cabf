"""Pickles for CLIPort: color, depth, action, reward and info of each episode of picks and places,
in a folder for each task and split, such as ``pick_place_color-train``.

The only camera is the map from above, with heights above the table as ``depth``, so images need no
fusion. Rows go along y and columns along x; ``info`` has ``bounds`` (m) and ``pixel_size``.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clevrskills.core.suite import all_interfaces, find_interface, load_suite
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.selection import Selection
from clevrskills.errors import ClevrSkillsError

POSES = "pick_place"
"""Interface whose spec has the area of the map."""
MAP, HEIGHT = "map", "height"
"""Required views."""
KINDS = ("color", "depth", "action", "reward", "info")
TALLEST_M = 0.28
"""Maximum height in CLIPort."""


def write(selection: Selection, out: Path) -> None:
    """Write episodes into files named by index and seed.

    Raises:
        ClevrSkillsError: Maps, heights or poses of picks were not recorded.
    """
    suite = load_suite(selection.header.suite)
    if POSES not in all_interfaces(suite):
        raise ClevrSkillsError(f"{selection.root} has no picks and places")
    if not {MAP, HEIGHT} <= {*selection.header.views}:
        raise ClevrSkillsError(
            f"{selection.root} has no maps and heights: generate --view {MAP} --view {HEIGHT}"
        )
    field = find_interface(suite, POSES).spec
    bounds = np.array([field["field_x_m"], field["field_y_m"], (0.0, TALLEST_M)])
    count: dict[Path, int] = {}
    for episode in selection:
        folder = out / f"{episode.info['task']}-{episode.info['split']}"
        number = count[folder] = count.get(folder, -1) + 1
        for kind, entries in zip(KINDS, _entries(episode, bounds), strict=True):
            path = folder / kind / f"{number:06d}-{episode.info['seed']}.pkl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pickle.dumps(entries, protocol=4))


def _entries(episode: Episode, bounds: NDArray[Any]) -> tuple[Any, ...]:
    """Return the contents of the files of an episode of T turns: T + 1 entries each; the last
    action is ``None``, and rewards are the progress of the turn before.
    """
    rows = episode.turns.to_dict("records")
    if any(row["pose"] is None for row in rows):
        raise ClevrSkillsError(f"{episode.id}: a pick has no recorded pose")
    seen = [episode.views(turn) for turn in range(len(rows) + 1)]
    color = np.stack([view[MAP].transpose(1, 0, 2)[None] for view in seen])
    depth = np.stack([view[HEIGHT].T[None] for view in seen])
    pixel_m = (bounds[1, 1] - bounds[1, 0]) / color.shape[2]
    actions = [
        {
            "pose0": _pose(row["pose"][:3], at, bounds, pixel_m),
            "pose1": _pose(row["pose"][3:], at, bounds, pixel_m),
        }
        for row, at in zip(rows, depth[:-1, 0], strict=True)
    ]
    progress = [0.0, 0.0, *(float(row["progress"]) for row in rows)]
    info = {"lang_goal": episode.prompt["plain"], "bounds": bounds, "pixel_size": pixel_m}
    return color, depth, [*actions, None], np.diff(progress).tolist(), [info] * len(seen)


def _pose(
    place: NDArray[Any], heights: NDArray[Any], bounds: NDArray[Any], pixel_m: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return position (m) on the surface, and quaternion (x, y, z, w), of x, y and turn."""
    x, y, turn = map(float, place)
    column, row = ((np.array([x, y]) - bounds[:2, 0]) / pixel_m).astype(int)
    inside = 0 <= row < heights.shape[0] and 0 <= column < heights.shape[1]
    z = float(heights[row, column]) if inside else 0.0
    position = np.array([x, y, z], np.float32)
    return position, np.array([0, 0, np.sin(turn / 2), np.cos(turn / 2)], np.float32)
