"""The LoHoRavens suite: its tasks, environments, interfaces and solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clevrskills.core.env import Env
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import Interface
from clevrskills.core.policy import Prompter
from clevrskills.core.report import Cell, Item, Number, Pivot, Protocol
from clevrskills.core.suite import DEFAULT_PRESET, EpisodeOracle, Preset, TaskInfo, find_interface
from clevrskills.suites.lohoravens.published import HARD_TASKS, PUBLISHED, WORKSHOP_TASKS
from clevrskills.suites.tabletop import TabletopSuite

if TYPE_CHECKING:
    from clevrskills.envs.environment import ClevrSkillsEnv
    from clevrskills.envs.episode import EpisodeSpec
    from clevrskills.suites.lohoravens.tasks.base import RavensTask
    from clevrskills.tasks import Task

FROZEN, FROZEN_VAL = 100, 50
"""Number of frozen episodes of a task in ``train`` and ``test``, and in ``val``."""
_IN_WORDS = {"interface": "pick_place_text"}
_FEEDBACK: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "explicit": (
        "in words, with a caption of the scene and success of the last instruction",
        {**_IN_WORDS, "view": ("caption_change",), "feedback": "simple"},
    ),
    "implicit": (
        "in words, with an image from above after each turn, without other feedback",
        {**_IN_WORDS, "view": ("top",), "feedback": "none"},
    ),
}
PROTOCOL = Protocol(
    (
        Cell("clean", "test", 20, step_s=0.17),
        Cell("p40", "test", 20, {"noise": "p40"}, step_s=0.18),
    ),
    (
        Number("primitive", ("primitive",)),
        Number("seen", ("seen",)),
        Number("unseen", ("unseen", "workshop")),
        Number("partial, seen", ("seen",), "partial"),
        Number("partial, unseen", ("unseen", "workshop"), "partial"),
    ),
    ("primitive", "primitive+seen", "all"),
)
"""Success and, as in the papers, partial scores."""
_CONDITIONS = {
    "clean": "without noise",
    "p40": "noise of images, heights and actions, as with the forty tasks",
    "p10": "the same, and what is held may be lost, as in the workshop paper",
}


@dataclass(frozen=True)
class LoHoRavensSuite(TabletopSuite):
    """Long-horizon rearrangements of blocks, bowls and zones from one sentence.

    Attributes:
        folder: Folder of the frozen episodes; ``None`` for those of the package.
    """

    name = "lohoravens"
    title = "re-implementation of LoHoRavens"

    def task_types(self) -> Mapping[str, type[RavensTask]]:
        from clevrskills.suites.lohoravens.tasks import tasks

        return tasks()

    def task_info(self, task: type[Task]) -> TaskInfo:
        from clevrskills.suites.lohoravens.env import VIEWS
        from clevrskills.suites.lohoravens.interfaces.numbers import PICK_PLACE, PICK_PLACE_PIXELS
        from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
        from clevrskills.suites.lohoravens.tasks.base import RavensTask

        assert issubclass(task, RavensTask)
        info = super().task_info(task)
        own: list[Interface] = [PICK_PLACE, PICK_PLACE_PIXELS]
        if task.family != "steps":  # their sentences are instructions already
            own.append(PICK_PLACE_TEXT)
        groups = ("workshop", WORKSHOP_TASKS), ("hard10", HARD_TASKS)
        tags = [group for group, keys in groups if task.key in keys]
        return replace(
            info,
            splits={split: FROZEN_VAL if split == "val" else FROZEN for split in info.splits},
            interfaces={**{interface.name: interface for interface in own}, **info.interfaces},
            limit="3 turns" if task.level == "primitive" else "2 n_min + 4 turns",
            views={**info.views, **VIEWS},
            tags=(*tags, *((task.family,) if task.family != task.level else ())),
            details={**info.details, "n_min": list(task.moves)},
        )

    def env_type(self) -> type[ClevrSkillsEnv]:
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        return LoHoRavensEnv

    def episode_type(self) -> type[EpisodeSpec]:
        from clevrskills.suites.lohoravens.episode import RavensEpisode

        return RavensEpisode

    def policies(self) -> Mapping[str, str]:
        module = "clevrskills.suites.lohoravens.agents"
        return {
            "random": f"{module}:RandomActions",
            "greedy_text": f"{module}:GreedyText",
            "blind_words": "clevrskills.suites.lohoravens.prompts.blind:BlindWords",
            "par": "clevrskills.agents.par:PAR",
        }

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> Prompter | None:
        from clevrskills.suites.lohoravens.interfaces.words import PICK_PLACE_TEXT
        from clevrskills.suites.lohoravens.prompts.prompter import FieldPrompter

        return FieldPrompter(options) if interface.name == PICK_PLACE_TEXT.name else None

    def presets(self) -> Mapping[str, Preset]:
        """Return the presets: noise, feedback of planners, both, such as ``p10_explicit``, and sets
        of wordings.
        """
        usual = {"split": ("train", "test"), "feedback": "none"}
        known = {
            DEFAULT_PRESET: Preset("both splits, without feedback on turns", usual),
            "language_seen": Preset("sentences of training, in turn", {"wording": "seen"}),
            "language_unseen": Preset("sentences that are held out", {"wording": "held_out"}),
        }
        for noise, text in _CONDITIONS.items():
            options = {"noise": noise}
            known[noise] = Preset(text, options)
            for name, (sentence, shown) in _FEEDBACK.items():
                key = name if noise == "clean" else f"{noise}_{name}"
                known[key] = Preset(f"{sentence}; {text}", {**options, **shown})
        return known

    def check(self, config: EnvConfig) -> None:
        from clevrskills.suites.lohoravens.noise import read_noise

        super().check(replace(config, noise=""))
        if config.noise:
            read_noise(config.noise)

    def env_options(self, config: EnvConfig) -> Mapping[str, Any]:
        from clevrskills.suites.lohoravens.noise import read_noise

        return {"noise": read_noise(config.noise)} if config.noise else {}

    def report(self) -> Sequence[Item]:
        from clevrskills.suites.lohoravens.measures import MEASURES

        pivots = Pivot("family", "moves"), Pivot("capability_count", "moves")
        return (*MEASURES, *pivots, PROTOCOL, *PUBLISHED)

    def oracle(self, env: Env, interface: Interface | None = None) -> EpisodeOracle:
        from clevrskills.sim.robots.delta_action import DELTA
        from clevrskills.suites.lohoravens.agents import MoveOracle, StepOracle
        from clevrskills.suites.lohoravens.env import LoHoRavensEnv

        assert isinstance(env, LoHoRavensEnv)
        interface = interface or find_interface(self)
        return (StepOracle if interface.name == DELTA.name else MoveOracle)(env, interface)
