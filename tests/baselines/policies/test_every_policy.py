"""What all policies have in common, whatever they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learned_policies import (
    observation,
    overfit,
    policy_and_windows,
    prompt,
    rollout,
    spread,
)

from clevrskills.baselines import checkpoint, load
from clevrskills.baselines.data.windows import DemonstrationFilter, Windows
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import policies, policy_type
from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError

ALL = policies()
POLICIES = [name for name in ALL if not policy_type(name).prepared_by]
"""Those that learn from windows of control steps."""
CAMERAS = [(name, camera) for name in POLICIES for camera in ("base_camera", "hand_camera")]
CAMERAS = [case for case in CAMERAS if case != ("jat", "hand_camera")]  # it sees one camera

OVERFITTING = {
    **{"bc": (40, 200), "octo": (60, 250), "jat": (40, 80)},
    **{"stream_robolm": (60, 240), "robo_flamingo": (50, 200)},
}
"""Steps after which a policy knows a few windows about, and eight of them by heart."""

Made = tuple[LearnedPolicy, Windows]


@pytest.fixture(params=POLICIES)
def made(request: pytest.FixtureRequest, demos: Path) -> Iterator[Made]:
    """Each policy, tiny, and windows of demonstrations."""
    policy, windows = policy_and_windows(request.param, demos)
    yield policy.eval(), windows


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("bc", "stream_robolm") else pytest.param(name, marks=pytest.mark.slow)
        for name in POLICIES
    ],
)
@pytest.mark.parametrize(
    ("k", "count", "ratio"), [(0, 3, 0.25), pytest.param(1, 8, 0.01, marks=pytest.mark.slow)]
)
def test_it_overfits(demos: Path, name: str, k: int, count: int, ratio: float) -> None:
    policy, windows = policy_and_windows(name, demos)
    batch = windows[spread(windows, count)]
    before, after = overfit(policy, batch, OVERFITTING[name][k])
    assert after <= ratio * before


@pytest.mark.parametrize("what", ["words", "order of images"])
def test_it_reads_prompts(made: Made, what: str) -> None:
    policy, _ = made
    one = prompt(0)
    if what == "words":
        other = replace(one, text=one.text.replace("near", "over"))
    else:
        images = dict(zip(one.images, reversed(one.images.values()), strict=True))
        other = replace(one, images=images)
    policy.reset({0: one, 1: other, 2: one})
    seen = observation(policy, 0)
    actions = policy.act({slot: seen for slot in range(3)})
    np.testing.assert_array_equal(actions[0], actions[2])
    assert np.abs(actions[0] - actions[1]).max() > 1e-6


@pytest.mark.parametrize(("name", "camera"), CAMERAS)
def test_it_acts_with_each_camera(demos: Path, name: str, camera: str) -> None:
    policy, _ = policy_and_windows(name, demos)
    policy.reset({0: prompt(), 1: prompt()})
    seen = observation(policy, 0)
    other = {**seen, "images": {**seen["images"], camera: 255 - seen["images"][camera]}}
    actions = policy.act({0: seen, 1: other})
    assert np.abs(actions[0] - actions[1]).max() > 1e-6


@pytest.mark.parametrize("name", POLICIES)
def test_prompts_without_images(demos: Path, name: str) -> None:
    policy, windows = policy_and_windows(
        name, demos, selection=DemonstrationFilter(prompt="language")
    )
    batch = windows[[0, 1]]
    assert not len(batch.prompts.images)
    policy(batch)["loss"].backward()
    policy.reset({0: replace(prompt(), images={})})
    assert np.isfinite(policy.act({0: observation(policy, 0)})[0]).all()


def test_long_prompts(made: Made) -> None:
    policy, _ = made
    assert np.isfinite(rollout(policy, {0: 300}, 1)[0]).all()


def test_slots_do_not_know_of_each_other(made: Made) -> None:
    policy, _ = made
    together = rollout(policy, {0: 1, 3: 2}, 3)
    for slot, seed in ((0, 1), (3, 2)):
        np.testing.assert_array_equal(together[slot], rollout(policy, {7: seed}, 3)[7])
    assert not np.array_equal(together[0], together[3])
    assert np.abs(np.stack(together[0])).max() <= 1.0


def test_slots_that_are_worked_on_together(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of different ages: it makes no difference but rounding."""
    policy, _ = made
    alone, at_once, own = rollout(policy, {0: 1}, 3)[0], list[int](), policy.step

    def counted(observations: Any, memories: list[Any]) -> Any:
        at_once.append(len(memories))
        return own(observations, memories)

    monkeypatch.setattr(policy, "step", counted)
    policy.together = True
    policy.reset({1: prompt(9, words=9)})
    policy.act({1: observation(policy, 9)})
    together = rollout(policy, {0: 1}, 1)[0]
    for step in (1, 2):
        shown = {0: observation(policy, 1, step), 1: observation(policy, 9, step)}
        together.append(policy.act(shown)[0])
    assert at_once == [1, 1, 2, 2]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_a_checkpoint_acts_as_before(made: Made, tmp_path: Path) -> None:
    policy, windows = made
    policy(windows[[0]])["loss"].backward()
    with torch.no_grad():  # other weights than those it is made with
        for parameter in policy.parameters():
            if parameter.grad is not None:
                parameter += 1e-3
    about = checkpoint.CheckpointDescription(_name(policy), policy.config, policy.spec, {})
    checkpoint.write(tmp_path, policy, about)
    again = load(tmp_path, "cpu")
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 3)[0], rollout(again, {0: 1}, 3)[0])
    assert load(tmp_path, "cpu", together=True).together and not again.together


def test_a_policy_without_batches_refuses_together() -> None:
    source = PolicySource("checkpoint:zoo/cliport-primitives", {"together": True})
    with pytest.raises(ClevrSkillsError, match="acts in one episode at a time"):
        source.make()


def recurrent_in_bf16() -> bool:
    """Whether this processor has an LSTM in half precision; of oneDNN, not all do."""
    lstm = torch.nn.LSTM(2, 2)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        try:
            lstm(torch.zeros(1, 1, 2))
        except RuntimeError:
            return False
    return True


def test_bf16(made: Made) -> None:
    policy, windows = made
    recurrent = any(isinstance(module, torch.nn.LSTM) for module in policy.modules())
    if recurrent and not recurrent_in_bf16():
        pytest.skip("oneDNN has no LSTM in bfloat16 for this processor")
    batch = windows[[0, 3]]
    with torch.no_grad():
        torch.manual_seed(0)
        exact = policy(batch)["loss"]
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16):
            assert policy(batch)["loss"] == pytest.approx(float(exact), rel=0.05)


def _name(policy: LearnedPolicy) -> str:
    path = f"{type(policy).__module__}:{type(policy).__name__}"
    return next(name for name, there in ALL.items() if there == path)
