import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from learned_policies import policy_and_windows, rollout

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.core.checkpoint import find, read_tensors, save_tensors
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.robots.delta_action import ACTION_SPEC


@pytest.fixture
def policy(demos: Path) -> LearnedPolicy:
    return policy_and_windows("bc", demos)[0]


@pytest.fixture
def saved(policy: LearnedPolicy, tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    about = checkpoint.CheckpointDescription("bc", policy.config, policy.spec, {"note": "a test"})
    checkpoint.write(folder, policy, about)
    return folder


def test_it_acts_as_before(policy: LearnedPolicy, saved: Path) -> None:
    again = load(saved, "cpu")
    assert (again.config, again.spec) == (policy.config, policy.spec)
    before, after = (rollout(p, {0: 1, 1: 2}, 3) for p in (policy, again))
    for slot in (0, 1):
        np.testing.assert_array_equal(before[slot], after[slot])
    assert checkpoint.describe(saved).provenance["note"] == "a test"
    assert checkpoint.describe(saved).provenance["versions"]["torch"]


def test_it_is_words_and_numbers(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == {"config.json", "model.safetensors"}
    data = json.loads((saved / "config.json").read_text())
    assert data["spec"]["action"] == ACTION_SPEC and data["config"]["image_size"] == 32
    head = (saved / "model.safetensors").read_bytes()
    json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])


def test_the_latest_of_a_training(saved: Path, tmp_path: Path) -> None:
    for steps in ("00000900", "00001000"):
        target = tmp_path / "run/checkpoints" / steps
        target.mkdir(parents=True)
        for path in saved.iterdir():
            (target / path.name).write_bytes(path.read_bytes())
    assert find(tmp_path / "run").name == "00001000"
    (tmp_path / "run/checkpoints/00001100").mkdir()  # nothing in it
    assert find(tmp_path / "run").name == "00001000"


def test_published_weights_are_left_out(
    policy: LearnedPolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"head.0.weight", "head.0.bias"}
    monkeypatch.setattr(type(policy), "pretrained", lambda self: names)
    about = checkpoint.CheckpointDescription("bc", policy.config, policy.spec, {})
    checkpoint.write(tmp_path, policy, about)
    assert not names & read_tensors(tmp_path / "model.safetensors").keys()
    load(tmp_path, "cpu")
    monkeypatch.undo()
    with pytest.raises(ClevrSkillsError, match="2 weights are missing and 0 do not fit, e.g. h"):
        load(tmp_path, "cpu")


def edited(change: Callable[[dict], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "config.json"
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return edit


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "is not a checkpoint: it has no config"),
        (lambda folder: (folder / "config.json").write_text("{"), "is damaged: JSONDecodeError"),
        (lambda folder: (folder / "model.safetensors").unlink(), "cannot be read"),
        (cut, "cannot be read"),
        (edited(lambda data: data.update(format_version=9)), "has format version 9; this package"),
        (edited(lambda data: data.update(policy="no")), "unknown policy 'no'"),
        (edited(lambda data: data["config"].update(width=128)), "of this policy: 0 weights"),
        (edited(lambda data: data["config"].update(wdth=1)), "unknown entry of BehaviorCloningC"),
        (
            edited(lambda data: data["spec"]["action"].update(rate_hz=10)),
            "has other actions than the env",
        ),
        (edited(lambda data: data.pop("spec")), "is damaged: KeyError"),
    ],
)
def test_damage(saved: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(saved)
    with pytest.raises(ClevrSkillsError, match=message):
        load(saved, "cpu")


def test_tensors_survive(tmp_path: Path) -> None:
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {"a": shared, "b": shared, "c": shared.T, "d": torch.tensor(3)}
    save_tensors(tmp_path / "x.safetensors", tensors)
    again = read_tensors(tmp_path / "x.safetensors")
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)
