"""The small policy that answers with chunks of actions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from learned_policies import policy_and_windows, rollout

from clevrskills.baselines.policies.act.policy import ActionChunking
from clevrskills.baselines.policies.small_encoders import ImageEncoder
from clevrskills.baselines.registry import configuration


def test_actions_after_the_end_are_not_learned(demos: Path) -> None:
    policy, windows = policy_and_windows("act", demos)
    batch = windows[range(len(windows))]
    ends = ~batch.action_mask & batch.observations.mask[:, :, None]
    assert ends.any() and not batch.action_mask.all()
    wild = torch.where(batch.action_mask[..., None], batch.actions, 50.0)
    policy.eval()
    with torch.no_grad():
        assert policy(batch)["loss"] == policy(replace(batch, actions=wild))["loss"]


def test_chunks_that_speak_of_a_step_are_averaged(
    demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, _ = policy_and_windows("act", demos, decay=0.5)
    said: list[np.ndarray] = []
    actions = ActionChunking._actions

    def noted(self, *seen):  # type: ignore[no-untyped-def]
        chunk = actions(self, *seen)
        said.append(policy.normalize_action.inverse(chunk)[0, 0].numpy())
        return chunk

    monkeypatch.setattr(ActionChunking, "_actions", noted)
    done = rollout(policy, {0: 3}, 7)[0]
    assert policy.config.horizon == 4 and len(said) == 7
    for step, action in enumerate(done):
        made = range(max(0, step - 3), step + 1)  # the oldest first
        weights = np.exp(-0.5 * np.arange(len(made)))
        parts = [said[k][step - k] for k in made]
        expected = np.average(parts, axis=0, weights=weights)
        np.testing.assert_allclose(action, np.clip(expected, -1, 1), atol=1e-5)


def test_a_new_episode_forgets_the_chunks(demos: Path) -> None:
    policy, _ = policy_and_windows("act", demos)
    first = rollout(policy, {0: 1}, 3)[0]
    np.testing.assert_array_equal(rollout(policy, {0: 1}, 3)[0], first)
    together = rollout(policy, {0: 1, 1: 2}, 3)
    np.testing.assert_array_equal(together[0], first)


def test_positions_of_features() -> None:
    """A bright spot that moves to the right is found further to the right, by an eye that is made
    to look for brightness.
    """
    config = configuration("act", "tiny", {})
    eye = ImageEncoder(config)
    eye.token = torch.nn.Identity()
    places = []
    with torch.no_grad():
        for part in (eye.look.weight, eye.look.bias, eye.steer.weight, eye.steer.bias):
            part.zero_()
        for k, layer in enumerate(eye.convolutions):
            layer.weight.zero_()
            layer.weight[0, slice(3) if k == 0 else 0, 1, 1] = 1.0
        eye.look.weight[0, 0] = 20.0
        for column in (4, 12, 20, 28):
            image = torch.zeros(1, 3, 32, 32)
            image[..., 14:18, column - 2 : column + 2] = 1.0
            places.append(eye(image, torch.zeros(1, config.width))[0, 0])
    right = torch.stack(places)
    assert (right.diff() > 0.3).all()
    assert right[0] < -0.5 and right[-1] > 0.5
