"""The small policy of behavior cloning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from learned_policies import batch_of, policy_and_windows, rollout

from clevrskills.baselines.policies.small_encoders import ImageEncoder
from clevrskills.baselines.registry import build, configuration
from clevrskills.errors import ClevrSkillsError


def test_it_has_a_few_million_parameters(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos)
    default = build("bc", configuration("bc", "default", {}), policy.spec)
    assert 1e6 < sum(p.numel() for p in default.parameters()) < 1e7


def test_its_steps_do_not_know_of_each_other(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, steps=8, starts_every=8)
    policy.eval()
    batch = batch_of(policy, windows, [0, 3])
    seen = policy._normalized(batch.observations)
    with torch.no_grad():
        aim = policy.scene.prompt(replace(batch.prompts, images=batch.prompts.images / 255))
        whole = policy._actions(seen, aim)
        cut = replace(
            seen,
            images={name: images[:, 2:4] for name, images in seen.images.items()},
            state=seen.state[:, 2:4],
            mask=seen.mask[:, 2:4],
        )
        part = policy._actions(cut, aim)
    assert (whole[:, 2:4] - part).abs().max() < 1e-5
    assert (whole[:, 2] - whole[:, 5]).abs().max() > 1e-4


def test_what_is_padded_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, steps=8, starts_every=8)
    policy.eval()
    batch = batch_of(policy, windows, [0, 1])
    with torch.no_grad():
        loss = policy(batch)["loss"]
        longer = batch.prompts
        pad = torch.full((2, 5), policy.tokenizer.pad)
        longer = replace(
            longer,
            tokens=torch.cat([longer.tokens, pad], 1),
            mask=torch.cat([longer.mask, torch.zeros(2, 5, dtype=torch.bool)], 1),
            image_index=torch.cat([longer.image_index, torch.full((2, 5), -1)], 1),
        )
        assert policy(replace(batch, prompts=longer))["loss"] == pytest.approx(float(loss), 1e-4)
        off = batch.action_mask.clone()
        off[:, 3:] = False
        wild = batch.actions.clone()
        wild[:, 3:] = 99.0
        one = policy(replace(batch, action_mask=off))["loss"]
        assert policy(replace(batch, action_mask=off, actions=wild))["loss"] == one != loss
        nothing = policy(replace(batch, action_mask=torch.zeros_like(off)))["loss"]
        assert nothing == 0 and torch.isfinite(nothing)


def test_it_does_the_first_of_the_actions_that_it_learns(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, horizon=3, execution_horizon=2)
    batch = batch_of(policy, windows, [0])
    assert batch.actions.shape[2] == 3 and policy(batch)["loss"].isfinite()
    with torch.no_grad():
        said = policy._actions(policy._normalized(batch.observations), torch.zeros(1, 64))
    assert said.shape[2] == 3
    assert rollout(policy, {0: 1}, 1)[0][0].shape == (2, 7)


@pytest.mark.parametrize("steps", [0, 5])
def test_it_does_no_more_than_it_learns(steps: int) -> None:
    changes = {"horizon": 4, "execution_horizon": steps}
    with pytest.raises(ClevrSkillsError, match=f"must be 1 to horizon, 4, not {steps}"):
        configuration("bc", "tiny", changes)


def test_where_something_is_seen() -> None:
    """A bright spot that moves to the right is found further to the right, by an eye that is made
    to look for brightness.
    """
    config = configuration("bc", "tiny", {})
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
