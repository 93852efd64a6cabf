"""Throwing tasks: targets out of reach, throws that count, solvability."""

import numpy as np
import pytest
import torch

from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import CRITERIA, Hit
from clevrskills.sim.suction import pose_in_gripper
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import task
from tests.support.envs import act, base, bench, body, go_to, make_env, stay
from tests.support.worlds import BodySpec
from tests.tasks.scenes import SPLITS, scenes

TASKS = ("throw", "throw_topple", "throw_sort")
BASE_XY_M = (-0.562, 0.0)
REACH_M = 0.71
"""How far from its base the xArm 6 holds something just above the table."""
DISC = BodySpec("disc", "cube", (0.10, 0.10, 0.025))
AREA = BodySpec("area", "cube", (0.20, 0.20, 0.01), static=True)
AREA_XY = (-0.15, 0.25)
HOLD_Z_M = 0.36


def slot(k):
    return torch.tensor([k])


# ---- scenes ----


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", TASKS)
def test_all_of_every_target_is_out_of_reach(key, split):
    for drawn in scenes(key, split):
        for k, target in enumerate(drawn.layout.bodies):
            if target and target.key.startswith(("target", "area")):
                points = drawn.start.world_points(slot(k))[0, :, :2].numpy()
                assert np.linalg.norm(points - BASE_XY_M, axis=1).min() > REACH_M


@pytest.mark.parametrize("split", SPLITS)
def test_targets_are_areas_or_light_objects(split):
    kinds = [drawn.layout.bodies[1].static for drawn in scenes("throw", split, 15)]
    assert 3 <= sum(kinds) <= 12
    for target, size in (("area", (0.20, 0.20, 0.01)), ("object", (0.05, 0.05, 0.15))):
        for seed in range(4):
            aim = draw_scene(task("throw", targets=target), seed, split).layout.bodies[1]
            assert aim.static == (target == "area") and aim.size == size
            assert target == "area" or aim.geometry.density == 100.0
    aim = scenes("throw_topple", split)[0].layout.bodies[1]
    assert aim.size == (0.05, 0.05, 0.25) and aim.geometry.density == 100.0


def test_unknown_targets_raise():
    with pytest.raises(ClevrSkillsError, match="targets='robot'; allowed: .*'area', 'object'"):
        task("throw", targets="robot")


@pytest.mark.parametrize("split", SPLITS)
def test_objects_have_the_texture_of_their_area(split):
    seen = set()
    for drawn in scenes("throw_sort", split, 15):
        areas = [b for b in drawn.layout.bodies[:3] if b]
        assert len({area.texture for area in areas}) == len(areas)
        for k, target in enumerate(drawn.layout.bodies[3:]):
            if target:
                area = drawn.layout.bodies[int(drawn.layout.roles["area"][k])]
                assert area in areas and area.texture == target.texture
        seen.add((len(areas), sum(b is not None for b in drawn.layout.bodies[3:])))
    assert len(seen) > 3


def test_numbers_of_areas_and_objects():
    drawn = draw_scene(task("throw_sort", num_areas=3, num_objects=4), 0, "train")
    assert sum(b is not None for b in drawn.layout.bodies) == 7
    drawn = draw_scene(task("throw_sort", num_areas=1, num_objects=1), 0, "test")
    assert sum(b is not None for b in drawn.layout.bodies) == 2


def test_prompts():
    prompts = [draw_scene(task(key), 0, "train", prompt_index=1).prompt.text for key in TASKS[:2]]
    hit = "Hit {obj:target_0} with {obj:object_0}"
    assert prompts == [f"{hit}.", f"{hit} such that it falls over."]
    drawn = draw_scene(task("throw_sort", num_areas=1, num_objects=1), 0, "train")
    assert task("throw_sort").prompts(drawn.layout)[:2] == [
        "Place the objects in the identically textured areas by throwing.",
        "Throw {obj:object_0} into {obj:area_0}.",
    ]


# ---- what counts, in simulation, with an area within reach ----


class Looking:
    """An environment in which something is looked at after every step."""

    def __init__(self, env, criteria="paper"):
        self.env = env
        self.goal = Hit(slot(0), slot(1)).with_criteria(CRITERIA[criteria])
        self.outcome = self.goal.evaluate(self.world, self.goal.initial_state(self.world))

    @property
    def unwrapped(self):
        return self.env.unwrapped

    @property
    def world(self):
        return base(self.env).world

    def step(self, action):
        result = self.env.step(action)
        self.outcome = self.goal.evaluate(self.world, self.outcome.state)
        return result

    @property
    def hit(self):
        return bool(self.outcome.holds)


@pytest.fixture(scope="module")
def shared():
    made = bench(body(DISC, -0.25, -0.15), body(AREA, *AREA_XY))
    yield made
    made.close()


@pytest.fixture
def env(shared):
    shared.reset(seed=0)
    return shared


