"""Needless repairs, and blind policies."""

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.interface import turn_feedback
from clevrskills.core.policy import GaveUp, PromptInput
from clevrskills.core.suite import find_interface
from clevrskills.suites.asgardbench import agents
from clevrskills.suites.asgardbench.rules.layout import PlacedObject
from clevrskills.suites.asgardbench.rules.verbs import apply
from clevrskills.suites.asgardbench.rules.world import Household
from clevrskills.suites.asgardbench.suite import AsgardBenchSuite
from clevrskills.suites.asgardbench.tasks.care import Care
from clevrskills.suites.asgardbench.tasks.instances import TABLE, Variant
from clevrskills.suites.asgardbench.tasks.rooms import room

SUITE = AsgardBenchSuite()


def begin(episode):
    env = SUITE.make(EnvConfig(episode.task))
    env.reset(options={"episode": episode})
    return env


def needless(commands, dirty=(), task="cook_toast", **places):
    """Number of needless repairs of commands in a kitchen."""
    kinds = ("Plate", "Bowl", "Bread", "Knife", "DishSponge", "Apple", "Tomato")
    items = [PlacedObject(k, k, "CounterTop_1", n, k in dirty) for n, k in enumerate(kinds)]
    for kind, place in {"Apple": "CounterTop_2", **places}.items():
        items = [t for t in items if t.type != kind] + [PlacedObject(kind, kind, place, 0)]
    house = Household(room(4), items)
    care = Care(task, Variant(4), house)
    for command in commands.split("; "):
        assert apply(house, *command.split()).ok, command
        care.turn(command.split()[0], house)
    return care.needless


IN_SINK = "FIND Plate; PICKUP Plate; FIND SinkBasin; PUT SinkBasin"
ON, SPONGE = "FIND Faucet; TOGGLE_ON Faucet", "FIND DishSponge; PICKUP DishSponge"
SCRUBBED = f"{IN_SINK}; {SPONGE}; {ON}; CLEAN Plate"


@pytest.mark.parametrize(
    ("commands", "about", "count"),
    [
        (f"{IN_SINK}; {ON}", {}, 1),
        (f"{IN_SINK}; {ON}", {"dirty": ("Plate",)}, 0),
        (SCRUBBED, {"dirty": ("Plate",)}, 0),
        (SCRUBBED, {}, 2),
        (f"{SCRUBBED}; TOGGLE_OFF Faucet; TOGGLE_ON Faucet", {"dirty": ("Plate",)}, 0),
        (f"{ON}; {IN_SINK}", {}, 1),
        (IN_SINK, {}, 0),
        (ON, {"Bowl": "SinkBasin_1"}, 0),  # nobody put it there
        ("FIND Apple; PICKUP Apple", {}, 1),
        ("FIND Apple; PICKUP Apple", {"Apple": "SinkBasin_1"}, 0),
        ("FIND Apple; PICKUP Apple", {"Apple": "DiningTable_1"}, 1),
        ("FIND Apple; PICKUP Apple", {"Apple": "DiningTable_1", "task": "set_table"}, 0),
        ("FIND Bread; PICKUP Bread", {}, 0),
        (
            "FIND Apple; PICKUP Apple; FIND CounterTop; PUT CounterTop; PICKUP Apple",
            {"Apple": "SinkBasin_1"},
            0,
        ),
    ],
)
def test_needless_repairs_are_counted(commands, about, count):
    assert needless(commands, **about) == count


@pytest.mark.parametrize("task", TABLE)
def test_the_oracle_is_careful(task):
    env = begin(SUITE.frozen(task, "test")[-1])
    while not (turn := env.command(env.solve())).success:
        assert turn.ok and not turn.ended
    assert (env.measures()["careful"], env.measures()["needless"]) == (1, 0)


@pytest.mark.parametrize("command", ["FIND Dragon", "PICKUP Television", "no command"])
def test_a_refused_turn_is_not_careful(command):
    env = begin(SUITE.frozen("turn_on_tv", "test")[0])
    assert not env.command(command).ok
    while not env.command(env.solve()).success:
        pass
    found = env.measures()
    assert (found["careful"], found["needless"]) == (0, 0)


def played(policy, episode):
    env, interface, turns = begin(episode), find_interface(SUITE), []
    policy = getattr(agents, policy)(SUITE, interface)
    policy.reset(PromptInput(env.prompt.text, {}, 0, env.prompt.about))
    while True:
        turn = env.command(policy.act({"turns": turns, "feedback": "simple"}))
        turns.append({"message": turn_feedback(interface, turn, "simple")})
        if turn.success or turn.ended:
            return turn.success, bool(env.measures()["careful"]), len(turns)


@pytest.mark.parametrize(
    ("policy", "clean", "solves_dirty"),
    [
        ("Blind", (True, True), False),
        ("Probing", (True, True), True),
        ("OpenLoop", (True, True), None),
        ("Cautious", None, None),
    ],
)
def test_blind_policies_are_careful_only_in_clean_instances(policy, clean, solves_dirty):
    instances = SUITE.frozen("cook_toast", "test")
    assert [instances[k].tags["dirty"] for k in (0, 4)] == ["no", "yes"]
    solved, careful, _ = played(policy, instances[0])
    assert clean in ((solved, careful), None) and not (careful and policy == "Cautious")
    solved, careful, _ = played(policy, instances[4])
    assert solves_dirty in (solved, None) and not careful


@pytest.mark.parametrize("task", ["coffee", "set_table", "put_away_dishes"])
def test_probing_solves_without_care(task):
    of = SUITE.frozen(task, "test")
    assert all(played("Probing", of[k])[:2] == (True, False) for k in (3, -1))


def test_unknown_instructions_have_no_plan():
    policy = agents.Blind(SUITE, find_interface(SUITE))
    policy.reset(PromptInput("Sing.", {}, 0, {"objects": ()}))
    with pytest.raises(GaveUp, match="no plan"):
        policy.act({"turns": ()})
