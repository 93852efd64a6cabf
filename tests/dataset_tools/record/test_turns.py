"""Recorded turns: demonstrations of boards with the observation of each turn."""

import json
from pathlib import Path

import numpy as np
import pytest

from clevrskills.cli import main
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.layout import Header
from clevrskills.dataset_tools.manifest import latest_lines
from clevrskills.jobs.pool import InlinePool

VIEWS = ("text", "text@goal", "schematic")


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three demonstrations of boards."""
    out: Path = tmp_path_factory.mktemp("turns") / "boards"
    views = [word for view in VIEWS for word in ("--view", view)]
    command = ["generate", "geoms", "--suite", "ivispar", "--split", "train", "--episodes", "3"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*command, "--out", str(out), *views]) == 0
    return out


def test_a_dataset_of_turns_declares_its_interface(boards: Path) -> None:
    header = Header.read(boards)
    assert (header.format_version, header.interface, header.suite) == (1, "text", "ivispar")
    assert header.views == VIEWS and header.cameras == ()
    assert {p.name for p in Dataset(boards)[0].path.iterdir()} == {
        "episode.json",
        "turns.parquet",
        "images.parquet",
    }


def test_each_turn_has_its_observation_and_outcome(boards: Path) -> None:
    for episode in Dataset(boards):
        turns, info = episode.turns, episode.info
        assert len(turns) == info["turns"] == info["episode"]["tags"]["c1"]  # the shortest way
        assert latest_lines(boards)[episode.id].steps == len(turns)
        assert turns["success"].tolist() == [False] * (len(turns) - 1) + [True]
        assert turns["reward"].sum() == pytest.approx(info["return"])
        assert json.loads(turns["state"][0]) != json.loads(info["final"]["state"])
        before, after = episode.views(0), episode.views(len(turns))
        assert set(before) == set(VIEWS)
        assert before["text"] != after["text"] == before["text@goal"] == after["text@goal"]
        assert before["schematic"].shape == after["schematic"].shape
        assert not np.array_equal(before["schematic"], after["schematic"])
        assert all(len(row) == len(episode.nodes) for row in turns["holds"])
        with pytest.raises(IndexError, match=f"{len(turns)}"):
            episode.views(len(turns) + 1)


def test_only_images_that_differ_are_kept(boards: Path) -> None:
    episode = Dataset(boards)[0]
    assert len(episode.images()) == len(episode.turns) + 1


def test_another_run_with_other_views_is_refused(
    boards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["generate", "geoms", "--suite", "ivispar", "--split", "train", "--episodes", "3"]
    assert main([*command, "--out", str(boards), "--view", "text"]) == 2
    assert "views" in capsys.readouterr().err
    assert main([*command, "--out", str(boards), "--view", "photo"]) == 2
    assert "unknown view 'photo'" in capsys.readouterr().err
