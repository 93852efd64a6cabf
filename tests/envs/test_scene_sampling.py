"""Drawing scenes: the same for the same arguments, fair, with their prompts."""

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from clevrskills.envs import scene_sampling as scenes
from clevrskills.envs.scene_sampling import draw_scene, keystep_scenes, scene_of
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import CRITERIA
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.tasks import EpisodeRng, LayoutError, stack_roles, task, tasks


def drawn(key="sort", seed=3, split="train", **kwargs):
    return draw_scene(task(key), seed, split, **kwargs)


def as_json(scene):
    roles = {k: np.asarray(v).tolist() for k, v in scene.layout.roles.items()}
    bodies = [b.to_json() if b else None for b in scene.layout.bodies]
    return json.dumps([bodies, roles, scene.layout.in_gripper, scene.prompt.to_json()])


def test_equal_arguments_give_equal_scenes():
    first = as_json(drawn())
    for seed in (0, 7):
        drawn("place", seed, "test")
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    np.random.rand(10), torch.rand(10)
    assert as_json(drawn()) == first


def test_drawing_leaves_the_global_generators_alone():
    np.random.seed(5)
    torch.manual_seed(5)
    random.seed(5)
    expected = np.random.rand(), float(torch.rand(1)), random.random()
    np.random.seed(5)
    torch.manual_seed(5)
    random.seed(5)
    drawn(seed=1)
    assert (np.random.rand(), float(torch.rand(1)), random.random()) == expected


def test_seeds_tasks_and_splits_give_different_scenes():
    scenes_drawn = [
        as_json(drawn(key, seed, split))
        for key in ("pick", "sort")
        for seed in range(4)
        for split in ("train", "test")
    ]
    assert len(set(scenes_drawn)) == len(scenes_drawn)


def test_large_seeds_are_fine():
    assert as_json(drawn(seed=2**31 - 1)) != as_json(drawn(seed=2**31 - 2))


def test_criteria_and_prompt_do_not_change_the_layout():
    plain = drawn("place", 0)
    for other in (
        drawn("place", 0, criteria=CRITERIA["released"]),
        drawn("place", 0, prompt_index=2),
    ):
        assert other.layout.bodies == plain.layout.bodies


def test_unknown_splits_robots_and_prompts_raise():
    with pytest.raises(UnknownNameError, match="unknown split 'dev'; allowed: train, val, test, "):
        drawn(split="dev")
    with pytest.raises(UnknownNameError, match="unknown robot 'ur5'; allowed: xarm6, panda"):
        drawn(robot_name="ur5")
    for index in (-1, 30):
        with pytest.raises(ClevrSkillsError, match=f"prompt {index} of place; allowed: 0 to 29"):
            drawn("place", prompt_index=index)
    with pytest.raises(
        UnknownNameError, match="prompt_style of place 'curt'; allowed: terse, plain, elaborate"
    ):
        drawn("place", prompt_style="curt")
    with pytest.raises(ClevrSkillsError, match="prompt_index and prompt_style exclude each other"):
        drawn("place", prompt_index=0, prompt_style="terse")


def test_every_prompt_can_be_chosen():
    texts = {drawn("place", prompt_index=i).prompt.text for i in range(30)}
    assert len(texts) == 30
    assert {drawn("place", seed).prompt.text for seed in range(12)} >= {
        drawn("place", 0).prompt.text
    }
    texts = {drawn("place", seed, prompt_index=0).prompt.text for seed in range(5)}
    assert {re.sub(r"\d", "k", text) for text in texts} == {"Put {obj:object_k} on {obj:base_k}."}


def test_an_impossible_layout_raises_an_error(monkeypatch):
    monkeypatch.setattr(scenes, "ATTEMPTS", 3)
    calls = []

    class Crowded(type(task("pick"))):
        def layout(self, rng):
            calls.append(rng)
            raise LayoutError("too full")

    with pytest.raises(
        ClevrSkillsError, match="pick, seed 4, split test: no valid scene in 3 attempts"
    ):
        draw_scene(Crowded(), 4, "test")
    assert len(calls) == 3


def test_a_scene_whose_goal_holds_already_is_not_drawn(monkeypatch):
    """The object starts on its base in the first two draws."""
    monkeypatch.setattr(scenes, "ATTEMPTS", 5)
    indices = []

    class Lucky(type(task("simple_manipulation"))):
        def layout(self, rng):
            layout = super().layout(rng)
            indices.append(len(indices))
            if indices[-1] > 1:
                return layout
            base, item = layout.bodies[0], layout.bodies[3]
            top = base.pose[2] + base.geometry.half_extents[2] + item.geometry.half_extents[2]
            x, y = base.pose[:2]
            bodies = list(layout.bodies)
            bodies[0] = replace(base, shape="cube", size=(0.2, 0.2, 2 * base.pose[2]))
            bodies[3] = replace(item, pose=(x, y, top, *item.pose[3:]))
            return replace(layout, bodies=tuple(bodies))

    scene = draw_scene(Lucky(), 0, "train")
    assert len(indices) >= 3
    goal = Lucky().goal(stack_roles([scene.layout]))
    assert not goal.evaluate(scene.start, goal.initial_state(scene.start)).holds.any()


