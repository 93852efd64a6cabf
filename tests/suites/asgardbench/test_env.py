"""Household environment: oracle, refused commands, random policy."""

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import turn_message
from clevrskills.core.policy import PromptInput
from clevrskills.core.suite import find_interface
from clevrskills.suites.asgardbench.agents import RandomValid
from clevrskills.suites.asgardbench.suite import AsgardBenchSuite
from clevrskills.suites.asgardbench.tasks.goals import READINGS
from clevrskills.suites.asgardbench.tasks.instances import TABLE

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
    assert env.measures()["partial"] == 100


def test_feedback_of_a_refused_command_names_the_held_object():
    env = begin("coffee")
    for command in ("FIND Mug", "pickup mug"):
        assert env.command(command).ok
    hashed = env.house.state_hash
    turn = env.command("PICKUP Plate")
    assert (turn.ok, turn.code) == (False, "HAND_FULL")
    assert "Mug" in turn_message(find_interface(SUITE), turn)
    assert env.house.state_hash == hashed
    assert "In hand: Mug" in env.look(("text_state",))["text_state"]


def test_unknown_words_are_unparsable_in_the_released_reading():
    shares = []
    for criteria in ("paper", "released"):
        env = begin("coffee", criteria=criteria)
        for command in ("THROW Mug", "FIND Dragon", "FIND Mug", "let me think"):
            env.command(command)
        shares.append([env.measures()[name] for name in ("invalid_action", "unparsable")])
    assert shares == [[25, 25], [0, 75]]


def test_random_valid_commands_succeed():
    env = begin("put_away_dishes", seed=2)
    policy = RandomValid(SUITE, find_interface(SUITE))
    policy.reset(PromptInput(env.prompt.text, {}, 0, env.prompt.about), env=env, episode=None)
    assert all(env.command(policy.act({})).ok for _ in range(8))


def test_frozen_instances_have_the_lengths_of_shorter_plans():
    for task in TABLE:
        for episode in SUITE.frozen(task, "test"):
            start = episode.start
            best = start.get("n_opt", start["n_short"])
            assert 0 < best <= start["n_short"] <= start["n"]
    assert all("n_opt" in episode.start for episode in SUITE.frozen("turn_on_tv", "test"))


@pytest.mark.parametrize(
    ("command", "code"),
    [("", "UNPARSABLE"), ("THROW Mug", "UNKNOWN_VERB"), ("FIND Dragon", "UNKNOWN_OBJECT")],
)
def test_invalid_commands_are_refused(command, code):
    env = begin("coffee")
    turn = env.command(command)
    assert (turn.ok, turn.code) == (False, code)
    unknown = command.split()[code == "UNKNOWN_OBJECT"] if command else ""
    assert unknown in turn_message(find_interface(SUITE), turn) != ""


def test_ten_refused_turns_end_the_episode():
    env = begin("coffee")
    ends = [env.command(f"FIND Dragon{k}").ended for k in range(10)]
    assert ends == [""] * 9 + ["failures"]
