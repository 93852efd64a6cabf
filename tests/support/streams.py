"""Whole episodes as the streaming policies get them, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from learned_policies import observation, prompt

from clevrskills.baselines.batch import Observations, Prompts
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.prompts import encode, stack


def stories(
    policy: LearnedPolicy, steps: int, seeds: Sequence[int]
) -> tuple[Observations, Prompts]:
    """Observations (B, T, ...) and prompts, of different lengths, of some episodes."""
    size_px = policy.config.image_size
    encoded = [encode(prompt(seed, words=2 * seed), policy.tokenizer, size_px) for seed in seeds]
    prompts = stack(encoded, policy.tokenizer.pad)
    episodes = [
        side_by_side(
            [policy._observations([observation(policy, seed, step)], [0]) for step in range(steps)],
            1,
        )
        for seed in seeds
    ]
    return side_by_side(episodes, 0), replace(prompts, images=prompts.images / 255)


def side_by_side(parts: Sequence[Observations], dim: int) -> Observations:
    """Observations, joined along the episodes (0) or the control steps (1)."""
    return Observations(
        {n: torch.cat([p.images[n] for p in parts], dim) for n in parts[0].images},
        torch.cat([p.state for p in parts], dim),
        torch.cat([p.mask for p in parts], dim),
    )


def part(observations: Observations, rows: slice, steps: slice) -> Observations:
    """Some control steps of some episodes."""
    return Observations(
        {name: images[rows, steps] for name, images in observations.images.items()},
        observations.state[rows, steps],
        observations.mask[rows, steps],
    )


def moment(observations: Observations, step: int, rows: slice = slice(None)) -> Observations:
    """One control step of some episodes."""
    return part(observations, rows, slice(step, step + 1))