def test_a_scene_whose_goal_cannot_be_reached_is_not_drawn(monkeypatch):
    """The base is too thin to carry anything in the first draw."""
    monkeypatch.setattr(scenes, "ATTEMPTS", 5)
    count = []

    class Hopeless(type(task("simple_manipulation"))):
        def layout(self, rng):
            layout = super().layout(rng)
            count.append(1)
            if len(count) > 1:
                return layout
            thin = replace(layout.bodies[0], shape="cube", size=(0.008, 0.008, 0.05))
            return replace(layout, bodies=(thin, *layout.bodies[1:]))

    scene = draw_scene(Hopeless(), 0, "train")
    assert len(count) >= 2 and scene.layout.bodies[0].size is None


@pytest.mark.parametrize("key", tasks())
def test_success_is_equal_with_and_without_rewards(key):
    """At the start and after each part of the goal."""
    scene = drawn(key)
    goal, state = scene.goal, scene.goal.initial_state(scene.start)
    world = bare = scene.start
    for step in (None, *goal.steps()):
        world, bare = TensorWorld.snapshot(world), TensorWorld.snapshot(bare)
        bare.rewards = False
        if step:
            step.realize(world)
            step.realize(bare)
        outcome, without = goal.evaluate(world, state), goal.evaluate(bare, state)
        for holds in (without.holds, goal.holds(bare, state), goal.holds(world, state)):
            assert torch.equal(holds, outcome.holds)
        assert outcome.state.keys() == without.state.keys()
        assert all(torch.equal(outcome.state[k], without.state[k]) for k in outcome.state)
        state = outcome.state


def test_the_start_is_as_laid_out():
    scene = drawn("sort", 5)
    for k, body in enumerate(scene.layout.bodies):
        if body:
            assert scene.start.body_pose[0, k].tolist() == pytest.approx(body.pose, abs=1e-6)
            assert bool(scene.solids.movable[0, k]) == (not body.static)
        assert bool(scene.solids.present[0, k]) == (body is not None)
    assert scene.start.held.tolist() == [-1]


@pytest.mark.parametrize("robot_name", ROBOTS)
def test_an_object_that_starts_in_the_gripper_is_held(robot_name):
    scene = drawn("place", 2, robot_name=robot_name)
    slot = scene.layout.in_gripper
    assert slot == 3 and scene.start.held.tolist() == [slot]
    body = torch.tensor([slot])
    assert float(scene.start.gripper_distance(body)) == pytest.approx(0.0, abs=1e-4)
    assert float(scene.start.clearance(body)) > 0.05


def test_a_layout_the_gripper_cannot_hold_has_no_start():
    key = task("place")
    scene = drawn("place", 2)
    bodies = list(scene.layout.bodies)
    tilted = (*bodies[3].pose[:3], 0.9238795, 0.3826834, 0.0, 0.0)
    bodies[3] = replace(bodies[3], shape="cube", size=(0.05, 0.05, 0.05), pose=tilted)
    layout = replace(scene.layout, bodies=tuple(bodies))
    with pytest.raises(LayoutError, match="the gripper cannot hold its initial body"):
        scene_of(key, layout)


def test_key_steps_are_the_start_and_each_part_of_the_goal():
    scene = drawn("sort", 5)
    goal = task("sort").goal(stack_roles([scene.layout]))
    steps = list(goal.steps())
    shown = keystep_scenes(goal, scene.start, scene.layout)
    present = tuple(body for body in scene.layout.bodies if body)
    assert len(shown) == 1 + len(steps)
    assert [b.key for b in shown[0].bodies] == [b.key for b in present]
    for before, after in zip(shown[0].bodies, present, strict=True):
        assert before.pose == pytest.approx(after.pose, abs=1e-5)
    for k, step in enumerate(steps, start=1):
        pairs = zip(shown[k - 1].bodies, shown[k].bodies, strict=True)
        moved = [after.key for before, after in pairs if before.pose != after.pose]
        assert moved == [scene.start.keys[int(step.top)]]
    untouched = drawn("sort", 5).start
    assert torch.equal(scene.start.body_pose, untouched.body_pose)


def test_streams_of_a_draw_do_not_disturb_each_other():
    one, other = (EpisodeRng(1, "sort", 0, "train") for _ in range(2))
    one.textures.random(100)
    assert one.places.random() == other.places.random()
    assert one.shapes.random() == other.shapes.random()
    assert (
        EpisodeRng(1, "sort", 1, "train").places.random()
        != EpisodeRng(1, "sort", 0, "train").places.random()
    )


def test_choosing_from_a_pool():
    rng = EpisodeRng(0, "pick", 0, "train")
    pool = ("a", "b", "c", "a")
    for count in range(4):
        names = rng.choose(pool, count)
        assert len(names) == count == len(set(names)) and set(names) <= set(pool)
    many = rng.choose(pool, 7)
    assert len(many) == 7 and set(many[:3]) == {"a", "b", "c"}
