"""Words for the 33 tasks: commands, the scene as text, and policies in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from readers.clevrskills import reply

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.geometry import rotation_angle
from clevrskills.core.interface import turn_message
from clevrskills.core.policy import Message, PromptInput
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import find_interface, load_suite
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_text import bodies_of, scene_text, shown_name
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import AtPose, AtPosition, Inside, OnTop, Picked, Rotated
from clevrskills.suites.clevrskills.words.actuator import CommandedArm
from clevrskills.suites.clevrskills.words.agents import Commander, RandomWords
from clevrskills.suites.clevrskills.words.grammar import command_for, read
from clevrskills.suites.clevrskills.words.interface import SKILLS
from clevrskills.tasks import tasks

SUITE = load_suite()


def started(task: str, index: int = 0) -> ClevrSkillsEnv:
    """An environment at the start of a frozen episode of the test split."""
    env = SUITE.make(EnvConfig(task, split="test"))
    env.reset(options={"episode": SUITE.frozen(task, "test")[index]})
    assert isinstance(env, ClevrSkillsEnv)
    return env


@pytest.fixture(scope="module")
def stack() -> Iterator[ClevrSkillsEnv]:
    env = started("stack")
    yield env
    env.close()


def same(one: Any, other: Any) -> bool:
    """Whether two leaves are alike, numbers up to the digits of sentences."""
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if name == "orientation":
            alike = float((mine * theirs).sum().abs()) > 0.999
        elif name == "position":
            alike = torch.allclose(mine[:, :2], theirs[:, :2], atol=2e-3)
        elif name == "objects":
            alike = mine[mine >= 0].tolist() == theirs[theirs >= 0].tolist()
        elif isinstance(mine, torch.Tensor):
            alike = torch.allclose(mine.float(), theirs.float(), atol=1e-3)
        else:
            alike = True
        if not alike:
            return False
    return True


@pytest.mark.parametrize("task", [*tasks()])
def test_every_leaf_has_a_command_that_parses_to_it(task: str) -> None:
    env = started(task)
    used = {node.leaf for node in _nodes(env) if node.active and node.leaf is not None}
    for number, leaf in enumerate(env.goal.leaves()):
        if number not in used or type(leaf) is Rotated and task == "swap_rotate":
            continue  # said by a place first
        found = read(command_for(leaf, env), env)
        assert not found.code
        kinds = [t for t in type(leaf).__mro__ if t is type(found.leaf)]
        assert kinds, command_for(leaf, env)
        if type(found.leaf) is type(leaf) and task not in ("match_pose", "move_without_hitting"):
            assert same(leaf, found.leaf), command_for(leaf, env)
    env.close()


def _nodes(env: ClevrSkillsEnv) -> Any:
    from clevrskills.core.goal.tree import nodes

    return nodes(env.goal)


def test_objects_are_found_by_key_and_by_name(stack: ClevrSkillsEnv) -> None:
    for key, body in bodies_of(stack).items():
        for phrase in (key, shown_name(stack, body), f"The {shown_name(stack, body, 1)}".upper()):
            leaf = read(f"Pick up {phrase}.", stack).leaf
            assert isinstance(leaf, Picked)
            assert stack.world.keys[int(leaf.object[0])] == key


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("put object_1 on object_0", OnTop),
        ("Place  object_1 onto object_0.", OnTop),
        ("put object_1 into object_0", Inside),
        ("put object_1 at (0.01, -0.2)", AtPosition),
        ("put object_1 at (0.01,-0.2) turned to -90 degrees", AtPose),
        ("rotate object_1 60 degrees clockwise", Rotated),
    ],
)
def test_forms_of_commands(stack: ClevrSkillsEnv, text: str, kind: type) -> None:
    leaf = read(text, stack).leaf
    assert type(leaf) is kind
    if kind is Rotated:
        assert float(leaf.angle_rad[0]) == pytest.approx(-torch.pi / 3)
    if isinstance(leaf, AtPosition) and kind is not Rotated:
        assert leaf.position[0, :2].tolist() == pytest.approx([0.01, -0.2])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "UNPARSABLE"),
        ("please stack them", "UNPARSABLE"),
        ("put object_1 at (0.1)", "UNPARSABLE"),
        ("rotate object_1 180 degrees clockwise", "UNPARSABLE"),
        ("pick up the teapot", "UNKNOWN_OBJECT"),
        ("put object_1 on object_17", "UNKNOWN_OBJECT"),
        ("balance the scale with object_0 and object_1", "NOT_HERE"),
        ("put down", "NOTHING_HELD"),
    ],
)
def test_an_impossible_command_has_a_code_and_costs_a_turn(
    stack: ClevrSkillsEnv, text: str, code: str
) -> None:
    before = stack.get_state()
    rollout = Rollout(stack, actuator=SKILLS.begin(stack))
    turn = rollout.step(text)
    assert (turn.ok, turn.code, turn.steps, rollout.turns) == (False, code, 0, 1)
    assert turn_message(SKILLS, turn) and SKILLS.codes[code][1]
    assert (stack.get_state() == before).all()


def test_a_word_that_several_names_have_is_ambiguous() -> None:
    env = started("rotate_symmetry")
    names = {body.key: shown_name(env, body) for body in bodies_of(env).values()}
    textures = Counter(name.rpartition(" ")[0] for name in names.values())
    texture, count = textures.most_common(1)[0]
    alike = {key for key, name in names.items() if name.startswith(f"{texture} ")}
    found = read(f"pick up {texture}", env)
    assert count > 1 and found.code == "AMBIGUOUS"
    assert all(key in found.args["names"] for key in alike)
    env.close()


def test_a_stack_is_built_by_commands_and_described_as_text() -> None:
    env = started("stack")
    first, second = [*bodies_of(env)][:2]
    steps = []
    actuator = SKILLS.begin(env)
    assert actuator.limit == 2 * sum(n.active and n.leaf is not None for n in _nodes(env)) + 2
    assert f"{second}: {shown_name(env, bodies_of(env)[second])} at (" in scene_text(env)
    assert f"on {first}" not in scene_text(env) and "on the table" in scene_text(env)
    turn = actuator.act(f"put {second} on {first}", steps.append)
    assert turn.ok and turn.code == "DONE" and turn.steps == len(steps) > 10
    assert turn.reward == pytest.approx(sum(step.reward for step in steps))
    assert f"on {first}" in env.look(["state"])["state"]
    held = actuator.act(f"pick up {second}")
    assert held.ok and f"The gripper holds {second}." in scene_text(env)
    assert actuator.act("put down").ok and "holds nothing" in scene_text(env)
    with pytest.raises(UnknownNameError, match="view"):
        env.look(["smell"])
    env.close()


def test_impossible_commands_have_a_code() -> None:
    env = started("stack")
    turn = SKILLS.begin(env).act("put object_0 at (3, 3)")
    assert not turn.ok and turn.code in ("FAILED", "UNREACHABLE")
    assert turn.args["reason"] in turn_message(SKILLS, turn)
    env.close()


def test_a_turn_is_counted_from_the_command_on() -> None:
    """Two commands of 90 degrees make half a turn, whatever the episode asks for."""
    env = started("stack")
    body = env.world.index("object_1")
    before = env.world.orientation(body).clone()
    actuator = SKILLS.begin(env)
    for _ in range(2):
        turn = actuator.act("rotate object_1 90 degrees clockwise")
        assert turn.ok and turn.steps > 10
    turned_rad = rotation_angle(before, env.world.orientation(body))
    assert float(turned_rad[0]) == pytest.approx(torch.pi, abs=0.2)
    env.close()


def test_only_the_leaf_of_a_command_is_remembered_by_its_arm(stack: ClevrSkillsEnv) -> None:
    import numpy as np

    leaf = read("rotate object_1 60 degrees clockwise", stack).leaf
    assert isinstance(leaf, Rotated)
    arm = CommandedArm(stack, np.random.default_rng(0), leaf)
    assert float(arm.remembered(leaf)["turned_rad"][0]) == pytest.approx(0.0, abs=1e-4)
    with pytest.raises(ClevrSkillsError, match="not part of the goal"):
        arm.remembered(Picked(torch.tensor([0])))


@pytest.mark.parametrize("task", ["sort", "swap_rotate", "touch_push", "novel_adjective_noun"])
def test_the_oracle_solves_in_words(task: str) -> None:
    env = started(task)
    rollout = Rollout(env, actuator=SKILLS.begin(env))
    assert rollout.run(Commander(env).act) == ("", "")
    env.close()


@pytest.mark.parametrize("task", ["throw", "stack_reversed", "novel_adjective_noun", "novel_noun"])
def test_the_reader_solves_tasks_from_the_text(task: str) -> None:
    env = started(task)
    rollout = Rollout(env, actuator=SKILLS.begin(env))

    def act() -> str:
        said = f"Task: {env.prompt.plain()}"
        seen = f"{scene_text(env)}\nTurn {rollout.turns + 1}. What do you do?"
        messages = [Message("system", (said,)), Message("user", (seen,))]
        return reply(messages).removeprefix("action: ")

    assert rollout.run(act) == ("", "")
    env.close()


def test_the_reader_reports_unknown_sentences() -> None:
    seen = "object_0: red cube at (0.1, 0.2)\nTurn 1. What do you do?"
    for task, match in (("Dance.", "no plan for: Dance"), ("", "no task")):
        said = [Message("system", (task and f"Task: {task}",)), Message("user", (seen,))]
        with pytest.raises(ClevrSkillsError, match=match):
            reply(said)


def test_random_words_are_commands_and_do_not_solve(stack: ClevrSkillsEnv) -> None:
    policy = RandomWords(SUITE, SKILLS)
    policy.reset(PromptInput("", {}, seed=1), env=stack, episode=None)
    said = [policy.act({}) for _ in range(200)]
    assert len(set(said)) > 100
    codes = [read(text, stack).code for text in said]
    assert codes.count("UNPARSABLE") == 0
    policy.reset(PromptInput("", {}, seed=1), env=stack, episode=None)
    assert said == [policy.act({}) for _ in range(200)]


def test_success_is_that_of_the_state_in_which_a_turn_ends() -> None:
    env = started("pick")
    arm = SKILLS.begin(env)
    pick_up = command_for(next(env.goal.leaves()), env)
    wanted = pick_up.removeprefix("pick up ")
    turn = arm.act(f"put {wanted} at (0, 0)")  # taken on the way, let go in the end
    assert (turn.code, turn.success, turn.terminated) == ("DONE", False, False)
    turn = arm.act(pick_up)
    assert turn.success and turn.terminated and turn.ok
    env.close()


def test_random_actions_are_commands_only_where_commands_are_taken() -> None:
    policy = RandomWords(SUITE, find_interface(SUITE, "delta"))
    policy.reset(PromptInput("", {}, seed=1))
    assert not policy.privileged and policy.act({}).shape == (7,)
    drawn = [SKILLS.random(np.random.default_rng(k)) for k in range(20)]
    assert len(set(drawn)) > 15
