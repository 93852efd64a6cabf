"""Axes of robustness: what they change, how far, and what stays as it is."""

import json
from dataclasses import replace
from itertools import islice
from math import dist, hypot
from unittest.mock import Mock

import numpy as np
import pytest

from clevrskills.assets import texture, texture_names
from clevrskills.assets.palettes import lab
from clevrskills.assets.textures import surface_texture
from clevrskills.core.suite import load_suite
from clevrskills.envs.disturbances import DisturbanceInjector
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.perturbations import AXES, LEVELS, perturb
from clevrskills.envs.perturbations.axis import Draft
from clevrskills.envs.perturbations.semantic import looks_apart, misspeller
from clevrskills.envs.scene_sampling import keystep_scenes, scene_of
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.files import to_json
from clevrskills.sim.conditions import Disturbance
from clevrskills.sim.render import scene_visuals
from clevrskills.tasks import Layout
from clevrskills.tasks import task as draft_task

SUITE = load_suite()
SOME = ("sort", "match_pose", "throw", "follow_order", "balance")


def frozen(task, index=0, split="train"):
    return SUITE.frozen(task, split)[index]


def top(axis):
    return len(AXES[axis].levels)


def test_no_axis_and_level_0_are_the_frozen_episode():
    episode = frozen("sort")
    assert perturb(episode, {}) is episode
    assert perturb(episode, dict.fromkeys(AXES, 0)) is episode
    assert episode.twin == "" and not episode.axes


def test_unknown_axes_and_levels_are_refused():
    with pytest.raises(UnknownNameError, match="camera"):
        perturb(frozen("sort"), {"wind": 1})
    with pytest.raises(ClevrSkillsError, match="no level 6; allowed: 1 to 5"):
        perturb(frozen("sort"), {"camera": 6})
    with pytest.raises(ClevrSkillsError, match="no level 2; allowed: 1$"):
        perturb(frozen("sort"), {"embodiment": 2})


def check(task, axis, index=0):
    """Perturb an episode; written and read it is the same one, and another than its twin."""
    episode = frozen(task, index)
    level = min(3, top(axis))
    made = perturb(episode, {axis: level})
    read = SUITE.read_episode(json.loads(to_json(made.to_json())))
    assert read.content_hash == made.content_hash == perturb(episode, {axis: level}).content_hash
    assert read.to_json() == made.to_json()
    assert made.twin == episode.content_hash != made.content_hash
    assert made.axes == {axis: level} and made.seed == episode.seed


@pytest.mark.parametrize("axis", AXES)
def test_axes(axis):
    for task in SOME:
        check(task, axis)


@pytest.mark.slow
@pytest.mark.parametrize("axis", AXES)
def test_axes_of_all_tasks(axis):
    level = min(3, top(axis))
    for task in SUITE.tasks:
        can = (
            not isinstance(SUITE.perturb(e, {axis: level}), str)
            for e in SUITE.frozen(task, "train")
        )
        check(task, axis, index=list(islice(can, 20)).index(True))


def test_every_axis_rises():
    assert len(AXES) == 11
    for axis in AXES.values():
        assert len(axis.levels) == (1 if axis.name == "embodiment" else len(LEVELS))
        assert axis.levels[0] != axis.levels[-1] or len(axis.levels) == 1


def test_higher_levels_go_further_the_same_way():
    usual = frozen("sort").prompt.setting.cameras["base_camera"]
    turns = []
    for level in LEVELS:
        view = perturb(frozen("sort"), {"camera": level}).conditions.cameras["base_camera"]
        turns.append(dist(view.eye_m, usual.eye_m))
    assert turns == sorted(turns) and turns[-1] > 3 * turns[0] > 0
    qpos = [perturb(frozen("sort"), {"robot_start": k}).conditions.start_qpos for k in (2, 4)]
    neutral = frozen("sort").prompt.setting.qpos_at_start("xarm6")
    assert np.allclose(2 * (np.array(qpos[0]) - neutral), np.array(qpos[1]) - neutral, atol=1e-5)


def test_objects_shift_within_the_level_and_nothing_else_moves():
    for level in (1, 5):
        episode = frozen("sort", 2)
        made = perturb(episode, {"layout": level})
        moved = [
            hypot(one.pose[0] - other.pose[0], one.pose[1] - other.pose[1])
            for one, other in zip(episode.layout.bodies, made.layout.bodies, strict=True)
            if one and other and one.movable
        ]
        assert max(moved) > 0 and max(moved) <= AXES["layout"].levels[level - 1]["shift_m"] + 1e-6
        for one, other in zip(episode.layout.bodies, made.layout.bodies, strict=True):
            assert (one and one.static and one == other) or not (one and one.static)


