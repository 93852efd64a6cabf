"""What every task puts on the table, over seeds of both splits; no simulator."""

import json
import re

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.assets import pools
from clevrskills.assets.objects import fittings
from clevrskills.core.goal.tree import nodes
from clevrskills.envs.scene_sampling import NeutralPose, draw_scene
from clevrskills.predicates import CRITERIA, Hit
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import ROBOTS, robot
from clevrskills.sim.setting import TABLETOP
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.tasks import stack_roles, task
from tests.predicates.examples import achieve
from tests.tasks.scenes import SEEDS, SPLITS, TASKS, scene, scenes

CAMERA = TABLETOP.main_camera

pytestmark = [
    pytest.mark.parametrize("split", SPLITS),
    pytest.mark.parametrize("key", TASKS),
]


def goal_of(key, drawn):
    return task(key).goal(stack_roles([drawn.layout]))


def slots_of(drawn):
    return [k for k, body in enumerate(drawn.layout.bodies) if body]


def on_table(drawn):
    return [k for k in slots_of(drawn) if k != drawn.layout.in_gripper]


def test_the_same_seed_gives_the_same_scene(key, split):
    again, first = draw_scene(task(key), SEEDS[-1], split), scene(key, split, SEEDS[-1])
    assert again.layout.bodies == first.layout.bodies
    assert again.prompt == first.prompt
    assert torch.equal(again.start.body_pose, first.start.body_pose)
    for name, value in first.layout.roles.items():
        assert np.array_equal(value, again.layout.roles[name])


def test_seeds_differ(key, split):
    placed = {
        json.dumps([b.to_json() if b else None for b in s.layout.bodies])
        for s in scenes(key, split)
    }
    assert len(placed) == len(SEEDS)


def test_slots_hold_bodies_of_their_key(key, split):
    for drawn in scenes(key, split):
        assert len(drawn.layout.bodies) == len(task(key).slots)
        for slot, body in zip(task(key).slots, drawn.layout.bodies, strict=True):
            assert body is None or body.key == slot
        assert drawn.layout.in_gripper in (-1, *slots_of(drawn))


def test_shapes_and_textures_are_those_of_the_split(key, split):
    allowed = pools(split)
    for drawn in scenes(key, split):
        for body in filter(None, drawn.layout.bodies):
            if body.ghost:  # its color says something, so it is the same in both splits
                continue
            fitting = body.shape in fittings()
            assert fitting or body.shape in allowed.shapes
            assert body.texture in allowed.textures or (fitting and body.texture is None)


def test_every_body_is_fully_in_view_of_the_base_camera(key, split):
    for drawn in scenes(key, split):
        for slot in slots_of(drawn):
            points = drawn.start.world_points(torch.tensor([slot]))[0].numpy()
            assert CAMERA.sees(points, margin=0.0), drawn.layout.bodies[slot]


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_every_body_that_can_be_moved_is_within_reach(key, split, robot_name):
    """The arm can point its cups down on it, and a hand's breadth above; not so on targets of
    throws.
    """
    description = robot(robot_name)
    arm, base = kinematics(robot_name), Pose(description.base_position).inv()
    for drawn in scenes(key, split):
        leaves = goal_of(key, drawn).leaves()
        targets = [int(leaf.target) for leaf in leaves if isinstance(leaf, Hit)]
        for slot in on_table(drawn):
            body = drawn.layout.bodies[slot]
            if not body.movable or slot in targets:
                continue
            top = float(drawn.start.top(torch.tensor([slot])))
            for height in (top, top + 0.06):
                near = np.array(description.neutral_qpos)
                near[0] = np.arctan2(body.pose[1], body.pose[0] - description.base_position[0])
                over = Pose([body.pose[0], body.pose[1], height], [0.0, 1.0, 0.0, 0.0])
                qpos = arm.inverse(base * over, near)
                assert qpos is not None and arm.within_limits(qpos), (body, height)


def test_nothing_overlaps(key, split):
    for drawn in scenes(key, split):
        world = drawn.start
        for slot in slots_of(drawn):
            points = world.world_points(torch.tensor([slot]))
            assert float(points[..., 2].min()) > -1e-4
            distance = world.distance(points)[0].amin(-1)
            for other in slots_of(drawn):
                assert other == slot or float(distance[other]) > -1e-4, (slot, other)


def test_bodies_on_the_table(key, split):
    """Or on something: nothing that can fall hangs in the air."""
    for drawn in scenes(key, split):
        for slot in on_table(drawn):
            if not drawn.layout.bodies[slot].movable:
                continue
            body = torch.tensor([slot])
            carried = [bool(drawn.start.on_table(body))]
            carried += [
                bool(drawn.start.supports(torch.tensor([other]), body) > 0)
                for other in slots_of(drawn)
                if other != slot
            ]
            assert any(carried), drawn.layout.bodies[slot]


def test_the_declared_predicates_are_those_of_the_goal(key, split):
    for drawn in scenes(key, split):
        kinds = [type(node.predicate) for node in nodes(goal_of(key, drawn))]
        assert tuple(dict.fromkeys(kinds)) == task(key).predicates


