"""AsgardBench suite: instances, commands, views, presets, measures, published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from clevrskills import env_id
from clevrskills.core.env import Episode
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.episode import FROZEN
from clevrskills.core.interface import Interface, TextInterface
from clevrskills.core.report import Cell, Item, Measure, Number, Pivot, Protocol
from clevrskills.core.suite import DEFAULT_PRESET, WORDINGS, Preset, TaskInfo
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.suites.asgardbench.drawing.views import VIEWS
from clevrskills.suites.asgardbench.env import HouseEnv, house_of, prompt_of
from clevrskills.suites.asgardbench.oracle import MISTAKES, HouseOracle
from clevrskills.suites.asgardbench.predicates import met_now
from clevrskills.suites.asgardbench.prompts.prompter import HousePrompter
from clevrskills.suites.asgardbench.published import PUBLISHED
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import VERBS, canonical
from clevrskills.suites.asgardbench.tasks.goals import READINGS, goal_of, leaf_names
from clevrskills.suites.asgardbench.tasks.instances import (
    FAMILIES,
    TABLE,
    Variant,
    banks,
    draw_variant,
    wordings,
)
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.search import shortest
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import StuckError, reaches, shorten, solved
from clevrskills.suites.asgardbench.tasks.termination import FAILURES, MORE, REPEATS
from clevrskills.suites.symbolic import SymbolicEpisode, SymbolicSuite, TextPrompt

SPLITS = ("train", "val", "test", "sanity")
LENGTHS = (15, 30, 50)
"""Upper bounds of the classes of plan lengths in tables."""
SEARCHED = (
    *("turn_on_tv", "clean_mirror", "distribute"),
    *("put_away_food", "put_away_dishes", "put_away_silverware"),
)
"""Families for which a shortest plan is searched."""
_LONGEST = 18
"""Maximum length of a plan for which a shorter one is searched."""
_TRIES = 50
_TEXT_ONLY: Mapping[str, Any] = {"images": False, "previous": "none", "hand": False}
_IMAGES: Mapping[str, Any] = {"view": ("first_person",), "feedback": "simple"}
_NO_CAMERAS: Mapping[str, Any] = {"cameras": ()}
PRESETS: Mapping[str, Preset] = {
    DEFAULT_PRESET: Preset("the instances of the paper", {"split": ("test",)}),
    "baseline": Preset("images before and after the last action, memory, plan", _IMAGES),
    "detailed": Preset("with detailed feedback", {**_IMAGES, "feedback": "detailed"}),
    "no_feedback": Preset("without feedback", {**_IMAGES, "feedback": "none"}),
    "no_hand": Preset(
        "without the hand", {**_IMAGES, "view": ("first_person-no_hand",)}, {"hand": False}
    ),
    "no_memory": Preset("without memory", _IMAGES, {"memory": False}),
    "no_previous": Preset("with the current image only", _IMAGES, {"previous": "none"}),
    "low_contrast": Preset("with low contrast", {**_IMAGES, "view": ("first_person-low",)}),
    "single_action": Preset("without a plan", _IMAGES, {"plan": False}),
    "text_simple": Preset("no images", {**_NO_CAMERAS, "feedback": "simple"}, _TEXT_ONLY),
    "text_hints": Preset(
        "no images, with hints on acting without them",
        {**_NO_CAMERAS, "feedback": "simple"},
        {**_TEXT_ONLY, "hints": True},
    ),
    "text_detailed": Preset(
        "no images, detailed feedback", {**_NO_CAMERAS, "feedback": "detailed"}, _TEXT_ONLY
    ),
    "text_none": Preset("no images, no feedback", {**_NO_CAMERAS, "feedback": "none"}, _TEXT_ONLY),
    "state_text": Preset(
        "ground-truth text, detailed feedback",
        {"view": ("text_state",), "feedback": "detailed"},
        _TEXT_ONLY,
    ),
}
"""Presets of run options."""
REPORT: Sequence[Item] = (
    Measure("careful", "careful", "share"),
    Measure("needless", "needless repairs", digits=2),
    Measure("partial", "partial %"),
    Measure("partial_released", "partial, released %"),
    Measure("step_ratio", "turns / n", digits=2, episodes="solved"),
    Measure("extended", "extended", "share"),
    Measure("hit_hard_limit", "hard limit", "share"),
    Measure("refused_share", "refused %"),
    Measure("invalid_action", "invalid action %"),
    Measure("invalid_object", "invalid object %"),
    Measure("undoable", "undoable %"),
    Measure("unparsable", "unparsable %"),
    Measure("plan_first", "does its plan's first %"),
    Pivot("family", "variation"),
    Pivot("length", "sink_clutter"),
    Protocol(
        (Cell("baseline", "test", options={"preset": "baseline"}, step_s=0.22),),
        (Number("solved"), Number("careful", measure="careful")),
        ("train",),
        pool="episodes",
    ),
    *PUBLISHED,
)
"""Content of report tables; the headline pools all instances, as in the paper."""
CODES = {
    "DONE": ("", ""),
    "UNPARSABLE": ("No action could be read.", "unparsable"),
    "UNKNOWN_VERB": ("There is no verb {verb}.", "invalid action"),
    "UNKNOWN_OBJECT": ("There is no {object} here.", "invalid object"),
    "NO_SUCH_OBJECT": ("There is no {object} now.", "invalid object"),
    **{
        code: (text, f"undoable: {cause}")
        for cause, texts in {
            "holding state": {
                "HAND_FULL": "You can't pick up the {object}: you hold the {held}.",
                "NOT_HELD": "You hold nothing.",
                "NEEDS_KNIFE": "You need a knife in hand.",
                "NEEDS_CLOTH": "You need the Cloth in hand.",
                "NEEDS_SPONGE": "You need the DishSponge in hand.",
                "NEEDS_REMOTE": "You need the RemoteControl in hand.",
                "NEEDS_SPRAYER": "You need the SprayBottle in hand.",
            },
            "visibility": {
                "NOT_VISIBLE": "You don't see the {object}.",
                "INSIDE_CLOSED": "The {object} is in something closed.",
            },
            "incompatible": {
                "NOT_PICKUPABLE": "The {object} can't be picked up.",
                "INCOMPATIBLE": "The {held} doesn't go there: {object}.",
                "NOT_OPENABLE": "The {object} can't be opened or closed.",
                "NOT_SLICEABLE": "The {object} can't be sliced.",
                "NOT_TOGGLEABLE": "The {object} can't be switched.",
                "WRONG_CONTENT": "What is in the {object} is no mug.",
            },
            "state already so": {
                "SERVES_GOAL": "The {object} is where it should be already.",
                "ALREADY_SLICED": "The {object} is sliced already.",
                "ALREADY_OPEN": "The {object} is open already.",
                "ALREADY_CLOSED": "The {object} is closed already.",
                "ALREADY_ON": "The {object} is on already.",
                "ALREADY_OFF": "The {object} is off already.",
            },
            "state of the target": {
                "TARGET_DIRTY": "The {object} is dirty.",
                "CLOSED": "The {object} is closed.",
                "NO_SPACE": "The {object} has no room left.",
                "DEVICE_ON": "The {object} is running.",
                "NOT_ON_TOP": "The {object} must lie on a counter or table.",
                "NOT_SPRAYED": "The {object} must be sprayed first.",
                "FAUCET_OFF": "The Faucet is off.",
                "NOT_IN_SINK": "The {object} is not in the sink.",
                "MACHINE_EMPTY": "There is no mug in the {object}.",
                "MUG_FULL": "The mug is full.",
                "MUG_DIRTY": "The mug is dirty.",
                "SINK_BLOCKED": "Something in the sink must not get wet.",
                "DOOR_OPEN": "The door of the {object} is open.",
                "NOT_FILLED": "There is nothing in the {object} to drink or pour out.",
            },
        }.items()
        for code, text in texts.items()
    },
}
TEXT = TextInterface(
    "text",
    {
        "grammar": "<VERB> <Object>",
        "verbs": list(VERBS),
        "examples": ["FIND Mug", "PICKUP Mug", "FIND CoffeeMachine", "PUT CoffeeMachine"],
    },
    "one verb with the type of one object: FIND looks at it, OPEN and CLOSE are for what has a "
    "door or is a drawer, PICKUP and PUT are for the hand, the others for what they name",
    codes=CODES,
    grammar=canonical,
)
_STARTS = ("cook", "put_away")
"""Prefixes of families, which are also tags."""


def _info(task: str) -> TaskInfo:
    """Return the description of a family."""
    room, sanity = FAMILIES[task].room, FAMILIES[task].sanity
    splits = {"train": 50, "val": 50, "test": len(TABLE[task]), "sanity": sanity}
    asked = banks()[task].paper.rstrip(".").format(objects="named objects", food="food")
    composed = {"set", *(("keeping",) if room == "kitchen" else ())}
    return TaskInfo(
        "household",
        asked,
        splits={split: count for split, count in splits.items() if count},
        interfaces={TEXT.name: TEXT},
        limit=f"{REPEATS} repeats of the same turns, {FAILURES} refused turns in a row, or "
        f"max(int(1.5 n), 15) turns, {MORE} more at a time while something new is done, at most "
        "max(2 n, 20); n: turns of the known solution",
        views={"text_state": "text", **dict.fromkeys(VIEWS, "image")},
        tags=(room, *(start for start in _STARTS if task.startswith(start))),
        details={
            "id": env_id(task, "AsgardBench"),
            "predicates": sorted({*composed, *leaf_names(task, TABLE[task][0])}),
            "max_steps": 0,
            "wordings": banks()[task].count(),
        },
    )


class AsgardBenchSuite(SymbolicSuite):
    """Household tasks whose plan must be repaired from observations; for its arguments see
    :class:`~clevrskills.suites.symbolic.SymbolicSuite`.
    """

    name, title = "asgardbench", "re-implementation of AsgardBench"
    env = HouseEnv
    tasks: ClassVar[Mapping[str, TaskInfo]] = {task: _info(task) for task in TABLE}

    def criteria(self) -> Sequence[str]:
        return READINGS

    def policies(self) -> Mapping[str, str]:
        module = "clevrskills.suites.asgardbench.agents"
        return {
            "random": f"{module}:RandomVerbs",
            "random_valid": f"{module}:RandomValid",
            "blind": f"{module}:Blind",
            "open_loop": f"{module}:OpenLoop",
            "cautious": f"{module}:Cautious",
            "probing": f"{module}:Probing",
        }

    def presets(self) -> Mapping[str, Preset]:
        return PRESETS

    def prompter(self, interface: Interface, options: Mapping[str, Any]) -> HousePrompter:
        return HousePrompter(options)

    def report(self) -> Sequence[Item]:
        return REPORT

    def oracle(self, env: Any, interface: Interface | None = None) -> Any:
        return HouseOracle(env)

    def check(self, config: EnvConfig) -> None:
        super().check(replace(config, task_args={}))
        for name, value in config.task_args.items():
            if name != MISTAKES:
                raise UnknownNameError(f"argument of {config.task}", name, (MISTAKES,))
            if not isinstance(value, int | float) or not 0 <= value <= 0.5:
                raise ClevrSkillsError(f"{config.task}.{MISTAKES}={value}; allowed: 0 to 0.5")

    def prompt_variant(
        self, episode: Episode, wording: str, number: int, look: str = LOOKS[0]
    ) -> TextPrompt:
        del look
        assert isinstance(episode, SymbolicEpisode)
        if wording not in WORDINGS:
            raise UnknownNameError("wording", wording, WORDINGS)
        variant = Variant.from_json(episode.start["variant"])
        items = [PlacedObject(**item) for item in episode.start["things"]]
        house = house_of(episode.task, variant, items)
        if wording == "own":
            return prompt_of(episode, house)
        if wording == "empty":
            return prompt_of(episode, house, {"text": "", "index": -1})
        if wording == "other_task":
            others = [task for task in TABLE if task != episode.task]
            task = others[number % len(others)]
            asked = wordings(task, TABLE[task][number % len(TABLE[task])])[0]
            return prompt_of(episode, house, {"text": asked.text, "task": task})
        wordings_of = [
            {"text": each.text, "index": k, "style": each.style, "held_out": each.held_out}
            for k, each in enumerate(wordings(episode.task, variant))
            if each.held_out == (wording == "held_out")
        ]
        return prompt_of(episode, house, wordings_of[number % len(wordings_of)])

    def draw_episode(self, task: str, split: str, seed: int, index: int) -> SymbolicEpisode:
        """Draw the episode of a seed: instances of the table in order for ``test``, variants in
        other rooms for ``train`` and ``val``. Layouts are redrawn until the solver reaches the goal
        in all readings.
        """
        source = "test" if split == "sanity" else split  # same instances
        rng = np.random.default_rng((seed, crc32(task.encode()), crc32(source.encode())))
        table = TABLE[task]
        for _ in range(_TRIES):
            listed = table[(seed - FROZEN.start) % len(table)]
            variant = listed if source == "test" else draw_variant(task, rng)
            found = self._episode(task, split, seed, index, variant, rng)
            if found is not None:
                return found
        raise ClevrSkillsError(f"{task}, {split}: the solver failed in all of {_TRIES} layouts")

    def _episode(
        self,
        task: str,
        split: str,
        seed: int,
        index: int,
        variant: Variant,
        rng: np.random.Generator,
    ) -> SymbolicEpisode | None:
        """Draw an episode of a variant; ``None``: the solver does not reach the goal."""
        items = set_up(task, variant, rng)
        house = house_of(task, variant, items)
        if not house.all_seen():
            return None
        try:
            plan, end, improvised = solved(task, variant, house)
        except StuckError:
            return None
        frozen = seed >= FROZEN.start
        if frozen and improvised:
            return None
        goals = {reading: goal_of(task, variant, reading, house) for reading in READINGS}
        if not all(met_now(goal, end) for goal in goals.values()):
            return None
        if not reaches(plan, house_of(task, variant, items, "released"), goals["released"]):
            return None
        n = len(plan)
        start: dict[str, Any] = {
            "variant": asdict(variant),
            "things": [asdict(item) for item in items],
            "n": n,
        }
        if frozen:
            shorter = shorten(plan, house, goals["paper"])
            start["n_short"] = len(shorter)
            few = task in SEARCHED and len(shorter) <= _LONGEST
            if few and split in ("test", "sanity"):
                best = shortest(shorter, house, goals["paper"])
                start |= {"n_opt": best} if best else {}
        clutter = sum(item.parent == "SinkBasin_1" for item in items)
        tags: dict[str, str | int] = {"family": task, "room": room(variant.label).kind}
        tags |= {"variation": variant.name, "layout": variant.label, "n": n, "length": length(n)}
        tags |= {"dirty": "yes" if variant.dirty else "no", "sink_clutter": clutter}
        limit = max(2 * n, 20) + 1  # the turn after the hard limit ends the episode
        options = wordings(task, variant)
        if split in ("train", "val"):  # any wording that is not held out
            of = np.random.default_rng((seed, crc32(b"wording"), crc32(task.encode())))
            start["wording"] = int(of.integers(sum(not each.held_out for each in options)))
        text = options[start.get("wording", 0)].text
        return SymbolicEpisode(task, split, index, seed, text, start, limit, tags)


def length(n: int) -> str:
    """Return the class of a plan length, such as ``16-30``."""
    for low, high in zip((1, *(most + 1 for most in LENGTHS)), LENGTHS, strict=False):
        if n <= high:
            return f"{low}-{high}"
    return f"over {LENGTHS[-1]}"
