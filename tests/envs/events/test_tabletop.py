"""Failure events of tabletop episodes: scripted failures, and episodes without any."""

from collections import Counter
from collections.abc import Iterator

import pytest

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.rollout import Rollout
from clevrskills.core.suite import all_robots, load_suite
from clevrskills.envs.events.kinds import KINDS, first_failure
from clevrskills.envs.events.tabletop import TabletopWatcher
from clevrskills.solvers.requirements import planner_obstacle
from tests.support.envs import base, go_to, make_env
from tests.support.failures import SCRIPTS, above, set_down, take

needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


def run(kind: str, seeds: range) -> Iterator[tuple[int, str, list[dict]]]:
    """Scripted failures of a kind: their seeds, the body that each is about, the events."""
    script = SCRIPTS[kind]
    env = make_env(script.task, task_args=script.task_args)
    for seed in seeds:
        env.reset(seed=seed)
        if script.start is not None:
            script.start(env)
        watcher = TabletopWatcher(base(env))
        body = script.run(env, watcher)
        watcher.finish()
        yield seed, body, [event.to_json() for event in watcher.events]
    env.close()


@pytest.mark.parametrize("kind", SCRIPTS)
def test_scripted_failure(kind: str) -> None:
    """It is reported for the right body and named as the first cause."""
    for seed, body, events in run(kind, range(1)):
        first = first_failure(events)
        assert first is not None, seed
        assert (first["kind"], first.get("object", "")) == (kind, body), (seed, events)
        assert first["step"] >= 1


@pytest.mark.slow
def test_two_hundred_scripted_failures() -> None:
    """At least 98 % are named as the first cause, of the right body."""
    wrong = []
    for kind in SCRIPTS:
        for seed, body, events in run(kind, range(20)):
            first = first_failure(events)
            if first is None or (first["kind"], first.get("object", "")) != (kind, body):
                wrong.append((kind, seed, body, events))
    assert len(wrong) <= 4, wrong


@needs_oracle
@pytest.mark.parametrize("task", ["place", "rotate_restore", "swap", "throw"])
def test_the_oracle_does_nothing_wrong(task: str) -> None:
    """Placing, taking and placing again as the goal asks is no failure."""
    suite = load_suite()
    env = suite.make(EnvConfig(task, "test", all_robots(suite)[0], "paper", cameras=()))
    env.reset(options={"episode": suite.frozen(task, "test")[0]})
    oracle = suite.oracle(env)
    oracle.reset()
    watcher = env.watcher()
    assert watcher is not None
    rollout = Rollout(env)
    assert rollout.run(oracle.act) == ("", "")
    watcher.finish()
    assert [event.to_json() for event in watcher.events] == []
    found = watcher.trajectory()
    assert {"path_m", "sparc"} <= set(found) <= {"path_m", "sparc", "first_contact_s"}
    assert 0.1 < found["path_m"] < 0.1 * 3**0.5 * rollout.steps and found["sparc"] < -1.0
    env.close()


def kinds(watcher: TabletopWatcher) -> list[tuple[str, str]]:
    """Kinds and bodies of an episode that ends now."""
    watcher.finish()
    return [(event.kind, event.object) for event in watcher.events]


def test_an_object_in_place_at_the_end_is_not_misplaced() -> None:
    env = make_env("place", task_args={"num_bases": (2, 2)})
    env.reset(seed=0)
    first, second = TabletopWatcher(base(env)), TabletopWatcher(base(env))
    name = SCRIPTS["misplaced"].run(env, first)
    assert ("misplaced", name) in kinds(first)
    take(env, base(env).world.keys.index(name))
    set_down(env, int(base(env).goal.bottom[0]))
    assert "misplaced" not in dict(kinds(second)) and bool(base(env).outcome.holds[0])
    env.close()


@pytest.mark.parametrize(("height_m", "kind"), [(0.05, "missed"), (0.3, "not approached")])
def test_near_and_not_touched(height_m: float, kind: str) -> None:
    """Above the body to push, within 10 cm or not."""
    env = make_env("push")
    env.reset(seed=0)
    watcher = TabletopWatcher(base(env))
    slot = min(watcher.roles.handled)
    go_to(env, above(env, slot, height_m))
    assert kinds(watcher) == [(kind, base(env).world.keys[slot])]
    env.close()


@pytest.mark.parametrize(
    ("beside_m", "kind"), [(0.0, ""), (0.09, "missed"), (0.11, "not approached")]
)
def test_goals_in_the_air(beside_m: float, kind: str) -> None:
    """So far from where the first goal is met, or there."""
    env = make_env("trace")
    env.reset(seed=0)
    scene = base(env)
    watcher = TabletopWatcher(scene)
    first, second = (scene.task.slots[k] for k in scene.layouts[0].roles["goals"][:2])
    place = scene.world.position(scene.world.index(first))[0]
    tool = scene.world.end_effector_pose[0, :3]
    away = (tool - place) / (tool - place).norm()
    far_m = beside_m + scene.goal.children[0].criteria.end_effector_m if kind else 0.0
    go_to(env, (place + far_m * away).tolist())
    found = dict(reversed(pair) for pair in kinds(watcher))
    assert found.get(first, "") == kind and (second in found) == (not kind)
    env.close()


def test_a_body_alone_has_no_carrier() -> None:
    env = make_env("match_pose")
    env.reset(seed=0)
    assert len(base(env).world.keys) == 1
    assert TabletopWatcher(base(env))._carrier(0) == -1
    env.close()


def test_watching_ends_with_the_episode() -> None:
    """A watcher of one episode tells nothing of the next one."""
    env = make_env("pick")
    env.reset(seed=0)
    watcher = TabletopWatcher(base(env))
    SCRIPTS["dropped"].run(env, watcher)
    given = Counter(event.kind for event in watcher.events)
    env.reset(seed=1)
    SCRIPTS["dropped"].run(env, TabletopWatcher(base(env)))
    assert Counter(event.kind for event in watcher.events) == given
    assert set(given) <= set(KINDS)
    env.close()
