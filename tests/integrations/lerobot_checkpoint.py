"""Acts by a checkpoint of LeRobot as its own evaluation does and as ours does; prints JSON.

Usage: lerobot_checkpoint.py CHECKPOINT EPISODES STEPS, in an environment with lerobot and our
plug-in. Told are the actions of both in two episodes, with the checkpoint as it is and with
temporal ensembling, and why other checkpoints are refused.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lerobot.configs import PreTrainedConfig
from lerobot.envs import make_env, make_env_config, make_env_pre_post_processors
from lerobot.policies import make_policy, make_pre_post_processors
from lerobot.scripts.lerobot_eval import rollout
from lerobot.utils.import_utils import register_third_party_plugins

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy_loader import PolicySource
from clevrskills.core.suite import all_robots, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.rollout import PolicyRollout, Rules

EPISODES, SIZE_PX = 2, 64
ENSEMBLED = {"temporal_ensemble_coeff": 0.01, "n_action_steps": 1}
Actions = list[list[list[float]]]


def theirs(checkpoint: Path, folder: str, steps: int, settings: dict[str, Any]) -> Actions:
    """The actions in LeRobot's evaluation, by episode."""
    given = [f"--{name}={value}" for name, value in settings.items()]
    config = PreTrainedConfig.from_pretrained(checkpoint, cli_overrides=given)
    config.pretrained_path = checkpoint
    env_config = make_env_config(
        "clevrskills", task="pick", split="test", frozen=folder, size_px=SIZE_PX
    )
    env = make_env(env_config)["pick"][0]
    env.set_attr("_max_episode_steps", steps)
    policy = make_policy(config, env_cfg=env_config)
    pipes = make_env_pre_post_processors(env_cfg=env_config, policy_cfg=config)
    pipes += make_pre_post_processors(config, str(checkpoint))
    made = [rollout(env, policy, *pipes, seeds=[k])["action"] for k in range(EPISODES)]
    env.close()
    return [actions[0].tolist() for actions in made]


def ours(checkpoint: Path, folder: str, steps: int, settings: dict[str, Any]) -> Actions:
    """Those in ours."""
    suite = load_suite(folder=Path(folder))
    source = PolicySource(f"lerobot:{checkpoint}", settings)
    policy = source.make(suite)
    options = policy.options
    names = all_robots(suite)[0], suite.criteria()[0], options.cameras, options.size_px
    env = suite.make(EnvConfig("pick", "test", *names))
    given: Actions = []
    for episode in suite.frozen("pick", "test")[:EPISODES]:
        run, made = PolicyRollout(env, episode, options, Rules(), suite), list[np.ndarray]()
        policy.reset(run.prompt)
        while len(made) < steps:
            answer = np.atleast_2d(policy.act(run.observation))[: steps - len(made)]
            made += [*answer]
            run.go_on(answer)
        given.append(np.stack(made).tolist())
    env.close()
    return given


def refusal(checkpoint: Path, change: Callable[[dict[str, Any]], Any], **arguments: Any) -> str:
    """Why a checkpoint of another configuration is refused; empty: it is not."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(checkpoint, Path(folder) / "copy"))
        file = copy / "config.json"
        config = json.loads(file.read_text())
        change(config)
        file.write_text(json.dumps(config))
        try:
            PolicySource(f"lerobot:{copy}", arguments).make()
        except ClevrSkillsError as error:
            return str(error).replace(str(copy), "DIR")
    return ""


def call_camera(name: str) -> Callable[[dict[str, Any]], Any]:
    def change(config: dict[str, Any]) -> None:
        inputs = config["input_features"]
        inputs[f"observation.images.{name}"] = inputs.pop("observation.images.base_camera")

    return change


def shape(group: str, name: str, *of: int) -> Callable[[dict[str, Any]], Any]:
    return lambda config: config[group][name].update(shape=of)


def main(checkpoint: str, folder: str, steps: str) -> None:
    register_third_party_plugins()
    at = Path(checkpoint).resolve()
    given: dict[str, Any] = {}
    for name, settings in (("as it is", {}), ("ensembled", ENSEMBLED)):
        how = at, folder, int(steps), settings
        given[name] = {"theirs": theirs(*how), "ours": ours(*how)}
    images = "observation.images.hand_camera"
    given["refused"] = {
        "camera": refusal(at, call_camera("front")),
        "renamed": refusal(at, call_camera("front"), rename={"base_camera": "front"}),
        "size": refusal(at, shape("input_features", images, 3, 240, 320)),
        "state": refusal(at, shape("input_features", "observation.state", 9)),
        "action": refusal(at, shape("output_features", "action", 8)),
        "type": refusal(at, lambda config: config.update(type="fly")),
        "setting": refusal(at, lambda config: None, steps=3),
    }
    print(json.dumps(given))


if __name__ == "__main__":
    main(*sys.argv[1:])