def take(env, x, y):
    """Hold the disc high above a place."""
    go_to(env, (x, y, HOLD_Z_M))
    world = base(env).world
    world.hold(slot(0), pose_in_gripper(world, slot(0)))
    stay(env, 3, on=True)
    return world


def on_area(env):
    world = base(env).world
    return bool(world.supports(slot(1), slot(0)) > 0.5)


def test_a_throw_hits(env):
    take(env, AREA_XY[0], -0.3)
    looking = Looking(env)
    for pace in (0.2, 0.4, 0.6, 0.6):
        looking.step(act(y=-pace, on=True))
    assert not looking.hit
    stay(looking, 20, on=False)
    assert looking.hit


@pytest.mark.parametrize("criteria", CRITERIA)
def test_a_drop_does_not(env, criteria):
    take(env, *AREA_XY)
    looking = Looking(env, criteria)
    stay(looking, 20, on=False)
    assert on_area(env) and looking.hit == (criteria == "released")


def test_swung_over_it_and_dropped_it_does_not(env):
    take(env, AREA_XY[0], -0.1)
    looking = Looking(env)
    go_to(looking, (*AREA_XY, HOLD_Z_M), on=True, speed_m=0.08)
    stay(looking, 5, on=True)
    stay(looking, 20, on=False)
    assert on_area(env) and not looking.hit


def test_carried_down_it_does_not(env):
    take(env, *AREA_XY)
    looking = Looking(env)
    tip = float(base(env).world.end_effector_pose[0, 2] - base(env).world.bottom(slot(0)))
    go_to(looking, (*AREA_XY, 0.01 + tip), on=True, speed_m=0.02)
    stay(looking, 10, on=False)
    assert on_area(env) and not looking.hit


@pytest.mark.parametrize("speed_m", [0.01, 0.09])
def test_pushed_over_the_table_it_does_not(env, speed_m):
    """Slowly, and so fast that it slides on by itself."""
    world = base(env).world
    pose = world.pose(slot(0)).clone()
    pose[0, :2] = torch.tensor([AREA_XY[0], -0.1])
    world.set_body_pose(slot(0), pose)
    go_to(env, (AREA_XY[0], -0.25, 0.2))
    go_to(env, (AREA_XY[0], -0.25, 0.02))
    looking = Looking(env)
    go_to(looking, (AREA_XY[0], 0.08, 0.02), speed_m=speed_m)
    stay(looking, 10)
    assert float(world.position(slot(0))[0, 1]) > 0.0 and not looking.hit


def test_thrown_short_it_slides_there_and_does_not(env):
    take(env, AREA_XY[0], -0.3)
    looking = Looking(env)
    for pace in (0.2, 0.3, 0.3):
        looking.step(act(y=-pace, on=True))
    stay(looking, 20, on=False)
    assert not looking.hit


# ---- whole episodes ----


@pytest.fixture(scope="module")
def made():
    """Environments by task and split, made once."""
    envs = {}

    def get(key, split):
        if (key, split) not in envs:
            envs[key, split] = make_env(key, split=split)
        return envs[key, split]

    yield get
    for each in envs.values():
        each.close()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", TASKS)
def test_the_oracle_throws(key, split, made):
    env = made(key, split)
    for seed in (40, 41):
        env.reset(seed=seed)
        oracle = Oracle(base(env))
        for _ in range(base(env).task.max_steps):
            info = env.step(oracle.act())[-1]
            if info["success"]:
                break
        assert info["success"], seed


@pytest.mark.parametrize("key", TASKS[:2])
def test_let_go_at_full_stretch_it_does_not_hit(key, made):
    """The nearest that the gripper comes to the target: from there it only falls."""
    env = made(key, "train")
    for seed in (3, 4):
        env.reset(seed=seed)
        way = base(env).world.position(slot(1))[0, :2].numpy() - BASE_XY_M
        end = np.array(BASE_XY_M) + 0.6 * way / np.linalg.norm(way)
        go_to(env, (*end, 0.3), on=True, steps=60)
        assert not stay(env, 5, on=True)["success"]
        assert not stay(env, 20, on=False)["success"]


@pytest.mark.parametrize("key", TASKS)
def test_random_actions_do_not_succeed(key, made):
    env = made(key, "train")
    generator = np.random.default_rng(0)
    for seed in (5, 6):
        env.reset(seed=seed)
        for _ in range(60):
            action = generator.uniform(-1.0, 1.0, 7).astype(np.float32)
            assert not env.step(action)[-1]["success"]


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("key", TASKS)
def test_random_actions_do_not_succeed_over_whole_episodes(key, split, made):
    env = made(key, split)
    generator = np.random.default_rng(1)
    for seed in range(20):
        env.reset(seed=seed)
        for _ in range(100):
            action = generator.uniform(-1.0, 1.0, 7).astype(np.float32)
            assert not env.step(action)[-1]["success"]
