"""Behavior cloning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from learned_policies import observation, policy_and_windows, prompt, rollout

from clevrskills.baselines.policies.bc.policy import ImageEncoder
from clevrskills.baselines.registry import build, configuration
from clevrskills.errors import ClevrSkillsError


def test_it_has_a_few_million_parameters(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos)
    default = build("bc", configuration("bc", "default", {}), policy.spec)
    assert 1e6 < sum(p.numel() for p in default.parameters()) < 1e7


def test_its_steps_do_not_know_of_each_other(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, steps=8, starts_every=8)
    policy.eval()
    batch = windows[[0, 3]]
    seen = policy._normalized(batch.observations)
    with torch.no_grad():
        read = policy.scene.prompt(replace(batch.prompts, images=batch.prompts.images / 255))
        whole = policy._predict(seen, read)
        cut = replace(
            seen,
            images={name: images[:, 2:4] for name, images in seen.images.items()},
            state=seen.state[:, 2:4],
            mask=seen.mask[:, 2:4],
        )
        part = policy._predict(cut, read)
    assert (whole[:, 2:4] - part).abs().max() < 1e-5
    assert (whole[:, 2] - whole[:, 5]).abs().max() > 1e-4


def test_padding_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, steps=8, starts_every=8)
    policy.eval()
    batch = windows[[0, 1]]
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
        nothing = policy(replace(batch, action_mask=torch.zeros_like(off)))
        assert nothing["loss"] == nothing["motion"] == nothing["vacuum"] == 0


def test_it_executes_the_first_actions_of_a_chunk(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, horizon=3, execution_horizon=2)
    batch = windows[[0]]
    assert batch.actions.shape[2] == 3 and policy(batch)["loss"].isfinite()
    done = rollout(policy, {0: 1}, 1)[0][0]
    assert done.shape == (2, 7) and set(done[:, 6]) <= {-1.0, 1.0}  # the vacuum is on or off


def test_without_cameras_it_is_blind(demos: Path) -> None:
    """It gets proprioception and the prompt with its images, in training and when it acts."""
    policy, windows = policy_and_windows("bc", demos, cameras=[])
    batch = windows[[0, 1]]
    assert not batch.observations.images and len(batch.prompts.images)
    assert policy.observation.shows_prompt_images
    assert policy(batch)["loss"].isfinite()
    assert rollout(policy, {0: 1}, 1)[0][0].shape == (4, 7)


def test_it_predicts_no_positions(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos)
    policy.reset({0: prompt(1)})
    with pytest.raises(ClevrSkillsError, match="BehaviorCloning predicts no positions"):
        policy.predicted_positions({0: observation(policy, 1)})


def test_positions_of_features() -> None:
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
