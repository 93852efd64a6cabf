"""Frozen episodes for the tests of integrations, and how one of them is solved."""

from pathlib import Path

import pytest

from clevrskills.core.episode import FrozenHeader
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.evaluation.freeze import frozen
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

TASKS = ("pick", "touch")
EPISODES = 3


@pytest.fixture(scope="session")
def frozen_folder(tmp_path_factory) -> Path:
    """Three episodes of each of two tasks and splits."""
    folder = tmp_path_factory.mktemp("episodes")
    for task in TASKS:
        for split in ("train", "test"):
            specs = [EpisodeSpec.draw(task, split, 71 + k, k) for k in range(EPISODES)]
            head = FrozenHeader(task, split, "xarm6", EPISODES, 80, (30,) * EPISODES)
            frozen.write(folder, head, specs)
    return folder


@pytest.fixture(scope="session")
def solution(frozen_folder) -> list[list[float]]:
    """The oracle's actions in episode 0 of pick, split test."""
    if planner_obstacle() is not None:
        pytest.skip(planner_obstacle())
    from clevrskills.solvers.oracle import Oracle

    env = ClevrSkillsEnv("pick", split="test", obs_mode="none", render_backend="none")
    env.reset(options={"episode": ClevrSkillsSuite(frozen_folder).frozen("pick", "test")[0]})
    oracle, actions, success = Oracle(env), [], False
    while not success:
        action = oracle.act()
        actions.append([float(value) for value in action])
        success = bool(env.step(action)[2][0])
    env.close()
    return actions
