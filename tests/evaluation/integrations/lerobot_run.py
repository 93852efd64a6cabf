"""Drives our environments by LeRobot's factory, or as from its EnvHub, and prints JSON.

Usage: lerobot_run.py factory|hub FOLDER [async], in an environment with lerobot and our plug-in.
"""

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from lerobot.configs import PreTrainedConfig
from lerobot.envs import close_envs, env_to_policy_features, make_env, make_env_config
from lerobot.envs.utils import (
    _call_make_env,
    _load_module_from_path,
    _normalize_hub_result,
    check_env_attributes_and_types,
    preprocess_observation,
)
from lerobot.policies import PreTrainedPolicy
from lerobot.processor import PolicyProcessorPipeline
from lerobot.scripts.lerobot_eval import eval_policy_all
from lerobot.utils.import_utils import register_third_party_plugins

HUB = Path(__file__).parents[3] / "integrations" / "envhub" / "env.py"


class Still(PreTrainedPolicy):
    """Does nothing, and notes what it is asked."""

    config_class = PreTrainedConfig
    name = "still"

    def __init__(self) -> None:
        torch.nn.Module.__init__(self)
        self.asked: list[list[str]] = []

    def select_action(self, batch: dict[str, Any], **_: Any) -> torch.Tensor:
        if not self.asked or self.asked[-1] != batch["task"]:
            self.asked.append(batch["task"])
        return torch.zeros(len(batch["task"]), 7)

    def reset(self) -> None: ...
    def get_optim_params(self) -> dict[str, Any]: ...
    def predict_action_chunk(self, *_: Any, **__: Any) -> torch.Tensor: ...
    def forward(self, *_: Any, **__: Any) -> Any: ...


def made(way: str, folder: str, in_processes: bool) -> tuple[Any, dict[str, Any]]:
    config = make_env_config("clevrskills", task="pick,touch", folder=folder, split="test")
    if way == "factory":
        return config, make_env(config, n_envs=2, use_async_envs=in_processes)
    module = _load_module_from_path(str(HUB))
    result = _call_make_env(module, n_envs=2, use_async_envs=in_processes, cfg=config)
    return config, _normalize_hub_result(result)


def evaluate(envs: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """What LeRobot's own evaluation says of a policy that does nothing, four episodes a task."""
    policy = Still()
    nothing = PolicyProcessorPipeline(steps=[], to_transition=dict, to_output=dict)
    pipes = ("env_preprocessor", "env_postprocessor", "preprocessor")
    action = PolicyProcessorPipeline(steps=[], to_transition=_same, to_output=_same)
    info = eval_policy_all(
        envs,
        policy,
        n_episodes=4,
        start_seed=seed,
        postprocessor=action,
        **dict.fromkeys(pipes, nothing),
    )
    return {"info": info, "asked": policy.asked}


def _same(value: Any) -> Any:
    return value


def main(way: str, folder: str, mode: str = "") -> None:
    register_third_party_plugins()
    config, envs = made(way, folder, mode == "async")
    shown: dict[str, Any] = {}
    for suite, vectors in envs.items():
        for number, env in vectors.items():
            assert isinstance(env, gym.vector.VectorEnv)
            observation, _ = env.reset(seed=[0, 1])
            check_env_attributes_and_types(env)
            _, _, _, _, info = env.step(env.action_space.sample() * 0)
            batch = preprocess_observation(observation)
            shown[f"{suite}/{number}"] = {
                "observation": {name: list(value.shape) for name, value in batch.items()},
                "in_space": env.observation_space.contains(observation),
                "task": list(env.call("task")),
                "description": list(env.call("task_description")),
                "limit": list(env.call("_max_episode_steps")),
                "success": info["is_success"].tolist(),
                "fps": env.unwrapped.metadata["render_fps"],
                "autoreset": env.metadata["autoreset_mode"].value,
            }
            env.close()
    features = {
        name: [feature.type.value, *feature.shape]
        for name, feature in env_to_policy_features(config).items()
    }
    print(json.dumps({"features": features, "shown": shown, "seeded": evaluate(envs, 1000)}))
    close_envs(envs)


if __name__ == "__main__":
    main(*sys.argv[1:])
