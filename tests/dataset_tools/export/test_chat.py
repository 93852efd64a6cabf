"""Conversations for fine-tuning from demonstrations in turns."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from clevrskills.cli import main
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.export.chat import plain_messages
from clevrskills.jobs.pool import InlinePool


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of boards, drawn from above."""
    out: Path = tmp_path_factory.mktemp("turns") / "boards"
    command = ["generate", "geoms", "--suite", "ivispar", "--split", "train", "--episodes", "2"]
    views = ["--view", "schematic", "--view", "schematic@goal"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
        assert main([*command, "--out", str(out), *views]) == 0
    return out


def read(out: Path) -> list[dict[str, Any]]:
    lines = (out / "conversations.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_each_turn_is_a_conversation_with_its_images(boards: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat"
    assert main(["export", str(boards), "--to", "chat", "--out", str(out)]) == 0
    rows, dataset = read(out), Dataset(boards)
    assert len(rows) == sum(len(episode.turns) for episode in dataset)
    prompter = load_suite("ivispar").prompter(find_interface(load_suite("ivispar")), {})
    assert prompter is not None
    for row in rows:
        name, _, turn = row["id"].rpartition("/")
        episode = dataset.episode(name)
        roles = [given["role"] for given in row["messages"]]
        assert roles[:2] == ["system", "user"] and roles[-1] == "assistant"
        asked = [given["content"] for given in row["messages"]]
        assert prompter.parse(asked[-1]).action == episode.turns["action"][int(turn)]
        (given,) = (line for line in asked[0].splitlines() if line.startswith("Shapes: "))
        shape = episode.turns["action"][int(turn)].split()[2]
        assert shape in given.removeprefix("Shapes: ").split(", ")  # as they are drawn
        assert sum(text.count("<image>") for text in asked) == len(row["images"])
        current = np.asarray(Image.open(out / row["images"][-1]))
        assert np.array_equal(current, episode.views(int(turn))["schematic"])
    files = {p.relative_to(out).as_posix() for p in (out / "images").rglob("*.png")}
    assert files == {file for row in rows for file in row["images"]}


def test_boards_are_written_as_the_original_has_them_and_read_back(
    boards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "original"
    assert main(["export", str(boards), "--to", "ivispar", "--out", str(out)]) == 0
    suite = load_suite("ivispar")
    read_back = suite.read_original("geoms", "train", out / "geoms_train")
    drawn = [suite.draw("geoms", "train", seed) for seed in range(2)]
    starts = [json.dumps(e.start["puzzle"], sort_keys=True) for e in drawn]
    assert sorted(json.dumps(e.start["puzzle"], sort_keys=True) for e in read_back) == sorted(
        starts
    )


def test_a_suite_without_a_prompter_is_asked_plainly() -> None:
    interface = find_interface(load_suite("ivispar"))
    turn = {"index": 0, "action": "move red cube up", "message": "That is taken."}
    pixels = np.zeros((2, 2, 3), np.uint8)
    seen = {"prompt": "Slide.", "turns": (turn,), "views": {"text": "A1 red cube", "top": pixels}}
    system, user = plain_messages(seen, interface)
    assert str(system.parts[0]).startswith("Slide.\n")
    first, *rest = user.parts
    assert first == "Turn 1: move red cube up That is taken.\nWhat do you do now?"
    assert [getattr(part, "name", part) for part in rest] == [
        "text:",
        "A1 red cube",
        "top:",
        "top",
    ]


def test_formats_of_control_steps_are_refused(
    boards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(boards), "--to", "lerobot", "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith(
        "records turns, not the steps of an arm; allowed: --to chat, ivispar, cliport"
    )
    assert not (tmp_path / "out").exists()
