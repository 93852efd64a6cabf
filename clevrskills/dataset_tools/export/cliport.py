"""Pickles as CLIPort reads them: color, depth, action, reward and info of each episode of picks and
places, in a folder for each task and split, such as ``pick_place_color-train``.

There is one camera, the map, straight from above; ``depth`` has heights above the table, so an
image for the network is ``color[t][0]`` beside ``depth[t][0]``, and nothing is to be fused. Rows go
along y and columns along x, as there; ``info`` has ``bounds`` (m) and ``pixel_size``.
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
"""Interface whose spec says where the map is."""
MAP, HEIGHT = "map", "height"
"""Views that have to be recorded."""
KINDS = ("color", "depth", "action", "reward", "info")
TALLEST_M = 0.28
"""Height up to which CLIPort looks."""


def write(selection: Selection, out: Path) -> None:
    """Write some episodes; their names have their number in the folder and their seed.

    Raises:
        ClevrSkillsError: Maps, heights, or places of picks were not recorded.
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
    """Return the contents of the files of an episode of T turns: T + 1 entries each, of which the
    last action is ``None``; rewards are the progress of the turn before, and add up to 1.

    Raises:
        ClevrSkillsError: It does not say where was picked.
    """
    rows = episode.turns.to_dict("records")
    if any(row["pose"] is None for row in rows):
        raise ClevrSkillsError(f"{episode.id}: no place is known of a pick")
    seen = [episode.seen(turn) for turn in range(len(rows) + 1)]
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
    """Return position (m), on top of the scene, and quaternion (x, y, z, w) of x, y and turn."""
    x, y, turn = map(float, place)
    column, row = ((np.array([x, y]) - bounds[:2, 0]) / pixel_m).astype(int)
    inside = 0 <= row < heights.shape[0] and 0 <= column < heights.shape[1]
    z = float(heights[row, column]) if inside else 0.0
    position = np.array([x, y, z], np.float32)
    return position, np.array([0, 0, np.sin(turn / 2), np.cos(turn / 2)], np.float32)