def test_clutter_differs_from_all_bodies_and_is_not_in_the_goal():
    episode = frozen("sort")
    made = perturb(episode, {"clutter": 5})
    own, more = made.layout.bodies[: len(episode.layout.bodies)], made.layout.bodies[-5:]
    assert own == episode.layout.bodies and [b.key for b in more] == [
        f"clutter_{k}" for k in range(5)
    ]
    present = [*filter(None, episode.layout.bodies)]
    assert not {b.shape for b in more} & {b.shape for b in present}
    for body in more:
        others = [b for b in (*present, *more) if b is not body]
        assert all(looks_apart(body.texture, b.texture) for b in others)
    assert made.prompt.text == episode.prompt.text and "clutter" not in made.prompt.text


@pytest.mark.parametrize("task", ["rearrange", "swap_rotate"])
def test_clutter_leaves_room_at_targets(task):
    for index in range(3):
        episode = frozen(task, index)
        made = perturb(episode, {"clutter": 3})
        scene = scene_of(draft_task(task), episode.layout)
        end = keystep_scenes(scene.goal, scene.start, episode.layout)[-1].bodies
        taken = [b for b in end if b not in episode.layout.bodies]
        assert taken
        for body in made.layout.bodies[-3:]:
            near = min(dist(body.pose[:2], b.pose[:2]) for b in taken)
            assert near > 0.05 + min(body.geometry.half_extents[:2])


def test_textures_are_replaced_by_held_out_ones_alike():
    episode = frozen("sort", 3)
    made = perturb(episode, {"texture": 5})
    pairs = {
        (one.texture, other.texture)
        for one, other in zip(episode.layout.bodies, made.layout.bodies, strict=True)
        if one
    }
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
    assert not {old for old, _ in pairs} & {new for _, new in pairs}
    assert all(
        one.pose == other.pose
        for one, other in zip(
            filter(None, episode.layout.bodies), filter(None, made.layout.bodies), strict=True
        )
    )


def test_wordings():
    episode = frozen("sort")
    styles = [perturb(episode, {"language": level}).prompt for level in LEVELS]
    assert [prompt.wording["held_out"] for prompt in styles] == [False, False, True, True, True]
    assert all(prompt.text != episode.prompt.text for prompt in styles)
    assert [prompt.wording.get("misspelt", False) for prompt in styles] == [False] * 3 + [True] * 2


def test_names_directions_and_numbers_are_never_misspelt():
    text = (
        "Please carefully move {obj:object_0} towards the left area, then push the red cube twice"
    )
    for seed in range(50):
        said = misspeller(3, np.random.default_rng(seed))(text)
        assert said != text and "{obj:object_0}" in said
        for word in ("{obj:object_0}", "left", "area,", "red", "cube", "twice", "towards"):
            assert word in said


def test_axes_of_another_suite_with_its_camera_straight_above():
    suite = load_suite("lohoravens")
    assert set(AXES) - set(suite.axes()) == {"embodiment"}  # there is one arm
    episode = suite.draw("pick_place_size", "train", 30_000_003)
    turns = [suite.perturb(episode, {"camera": k}).conditions.cameras["top"] for k in LEVELS]
    off = [
        hypot(view.eye_m[0] - view.target_m[0], view.eye_m[1] - view.target_m[1]) for view in turns
    ]
    assert off == sorted(off) and 0.0 < off[0] < off[-1]


def table_color(surfaces=None):
    """Mean color of the table in CIELAB."""
    wood = surface_texture("table wood").reshape(-1, 3).mean(axis=0)
    if surfaces is None:
        return lab(wood)
    return lab((1 - surfaces.stain) * wood + surfaces.stain * 255 * np.array(surfaces.table))


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_no_table_hides_an_object(every):
    """Textures alone, and those of scenes, at every level; on the usual table the least
    contrast of a texture is 13.
    """
    usual = table_color()
    color = {
        name: lab(texture(name).reshape(-1, 3).mean(axis=0)) for name in texture_names()[::every]
    }
    assert min(dist(usual, one) for one in color.values()) > 13
    (body, *_), axis = filter(None, frozen("pick").layout.bodies), AXES["background"]
    scenes = [[replace(body, texture=name)] for name in color]
    scenes += [[*filter(None, frozen(task, 7).layout.bodies)] for task in SOME[:2]]
    for seed, bodies in enumerate(scenes):
        for most in axis.levels:
            draft = Draft(frozen("pick"), draft_task("pick"), Layout(tuple(bodies), {}), "xarm6")
            axis.draw(draft, most, np.random.default_rng(seed))
            table = table_color(draft.conditions["surfaces"])
            for name in {body.texture for body in bodies} & set(color):
                least = min(20, 0.75 * dist(usual, color[name]))
                assert dist(table, color[name]) >= least, (seed, name)


@pytest.fixture(scope="module")
def env():
    made = ClevrSkillsEnv("sort", obs_mode="none", render_backend="none")
    yield made
    made.close()


def states(env, episode, steps=12):
    env.reset(options={"episode": episode})
    found = [env.get_state()[0].numpy().copy()]
    for k in range(steps):
        env.step(np.array([0.1, 0.0, 0.2, 0.0, 0.0, 0.0, float(k % 2)]))
        found.append(env.get_state()[0].numpy().copy())
    return found


