"""Axes of robustness: perturbations of frozen episodes with five levels each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.perturbations import physical, semantic, visual
from clevrskills.envs.perturbations.axis import LEVELS, Draft, PerturbationError, TabletopAxis
from clevrskills.envs.scene_sampling import make_prompt, scene_of
from clevrskills.errors import UnknownNameError
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.prompt import Prompt
from clevrskills.tasks import task as make_task

AXES: Mapping[str, TabletopAxis] = {
    axis.name: axis
    for axis in (
        physical.EMBODIMENT,
        semantic.TEXTURE,
        physical.LAYOUT,
        physical.CLUTTER,
        semantic.LANGUAGE,
        physical.ROBOT_START,
        visual.CAMERA,
        visual.LIGHT,
        visual.BACKGROUND,
        visual.NOISE,
        physical.DISTURBANCE,
    )
}
"""All axes by name, in order of application."""


def perturb(episode: EpisodeSpec, levels: Mapping[str, int]) -> EpisodeSpec:
    """Return an episode perturbed along some axes; level 0 changes nothing.

    Random numbers depend only on seed, task and axis, so the levels of an axis differ only in the
    size of the change.

    Args:
        episode: A clean episode.
        levels: Level of each axis.

    Raises:
        UnknownNameError: An axis is unknown.
        ClevrSkillsError: A level does not exist.
        PerturbationError: The episode does not support a perturbation.
    """
    for name in levels:
        if name not in AXES:
            raise UnknownNameError("axis", name, tuple(AXES))
    axes = {name: levels[name] for name in AXES if levels.get(name)}
    ranges = {name: AXES[name].range_of(level) for name, level in axes.items()}
    if not axes:
        return episode
    task = make_task(episode.task, **episode.task_args).in_split(episode.split)
    draft = Draft(episode, task, episode.layout, episode.robot)
    for name, most in ranges.items():
        entropy = (episode.seed, *(crc32(word.encode()) for word in (episode.task, "axis", name)))
        generator = np.random.default_rng(np.random.SeedSequence(entropy))
        AXES[name].draw(draft, most, generator)
    conditions = Conditions(axes, episode.content_hash, **draft.conditions)
    return replace(
        episode,
        layout=draft.layout,
        prompt=_prompt(draft),
        robot=draft.robot,
        conditions=conditions,
    )


def _prompt(draft: Draft) -> Prompt:
    """Return the prompt of a perturbed episode."""
    clean = draft.clean
    same = draft.layout is clean.layout and draft.robot == clean.robot
    if same and draft.wording is None:
        return clean.prompt
    number = draft.wording
    if number is None:
        number = int(clean.prompt.wording.get("index", 0))
    prompt = make_prompt(
        draft.task, scene_of(draft.task, draft.layout, draft.robot), number, draft.robot
    )
    if draft.misspell is None:
        return prompt
    written: dict[str, Any] = {**prompt.wording, "misspelt": True}
    return replace(prompt, text=draft.misspell(prompt.text), wording=written)
