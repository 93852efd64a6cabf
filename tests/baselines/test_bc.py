"""The small policy of behaviour cloning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers import batch_of, overfit, policy_and_windows, rollout, spread

from clevrskills.baselines.registry import build, configuration


def test_it_overfits(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, steps=4, starts_every=4)
    before, after = overfit(policy, batch_of(policy, windows, spread(windows, 8)), 100)
    assert after <= 0.01 * before


def test_it_has_a_few_million_parameters(demos: Path) -> None:
    policy, _ = policy_and_windows("bc", demos)
    default = build("bc", configuration("bc", "default", {}), policy.spec)
    assert 1e6 < sum(p.numel() for p in default.parameters()) < 1e7


def test_its_steps_do_not_know_of_each_other(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos)
    policy.eval()
    batch = batch_of(policy, windows, [0, 3])
    seen = policy._normalized(batch.observations)
    with torch.no_grad():
        read = policy.scene.read(replace(batch.prompts, images=batch.prompts.images / 255))
        whole = policy._actions(seen, *read)
        cut = replace(
            seen,
            images={name: images[:, 2:4] for name, images in seen.images.items()},
            state=seen.state[:, 2:4],
            mask=seen.mask[:, 2:4],
        )
        part = policy._actions(cut, *read)
    assert (whole[:, 2:4] - part).abs().max() < 1e-5
    assert (whole[:, 2] - whole[:, 5]).abs().max() > 1e-4


def test_what_is_padded_does_not_count(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos)
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


def test_chunks_of_actions(demos: Path) -> None:
    policy, windows = policy_and_windows("bc", demos, horizon=3)
    assert policy(batch_of(policy, windows, [0]))["loss"].isfinite()
    assert rollout(policy, {0: 1}, 1)[0][0].shape == (3, 7)
