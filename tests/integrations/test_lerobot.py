"""Our plug-in as LeRobot itself uses it, where scripts/setup_lerobot.sh has installed that."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clevrskills.core.observer import text_of
from clevrskills.evaluation.report.external_results import read_any
from clevrskills.evaluation.results import open_evaluations
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PROGRAMS = ROOT / ".venv-lerobot" / "bin"
pytestmark = [pytest.mark.readers, pytest.mark.slow, pytest.mark.render]

FEATURES = {
    "action": ["ACTION", 7],
    "observation.state": ["STATE", 15],
    "observation.images.base_camera": ["VISUAL", 3, 256, 256],
    "observation.images.hand_camera": ["VISUAL", 3, 256, 256],
}


def program(name: str, cache: Path, *arguments: Any) -> str:
    """What a program of the environment with LeRobot printed."""
    if not (PROGRAMS / name).exists():
        pytest.skip("no LeRobot 0.6; make it with scripts/setup_lerobot.sh and Python 3.12")
    environment = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    environment["OMP_NUM_THREADS"] = "1"
    command = [PROGRAMS / name, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def drive(cache: Path, folder: Path, **wishes: Any) -> dict[str, Any]:
    """What lerobot_run.py tells."""
    config = {"task": "pick,touch", "split": "test", "frozen": str(folder)}
    usual = {"way": "factory", "config": config, "n_envs": 2, "processes": False, "evaluations": []}
    script = HERE / "lerobot_run.py"
    printed = program("python", cache, "-W", "ignore", script, json.dumps({**usual, **wishes}))
    return json.loads(printed.splitlines()[-1])


def sentences(folder: Path, task: str) -> list[str]:
    return [text_of(spec.prompt) for spec in ClevrSkillsSuite(folder).frozen(task, "test")]


def check(given: dict[str, Any], folder: Path) -> None:
    """What LeRobot finds in the environments is what it needs."""
    assert given["shown"].keys() == {"pick/0", "touch/0"}
    for task, limit in (("pick", 80), ("touch", 200)):
        shown = given["shown"][f"{task}/0"]
        assert shown["in_space"]
        wanted = {name: shape[1:] for name, shape in FEATURES.items() if name != "action"}
        assert shown["observation"] == {name: [2, *shape] for name, shape in wanted.items()}
        assert shown["task"] == [task, task]
        assert shown["description"] == sentences(folder, task)[:2]
        assert shown["limit"] == [limit, limit]
        assert shown["success"] == [False, False]
        assert (shown["fps"], shown["autoreset"]) == (20, "SameStep")


def test_factory_and_evaluation(frozen_folder, solution, tmp_path):
    evaluations = [
        {"task": "pick", "episodes": 2, "seed": 0, "actions": solution},
        {"task": "touch", "episodes": 4, "seed": 1000, "limit": 2},
        {"task": "touch", "episodes": 6, "limit": 2},
    ]
    given = drive(tmp_path, frozen_folder, evaluations=evaluations)
    assert given["features"] == FEATURES
    check(given, frozen_folder)
    solved, seeded, unseeded = given["evaluations"]
    metrics = solved["info"]["per_group"]["pick"]
    assert (metrics["pc_success"], metrics["n_episodes"]) == (50.0, 2)
    assert solved["info"]["per_task"][0]["metrics"]["successes"] == [True, False]
    assert solved["simulated"] == len(solution) + 80  # what is over is not simulated any more
    said = sentences(frozen_folder, "touch")
    assert seeded["asked"] == [[said[1], said[2]], [said[0], said[1]]]  # 1000 modulo 3 is 1
    # from episode 1 and 0, where the evaluation before left off, two further each time
    assert unseeded["asked"] == [[said[k % 3] for k in pair] for pair in ((2, 0), (1, 2), (0, 1))]
    assert seeded["info"]["overall"]["pc_success"] == 0.0


def test_tasks_without_text_prompts_are_refused_when_configured(tmp_path):
    make = "from lerobot_env_clevrskills import *; ClevrSkillsEnvConfig(task='pick,match_pose')"
    with pytest.raises(AssertionError, match="match_pose cannot be stated in words alone"):
        program("python", tmp_path, "-c", make)


def test_processes(frozen_folder, tmp_path):
    wish = {"task": "pick", "episodes": 4, "seed": 0, "limit": 2}
    given = drive(tmp_path, frozen_folder, processes=True, evaluations=[wish])
    check(given, frozen_folder)
    said = sentences(frozen_folder, "pick")
    assert given["evaluations"][0]["asked"] == [[said[0], said[1]], [said[2], said[0]]]
    assert given["evaluations"][0]["simulated"] == 0  # here


def test_hub(frozen_folder, tmp_path):
    wish = {"task": "pick", "episodes": 2, "seed": 0, "limit": 2}
    given = drive(tmp_path, frozen_folder, way="hub", evaluations=[wish])
    check(given, frozen_folder)
    assert given["evaluations"][0]["info"]["overall"]["n_episodes"] == 2


def test_command(frozen_folder, tmp_path):
    """``lerobot-eval`` with a policy from a folder."""
    policy, out = tmp_path / "policy", tmp_path / "out"
    program("python", tmp_path, "-W", "ignore", HERE / "lerobot_policy.py", frozen_folder, policy)
    arguments = [f"--policy.path={policy}", "--policy.device=cpu", f"--output_dir={out}"]
    arguments += ["--env.type=clevrskills", "--env.task=pick", f"--env.frozen={frozen_folder}"]
    arguments += ["--eval.batch_size=1", "--eval.n_episodes=1", "--eval.use_async_envs=false"]
    program("lerobot-eval", tmp_path, *arguments)
    info = json.loads((out / "eval_info.json").read_text())
    assert info["per_group"]["pick"]["n_episodes"] == 1
    assert info["overall"]["pc_success"] == 0.0
    [video] = info["overall"]["video_paths"]
    assert Path(video).stat().st_size > 1000
    _, [result], _ = read_any(out)
    assert (result.task, result.cause, result.success_once) == ("pick", "step limit", False)


LAST = "checkpoints/last/pretrained_model"
GENTLE = """
import sys
from safetensors.torch import load_file, save_file
weights = load_file(sys.argv[1])
weights["model.action_head.weight"] *= 0.1
save_file(weights, sys.argv[1])
"""
"""Keeps what has hardly been trained from acting beyond the limits."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """What ``lerobot-train`` made of two episodes in two steps, by the documented commands, all in
    LeRobot's own environment.
    """
    folder = tmp_path_factory.mktemp("checkpoint")
    demos, data = folder / "demos", folder / "data"
    made = "generate", "pick", "--episodes", "2", "--size", "64", "--out", demos
    program("clevrskills", folder, *made)
    program("clevrskills", folder, "export", demos, "--to", "lerobot", "--out", data)
    small = {"dim_model": 32, "n_heads": 2, "dim_feedforward": 32, "n_encoder_layers": 1}
    policy = {**small, "type": "act", "push_to_hub": "false", "use_vae": "false", "device": "cpu"}
    policy |= {"pretrained_backbone_weights": "null", "chunk_size": 12, "n_action_steps": 8}
    program(
        "lerobot-train",
        folder,
        "--dataset.repo_id=me/demos",
        f"--dataset.root={data}",
        f"--output_dir={folder / 'out'}",
        *("--steps=2", "--batch_size=2", "--num_workers=0"),
        *(f"--policy.{name}={value}" for name, value in policy.items()),
    )
    program("python", folder, "-c", GENTLE, folder / "out" / LAST / "model.safetensors")
    return folder / "out"


def test_checkpoint_acts_as_in_lerobot_eval(checkpoint, frozen_folder, tmp_path):
    at = checkpoint / LAST
    script = HERE / "lerobot_checkpoint.py"
    printed = program("python", tmp_path, "-W", "ignore", script, at, frozen_folder, "19")
    given = json.loads(printed.splitlines()[-1])
    for how in ("as it is", "ensembled"):
        assert given[how]["ours"] == given[how]["theirs"]
    assert given["as it is"]["ours"] != given["ensembled"]["ours"]
    refused = given["refused"]
    assert refused.pop("renamed") == ""
    for wrong, line in {
        "camera": "the checkpoint DIR does not fit: it takes images of front; here are base_camera",
        "size": "it takes images of 64 x 64 and 320 x 240; here all are squares of one size",
        "state": "it takes a state of 9 numbers; here it has 15",
        "action": "its actions are (8,), here (7,)",
        "type": "unknown type of LeRobot's policies 'fly'",
        "setting": "unknown field of the configuration of act 'steps'",
    }.items():
        assert line in refused[wrong]


def test_command_evaluates_a_checkpoint(checkpoint, frozen_folder, tmp_path):
    """On numpy 2; from the output folder of the training."""
    info = checkpoint.parent / "data/meta/info.json"
    before = info.read_text()
    info.write_text(before.replace('"soft"', '"flat"'))
    arguments = ["evaluate", "pick", "--policy", f"lerobot:{checkpoint}", "--split", "test"]
    arguments += ["--frozen", frozen_folder, "--episodes", "1", "--out", tmp_path / "run"]
    try:
        program("clevrskills", tmp_path, *arguments)
    finally:
        info.write_text(before)
    [evaluation] = open_evaluations([tmp_path / "run"])
    [result] = evaluation.results
    assert (result.cause, result.steps, result.error) == ("step limit", 80, "")
    shown = evaluation.run.observation
    assert shown["cameras"] == ["base_camera", "hand_camera"]
    assert (shown["size_px"], shown["history"], shown["prompt"]) == (64, 1, "language")
    assert shown["look"] == "flat"
