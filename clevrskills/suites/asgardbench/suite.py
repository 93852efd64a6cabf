"""The AsgardBench suite: instances, commands, and the words for what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar
from zlib import crc32

import numpy as np

from clevrskills.core.feedback import Phrasebook
from clevrskills.core.interface import TextInterface
from clevrskills.suites.asgardbench.drawing.views import VIEWS
from clevrskills.suites.asgardbench.env import HouseEnv
from clevrskills.suites.asgardbench.rules.verbs import VERBS
from clevrskills.suites.asgardbench.rules.world import World
from clevrskills.suites.asgardbench.tasks.goals import READINGS, locations
from clevrskills.suites.asgardbench.tasks.instances import (
    SENTENCES,
    TABLE,
    Variant,
    draw_variant,
    sentence,
)
from clevrskills.suites.asgardbench.tasks.rooms import room
from clevrskills.suites.asgardbench.tasks.setup import set_up
from clevrskills.suites.asgardbench.tasks.solver import solve
from clevrskills.suites.symbolic import SymbolicEpisode, SymbolicSuite


class AsgardBenchSuite(SymbolicSuite):
    """Household tasks whose plan must be repaired by looking; for its arguments see
    :class:`~clevrskills.suites.symbolic.SymbolicSuite`.
    """

    name, title = "asgardbench", "re-implementation of AsgardBench"
    env = HouseEnv
    text = TextInterface(
        "text",
        {
            "grammar": "<VERB> <Object>",
            "verbs": list(VERBS),
            "examples": ["FIND Mug", "PICKUP Mug", "FIND CoffeeMachine", "PUT CoffeeMachine"],
        },
        "one verb with the type of one object",
    )
    tasks: ClassVar[Mapping[str, tuple[str, str]]] = {
        key: ("household", sentence.format(objects="named objects", food="named food"))
        for key, sentence in SENTENCES.items()
    }
    codes = Phrasebook(
        {
            "DONE": ("", ""),
            "UNPARSABLE": ("No action could be read.", "unparsable"),
            "UNKNOWN_VERB": ("There is no such verb.", "invalid action"),
            "UNKNOWN_OBJECT": ("There is no {object} here.", "invalid object"),
            "NO_SUCH_OBJECT": ("There is no {object} now.", "invalid object"),
            **{
                code: (text, "undoable")
                for code, text in {
                    "ALREADY_SLICED": "The {object} is sliced already.",
                    "HAND_FULL": "You can't pick up the {object}: you hold the {held}.",
                    "NOT_HELD": "You hold nothing.",
                    "NOT_VISIBLE": "You don't see the {object}.",
                    "INSIDE_CLOSED": "The {object} is in something closed.",
                    "NOT_PICKUPABLE": "The {object} can't be picked up.",
                    "TARGET_DIRTY": "The {object} is dirty.",
                    "CLOSED": "The {object} is closed.",
                    "INCOMPATIBLE": "The {held} doesn't go there: {object}.",
                    "NO_SPACE": "The {object} has no room left.",
                    "NOT_OPENABLE": "The {object} can't be opened or closed.",
                    "ALREADY_OPEN": "The {object} is open already.",
                    "ALREADY_CLOSED": "The {object} is closed already.",
                    "DEVICE_ON": "The {object} is running.",
                    "NOT_SLICEABLE": "The {object} can't be sliced.",
                    "NOT_ON_TOP": "The {object} must lie on a counter or table.",
                    "NEEDS_KNIFE": "You need a knife in hand.",
                    "NOT_SPRAYED": "The {object} must be sprayed first.",
                    "NEEDS_CLOTH": "You need the Cloth in hand.",
                    "FAUCET_OFF": "The Faucet is off.",
                    "NOT_IN_SINK": "The {object} is not in the sink.",
                    "NEEDS_SPONGE": "You need the DishSponge in hand.",
                    "NOT_TOGGLEABLE": "The {object} can't be switched.",
                    "ALREADY_ON": "The {object} is on already.",
                    "ALREADY_OFF": "The {object} is off already.",
                    "NEEDS_REMOTE": "You need the RemoteControl in hand.",
                    "MACHINE_EMPTY": "There is no mug in the {object}.",
                    "WRONG_CONTENT": "What is in the {object} is no mug.",
                    "MUG_FULL": "The mug is full.",
                    "MUG_DIRTY": "The mug is dirty.",
                    "SINK_BLOCKED": "Something in the sink must not get wet.",
                    "DOOR_OPEN": "The door of the {object} is open.",
                    "NOT_FILLED": "There is nothing in the {object} to drink or pour out.",
                    "NEEDS_SPRAYER": "You need the SprayBottle in hand.",
                }.items()
            },
        }
    )

    def splits(self) -> Sequence[str]:
        return ("train", "test")

    def criteria(self) -> Sequence[str]:
        return READINGS

    def views(self) -> Mapping[str, str]:
        return {**dict.fromkeys(VIEWS, "image"), "text_state": "text"}

    def count_frozen(self, split: str) -> int:
        return 3  # the least that a family has

    def draw_episode(self, task: str, split: str, seed: int, index: int) -> SymbolicEpisode:
        rng = np.random.default_rng((seed, crc32(task.encode()), crc32(split.encode())))
        table = TABLE[task]
        variant = table[index % len(table)] if split == "test" else draw_variant(task, rng)
        return self._episode(task, split, seed, index, variant, rng)

    def _episode(
        self,
        task: str,
        split: str,
        seed: int,
        index: int,
        variant: Variant,
        rng: np.random.Generator,
    ) -> SymbolicEpisode:
        things = set_up(task, variant, rng)
        dirty = ("Mirror_1",) if task == "clean_mirror" else ()
        house = World(room(variant.label), things, dirty)
        house.locations = locations(task, variant)
        n = len(solve(task, variant, house))
        lists = {"objects": [*variant.objects], "dirty": [*variant.dirty]}
        start = {
            "variant": {**asdict(variant), **lists},
            "things": [asdict(thing) for thing in things],
            "n": n,
        }
        sink = sum(thing.parent == "SinkBasin_1" for thing in things)
        tags: dict[str, str | int] = {"family": task, "room": room(variant.label).kind}
        tags |= {"variation": variant.name, "layout": variant.label, "n": n}
        tags |= {"dirty": "yes" if variant.dirty else "no", "sink_clutter": sink}
        limit = max(2 * n, 20) + 1  # the turn after the hard limit ends
        text = sentence(task, variant)
        return SymbolicEpisode(task, split, index, seed, text, start, limit, tags)
