"""One policy, out of range now and then, gives equal results in all that run the environments."""

import json

import gymnasium as gym
import numpy as np
import pytest
from inline import one_worker_here

from clevrskills import env_id, make_vec
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.integrations.lerobot_env import LeRobotEnv
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite
from tests.integrations.test_vla_eval import run


@pytest.fixture(scope="module")
def wide(solution) -> list[list[float]]:
    """Actions that solve the episode; the gripper is out of range in each second one."""
    return [[*a[:6], a[6] * (1.03 if k % 2 else 1.0)] for k, a in enumerate(solution)]


def by_evaluate(actions, folder, out):
    args = EvaluateArgs(
        policy="fake_policies:Reciter",
        policy_arg=(f"actions={json.dumps(actions)}",),
        tasks=("pick",),
        split=("test",),
        episodes=1,
        frozen=folder,
        out=out,
    )
    with one_worker_here():
        assert evaluate(args) == 0
    (result,) = read_results(out)
    return result.steps, result.success_at_end, result.progress, result.clipped


def by_gymnasium(actions, folder, _):
    spec = ClevrSkillsSuite(folder).frozen("pick", "test")[0]
    env = gym.make(env_id("pick"), split="test", obs_mode="none", render_backend="none")
    env.reset(options={"episode": spec})
    return stepped(env, actions)


def by_lerobot(actions, folder, _):
    env = LeRobotEnv("pick", "test", cameras=("base_camera",), size_px=32, frozen=str(folder))
    env.reset(seed=0)
    return stepped(env, actions)


def stepped(env, actions):
    """What comes of actions in an environment of Gymnasium."""
    infos, ended = [], False
    while not ended:
        _, _, terminated, truncated, info = env.step(np.array(actions[len(infos)]))
        infos.append(info)
        ended = terminated or truncated
    env.close()
    most = max(info["progress"] for info in infos)
    return len(infos), info["is_success"], most, np.mean([info["clipped"] for info in infos])


def by_make_vec(actions, folder, _):
    spec = ClevrSkillsSuite(folder).frozen("pick", "test")[0]
    envs = make_vec("pick", 2, split="test", terminate_on_success=True)
    envs.reset(seed=[spec.seed, spec.seed])
    infos = [envs.step(np.array([action] * 2))[-1] for action in actions]
    assert [bool(info.get("_final_info", [False])[0]) for info in infos[:-1]] == [False] * len(
        infos[:-1]
    )
    last = infos[-1]["final_info"]
    envs.close()
    most = max(info["progress"][0] for info in (*infos[:-1], last))
    clipped = np.mean([info["clipped"][0] for info in infos])
    return last["episode"]["length"][0], last["success"][0], most, clipped


def by_vla_eval(actions, folder, out):
    params = {"frozen": str(folder), "tasks": ["pick"], "cameras": []}
    found = run("l0.yaml", out, {"episodes_per_task": 1, "params": params}, actions)
    (episode,) = found["ClevrSkills_L0_test_aggregate.json"]["tasks"][0]["episodes"]
    given = episode["metrics"]
    return given["steps"], given["success"], given["progress"], given["clipped"]


@pytest.mark.parametrize(
    "way",
    [
        by_evaluate,
        by_gymnasium,
        by_make_vec,
        pytest.param(by_lerobot, marks=pytest.mark.render),
        pytest.param(by_vla_eval, marks=[pytest.mark.readers, pytest.mark.slow]),
    ],
)
def test_equal_results(way, wide, frozen_folder, tmp_path):
    steps, success, progress, clipped = way(wide, frozen_folder, tmp_path / "run")
    assert (steps, success) == (len(wide), True)
    assert progress == pytest.approx(1.0)
    assert clipped == pytest.approx(len(wide) // 2 / len(wide), abs=1e-6)
