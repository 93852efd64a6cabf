"""Pick-and-place actor: it learns a few turns by heart, and mirrors words along with images."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from clevrskills_policies.cliport.config import CliportConfig
from clevrskills_policies.cliport.network import TwoStreams
from clevrskills_policies.cliport.turns import (
    NOTHING,
    VIEWS,
    TurnWindows,
    mirrored,
    read_turns,
    to_image,
)
from torch.utils.data import DataLoader

from clevrskills.baselines import load
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.train import train
from clevrskills.core.policy import PromptInput, TextAction
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError

COLORS = {"red": (255, 87, 89), "green": (89, 169, 78), "blue": (78, 121, 167)}


def square(image: np.ndarray, height: np.ndarray, at: tuple[int, int], color: str) -> None:
    rows, columns = slice(at[0] - 6, at[0] + 7), slice(at[1] - 6, at[1] + 7)
    image[rows, columns], height[rows, columns] = COLORS[color], 0.04


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Turns with three squares, one of which goes onto another one, and two where all is done."""
    generator = np.random.default_rng(0)
    found: dict[str, list[object]] = {name: [] for name in ("map", "height", "text", "action")}
    for k in range(8):
        image, height = np.full((128, 256, 3), 200, np.uint8), np.zeros((128, 256), np.float16)
        columns = generator.permutation([40, 120, 200])
        pairs = zip(COLORS, columns, strict=True)
        places = {color: (int(generator.integers(20, 108)), int(y)) for color, y in pairs}
        for color, at in places.items():
            square(image, height, at, color)
        one, other = generator.permutation([*COLORS])[:2]
        action = [*places[one], 0, *places[other], 0] if k < 6 else [NOTHING] * 6
        for name, value in (
            *(("map", image), ("height", height), ("action", action)),
            ("text", f"pick up the {one} block and place it on the {other} block"),
        ):
            found[name].append(value)
    path: Path = tmp_path_factory.mktemp("turns") / "turns.npz"
    np.savez_compressed(path, **{name: np.array(values) for name, values in found.items()})
    return path


@pytest.mark.slow
def test_a_tiny_one_learns_a_few_turns_by_heart(data: Path, tmp_path: Path) -> None:
    args = TrainArgs(
        policy="cliport", configuration="tiny", data=(data,), out=tmp_path / "run", steps=160
    )
    args.cpu, args.workers = True, 0
    assert train(args) == 0
    turns, policy = read_turns(data), load(tmp_path / "run", "cpu")
    for k in range(6):
        views = {"map": turns.map[k], "height": turns.height[k]}
        policy.reset({0: PromptInput(str(turns.text[k]), {})})
        answer = policy.act({0: {"views": views}})[0]
        away = np.abs(np.array(answer) - turns.action[k])[[0, 1, 3, 4]]
        assert away.max() <= 4, turns.text[k]
    policy = load(tmp_path / "run", "cpu", stop="learned")
    policy.network.end[-1].bias.data.fill_(1e3)
    policy.reset({0: PromptInput("Done?", {})})
    said = policy.act({0: {"views": views}})[0]
    assert isinstance(said, TextAction) and said.stop


def test_mirrored_turns_agree_with_their_text(data: Path) -> None:
    turns = read_turns(data)
    image = to_image(turns.map[0], turns.height[0])
    text, seen = "pick up the red block on the top left", set()
    for seed in range(12):
        generator = np.random.default_rng(seed)
        asked = [(text, turns.action[0].astype(float))]
        other, [(said, action)] = mirrored(image, asked, generator)
        seen.add(said)
        row, column = (int(k) for k in action[:2])
        before = tuple(int(k) for k in turns.action[0][:2])
        assert torch.equal(other[:, row, column], image[:, before[0], before[1]])
        assert ("right" in said) == (column != before[1])
        assert ("bottom" in said) == (row != before[0])
    assert len(seen) == 4


def test_a_turned_crop_is_turned_as_the_gripper_turns() -> None:
    """Nine rotations of ten degrees: the rows below the pick are to its right."""
    network = TwoStreams(CliportConfig(width=8, words=16, vocabulary=64, turns=10, crop_px=32))
    features = torch.zeros(1, 8, 32, 64)
    features[0, 0, 19, 20] = 1.0  # three cells further down than the pick
    at, angles = torch.tensor([[16 * 4 + 1.5, 20 * 4 + 1.5]]), np.pi / 18 * torch.arange(10)
    crops = network._crops(features, torch.zeros(1, dtype=torch.long), at, angles)
    assert np.unravel_index(int(crops[0, 0, 0].argmax()), (8, 8)) == (7, 4)
    assert np.unravel_index(int(crops[0, 9, 0].argmax()), (8, 8)) == (4, 7)


def test_bad_data_give_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, map=np.zeros(1))
    with pytest.raises(ClevrSkillsError, match="holds no turns"):
        read_turns(path)


def test_the_digest_covers_all_arrays(data: Path) -> None:
    turns = read_turns(data)
    assert turns.digest == read_turns(data).digest
    for name in ("map", "height", "text", "action", "scene"):
        other = replace(turns, **{name: getattr(turns, name)[:-1]})
        assert other.digest != turns.digest, name


def test_windows_of_turns_are_batches(data: Path) -> None:
    windows = TurnWindows([read_turns(data)], 64, 16, augment=True)
    batch = windows[[0, 7]]
    assert batch.images.shape == (2, 4, 128, 256) and batch.words.shape == (2, 16)
    assert batch.actions[1, 0] == NOTHING


def test_each_drawing_of_an_image_differs_whichever_process_loads_it(data: Path) -> None:
    windows = TurnWindows([read_turns(data)], 64, 16, augment=True)
    count = len(windows)
    first, same, other = (windows[[number]].images for number in (3, 3, 3 + count))
    assert torch.equal(first, same) and not torch.equal(first, other)
    loader = DataLoader(windows, batch_size=None, sampler=[[3 + count]], num_workers=1)
    (loaded,) = loader
    assert torch.equal(loaded.images, other)


@pytest.mark.render
def test_recorded_turns_are_of_the_training_split(tmp_path: Path) -> None:
    options: dict[str, Any] = {"suite": "lohoravens", "tasks": ("pick_place_color",)}
    options |= {"interface": "pick_place_pixels", "view": VIEWS, "no_cameras": True, "episodes": 1}
    for split in ("train", "test"):
        assert generate(GenerateArgs(**options, split=split, out=tmp_path / split)) == 0
    assert read_turns(tmp_path / "train").tasks == ("pick_place_color",)
    with pytest.raises(ClevrSkillsError, match=r"test_0+ of .* is held out; allowed: split train"):
        read_turns(tmp_path / "test")
