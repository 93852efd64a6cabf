"""Selection of the parts of episodes that a run has."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from clevrskills.core.env import Composable
from clevrskills.core.suite import Suite, single_skill_task
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.handover.parts import OWN, PLAN, PROMPT, WHOLE, leaf_part

Mode = Literal["prefix", "plan", "all"]
"""Parts to run: single leaves in context and in isolation; all leaves with an oracle planner; both,
and the whole task with twice the limit.
"""


def in_parts(suite: Suite, refs: Sequence[EpisodeRef], mode: Mode) -> list[EpisodeRef]:
    """Return the parts of episodes, and the episodes with single leaves of the same kinds.

    Args:
        suite: Suite of the episodes.
        refs: Frozen episodes.
        mode: Parts to run.

    Raises:
        ClevrSkillsError: The suite has no tasks of single subgoals.
    """
    found: dict[str, EpisodeRef] = {}
    alone: dict[str, EpisodeRef] = {}
    for ref in refs:
        episode = suite.frozen(ref.task, ref.split)[ref.index]
        leaves = episode.subgoals() if isinstance(episode, Composable) else ()
        single_skills = _single_skills(suite, leaves)
        if not single_skills:
            raise ClevrSkillsError(f"suite {suite.name} has no handover")
        for name in _names(len(leaves), mode):
            part = replace(ref, part=name)
            found[part.id] = part
        for task in single_skills if mode != PLAN else ():
            if ref.split in suite.tasks[task].splits:
                part = replace(ref, task=task, part=leaf_part(0, OWN))
                alone[part.id] = part
    every = {**found, **alone}
    order = {
        key: k for k, key in enumerate(dict.fromkeys((r.task, r.split) for r in every.values()))
    }
    return sorted(every.values(), key=lambda ref: order[ref.task, ref.split])


def _single_skills(suite: Suite, leaves: Sequence[str]) -> list[str]:
    """Return the tasks with a single one of these kinds of leaves."""
    found = dict.fromkeys(single_skill_task(suite, leaf) for leaf in leaves)
    return [task for task in found if task]


def _names(leaves: int, mode: Mode) -> Iterator[str]:
    if mode != PLAN:
        for leaf in range(leaves):
            yield from (leaf_part(leaf, sentence) for sentence in (OWN, PROMPT))
    if mode != "prefix":
        yield PLAN
    if mode == "all":
        yield WHOLE
