"""Prompts of frozen episodes in other wordings, and control prompts."""

from __future__ import annotations

from dataclasses import replace

from clevrskills.core.suite import WORDINGS, Preset
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.scene_sampling import make_prompt, scene_of
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.prompt import Prompt
from clevrskills.tasks import task as make_task

PRESETS = {
    "language_seen": Preset("Training wordings in turn.", {"wording": "seen"}),
    "language_unseen": Preset("Held-out wordings and names in turn.", {"wording": "held_out"}),
    "empty_prompt": Preset("Control: empty prompts.", {"wording": "empty"}),
    "other_task_prompt": Preset("Control: prompts of another task.", {"wording": "other_task"}),
}
"""Presets of wordings."""


def prompt_variant(
    episode: EpisodeSpec, wording: str, number: int, look: str, tasks: tuple[str, ...]
) -> Prompt:
    """Return the prompt of an episode in another wording.

    Args:
        episode: The episode.
        wording: One of :data:`~clevrskills.core.suite.WORDINGS`.
        number: Index of the wording or of the other task, modulo their number.
        look: Look of its images.
        tasks: Keys of the tasks for prompts of other tasks.

    Raises:
        ClevrSkillsError: There is no such wording.
    """
    if wording not in WORDINGS:
        raise UnknownNameError("wording", wording, WORDINGS)
    if wording == "other_task":
        others = [key for key in tasks if key != episode.task]
        key = others[(sorted(tasks).index(episode.task) + number) % len(others)]
        other = EpisodeSpec.draw(key, episode.split, episode.seed, robot=episode.robot)
        asked = replace(other.prompt, wording={**other.prompt.wording, "task": key})
    elif wording == "empty":
        asked = Prompt("", episode.prompt.bodies, setting=episode.prompt.setting)
    elif wording == "own":
        asked = episode.prompt
    else:
        made = make_task(episode.task, **episode.task_args)
        scene = scene_of(made, episode.layout, episode.robot)
        held_out = [each.held_out for each in made.wordings(episode.layout)]
        indices = [k for k, is_so in enumerate(held_out) if is_so == (wording == "held_out")]
        if not indices:
            raise ClevrSkillsError(f"{episode.task} has no held-out wordings")
        asked = make_prompt(made, scene, indices[number % len(indices)], episode.robot)
    return replace(asked, setting=replace(asked.setting, look=look))
