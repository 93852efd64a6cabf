import pickle
import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from damage import edit_values, put
from learned_policies import equal, policy_and_windows
from torch.utils.data import DataLoader

from clevrskills.baselines.batch import scale_images
from clevrskills.baselines.data.sources import open_source
from clevrskills.baselines.data.windows import (
    Batches,
    DemonstrationFilter,
    SampleOrder,
    Windows,
    fingerprint,
    make_spec,
)
from clevrskills.baselines.prompts import WordTokenizer
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.dataset_tools import Dataset, DatasetError
from clevrskills.errors import ClevrSkillsError, UnknownNameError

HISTORY = PolicyConfig(image_size=64, steps=3, horizon=2, proprioception=True)
STREAM = PolicyConfig(image_size=64, steps=8, starts_every=5, horizon=3, proprioception=True)


def windows_of(root: Path, config: PolicyConfig, **selection: object) -> Windows:
    sources = [open_source(root, config.cameras)]
    return Windows(sources, config, DemonstrationFilter(**selection), WordTokenizer())  # type: ignore[arg-type]


@pytest.mark.parametrize("config", [HISTORY, STREAM])
def test_windows_equal_those_of_the_reader(demos: Path, config: PolicyConfig) -> None:
    windows, index = windows_of(demos, config), 0
    stride, every = config.starts_every or 1, config.starts_every
    for episode in Dataset(demos):
        videos = {camera: episode.video(camera) for camera in episode.cameras}
        parts = [
            np.asarray(episode.proprioception(name), np.float32).reshape(len(episode) + 1, -1)
            for name in ("qpos", "ee_pose", "vacuum_on", "holding")
        ]
        proprio, last = np.concatenate(parts, 1), len(episode) - 1
        for start in range(0, len(episode), stride):
            first = start if every else start - config.steps + 1
            window = windows[[index]]
            steps = np.arange(first, first + config.steps)
            real = (steps >= 0) & (steps <= last)
            assert window.observations.mask[0].tolist() == real.tolist()
            for camera, video in videos.items():
                shown = window.observations.images[camera][0].permute(0, 2, 3, 1)
                np.testing.assert_array_equal(shown, video[steps.clip(0, last)])
            np.testing.assert_array_equal(
                window.observations.state[0], proprio[steps.clip(0, last)]
            )
            for k, step in enumerate(steps):
                ahead = np.arange(step, step + config.horizon)
                np.testing.assert_array_equal(
                    window.actions[0, k], episode.actions[ahead.clip(0, last)]
                )
                learned = real[k] & (ahead >= 0) & (ahead <= last)
                assert window.action_mask[0, k].tolist() == learned.tolist()
            index += 1
    assert index == len(windows)


def test_every_step_is_learned_once_where_windows_do_not_overlap(demos: Path) -> None:
    config = PolicyConfig(image_size=16, steps=7, starts_every=7)
    windows = windows_of(demos, config)
    total = int(windows[range(len(windows))].action_mask.sum())
    assert total == sum(map(len, Dataset(demos)))


def test_failed_steps_are_observed_but_not_learned(demos: Path, tmp_path: Path) -> None:
    root = shutil.copytree(demos, tmp_path / "copy")
    name = Dataset(root)[0].id
    edit_values("failed", put([2, 3], True), episode=name)(root)
    whole, damaged = windows_of(demos, STREAM)[[0]], windows_of(root, STREAM)[[0]]
    assert torch.equal(*(w.observations.images["base_camera"] for w in (whole, damaged)))
    assert whole.action_mask[0, 0].all()
    assert damaged.action_mask[0, 0].tolist() == [True, True, False]
    assert damaged.action_mask[0, 2].tolist() == [False, False, True]


