"""The gallery: solved episodes as cards, a sheet and a video."""

import numpy as np
import pytest
from PIL import Image

from clevrskills import cli
from clevrskills.core.suite import find_suite
from clevrskills.dataset_tools.view import gallery
from clevrskills.dataset_tools.view.gallery import CARD_PX, Solved, card, sheet, solve
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.render.video import read_video

GREY = np.full((256, 256, 3), 90, np.uint8)


def episode(key: str, *parts: str | np.ndarray) -> Solved:
    return Solved(key, "L0", 0, "Do it", parts or ("Do it",), (GREY, GREY + 60))


def test_a_card_shows_first_and_last_image() -> None:
    image = np.asarray(card(episode("pick", "Pick up", GREY)))
    assert image.shape == (CARD_PX[1], CARD_PX[0], 3)
    assert (image == 90).all(-1).sum() > 256 * 256 and (image == 150).all(-1).sum() == 256 * 256


def test_long_prompts_stay_on_their_card() -> None:
    parts = [part for k in range(9) for part in (f"word{k} " * 3, GREY)]
    image = np.asarray(card(episode("pick", *parts)))
    assert (image[-256 - 8 : -8, 8:264] == 90).all()  # not written over the images below


def test_cards_stand_in_rows() -> None:
    cards = [card(episode("pick"))] * 5
    assert sheet(cards, columns=2).size == (2 * CARD_PX[0], 3 * CARD_PX[1])


def test_an_unknown_task_is_one_clear_line(tmp_path, capsys) -> None:
    assert cli.main(["gallery", "juggle", "--out", str(tmp_path / "g")]) == 2
    assert "unknown task 'juggle'; allowed: " in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    "words", [("gallery", "pick", "--out"), ("new-task", "put_there", "--package")]
)
def test_an_unwritable_folder_is_refused_at_the_start(words, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(gallery, "solve", None)
    (tmp_path / "file").touch()
    assert cli.main([*words, str(tmp_path / "file" / "out")]) == 2
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("error", [ClevrSkillsError("unsolved"), KeyboardInterrupt()])
def test_an_unsolved_episode_leaves_no_file(error, tmp_path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(gallery, "solve", fail)
    assert cli.main(["gallery", "pick", "--out", str(tmp_path / "out")]) in (2, 130)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.render
def test_the_command_makes_sheet_cards_and_video(tmp_path) -> None:
    assert cli.main(["gallery", "pick", "place", "--seed", "3", "--out", str(tmp_path)]) == 0
    with Image.open(tmp_path / "gallery.jpg") as image:
        assert image.size[1] == CARD_PX[1]
    frames = read_video(tmp_path / "gallery.mp4")
    assert len(frames) > 20 and float(np.abs(frames[0].astype(int) - frames[-1]).mean()) > 1.0
    assert {p.name for p in tmp_path.iterdir()} == {
        "gallery.jpg",
        "gallery.mp4",
        "pick.jpg",
        "place.jpg",
    }


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("key", ["geoms", "geoms_arm", "clean_mirror", "move_area"])
def test_tasks_of_the_other_suites_are_filmed(key: str) -> None:
    episode = solve(key, 0, suite=find_suite(None, (key,)))
    assert len(episode.frames) > 1 and (episode.frames[0] != episode.frames[-1]).any()
