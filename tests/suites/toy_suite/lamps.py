"""Lamps: a suite in which lamps are switched on by words; a lamp must be plugged in first."""

from dataclasses import dataclass

import torch

from clevrskills.core.goal.context import Context
from clevrskills.core.goal.predicate import SymbolicPredicate
from clevrskills.core.interface import TextInterface
from clevrskills.core.suite import TaskInfo, register_envs
from clevrskills.predicates import Set
from clevrskills.suites.symbolic import SymbolicEnv, SymbolicSuite

LAMPS = ("red", "green", "blue")
COMMANDS = [f"{verb} {lamp}" for verb in ("plug", "switch") for lamp in LAMPS]
CODES = {
    "DONE": ("", ""),
    "UNPARSABLE": ("That is no command.", "format"),
    "NO_POWER": ("The {lamp} lamp has no power.", "state"),
}


@dataclass(frozen=True, eq=False)
class LampOn(SymbolicPredicate):
    name = "lamp_on"
    lamp: int

    def credit(self, world):  # one that is plugged in counts half
        return world.lamps[:, self.lamp].float() / 2

    def describe(self, world, env=0):
        return f"Switch the {LAMPS[self.lamp]} lamp on"

    def realize(self, world, where=None):
        world.lamps[:, self.lamp] = 2


class Room(SymbolicEnv):
    def start(self, episode):
        self.world = Context(LAMPS, 1, torch.device("cpu"))
        self.world.lamps = torch.tensor([episode.start["lamps"]])  # 0, 1 plugged in, 2 on
        self.goal = Set(tuple(LampOn(k) for k in episode.start["wanted"]))

    def apply(self, text):
        if text not in COMMANDS:
            return False, "UNPARSABLE", {}
        verb, lamp = text.split()
        k, state = LAMPS.index(lamp), 1 + (verb == "switch")
        if verb == "switch" and self.world.lamps[0, k] == 0:
            return False, "NO_POWER", {"lamp": lamp}
        self.world.lamps[0, k] = state
        return True, "DONE", {"lamp": lamp}

    def solve(self):
        lamp = self.goal.next_leaf(self.outcome).lamp
        return f"{'switch' if self.world.lamps[0, lamp] else 'plug'} {LAMPS[lamp]}"


def task(level, sentence):
    words = TextInterface("text", {"commands": COMMANDS, "examples": COMMANDS}, codes=CODES)
    return TaskInfo(level, sentence, {"test": 100}, {"text": words}, limit="8 turns")


class Lamps(SymbolicSuite):
    name, title, env = "lamps", "Lamps", Room
    tasks = {
        "lamps_one": task("S1", "Switch a lamp on"),
        "lamps_two": task("S2", "Switch two lamps on"),
    }

    def draw_start(self, task, split, generator):
        wanted = generator.permutation(len(LAMPS))[: 1 + (task == "lamps_two")].tolist()
        start = {"wanted": wanted, "lamps": generator.integers(2, size=len(LAMPS)).tolist()}
        return start, "Switch on: " + ", ".join(LAMPS[k] for k in wanted), 8


register_envs(Lamps())
