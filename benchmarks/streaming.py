"""What a control step costs early and late in an episode, for policies that carry a memory, and
where several episodes are worked on at once.

    python benchmarks/streaming.py

CPU time of one thread. Two episodes are brought to the two ages; then their steps alternate, so
that both are measured under the same conditions. Weights are random, images and prompt are noise:
neither changes what a step costs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from common import print_table

from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import build, configuration
from clevrskills.baselines.spec import PolicySpec
from clevrskills.core.policy import ObservationOptions, PromptInput

STATE = {"qpos": 6, "ee_pose": 7, "vacuum_on": 1, "holding": 1}
"""What is measured of the robot xArm6, and how many numbers it is."""


def make(name: str, variant: str, changes: Mapping[str, int]) -> LearnedPolicy:
    """A policy of random weights."""
    config = configuration(name, variant, changes)
    shown = ObservationOptions(cameras=config.cameras, size_px=config.image_size)
    statistics = {
        name: {"mean": [0.0] * size, "std": [1.0] * size}
        for name, size in (("action", 7), ("state", sum(STATE.values())))
    }
    return build(name, config, PolicySpec(shown, STATE, statistics)).eval()


def prompt(size_px: int) -> PromptInput:
    """A prompt of usual length, with two images."""
    images = {
        f"{{obj:object_{k}}}": np.random.default_rng(k).integers(
            0, 256, (size_px, size_px, 3), dtype=np.uint8
        )
        for k in range(2)
    }
    return PromptInput("Put {obj:object_0} on top of {obj:object_1}, then move away.", images)


def observations(policy: LearnedPolicy) -> Iterator[dict[str, Any]]:
    """What an episode shows."""
    rng, size_px = np.random.default_rng(0), policy.config.image_size
    step = 0
    while True:
        images = {
            camera: rng.integers(0, 256, (size_px, size_px, 3), dtype=np.uint8)
            for camera in policy.config.cameras
        }
        state = {part: np.zeros(size, np.float32) for part, size in STATE.items()}
        yield {"images": images, "proprioception": state, "prompt": "", "step": step}
        step += 1


def step_costs_ms(policy: LearnedPolicy, ages: tuple[int, int], repeats: int) -> list[float]:
    """Median cost of the steps around these ages."""
    shown = [observations(policy) for _ in ages]
    policy.reset({slot: prompt(policy.config.image_size) for slot in range(len(ages))})
    for slot, age in enumerate(ages):
        for _ in range(age - repeats // 2):
            policy.act({slot: next(shown[slot])})
    spent_ms: list[list[float]] = [[] for _ in ages]
    for _ in range(repeats):
        for slot, episode in enumerate(shown):
            seen = next(episode)
            begin = time.process_time()
            policy.act({slot: seen})
            spent_ms[slot].append(1e3 * (time.process_time() - begin))
    return [float(np.median(costs)) for costs in spent_ms]


def cost_at_once_ms(policy: LearnedPolicy, episodes: int, repeats: int) -> float:
    """Median cost of a step of one of several episodes that are worked on together."""
    policy.together = True
    shown = observations(policy)
    policy.reset({slot: prompt(policy.config.image_size) for slot in range(episodes)})
    spent_ms: list[float] = []
    for seen, _ in zip(shown, range(2 * repeats), strict=False):
        begin = time.process_time()
        policy.act(dict.fromkeys(range(episodes), seen))
        spent_ms.append(1e3 * (time.process_time() - begin) / episodes)
    return float(np.median(spent_ms[repeats:]))


def main(
    policies: Annotated[tuple[str, ...], tyro.conf.Positional] = (
        "stream_robolm:tiny",
        "stream_robolm:small",
        "robo_flamingo:tiny",
    ),
    ages: tuple[int, int] = (100, 900),
    repeats: int = 40,
    window: int | None = None,
    episodes: int = 8,
) -> None:
    """Measure.

    Args:
        policies: Names and configurations.
        ages: Two ages of an episode, in control steps.
        repeats: How many steps around each are measured.
        window: How many control steps a policy that has this setting can look back.
        episodes: How many are worked on at once.
    """
    torch.set_num_threads(1)
    rows: list[list[object]] = []
    changes = {} if window is None else {"window": window}
    for which in policies:
        name, variant = which.split(":")
        policy = make(name, variant, changes)
        count = sum(p.numel() for p in policy.parameters()) / 1e6
        early_ms, late_ms = step_costs_ms(policy, ages, repeats)
        at_once_ms = cost_at_once_ms(policy, episodes, repeats)
        ratios = late_ms / early_ms, at_once_ms / early_ms
        rows.append([which, count, early_ms, late_ms, at_once_ms, *ratios])
    columns = [
        "policy",
        "million weights",
        *(f"step {age}, CPU ms" for age in ages),
        f"of {episodes} episodes at once",
        "late / early",
        "at once / early",
    ]
    print_table("cost of a control step", columns, rows)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