def test_a_perturbed_episode_is_reproducible_and_leaves_the_clean_one_unchanged(env):
    episode = frozen("sort")
    clean = states(env, episode)
    for axes in ({"disturbance": 5}, {"robot_start": 3}, {"layout": 3}):
        made = perturb(episode, axes)
        first, second = states(env, made), states(env, made)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(first, clean, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(states(env, episode), clean, strict=True))


def test_the_arm_starts_at_the_perturbed_joint_angles(env):
    made = perturb(frozen("sort"), {"robot_start": 4})
    env.reset(options={"episode": made})
    assert np.allclose(env.proprioception()["qpos"], made.conditions.start_qpos, atol=2e-2)


def test_a_held_object_starts_with_the_arm():
    made = perturb(frozen("place"), {"robot_start": 5})
    scene = scene_of(draft_task("place"), made.layout)
    env = ClevrSkillsEnv("place", obs_mode="none", render_backend="none")
    env.reset(options={"episode": made})
    held = int(env.world.held[0])
    usual, now = (world.body_pose[0, held, :3].numpy() for world in (scene.start, env.world))
    in_hand = env.world.end_effector_pose[0, :3].numpy() - now
    clean = scene.start.end_effector_pose[0, :3].numpy() - usual
    assert held == made.layout.in_gripper and dist(usual, now) > 0.05
    assert abs(np.linalg.norm(in_hand) - np.linalg.norm(clean)) < 0.015
    env.close()


def test_late_actions_are_carried_out_once():
    late = DisturbanceInjector([Disturbance("delay", 1, steps=3, by=1.0)], None)
    given = [np.full(7, k / 10, np.float32) for k in range(1, 7)]
    moved = [late(action, k, False)[0] for k, action in enumerate(given)]
    assert np.allclose(moved, [0.1, 0.0, 0.2, 0.3, 0.5, 0.6])  # the fourth never arrives


def test_clutter_lies_in_the_world(env):
    episode = frozen("sort")
    made = perturb(episode, {"clutter": 3})
    env.reset(options={"episode": made})
    assert env.world.keys[-3:] == ("clutter_0", "clutter_1", "clutter_2")
    assert len(env.object_poses()) == len([*filter(None, made.layout.bodies)])
    assert not any(env.faults()[name] for name in ("goal holds", "overlap"))
    env.reset(options={"episode": episode})
    assert env.world.keys == env.task.slots


@pytest.mark.parametrize("look", scene_visuals.LIGHTS)
def test_light_changes_the_lights_of_the_look(look: str) -> None:
    light, scene = perturb(frozen("sort"), {"light": 1}).conditions.light, Mock()
    scene_visuals.load_lighting(scene, look, light)
    lamps = [call.args for call in scene.add_directional_light.call_args_list]
    for (direction, color), usual in zip(lamps, scene_visuals.LIGHTS[look], strict=True):
        turn = np.subtract(*(np.arctan2(d[1], d[0]) for d in (direction, usual[0])))
        assert 0 < abs((turn + np.pi) % (2 * np.pi) - np.pi) <= np.radians(30)
        assert np.allclose(np.divide(color, usual[1]), 1, atol=0.2)


@pytest.mark.slow
@pytest.mark.render
def test_perturbed_images_change_and_clean_ones_do_not():
    from clevrskills.core.env_config import EnvConfig
    from clevrskills.envs.perturbations.visibility import hidden

    env = SUITE.make(EnvConfig("sort", "train", cameras=("base_camera",), size_px=64))
    episode = frozen("sort")

    def image(axes):
        env.reset(options={"episode": perturb(episode, axes)})
        return env.capture()["base_camera"].astype(int)

    clean = image({})
    for axis in ("camera", "light", "background", "noise"):
        changes = [np.abs(image({axis: level}) - clean).mean() for level in (1, 5)]
        assert 0.1 < changes[0] < changes[1], axis
    assert np.array_equal(image({}), clean)
    assert np.array_equal(image({"noise": 3}), image({"noise": 3}))
    env.close()
    assert hidden(perturb(episode, {"light": 2})) == ""
    muted = perturb(frozen("touch", 7), {"background": 5})
    assert hidden(muted) == ""
    surfaces = muted.conditions.surfaces
    assert surfaces is not None
    navy = replace(surfaces, table=(0.258435, 0.28946, 0.397592))
    dark = replace(muted, conditions=replace(muted.conditions, surfaces=navy))
    assert hidden(dark) == "object_0 has a contrast of only 16 to its surroundings"  # of purple
    base = next(b for b in episode.layout.bodies if b)
    covered = replace(base, key="clutter_0", shape="cube", size=(0.5, 0.5, 0.5))
    x, y, _ = base.pose[:3]
    covered = replace(covered, static=True, pose=(x + 0.1, y, 0.25, 1.0, 0.0, 0.0, 0.0))
    layout = replace(episode.layout, bodies=(*episode.layout.bodies, covered))
    assert hidden(replace(episode, layout=layout)) != ""
    assert hidden(frozen("throw_sort")) == ""  # areas out of reach show 50 to 100 pixels
