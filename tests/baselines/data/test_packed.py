"""Packed demonstrations: the same windows as from the videos, and nothing decoded twice."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from learned_policies import equal
from torch.utils.data import DataLoader

from clevrskills.baselines.data.packed import PackedSource
from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import (
    DemonstrationFilter,
    Windows,
    make_spec,
    packed,
)
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.dataset_tools.export.command import ExportArgs, export
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.pool import InlinePool

HISTORY = PolicyConfig(image_size=24, steps=3, horizon=2, proprioception=True)
STREAM = PolicyConfig(image_size=64, steps=8, starts_every=5, horizon=3, proprioception=True)
TOKENIZER = WordTokenizer()


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    name = "clevrskills.baselines.data.packed.open_pool"
    monkeypatch.setattr(name, lambda _, make, *rest: InlinePool(make))


@pytest.fixture(scope="module")
def exported(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed") / "lerobot"
    assert export(ExportArgs(dataset=demos, to="lerobot", out=out)) == 0
    return out


@pytest.mark.parametrize("config", [HISTORY, STREAM, replace(STREAM, cameras=())])
@pytest.mark.parametrize("form", ["multimodal", "language"])
def test_the_same_batches(
    demos: Path, exported: Path, tmp_path: Path, config: PolicyConfig, form: str
) -> None:
    roots = (demos, exported) if form == "language" else (demos,)
    sources = [open_source(root, config.cameras) for root in roots]
    selection = DemonstrationFilter(prompt=form)
    plain = Windows(sources, config, selection, TOKENIZER)
    made = packed(sources, config, selection, tmp_path, 1)
    quick = Windows(made, config, selection, TOKENIZER)
    indices = np.random.default_rng(0).permutation(len(plain)).tolist()
    equal(quick[indices], plain[indices])
    assert make_spec(made, config, selection) == make_spec(sources, config, selection)


@pytest.mark.slow
def test_in_processes_that_are_started_anew(demos: Path, tmp_path: Path) -> None:
    (source,) = packed(
        [open_source(demos, HISTORY.cameras)], HISTORY, DemonstrationFilter(), tmp_path, 1
    )
    windows = Windows([source], HISTORY, DemonstrationFilter(), TOKENIZER)
    assert len(pickle.dumps(windows)) < 50_000  # no images are in it
    expected = windows[range(4)]
    loader = DataLoader(
        windows,
        batch_size=None,
        sampler=[[0, 1, 2, 3]],
        num_workers=1,
        multiprocessing_context="spawn",
    )
    (batch,) = loader
    equal(batch, expected)


def test_cached_images_are_not_decoded_again(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(demos, tmp_path / "copy"))
    some = DemonstrationFilter(tasks=("reach",))
    packed([open_source(copy, HISTORY.cameras)], HISTORY, some, tmp_path / "cache", 1)
    (folder,) = (tmp_path / "cache").iterdir()
    with (folder / "index.jsonl").open("a") as file:
        file.write('{"number": 4, "te')  # a writer was killed
    for video in copy.glob("reach/*/*.mp4"):
        video.unlink()
    source = open_source(copy, HISTORY.cameras)
    (made,) = packed([source], HISTORY, DemonstrationFilter(), tmp_path / "cache", 1)
    assert sorted(made.prompts) == list(range(len(source.demonstrations)))
    windows = Windows([made], HISTORY, DemonstrationFilter(), TOKENIZER)
    plain = Windows(
        [open_source(demos, HISTORY.cameras)], HISTORY, DemonstrationFilter(), TOKENIZER
    )
    every = range(len(plain))
    equal(windows[every], plain[every])
    # another size is something else, and cannot be made without the videos
    with pytest.raises(ClevrSkillsError, match=r"\.mp4"):
        packed(
            [source], replace(HISTORY, image_size=16), DemonstrationFilter(), tmp_path / "cache", 1
        )


def test_episodes_of_the_same_names_made_anew_never_meet(demos: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(demos, tmp_path / "copy"))
    folders = []
    for _ in range(2):
        made = PackedSource(open_source(copy, HISTORY.cameras), HISTORY.cameras, 32, tmp_path)
        folders.append(made.folder)
        (manifest,) = (copy / "manifest").iterdir()
        lines = [json.loads(line) for line in manifest.read_text().splitlines()]
        for line in lines:
            line["files"] = {**line["files"], "base_camera.mp4": [1, "0" * 64]}
        manifest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for size in (7, 8):  # without a manifest, sizes tell
        manifest.unlink(missing_ok=True)
        (video,) = copy.glob("reach/*00/base_camera.mp4")
        video.write_bytes(bytes(size))
        source = open_source(copy, HISTORY.cameras)
        folders.append(PackedSource(source, HISTORY.cameras, 32, tmp_path).folder)
    assert len(set(folders)) == 4


def test_other_data_never_meet(demos: Path, exported: Path, tmp_path: Path) -> None:
    one, other = (open_source(root, ()) for root in (demos, exported))
    folders = {PackedSource(s, (), size, tmp_path).folder for s in (one, other) for size in (8, 9)}
    assert len(folders) == 4
    with pytest.raises(ClevrSkillsError, match="has text prompts only"):
        made = PackedSource(other, (), 8, tmp_path)
        made.pack([0], 1)
        made.prompt(0, "multimodal")
