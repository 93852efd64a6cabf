"""Prompts of frozen episodes in other wordings, and those of controls."""

from __future__ import annotations

from dataclasses import replace

from clevrskills.core.suite import WORDINGS, Preset
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.scene_sampling import make_prompt, scene_of
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.prompt import Prompt
from clevrskills.tasks import task as make_task

PRESETS = {
    "language_seen": Preset("Prompts in the wordings of training, in turn.", {"wording": "seen"}),
    "language_unseen": Preset(
        "Prompts in the wordings that are held out, with names that are, in turn.",
        {"wording": "held_out"},
    ),
    "empty_prompt": Preset("Control: prompts say nothing.", {"wording": "empty"}),
    "other_task_prompt": Preset(
        "Control: prompts ask for another task.", {"wording": "other_task"}
    ),
}
"""Named bundles of options that are about wordings."""


def prompt_variant(
    episode: EpisodeSpec, wording: str, number: int, look: str, tasks: tuple[str, ...]
) -> Prompt:
    """Return the prompt of an episode in another wording.

    Args:
        episode: The episode.
        wording: One of :data:`~clevrskills.core.suite.WORDINGS`.
        number: Which wording, or which other task, counted on beyond the last.
        look: How its images look.
        tasks: Keys of the tasks that the prompt of another task may be of.

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
            raise ClevrSkillsError(f"{episode.task} has no wordings that are held out")
        asked = make_prompt(made, scene, indices[number % len(indices)], episode.robot)
    return replace(asked, setting=replace(asked.setting, look=look))
