"""Tasks about the end effector: what their scenes must be like, and that they can't be cheated."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from sapien import Pose

from clevrskills.assets import shape
from clevrskills.envs.scene_sampling import NeutralPose, draw_scene
from clevrskills.predicates import CRITERIA
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import Prompt
from clevrskills.sim.robots.clearance import arm_surface
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import ROBOTS
from clevrskills.sim.robots.gripper import GripperDimensions
from clevrskills.sim.setting import TABLETOP
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.tasks import task
from clevrskills.tasks.base import Task
from clevrskills.tasks.end_effector import APART_M, gripper_points
from clevrskills.tasks.l0.move_without_hitting import SIZE_M
from clevrskills.tasks.l0.trace import DIAMETER_M, WAY_M
from tests.support.envs import act, base, make_env, random_actions, stay
from tests.tasks.scenes import SEEDS, SPLITS

CAMERA = TABLETOP.main_camera

MATCH, AVOID, TRACE = "match_pose", "move_without_hitting", "trace"


@pytest.fixture(scope="module", params=[MATCH, AVOID, TRACE])
def env(request):
    made = make_env(request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def avoid():
    made = make_env(AVOID)
    yield made
    made.close()


@pytest.fixture(scope="module")
def trace():
    made = make_env(TRACE)
    yield made
    made.close()


def drawn(key, seed, split="train", robot="xarm6", **arguments):
    return draw_scene(task(key, **arguments), seed, split, robot)


def goal_positions(key, layout):
    if key == TRACE:
        return [np.array(b.pose[:3]) for b in layout.bodies[:-1] if b]
    goals = np.atleast_2d(layout.roles["goal"])
    return list(goals[layout.roles["active"], :3] if key == MATCH else goals[:, :3])


def put_arm(env, position, orientation=(0.0, 1.0, 0.0, 0.0)):
    pose = torch.tensor([[*position, *orientation]], dtype=torch.float32)
    base(env).world.set_end_effector_pose(pose)
    return env.step(act())[-1]


# ---- scenes ----


@pytest.mark.parametrize("key", [MATCH, AVOID, TRACE])
@pytest.mark.parametrize("robot", Task.robots)
def test_goals_are_apart_from_each_other_and_from_the_start(key, robot):
    arguments = {MATCH: {"num_goals": 4}, TRACE: {"num_goals": 5}, AVOID: {}}[key]
    start = NeutralPose.of(robot).pose[0, :3].numpy()
    for seed in SEEDS:
        places = goal_positions(key, drawn(key, seed, robot=robot, **arguments).layout)
        for one, other in combinations([start, *places], 2):
            assert np.linalg.norm(one - other) >= APART_M - 1e-3


@pytest.mark.parametrize("key", [MATCH, AVOID])
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("robot", Task.robots)
def test_the_arm_is_in_view_and_clear_in_every_key_step(key, split, robot):
    arm = arm_surface(robot)
    for seed in SEEDS:
        scene = drawn(key, seed, split, robot)
        for number, keystep in enumerate(scene.prompt.keysteps):
            assert keystep.robot == robot
            qpos = np.array(keystep.qpos)
            assert arm.clear(qpos, scene.start, 0.015), (seed, number)
            base_pose = Pose(ROBOTS[robot].base_position)
            tcp = base_pose * kinematics(robot).forward(qpos)
            if number:
                seen = gripper_points(np.concatenate((tcp.p, tcp.q)))
                assert CAMERA.sees(seen, margin=0.0), (seed, number)


@pytest.mark.parametrize("goals", [1, 2, 3, 4])
def test_the_prompt_is_well_formed_for_any_number_of_poses(goals):
    text = draw_scene(task(MATCH, num_goals=goals), 1, "train", prompt_index=0).prompt.text
    shown = {
        1: "{ks:1}",
        2: "{ks:1} followed by {ks:2}",
        3: "{ks:1}, {ks:2} followed by {ks:3}",
        4: "{ks:1}, {ks:2}, {ks:3} followed by {ks:4}",
    }
    assert text == f"Match the pose of the end effector in {shown[goals]}."


def test_variants_permute_the_order_of_the_goals():
    for key, goals in ((MATCH, 3), (TRACE, 3)):
        layouts = [drawn(key, 2, num_goals=goals, variant=v).layout for v in range(6)]
        orders = {np.round(np.stack(goal_positions(key, item)), 6).tobytes() for item in layouts}
        assert len(orders) == 6
        places = [
            np.sort(np.round(np.stack(goal_positions(key, item)), 6), axis=0) for item in layouts
        ]
        assert all(np.array_equal(places[0], other) for other in places)


def test_an_obstacle_is_near_the_straight_way():
    near = []
    for seed in range(30):
        layout = drawn(AVOID, seed).layout
        start, goal = NeutralPose.of("xarm6").pose[0, :3].numpy(), goal_positions(AVOID, layout)[0]
        way = (goal - start) / np.linalg.norm(goal - start)
        offset = np.array(layout.bodies[0].pose[:3]) - start
        near.append(np.linalg.norm(offset - (offset @ way) * way))
    assert np.mean(near) < 0.06 and max(near) < 0.15


@pytest.mark.parametrize("goals", [2, 3, 4, 5])
@pytest.mark.parametrize("robot", Task.robots)
def test_no_way_through_the_goals_of_a_trace_is_short(goals, robot):
    start = NeutralPose.of(robot).pose[0, :3].numpy()
    for seed in range(20):
        places = goal_positions(TRACE, drawn(TRACE, seed, robot=robot, num_goals=goals).layout)
        assert len(places) == goals
        for way in permutations(places):
            legs = np.diff([start, *way], axis=0)
            assert np.linalg.norm(legs, axis=1).sum() >= WAY_M - 1e-3


@pytest.mark.parametrize("goals", [2, 5])
def test_goals_of_a_trace_are_visible_and_do_not_overlap(goals):
    ball = shape("sphere", (DIAMETER_M,) * 3)
    for seed in SEEDS:
        places = goal_positions(TRACE, drawn(TRACE, seed, num_goals=goals).layout)
        assert all(CAMERA.sees(ball.vertices + place) for place in places)
        eye = np.array(CAMERA.eye_m)
        for one, other in combinations(places, 2):
            near, far = sorted((one - eye, other - eye), key=np.linalg.norm)
            ray = far / np.linalg.norm(far)
            assert np.linalg.norm(near - (near @ ray) * ray) > DIAMETER_M / 2 - 1e-6


def test_goals_of_a_trace_count_as_empty_slots():
    scene = drawn(TRACE, 3)
    ghosts = [k for k, body in enumerate(scene.layout.bodies) if body and body.ghost]
    assert len(ghosts) >= 2 and not scene.solids.present[0, ghosts].any()
    assert scene.solids.present[0, -1]
    for k in ghosts:
        assert scene.start.body_pose[0, k].tolist() == pytest.approx(scene.layout.bodies[k].pose)


# ---- simulation ----


def test_random_actions_do_not_succeed(env):
    for seed in range(3):
        env.reset(seed=seed)
        for action in random_actions(base(env).task.max_steps, seed):
            info = env.step(action)[-1]
            assert not info["success"]


def test_progress_rises_along_an_episode(env):
    for seed in (0, 1):
        _, info = env.reset(seed=seed)
        first, rising = float(info["progress"]), []
        oracle = Oracle(base(env))
        while not info["success"]:
            info = env.step(oracle.act())[-1]
            rising.append(float(info["progress"]))
        assert rising[-1] == 1.0 > first
        steps = np.diff([first, *rising])
        assert (steps > -1e-6).mean() > 0.7


def test_an_obstacle_that_was_touched_spoils_the_episode(avoid):
    """Touched by the gripper, then the pose is reached."""
    avoid.reset(seed=1)
    body = base(avoid).world.index("obstacle_0")
    place = base(avoid).world.position(body)[0].numpy()
    touched = False
    for _ in range(60):
        target = base(avoid).agent.controller.target_pose
        way = place - target.p
        local = target.to_transformation_matrix()[:3, :3].T @ way / max(np.linalg.norm(way), 0.1)
        info = avoid.step(act(*(0.2 * local)))[-1]
        touched = bool(base(avoid).goal_state["touched"])
        if touched:
            break
    assert touched and float(info["progress"]) == 0.0 and float(base(avoid).outcome.reward) == 0.0
    base(avoid).goal.realize(base(avoid).world)
    info = stay(avoid, 5)
    assert base(avoid).outcome.children[0].holds.all()
    assert not info["success"] and float(info["progress"]) == 0.0
    with pytest.raises(SkillFailed):
        oracle = Oracle(base(avoid))
        for _ in range(200):
            avoid.step(oracle.act())


def test_obstacles_do_not_move_when_pushed(avoid):
    avoid.reset(seed=1)
    before = base(avoid).world.body_pose.clone()
    for action in random_actions(60, seed=4):
        avoid.step(action)
    assert torch.equal(base(avoid).world.body_pose, before)


def touching_distance_m(avoid, part):
    """How deep a part of the arm reaches into the first obstacle."""
    surface = arm_surface("xarm6").points(base(avoid).agent.robot.get_qpos()[0].numpy())
    points = torch.as_tensor(surface[part], dtype=torch.float32)[None]
    return float(base(avoid).world.distance(points)[0, 0].min())


@pytest.mark.parametrize("part", ["link3", "link5"])
def test_every_part_of_the_arm_counts(avoid, part):
    """An obstacle is put into a link from one step to the next."""
    avoid.reset(seed=1)
    surface = arm_surface("xarm6").points(base(avoid).agent.robot.get_qpos()[0].numpy())
    entity = base(avoid).world.simulations[0].bodies[0]
    entity.set_pose(Pose(surface[part].mean(axis=0), entity.pose.q))
    base(avoid).world.invalidate()
    assert touching_distance_m(avoid, part) < 0.0
    avoid.step(act())
    assert bool(base(avoid).goal_state["touched"])


@pytest.mark.parametrize(("gap_m", "touched"), [(0.003, False), (-0.003, True)])
def test_a_graze_counts_and_a_near_miss_does_not(avoid, gap_m, touched):
    """An obstacle beside the head of the gripper, at some distance."""
    avoid.reset(seed=1)
    x, y, z = base(avoid).world.end_effector_pose[0, :3].tolist()
    beside = y + GripperDimensions.head_size_m[1] / 2 + SIZE_M[1] / 2 + gap_m
    base(avoid).world.simulations[0].bodies[0].set_pose(Pose([x, beside, z + 0.03]))
    avoid.step(act())
    assert bool(base(avoid).goal_state["touched"]) == touched


def test_a_restored_state_forgets_later_touches(avoid):
    avoid.reset(seed=1)
    state = base(avoid).get_state()
    surface = arm_surface("xarm6").points(base(avoid).agent.robot.get_qpos()[0].numpy())
    entity = base(avoid).world.simulations[0].bodies[0]
    home = entity.pose
    entity.set_pose(Pose(surface["link5"].mean(axis=0)))
    avoid.step(act())
    assert bool(base(avoid).goal_state["touched"])
    touched = base(avoid).get_state()
    entity.set_pose(home)
    base(avoid).set_state(state)
    assert not bool(base(avoid).goal_state["touched"])
    base(avoid).set_state(touched)
    assert bool(base(avoid).goal_state["touched"])


def test_goals_are_passed_through(trace):
    """The gripper goes into a goal and is not held up, and no goal is ever held."""
    trace.reset(seed=2)
    place = base(trace).world.position(base(trace).world.index("goal_0"))[0].tolist()
    put_arm(trace, place)
    stay(trace, 5, on=True)
    tip = base(trace).world.end_effector_pose[0, :3]
    assert float((tip - torch.tensor(place)).norm()) < 2e-3
    assert base(trace).world.held.tolist() == [-1]
    assert all("goal" not in name for pair in base(trace).world.contacts() for name in pair[:2])


def test_goals_count_in_their_order(trace):
    trace.reset(seed=1)
    places = _goals_in_order(trace)
    for place in reversed(places):
        info = put_arm(trace, place)
    assert int(base(trace).goal_state["stage"]) == 1 and not info["success"]
    for n, place in enumerate(places[1:], start=2):
        info = put_arm(trace, place)
        assert int(base(trace).goal_state["stage"]) == min(n, len(places)) or info["success"]
    assert info["success"]


def _goals_in_order(made) -> list[list[float]]:
    """Return the positions of the goals of a trace, in the order of visiting."""
    layout, world = base(made).layouts[0], base(made).world
    goals = [int(slot) for slot in layout.roles["goals"][layout.roles["active"]]]
    return [world.position(world.index(layout.slot(goal).key))[0].tolist() for goal in goals]


def test_slots_of_goals_do_not_reveal_their_order():
    """Each slot of three goals comes first about as often."""
    scenes = [drawn(TRACE, seed, num_goals=3) for seed in range(60)]
    counts = np.bincount([int(scene.layout.roles["goals"][0]) for scene in scenes], minlength=3)
    assert len(counts) == 3 and counts.min() >= 10


@pytest.mark.render
def test_goals_change_their_colour():
    made = make_env(TRACE, obs_mode="rgb", task_args={"num_goals": 3})
    made.reset(seed=3)
    places = [np.array(place) for place in _goals_in_order(made)]

    def colors():
        image = base(made).capture()["base_camera"].astype(float)
        return [_colour(image, place) for place in places]

    assert colors() == ["green", "red", "red"]
    put_arm(made, places[0])
    put_arm(made, (-0.09, 0.0, 0.42))
    assert colors() == ["yellow", "green", "red"]
    state = base(made).get_state()
    put_arm(made, places[1])
    put_arm(made, (-0.09, 0.0, 0.42))
    assert colors() == ["yellow", "yellow", "green"]
    base(made).set_state(state)
    assert colors() == ["yellow", "green", "red"]
    put_arm(made, places[1])
    put_arm(made, places[2])
    put_arm(made, (-0.09, 0.0, 0.42))
    assert colors() == ["yellow"] * 3
    made.reset(seed=3)
    assert colors() == ["green", "red", "red"]
    made.close()


def _colour(image, place):
    """The color that the base camera shows at a world point."""
    eye, target = np.array(CAMERA.eye_m), np.array(CAMERA.target_m)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    ray = place - eye
    half = CAMERA.size_px / 2
    column = half * (1 + ray @ right / (ray @ forward) / np.tan(CAMERA.fov_rad / 2))
    row = half * (1 - ray @ np.cross(right, forward) / (ray @ forward) / np.tan(CAMERA.fov_rad / 2))
    red, green, blue = image[int(row) - 2 : int(row) + 3, int(column) - 2 : int(column) + 3].mean(
        (0, 1)
    )
    assert blue < 0.5 * max(red, green)
    return (
        "yellow" if min(red, green) > 0.6 * max(red, green) else "red" if red > green else "green"
    )


@pytest.mark.render
@pytest.mark.parametrize("robot", Task.robots)
def test_a_key_step_shows_the_arm_from_the_base_camera(robot):
    made = make_env(MATCH, obs_mode="rgb", robot=robot)
    made.reset(seed=5)
    (shown,) = base(made).prompt.images().values()
    start = base(made).capture()["base_camera"].astype(float)
    base(made).goal.realize(base(made).world)
    seen = base(made).capture()["base_camera"].astype(float)
    made.close()
    assert np.abs(shown - seen).mean() < 0.5 < 3.0 < np.abs(shown - start).mean()


def test_the_prompt_can_be_read_back_with_its_arm():
    prompt = drawn(AVOID, 2).prompt
    assert Prompt.from_json(prompt.to_json()) == prompt


# ---- bodies that are only seen ----


def test_visual_bodies_can_be_written_and_read():
    ghost = drawn(TRACE, 1).layout.bodies[0]
    data = json.loads(json.dumps(ghost.to_json()))
    assert Body.from_json(data) == ghost and ghost.ghost and ghost.static


def test_the_goal_sphere_is_as_wide_as_the_tolerance():
    ball = shape("sphere", (DIAMETER_M,) * 3)
    radius = np.linalg.norm(ball.vertices, axis=1)
    assert 2 * radius.max() == pytest.approx(DIAMETER_M, abs=2e-3)
    assert 2 * radius.min() > 0.97 * DIAMETER_M
    assert DIAMETER_M / 2 == CRITERIA["paper"].end_effector_m
    outward = (ball.normals * ball.vertices).sum(-1) / radius
    assert outward.min() > 0.9
