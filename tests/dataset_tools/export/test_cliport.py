"""Pickles for code made for CLIPort."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools.dataset import Dataset

TASK = "pick_place_color"


def generate(out: Path, *more: str) -> Path:
    given = ["--suite", "lohoravens", TASK, "--no-cameras", "--episodes", "2", "--out", str(out)]
    assert main(["generate", *given, *more]) == 0
    return out


def test_actions_point_at_objects_of_the_map(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    views = ("--view", "map", "--view", "height", "--interface", "pick_place_pixels")
    data, out = generate(tmp_path / "data", *views), tmp_path / "out"
    assert main(["export", str(data), "--to", "cliport", "--out", str(out)]) == 0
    for number, episode in enumerate(Dataset(data)):
        name = f"{number:06d}-{episode.info['seed']}.pkl"
        found: dict[str, Any] = {
            folder.name: pickle.loads((folder / name).read_bytes())
            for folder in (out / f"{TASK}-train").iterdir()
        }
        color, depth = found["color"], found["depth"]
        turns = len(episode.turns)
        assert color.shape == (turns + 1, 1, 256, 128, 3) and color.dtype == np.uint8
        assert depth.shape == (turns + 1, 1, 256, 128) and depth.dtype == np.float32
        assert len(found["action"]) == len(found["reward"]) == len(found["info"]) == turns + 1
        assert found["action"][-1] is None and sum(found["reward"]) == pytest.approx(1.0)
        info = found["info"][0]
        assert info["lang_goal"] == episode.prompt["plain"]
        (x, y, z), turn = found["action"][0]["pose0"]
        assert np.linalg.norm(turn) == pytest.approx(1.0)
        # as CLIPort's `utils.xyz_to_pix`
        row = int(np.round((y - info["bounds"][1, 0]) / info["pixel_size"]))
        column = int(np.round((x - info["bounds"][0, 0]) / info["pixel_size"]))
        assert z == pytest.approx(0.04, abs=1e-3) and depth[0, 0, row, column] > 0.03
        # the block is there at first, and gone at the end
        before, after = color[0, 0, row, column], color[-1, 0, row, column]
        assert np.abs(before.astype(int) - after).max() > 30
        row, column, _ = np.round(
            (np.array(found["action"][0]["pose1"][0])[[1, 0, 2]] - info["bounds"][[1, 0, 2], 0])
            / info["pixel_size"]
        ).astype(int)
        assert depth[-1, 0, row, column] > depth[0, 0, row, column] + 0.03


def test_without_maps_one_line_explains_how_to_record_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    data = generate(tmp_path / "data", "--interface", "pick_place", "--view", "caption_objects")
    capsys.readouterr()
    assert main(["export", str(data), "--to", "cliport", "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith("has no maps and heights: generate --view map --view height")