def test_roles_have_one_form(key, split):
    forms = {
        tuple((k, np.asarray(v).shape, np.asarray(v).dtype.kind) for k, v in s.layout.roles.items())
        for s in scenes(key, split)
    }
    assert len(forms) == 1


@pytest.mark.parametrize("criteria", CRITERIA)
def test_the_goal_does_not_hold_at_the_start(key, split, criteria):
    for drawn in scenes(key, split):
        goal = goal_of(key, drawn).with_criteria(CRITERIA[criteria])
        outcome = goal.evaluate(drawn.start, goal.initial_state(drawn.start))
        assert not outcome.holds.any()
        assert float(outcome.progress) < 1.0


@pytest.mark.parametrize("criteria", CRITERIA)
def test_realizing_the_parts_of_the_goal_achieves_it(key, split, criteria):
    for drawn in scenes(key, split, 5 if criteria == "paper" else 2):
        goal = goal_of(key, drawn).with_criteria(CRITERIA[criteria])
        outcome = achieve(goal, TensorWorld.snapshot(drawn.start))
        assert outcome.holds.all() and float(outcome.progress) == 1.0
        assert float(outcome.reward) == float(goal.max_reward)


def test_without_its_last_part_the_goal_does_not_hold(key, split):
    for drawn in scenes(key, split):
        goal = goal_of(key, drawn)
        world = TensorWorld.snapshot(drawn.start)
        outcome = goal.evaluate(world, goal.initial_state(world))
        for step in list(goal.steps())[:-1]:
            step.realize(world)
            outcome = goal.evaluate(world, outcome.state)
        assert not outcome.holds.any()


def test_a_batch_of_episodes_equals_single_ones(key, split):
    """One goal for environments with different bodies in different roles."""
    drawn = scenes(key, split)
    layouts = [s.layout for s in drawn]
    shapes = [[b.geometry if b else None for b in layout.bodies] for layout in layouts]
    static = [[not (b and b.movable) for b in layout.bodies] for layout in layouts]
    start = torch.cat([s.start.body_pose for s in drawn])
    home = NeutralPose.of("xarm6")
    world = TensorWorld(
        task(key).slots,
        Solids.from_shapes(shapes, static),
        start,
        home.pose.expand(len(drawn), 7),
        home.cup_tips,
    )
    world._held = torch.cat([s.start.held for s in drawn])
    goal = task(key).goal(stack_roles(layouts))
    together = goal.evaluate(world, goal.initial_state(world))
    assert together.holds.shape == (len(SEEDS),)
    for env, one in enumerate(drawn):
        single = goal_of(key, one)
        alone = single.evaluate(one.start, single.initial_state(one.start))
        assert bool(together.holds[env]) == bool(alone.holds)
        assert float(together.reward[env]) == pytest.approx(float(alone.reward), abs=1e-4)
        assert float(together.progress[env]) == pytest.approx(float(alone.progress), abs=1e-4)
        assert goal.describe(world, env) == single.describe(one.start)


# ---- prompts ----


def test_every_template_parses_and_has_a_text_form(key, split):
    for drawn in scenes(key, split):
        bodies = (*filter(None, drawn.layout.bodies), *drawn.layout.examples)
        parts = len(list(goal_of(key, drawn).steps()))
        keysteps = (bodies,) * (parts + 1)
        templates = task(key).prompts(drawn.layout)
        assert len(set(templates)) == len(templates) > 0
        for template in templates:
            prompt = Prompt(template, bodies, keysteps)
            plain = prompt.plain()
            assert plain.strip() and not re.search(r"[{}]|None", plain)
            assert all(32 <= ord(c) < 127 for c in template)
            textures = {b.key: b.texture for b in bodies}
            assert all(textures[n] for kind, n in prompt.placeholders() if kind == "tex")


def test_every_seed_has_the_same_number_of_templates(key, split):
    assert len({len(task(key).prompts(s.layout)) for s in scenes(key, split)}) == 1


def test_prompts_name_bodies_that_cannot_be_mistaken(key, split):
    """No other body of its kind has the name, or the texture where only that is named."""
    for drawn in scenes(key, split):
        bodies = [body for body in drawn.layout.bodies if body]
        for template in task(key).prompts(drawn.layout):
            shown = (*bodies, *drawn.layout.examples)
            for kind, name in Prompt(template, shown, ((),) * 40).placeholders():
                meant = next((b for b in bodies if b.key == name), None)
                if meant is None:  # a key-step or an example
                    continue
                alike = [b for b in bodies if b.static == meant.static and b is not meant]
                if kind == "obj":
                    assert meant.name not in [b.name for b in alike], template
                elif f"objects with {{tex:{name}}}" not in template:  # else all that have it
                    assert meant.texture not in [b.texture for b in alike], template
            for meant in bodies:
                if re.search(rf"\b{meant.name}\b", template) and not meant.static:
                    assert [b for b in bodies if b.name == meant.name and not b.static] == [meant]
