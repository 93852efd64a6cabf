"""Feedback on turns, text interfaces, and rollouts that count turns."""

from types import SimpleNamespace

import pytest
import torch

from clevrskills.core.goal.predicate import Outcome
from clevrskills.core.interface import MODES, Step, TextInterface, Turn, turn_feedback, turn_message
from clevrskills.core.policy import GaveUp, PolicyError
from clevrskills.core.rollout import STEP_LIMIT, Rollout
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.robots.delta_action import DELTA

CODES = {"MOVED": ("{piece} moved.", ""), "WALL": ("A wall is there.", "blocked")}
COMMANDS = TextInterface("text", {"verbs": ["go"], "examples": ["go", "stay"]}, codes=CODES)


def turn(ok: bool, code: str, success: bool = False, **more) -> Turn:
    return Turn(0.5, success, 0.5, success, False, ok, code, {"piece": "The ball"}, 0, **more)


class Walk:
    """Three steps to go; the fourth word that is not "go" ends it."""

    limit = 6

    def __init__(self) -> None:
        self.at = self.wrong = 0
        self.task = SimpleNamespace(max_steps=6)

    def command(self, text: str) -> Turn:
        self.at, self.wrong = self.at + (text == "go"), self.wrong + (text != "go")
        ended = "failures" if self.wrong == 4 else ""
        return turn(text == "go", "MOVED" if text == "go" else "WALL", self.at == 3, ended=ended)


def test_feedback_of_a_turn() -> None:
    done, refused = turn(True, "MOVED"), turn(False, "WALL")
    assert [turn_feedback(COMMANDS, done, mode) for mode in MODES] == [
        "",
        "Success.",
        "Success. The ball moved.",
    ]
    assert turn_feedback(COMMANDS, refused, "detailed") == "Failure. A wall is there."
    assert turn_message(COMMANDS, turn(True, "")) == ""
    with pytest.raises(UnknownNameError, match="unknown code 'FLY'; allowed: MOVED, WALL"):
        turn_message(COMMANDS, turn(True, "FLY"))


def test_commands_are_text() -> None:
    assert COMMANDS.read("go") == ["go"]
    with pytest.raises(PolicyError, match="an action of type int; allowed: str"):
        COMMANDS.read(3)
    assert COMMANDS.none() == ""
    COMMANDS.check({"verbs": ["go"]}, "mine")
    with pytest.raises(ClevrSkillsError, match="its verbs is"):
        COMMANDS.check({"verbs": ["fly"]}, "mine")


def rollout(stop_on_success: bool = True) -> Rollout:
    env = Walk()
    return Rollout(env, None, stop_on_success, COMMANDS.begin(env))


def test_turns_are_counted_and_refused_ones_too() -> None:
    words = iter(["stay", "go", "go", "go", "go"])
    walk = rollout()
    assert walk.run(lambda: next(words)) == ("", "")
    assert (walk.turns, walk.steps, walk.total_reward) == (4, 0, 2.0)


def test_an_environment_may_end_its_episode() -> None:
    walk = rollout()
    assert walk.run(lambda: "stay") == ("failures", "failures")
    assert walk.turns == 4 and walk.ended and not walk.success


def test_the_limit_is_that_of_the_environment() -> None:
    walk = rollout(stop_on_success=False)
    words = iter(["stay", "go", "stay", "go", "stay", "go"])
    assert walk.run(lambda: next(words)) == ("", "") and walk.turns == 6
    other = rollout()
    other.limit = 2
    assert other.run(lambda: "go") == (STEP_LIMIT, STEP_LIMIT)


def test_giving_up_is_a_failure_with_its_reason_and_other_errors_are_raised() -> None:
    def give_up() -> str:
        raise GaveUp("it is too far")

    assert rollout().run(give_up) == ("it is too far", "skill")

    def break_down() -> str:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        rollout().run(break_down)


def test_a_delta_action_is_a_turn_of_one_step() -> None:
    class Env:
        outcome = Outcome(torch.tensor([False]), torch.tensor([1.5]), torch.tensor([0.25]), {})

        def step(self, action):
            return None, 0.5, False, False, {}

    seen: list[Step] = []
    done = DELTA.begin(Env()).act(DELTA.none(), seen.append)
    assert done == Turn(1.5, False, 0.25, False, False) and done.ok and done.steps == 1
    assert seen == [Step(1.5, False, 0.25, False, False)]