def test_a_lerobot_export_gives_the_same(demos: Path, exported: Path) -> None:
    ours = windows_of(demos, STREAM, prompt="language")
    theirs = windows_of(exported, STREAM, prompt="language")
    assert len(ours) == len(theirs) and ours.tasks == theirs.tasks
    some = np.random.default_rng(0).permutation(len(ours))[:12].tolist()
    one, other = ours[some], theirs[some]
    for camera in STREAM.cameras:
        assert torch.equal(one.observations.images[camera], other.observations.images[camera])
    for name in ("state", "mask"):
        assert torch.equal(getattr(one.observations, name), getattr(other.observations, name))
    for name in ("actions", "action_mask"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert torch.equal(one.prompts.tokens, other.prompts.tokens) and not len(one.prompts.images)
    specs = [
        make_spec([open_source(r, STREAM.cameras)], STREAM, DemonstrationFilter(prompt="language"))
        for r in (demos, exported)
    ]
    assert specs[0] == specs[1]


def test_a_lerobot_export_has_no_images_in_prompts(exported: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="a LeRobot export has text prompts only"):
        windows_of(exported, STREAM)[[0]]


def test_damaged_exports(exported: Path, tmp_path: Path) -> None:
    root = shutil.copytree(exported, tmp_path / "one")
    info = root / "meta/info.json"
    info.write_text(info.read_text().replace("v3.0", "v2.0"))
    with pytest.raises(UnknownNameError, match="unknown version of .* 'v2.0'; allowed: v3.0"):
        open_source(root, ())
    info.write_text("{}")
    with pytest.raises(DatasetError, match="is not an export of clevrskills: KeyError"):
        open_source(root, ())
    root = shutil.copytree(exported, tmp_path / "two")
    (data,) = root.glob("data/*/*.parquet")
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(DatasetError, match="is damaged"):
        windows_of(root, STREAM, prompt="language")[[0]]


def test_prompts_with_pictures(demos: Path) -> None:
    windows = windows_of(demos, HISTORY)
    prompt = windows[[0]].prompts
    pictures = Dataset(demos)[0].prompt_images()
    assert prompt.images.shape == (2, 3, 64, 64)
    (first, second) = (torch.tensor(p).permute(2, 0, 1) for p in pictures.values())
    assert torch.equal(prompt.images[0], scale_images(first, 64))
    assert torch.equal(prompt.images[1], scale_images(second, 64))
    assert prompt.tokens[0].tolist().count(WordTokenizer.image) == 2


def test_specification(demos: Path) -> None:
    spec = make_spec([open_source(demos, HISTORY.cameras)], HISTORY, DemonstrationFilter())
    shown = spec.observation
    assert (shown.history, shown.size_px, shown.prompt) == (3, 64, "multimodal")
    assert spec.state_parts == {"qpos": 3, "ee_pose": 7, "vacuum_on": 1, "holding": 1}
    actions = np.concatenate([episode.actions for episode in Dataset(demos)])
    for name, value in (("mean", actions.mean(0)), ("std", actions.std(0)), ("q99", None)):
        if value is None:
            value = np.quantile(actions, 0.99, axis=0)
        np.testing.assert_allclose(spec.statistics["action"][name], value, atol=1e-5)
    stream = make_spec([open_source(demos, STREAM.cameras)], STREAM, DemonstrationFilter())
    assert stream.observation.history == 1


def test_parts_of_the_demonstrations(demos: Path) -> None:
    visits = windows_of(demos, HISTORY, tasks=("visit",))
    assert set(visits.tasks) == {"visit"}
    assert windows_of(demos, HISTORY, levels=("L1",)).tasks == visits.tasks
    for bad, message in (
        ({"tasks": ("sort",)}, "unknown task of the demonstrations 'sort'; allowed: reach, visit"),
        ({"levels": ("L2",)}, "unknown level of the demonstrations 'L2'; allowed: L0, L1"),
        (
            {"splits": ("test",)},
            "demonstrations are of the split train, which is held out; allowed: test",
        ),
        ({"tasks": ("visit",), "levels": ("L0",)}, "no demonstration matches"),
    ):
        with pytest.raises(ClevrSkillsError, match=message):
            windows_of(demos, HISTORY, **bad)


def test_several_folders(demos: Path, exported: Path, tmp_path: Path) -> None:
    sources = [open_source(root, STREAM.cameras) for root in (demos, exported)]
    selection = DemonstrationFilter(prompt="language")
    both = Windows(sources, STREAM, selection, WordTokenizer())
    assert len(both) == 2 * len(windows_of(demos, STREAM))
    one, other = both[[3]], both[[3 + len(both) // 2]]
    assert torch.equal(one.actions, other.actions)
    assert fingerprint(sources, selection) != fingerprint(sources[:1], selection)
    assert fingerprint(sources[:1], selection) == fingerprint(sources[1:], selection)
    sources[1].robot = "panda"
    with pytest.raises(ClevrSkillsError, match="differ in robot: xarm6 and panda"):
        make_spec(sources, STREAM, selection)


def test_bad_folders(demos: Path, tmp_path: Path) -> None:
    with pytest.raises(ClevrSkillsError, match="holds no demonstrations: neither a dataset"):
        open_source(tmp_path, ())
    with pytest.raises(UnknownNameError, match="unknown camera of .* 'render_camera'; allowed"):
        open_source(demos, ("render_camera",))


def test_episodes_that_are_evaluated_on_are_refused(demos: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(demos, tmp_path / "copy"))
    first = min((copy / "reach").iterdir())
    first.rename(first.with_name("train_1000000003"))
    sources = [open_source(copy, ())]
    assert DemonstrationFilter(tasks=("visit",)).choose(sources)
    with pytest.raises(ClevrSkillsError, match="reach/train_1000000003 is of frozen episodes"):
        DemonstrationFilter().choose(sources)


def test_worker_processes_give_the_same(demos: Path) -> None:
    windows = windows_of(demos, STREAM)
    windows[[0]]  # files are open when the workers start
    order = SampleOrder(windows, seed=3)
    loaders = [
        DataLoader(windows, batch_size=None, sampler=Batches(order, 3), num_workers=workers)  # type: ignore[arg-type]
        for workers in (0, 2)
    ]
    for one, other in islice(zip(*loaders, strict=False), 5):
        equal(one, other)
    equal(windows[[4 + 7 * len(windows)]], windows[[4]])
    equal(pickle.loads(pickle.dumps(windows))[[4]], windows[[4]])


# --- the order


def take(batches: Batches, count: int) -> list[list[int]]:
    return list(islice(batches, count))


def test_a_round_has_every_window_once(demos: Path) -> None:
    windows = windows_of(demos, STREAM)
    order = SampleOrder(windows, seed=1)
    rounds = [order.round(k).tolist() for k in range(3)]
    assert all(sorted(r) == list(range(len(windows))) for r in rounds)
    assert rounds[0] != rounds[1] != rounds[2]
    assert SampleOrder(windows, seed=1).round(1).tolist() == rounds[1]
    assert SampleOrder(windows, seed=2).round(1).tolist() != rounds[1]


def test_weights_of_tasks(demos: Path) -> None:
    windows = windows_of(demos, HISTORY)
    of = np.repeat(windows.tasks, windows.counts)
    order = SampleOrder(windows, {"visit": 3.0}, seed=0)
    drawn = of[np.concatenate([order.round(k) for k in range(4)])]
    assert (drawn == "visit").mean() == pytest.approx(0.75, abs=0.01)
    assert (of[SampleOrder(windows, {}, 0).round(0)] == "visit").mean() == pytest.approx(
        0.5, abs=0.01
    )
    alone = SampleOrder(windows, {"visit": 0.0}, seed=0).round(0)
    assert set(of[alone]) == {"reach"} and set(alone) == set(np.flatnonzero(of == "reach"))
    with pytest.raises(UnknownNameError, match="unknown task of the demonstrations 'sort'"):
        SampleOrder(windows, {"sort": 1.0})
    windows.counts = np.where(np.array(windows.tasks) == "visit", windows.counts, 0)
    for weights in (None, {}, {"reach": 2.0}):  # a task without windows
        assert set(SampleOrder(windows, weights).round(0)) == {*range(windows.counts.sum())}
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ClevrSkillsError, match=f"weight of reach must be 0 or more, not {bad}"):
            SampleOrder(windows, {"reach": bad})
    with pytest.raises(ClevrSkillsError, match="all tasks have weight 0"):
        SampleOrder(windows, {"reach": 0.0, "visit": 0.0})


def test_batches_continue_from_any_point(demos: Path) -> None:
    order = SampleOrder(windows_of(demos, STREAM), seed=1)
    size = 5
    count = 3 * len(order) // size
    everything = take(Batches(order, size), count)
    assert all(len(batch) == size for batch in everything)
    for first in (1, 4, count - 3):
        assert take(Batches(order, size, first), 3) == everything[first : first + 3]
    flat = np.concatenate(everything)[: 2 * len(order)]
    assert sorted(flat % len(order)) == sorted([*range(len(order))] * 2)
    assert len(set(flat)) == len(flat)  # each drawing is another one


def test_processes_share_the_order(demos: Path) -> None:
    order = SampleOrder(windows_of(demos, STREAM), seed=1)
    whole = take(Batches(order, 6), 5)
    parts = [take(Batches(order, 3, 0, rank, 2), 5) for rank in range(2)]
    for batch, one, other in zip(whole, *parts, strict=True):
        assert sorted(one + other) == sorted(batch) and len(one) == len(other) == 3


def test_batches_of_a_policy(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos)
    batch = windows[[0, 1]]
    assert batch.observations.images["hand_camera"].shape == (2, 1, 3, 32, 32)
    assert batch.actions.shape == (2, 1, 16, 7) and batch.action_mask.shape == (2, 1, 16)
    assert batch.to("cpu").prompts.images.dtype == torch.uint8
