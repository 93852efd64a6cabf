"""The small policy of behavior cloning."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from learned_policies import observation, policy_and_windows, prompt, rollout

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policies.bc.policy import (
    _WAYPOINT_SCALES,
    _looking_loss,
    _waypoints,
)
from clevrskills.baselines.policies.bc.slots import SlotEncoder
from clevrskills.baselines.policies.losses import missed
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
        whole, *_ = policy._predict(seen, *read)
        cut = replace(
            seen,
            images={name: images[:, 2:4] for name, images in seen.images.items()},
            state=seen.state[:, 2:4],
            mask=seen.mask[:, 2:4],
        )
        part, *_ = policy._predict(cut, *read)
    assert (whole[:, 2:4] - part).abs().max() < 1e-5
    assert (whole[:, 2] - whole[:, 5]).abs().max() > 1e-4


def test_what_is_padded_does_not_count(demos: Path) -> None:
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
        assert nothing["motion"] == nothing["vacuum"] == 0 and torch.isfinite(nothing["loss"])
        names = ("places", "sights", "waypoints")
        blank = {n: torch.full_like(getattr(batch, n), torch.nan) for n in names}
        unknown = policy(replace(batch, **blank))
        assert unknown["place"] == unknown["look"] == unknown["waypoint"] == 0
        assert torch.isfinite(unknown["loss"])


def test_it_does_the_first_of_the_actions_that_it_learns(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, horizon=3, execution_horizon=2)
    batch = windows[[0]]
    assert batch.actions.shape[2] == 3 and policy(batch)["loss"].isfinite()
    with torch.no_grad():
        prompt, mask = torch.zeros(1, 4, 64), torch.ones(1, 4, dtype=torch.bool)
        said, *_ = policy._predict(policy._normalized(batch.observations), prompt, mask)
    assert said.shape[2] == 3
    done = rollout(policy, {0: 1}, 1)[0][0]
    assert done.shape == (2, 7) and set(done[:, 6]) <= {-1.0, 1.0}  # the vacuum is on or off


@pytest.mark.parametrize("steps", [0, 5])
def test_it_does_no_more_than_it_learns(steps: int) -> None:
    changes = {"horizon": 4, "execution_horizon": steps}
    with pytest.raises(ClevrSkillsError, match=f"must be 1 to horizon, 4, not {steps}"):
        configuration("bc", "tiny", changes)


@pytest.mark.slow
def test_it_learns_to_look_for_what_the_prompt_names() -> None:
    """Two squares in each image, in colors that words name: after some practice it tells where the
    one is that the prompt names, in images that it has not seen.
    """
    config = configuration("bc", "tiny", {"cameras": ["camera"]})
    torch.manual_seed(0)
    encoder = SlotEncoder(config, vocabulary=8, state_size=2)
    optimizer = torch.optim.Adam(encoder.parameters(), 3e-3)
    colors = torch.tensor([[1.0, 0.1, 0.1], [0.1, 0.2, 1.0], [0.9, 0.9, 0.1]])

    def missed(count: int) -> torch.Tensor:
        which = torch.stack([torch.randperm(3)[:2] for _ in range(count)])
        corners = torch.randint(0, 27, (count, 2, 2))
        corners[:, 1, 0] = (corners[:, 0, 0] + torch.randint(7, 20, (count,))) % 27
        images = torch.full((count, 1, 3, 32, 32), 0.5)
        for n in range(count):
            for (x, y), color in zip(corners[n].tolist(), colors[which[n]], strict=True):
                images[n, 0, :, y : y + 5, x : x + 5] = color[:, None, None]
        here = torch.ones(count, 1, dtype=torch.bool)
        words = torch.stack([torch.full((count,), 7), 2 + which[:, 0]], 1)
        prompts = Prompts(words, words > 0, torch.zeros(0, 3, 32, 32), torch.full((count, 2), -1))
        seen = Observations({"camera": images}, torch.zeros(count, 1, 2), here)
        sight = encoder(seen, *encoder.prompt(prompts))
        return (sight.places[:, 0, :2] - corners[:, 0] / 27).norm(dim=-1)

    for _ in range(150):
        optimizer.zero_grad()
        missed(64).mean().backward()
        optimizer.step()
    with torch.no_grad():
        assert missed(256).median() < 0.1  # a guess in the middle misses by 0.39


def test_what_it_looks_at_is_where_things_are() -> None:
    """The loss of looking is small where attention is in the cell of the place, and ignores places
    that are outside the image and steps that do not exist.
    """
    sights = torch.full((2, 2, 1, 2), torch.nan)
    sights[0, 0, 0] = torch.tensor([0.9, -0.3])  # of 4 x 4 cells the last column, the second row
    logits = torch.zeros(2, 2, 16)
    exist = torch.ones(2, 1, dtype=torch.bool)
    assert _looking_loss([logits], sights, exist) == pytest.approx(math.log(16))
    logits[0, 0, 4 + 3] = 20.0
    assert _looking_loss([logits], sights, exist) < 1e-6
    assert _looking_loss([logits.roll(1, -1)], sights, exist) > 19
    assert _looking_loss([logits.roll(1, -1)], sights, ~exist) == 0
    assert _looking_loss([], sights[:, :, :0], exist) == 0


def test_in_training_its_actions_follow_what_it_is_told(demos: Path) -> None:
    """Always told, what it says changes with the places and waypoints; acting, it is not told."""
    policy, windows = policy_and_windows("bc", demos, told=1.0, told_noise_m=0.0)
    batch = windows[[0, 1]]
    far = [replace(batch, **{n: getattr(batch, n) + 0.3}) for n in ("places", "waypoints")]
    with torch.no_grad():
        for acting in (False, True):
            policy.train(not acting)
            motion = policy(batch)["motion"]
            assert all((policy(other)["motion"] == motion) == acting for other in far)


def test_the_error_of_a_waypoint_is_in_centimetres_and_tenths() -> None:
    poses = torch.tensor([[0.1, 0.2, 0.3, 1.0, 0, 0, 0], [0.1, 0.2, 0.3, 0, 1.0, 0, 0]])
    points = _waypoints(poses)
    turns = torch.tensor([[1.0, 0, 0, 0, 1, 0], [1, 0, 0, 0, -1, 0]])
    torch.testing.assert_close(points[:, 3:], turns)
    steps, scale = torch.ones(2, dtype=torch.bool), torch.tensor(_WAYPOINT_SCALES)
    moved = points.clone()
    moved[:, 0] += 0.04  # two of its 2 cm: 1.5 of one entry of nine
    assert missed(moved - points, points, steps, scale) == pytest.approx(1.5 / 9)
    turned = points.clone()
    turned[:, 3] -= 0.2  # two of its tenths
    assert missed(turned - points, points, steps, scale) == pytest.approx(1.5 / 9)
    unknown = torch.full_like(points, torch.nan)
    assert missed(moved - points, unknown, steps, scale) == 0


def test_without_images_it_is_blind(demos: Path) -> None:
    """What a policy reaches that sees nothing but itself and its prompt, with images, in training
    and when it acts.
    """
    policy, windows = policy_and_windows("bc", demos, cameras=[])
    batch = windows[[0, 1]]
    assert not batch.observations.images and len(batch.prompts.images)
    assert policy.observation.shows_prompt_images
    told = policy(batch)
    assert told["look"] == 0 and told["loss"].isfinite()
    assert rollout(policy, {0: 1}, 1)[0][0].shape == (4, 7)


def test_positions_are_predicted_of_the_present_and_not_remembered(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos)
    policy.eval()
    seen = {slot: observation(policy, slot) for slot in (0, 1)}
    policy.reset({slot: prompt(slot) for slot in seen})
    before = policy.act(seen)
    found = policy.predicted_positions(seen)
    assert [places.shape for places in found.values()] == [(2, 3), (2, 3)]
    assert (found[0] != found[1]).all()
    np.testing.assert_array_equal(policy.act(seen)[0], before[0])
    policy.together = True
    for slot, places in policy.predicted_positions(seen).items():
        np.testing.assert_allclose(places, found[slot], atol=1e-5)


def test_a_policy_that_predicts_no_positions(demos: Path) -> None:
    policy, _ = policy_and_windows("act", demos)
    policy.reset({0: prompt(1)})
    with pytest.raises(ClevrSkillsError, match="ActionChunking predicts no positions"):
        policy.predicted_positions({0: observation(policy, 1)})
