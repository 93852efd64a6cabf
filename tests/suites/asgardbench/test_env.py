"""Household environment: the solver's commands succeed in it, others are refused in words."""

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.suites.asgardbench.suite import AsgardBenchSuite
from clevrskills.suites.asgardbench.tasks.goals import READINGS

SUITE = AsgardBenchSuite()


def begin(task, split="test", seed=0, criteria="paper"):
    env = SUITE.make(EnvConfig(task, criteria=criteria))
    env.reset(options={"episode": SUITE.draw(task, split, seed)})
    return env


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_oracle_succeeds_with_its_last_command(split, reading):
    env = begin("cook_egg", split, 3, reading)
    for _ in range(env.episode.start["n"]):
        turn = env.command(env.solve())
        assert turn.ok and not turn.ended
    assert turn.success and turn.progress == 1.0


def test_the_words_of_a_refused_command_name_what_is_held():
    env = begin("coffee")
    for command in ("FIND Mug", "pickup mug"):
        assert env.command(command).ok
    hashed = env.house.state_hash
    turn = env.command("PICKUP Plate")
    assert (turn.ok, turn.code) == (False, "HAND_FULL")
    assert "Mug" in SUITE.phrasebook().message(turn)
    assert env.house.state_hash == hashed
    assert "In hand: Mug" in env.look(("text_state",))["text_state"]


@pytest.mark.parametrize(
    ("command", "code"),
    [("", "UNPARSABLE"), ("THROW Mug", "UNKNOWN_VERB"), ("FIND Dragon", "UNKNOWN_OBJECT")],
)
def test_what_is_no_command_is_refused(command, code):
    env = begin("coffee")
    turn = env.command(command)
    assert (turn.ok, turn.code) == (False, code)
    assert SUITE.phrasebook().message(turn)


def test_ten_refused_turns_end_the_episode():
    env = begin("coffee")
    ends = [env.command(f"FIND Dragon{k}").ended for k in range(10)]
    assert ends == [""] * 9 + ["failures"]
