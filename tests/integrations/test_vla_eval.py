"""Our benchmark as vla-eval itself runs it, where scripts/setup_clients.sh has installed that."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clevrskills.evaluation.report.external_results import read_any
from clevrskills.evaluation.rollout import policy_seed
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS, ClevrSkillsSuite
from clevrskills.tasks import tasks

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
CONFIGS = ROOT / "integrations" / "vla_eval"
pytestmark = [pytest.mark.readers, pytest.mark.slow]


def python(script: str, *arguments: Any) -> str:
    """What a script printed, in our environment with vla-eval."""
    package = ROOT / ".venv-clients" / "vla-eval"
    if not package.is_dir():
        pytest.skip("no vla-eval; make it with scripts/setup_clients.sh")
    command = [sys.executable, "-W", "ignore", HERE / script, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run(config: str, out: Path, overrides: dict[str, Any], actions: Any = "") -> dict[str, Any]:
    """What vla-eval wrote into its files of results, by name, and what its server was shown."""
    python(
        "vla_eval_run.py",
        *(CONFIGS / config, json.dumps(overrides), out, json.dumps(actions) if actions else ""),
    )
    written = {p.name: json.loads(p.read_text()) for p in out.glob("*_aggregate.json")}
    return {**written, "seen": json.loads((out / "told.json").read_text())["seen"]}


def probe(*parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """What our benchmark says of itself for each of some parameters."""
    return json.loads(python("vla_eval_probe.py", *map(json.dumps, parameters)))


def test_echo_server_evaluates_two_tasks(frozen_folder, tmp_path):
    params = {"frozen": str(frozen_folder), "tasks": ["pick", "touch"], "cameras": []}
    overrides = {"episodes_per_task": 2, "max_steps": 3, "params": params}
    found = run("l0.yaml", tmp_path, overrides)
    for split in ("train", "test"):
        result = found[f"ClevrSkills_L0_{split}_aggregate.json"]
        assert result["num_errors"] == 0 and result["num_episodes_total"] == 4
        assert result["mean_success"] == 0.0 and result["mean_goal_fraction"] == 0.0
        assert [task["task"] for task in result["tasks"]] == ["pick", "touch"]
        for task in result["tasks"]:
            specs = ClevrSkillsSuite(frozen_folder).frozen(task["task"], split)[:2]
            for episode, spec in zip(task["episodes"], specs, strict=True):
                metrics = episode["metrics"]
                assert episode["episode_id"] == spec.index
                assert metrics["episode"] == spec.content_hash
                assert episode["steps"] == metrics["steps"] == 3
                assert metrics["success"] is False and metrics["cause"] == "step limit"
                assert metrics["total_reward"] > 0


@pytest.mark.render
def test_server_is_shown_the_episode(frozen_folder, tmp_path):
    params = {"frozen": str(frozen_folder), "tasks": ["pick"]}
    overrides = {"episodes_per_task": 2, "max_steps": 2, "params": params}
    moves = [[0.0, 0.0, 0.5, 0.0, 0.0, 0.0, -1.0]]
    seen = run("l0.yaml", tmp_path, overrides, moves)["seen"]
    specs = [
        s
        for split in ("train", "test")
        for s in ClevrSkillsSuite(frozen_folder).frozen("pick", split)[:2]
    ]
    for shown, spec in zip(zip(seen[::2], seen[1::2], strict=True), specs, strict=True):
        for step, observation in enumerate(shown):
            assert observation["task_description"] == spec.prompt.text
            assert (observation["step"], observation["seed"]) == (step, shown[0]["seed"])
            assert observation["seed"] != policy_seed(spec) and "episode" not in observation
            shapes = observation["shapes"]
            assert shapes["images/base_camera"] == [256, 256, 3, "uint8"]
            assert shapes["images/hand_camera"] == [256, 256, 3, "uint8"]
            assert shapes["states"] == [15, "float32"]
            images = {f"prompt_images/{{{kind}:{k}}}" for kind, k in spec.prompt.placeholders()}
            assert {n for n in shapes if n.startswith("prompt")} == (set() if step else images)


def test_episodes_end_with_success_or_at_the_step_limit(frozen_folder, solution, tmp_path):
    params = {"frozen": str(frozen_folder), "tasks": ["pick"], "cameras": []}
    found = run("l0.yaml", tmp_path, {"episodes_per_task": 2, "params": params}, solution)
    result = found["ClevrSkills_L0_test_aggregate.json"]
    assert result["mean_success"] == 0.5
    solved, missed = result["tasks"][0]["episodes"]
    assert solved["steps"] == len(solution)
    assert solved["metrics"]["cause"] == "success"
    assert solved["metrics"]["goal_fraction"] == solved["metrics"]["progress"] == 1.0
    assert missed["steps"] == tasks()["pick"].max_steps
    assert missed["metrics"]["cause"] == "step limit"
    _, results, _ = read_any(tmp_path)
    outcomes = {r.id: (r.cause, r.steps, r.seed) for r in results if r.split == "test"}
    assert outcomes["pick_test_000"] == ("success", len(solution), 71)
    assert outcomes["pick_test_001"] == ("step limit", tasks()["pick"].max_steps, 72)


def test_bad_actions_are_errors_of_the_server(frozen_folder, tmp_path):
    params = {"frozen": str(frozen_folder), "tasks": ["pick"], "cameras": []}
    overrides = {"episodes_per_task": 1, "max_steps": 2, "params": params}
    found = run("l0.yaml", tmp_path, overrides, [[float("nan")] + [0.0] * 6])
    result = found["ClevrSkills_L0_train_aggregate.json"]
    assert result["num_errors"] == 1
    [episode] = result["tasks"][0]["episodes"]
    assert episode["failure_reason"] == "env_step"
    assert "entry 0 of an action is nan, not a number" in episode["failure_detail"]


def test_metadata_of_the_benchmark(frozen_folder):
    parameters = {"tasks": ["touch", "pick"], "split": "test", "robot": "xarm6"}
    shipped = {"level": "L1", "prompt": "language", "cameras": [], "send_state": False}
    said, worded = probe({"frozen": str(frozen_folder), **parameters}, shipped)
    speakable = {k for k, t in tasks().items() if t.level == "L1" and k not in KEYSTEP_TASKS}
    assert {task["name"] for task in worded["tasks"]} == speakable
    assert worded["metadata"]["max_episodes_per_task"] == 100
    assert worded["observation"].keys() == {"language"}
    assert [task["name"] for task in said["tasks"]] == ["touch", "pick"]
    assert {task["suite"] for task in said["tasks"]} == {"L0"}
    limits = {key: tasks()[key].max_steps for key in ("touch", "pick")}
    assert said["metadata"]["task_max_steps"] == limits
    assert said["metadata"]["max_steps"] == max(limits.values())
    assert said["metadata"]["max_episodes_per_task"] == 3
    hashes = {
        key: ClevrSkillsSuite(frozen_folder).frozen(key, "test").content_hash for key in limits
    }
    assert said["metadata"]["episode_hashes"] == hashes
    assert said["metrics"]["success"] == "mean"
    action = said["action"]
    assert sum(part["dims"] for part in action.values()) == 7
    assert (action["position"]["format"], action["position"]["range"]) == ("delta_xyz", [-1, 1])
    assert "0.1 m per unit" in action["position"]["description"]
    assert action["rotation"]["format"] == "axis_angle"
    assert action["gripper"]["format"] == "binary_close_positive"
    assert said["observation"]["state"]["dims"] == 15
    assert {"language", "base_camera", "hand_camera", "image"} < said["observation"].keys()
    assert said["mismatches"] == []
    assert said["hold"] == [0.0] * 6 + [0.5] and said["hold_first"] == [0.0] * 6 + [-1.0]
    assert said["backends"] == ["cpu", "gpu"]


def test_bad_parameters_are_named(frozen_folder):
    reasons = {
        "unknown task 'fly'": {"tasks": ["fly"]},
        "unknown level 'L9'; allowed: L0, L1, L2": {"level": "L9"},
        "unknown split of pick 'dev'": {"tasks": ["pick"], "split": "dev"},
        "unknown camera 'front'": {"tasks": ["pick"], "cameras": ["front"]},
        "unknown value of prompt_images 'last'": {"tasks": ["pick"], "prompt_images": "last"},
        "episodes=4 of pick; allowed: 1 to 3": {"tasks": ["pick"], "episodes": 4},
        "unknown robot 'ur5'": {"tasks": ["pick"], "robot": "ur5"},
        "robot=panda: the frozen episodes of pick are for xarm6": {
            "tasks": ["pick"],
            "robot": "panda",
        },
        "unknown criteria 'lax'": {"tasks": ["pick"], "criteria": "lax"},
    }
    answers = probe(*({"frozen": str(frozen_folder), **wrong} for wrong in reasons.values()))
    for answer, reason in zip(answers, reasons, strict=True):
        assert answer["error"].startswith(reason)
