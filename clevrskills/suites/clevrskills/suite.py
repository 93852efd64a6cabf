"""ClevrSkills suite: environments, oracle, protocol and frozen episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clevrskills.core.env import Env, Episode, Prompt
from clevrskills.core.env_config import LOOKS
from clevrskills.core.interface import Interface
from clevrskills.core.report import NONE, Cell, Item, Number, Protocol
from clevrskills.core.suite import (
    DEFAULT_PRESET,
    IMAGES_ONLY,
    SINGLE_SKILL,
    EpisodeOracle,
    Preset,
    TaskInfo,
)
from clevrskills.suites.tabletop import TabletopSuite

if TYPE_CHECKING:
    from clevrskills.tasks import Task

EPISODES_DIR = Path(__file__).parent / "episodes"
"""Folder of the frozen episodes of this package."""
SPLITS = ("train", "test")
"""Main splits: seen and unseen objects and textures."""
FROZEN, FROZEN_OF_OTHERS = 100, 50
"""Number of frozen episodes of a task in each of :data:`SPLITS`, and in each other split."""
KEYSTEP_TASKS = (
    "match_pose",
    "move_without_hitting",
    "follow_order",
    "follow_order_restore",
    "rearrange",
    "rearrange_restore",
)
"""Tasks without text-only prompts, as images of key-steps define their goals (ClevrSkills paper,
section 5, Table 5)."""

_COMPOSED = ("L1", "L2")
PROTOCOL = Protocol(
    (Cell("test", "test", 50, step_s=0.0147),),
    (
        Number("L0", ("L0",)),
        Number("L1+L2 zero-shot", _COMPOSED, trained_on=(NONE, "L0")),
        Number("L1+L2 trained", _COMPOSED, trained_on=("L0+L1", "all")),
    ),
    ("L0", "L0+L1", "all"),
)
"""Protocol with separate numbers for skills and for compositions; there is no overall mean."""
_PICK_AND_PLACE = (
    *("on_top", "inside", "inside_after", "at_position", "at_pose", "at_pose_on_top"),
    *("same_stack", "balanced"),
)
SINGLE_SKILL_TASKS = {
    **dict.fromkeys(_PICK_AND_PLACE, "simple_manipulation"),
    "picked": "pick",
    "set_down": "place",
    "rotated": "rotate",
    "pushed_towards": "push",
    "at_position_pushed": "push",
    "touched": "touch",
    "touched_pushed": "touch_push",
    "touched_toppled": "touch_topple",
    "toppled_structure": "touch_topple",
    "hit": "throw",
    "hit_toppled": "throw_topple",
    "traced": "trace",
    "end_effector_at_pose": "match_pose",
}
"""Task whose first leaf needs the same skill, by leaf type. No L0 task both picks and places, so
pick-and-place has the L1 task with a single leaf."""


@dataclass(frozen=True)
class ClevrSkillsSuite(TabletopSuite):
    """Tasks of this package and their frozen episodes.

    Attributes:
        folder: Folder of the frozen episodes; ``None``: those of this package.
    """

    name = "clevrskills"
    title = "re-implementation of ClevrSkills"

    def task_types(self) -> Mapping[str, type[Task]]:
        from clevrskills.tasks import tasks

        return tasks()

    def task_info(self, task: type[Task]) -> TaskInfo:
        """Return the description of a task; tasks of other distributions have the name of their
        package as the level, so that each level always has the same tasks.
        """
        from clevrskills.core.registry import is_own
        from clevrskills.envs.scene_text import STATE_VIEW
        from clevrskills.suites.clevrskills.words.interface import SKILLS

        info = super().task_info(task)
        leaves = [leaf for leaf, key in SINGLE_SKILL_TASKS.items() if key == task.key]
        tags = [f"{SINGLE_SKILL}:{leaf}" for leaf in leaves]
        return replace(
            info,
            level=task.level if is_own(task) else task.__module__.partition(".")[0],
            splits={name: FROZEN if name in SPLITS else FROZEN_OF_OTHERS for name in info.splits},
            interfaces={**info.interfaces, SKILLS.name: SKILLS},
            views={**info.views, STATE_VIEW: "text"},
            tags=(*tags, *((IMAGES_ONLY,) if task.key in KEYSTEP_TASKS else ())),
        )

    def criteria(self) -> Sequence[str]:
        from clevrskills.predicates.criteria import CRITERIA

        return tuple(CRITERIA)

    def policies(self) -> Mapping[str, str]:
        place = "clevrskills.suites.clevrskills"
        return {
            "random": f"{place}.words.agents:RandomWords",
            "random_words": f"{place}.words.agents:RandomWords",
            "skill_plan": f"{place}.words.agents:SkillPlan",
        }

    def presets(self) -> Mapping[str, Preset]:
        from clevrskills.suites.clevrskills.prompt_wordings import PRESETS
        from clevrskills.suites.clevrskills.words.interface import PRESETS as IN_WORDS

        usual = Preset("Twenty episodes per task and split.", {"episodes": 20, "split": SPLITS})
        return {DEFAULT_PRESET: usual, **PRESETS, **IN_WORDS}

    def report(self) -> Sequence[Item]:
        return (PROTOCOL,)

    def prompt_variant(
        self, episode: Episode, wording: str, number: int, look: str = LOOKS[0]
    ) -> Prompt:
        from clevrskills.envs.episode import EpisodeSpec
        from clevrskills.suites.clevrskills.prompt_wordings import prompt_variant

        assert isinstance(episode, EpisodeSpec)
        tasks = tuple(key for key in self.tasks if key not in KEYSTEP_TASKS)
        return prompt_variant(episode, wording, number, look, tasks)

    def frozen_folder(self, task: str) -> Path:
        from clevrskills.core.registry import episodes_of, is_own
        from clevrskills.tasks import tasks

        kind = tasks().get(task)
        return self.folder or (EPISODES_DIR if kind is None or is_own(kind) else episodes_of(kind))

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        from clevrskills.envs.environment import ClevrSkillsEnv
        from clevrskills.suites.clevrskills.words.agents import Commander
        from clevrskills.suites.clevrskills.words.interface import SKILLS

        assert isinstance(env, ClevrSkillsEnv)
        in_words = interface is not None and interface.name == SKILLS.name
        return Commander(env) if in_words else super().oracle(env)
