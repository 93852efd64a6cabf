"""Drives our environments by LeRobot's factory, or as from its EnvHub, and prints JSON.

Usage: lerobot_run.py WISHES, in an environment with lerobot and our plug-in. Wishes, as JSON:
way, ``factory`` or ``hub``; config, of our environment; n_envs; processes; evaluations, each with
task, seed, episodes, limit of steps and actions for the first environment.
"""

import json
import sys
from pathlib import Path
from typing import Any

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

from clevrskills.integrations.lerobot_env import LeRobotEnv

HUB = Path(__file__).parents[2] / "integrations" / "envhub" / "env.py"


class Player(PreTrainedPolicy):
    """Plays actions in the first environment, does nothing in the others, records requests."""

    config_class = PreTrainedConfig
    name = "player"

    def __init__(self, actions: list[list[float]]) -> None:
        torch.nn.Module.__init__(self)
        self.actions, self.asked, self.step = actions, [], 0

    def select_action(self, batch: dict[str, Any], **_: Any) -> torch.Tensor:
        if self.step == 0:
            self.asked.append(batch["task"])
        chosen = torch.zeros(len(batch["task"]), 7)
        if self.step < len(self.actions):
            chosen[0] = torch.tensor(self.actions[self.step])
        self.step += 1
        return chosen

    def reset(self) -> None:
        self.step = 0

    def get_optim_params(self) -> dict[str, Any]: ...
    def predict_action_chunk(self, *_: Any, **__: Any) -> torch.Tensor: ...
    def forward(self, *_: Any, **__: Any) -> Any: ...


class Count:
    """Counts the steps that are simulated in this process."""

    def __init__(self) -> None:
        self.steps, inner = 0, LeRobotEnv.step

        def step(env: LeRobotEnv, action: Any) -> Any:
            self.steps += 1
            return inner(env, action)

        LeRobotEnv.step = step


def make(wishes: dict[str, Any], config: Any) -> dict[str, Any]:
    how = {"n_envs": wishes["n_envs"], "use_async_envs": wishes["processes"]}
    if wishes["way"] == "factory":
        return make_env(config, **how)
    module = _load_module_from_path(str(HUB))
    return _normalize_hub_result(_call_make_env(module, cfg=config, **how))


def look(env: Any) -> dict[str, Any]:
    """What LeRobot finds in a vector environment."""
    observation, _ = env.reset(seed=list(range(env.num_envs)))
    check_env_attributes_and_types(env)
    info = env.step(env.action_space.sample() * 0)[-1]
    batch = preprocess_observation(observation)
    return {
        "observation": {name: list(value.shape) for name, value in batch.items()},
        "in_space": env.observation_space.contains(observation),
        "task": list(env.call("task")),
        "description": list(env.call("task_description")),
        "limit": list(env.call("_max_episode_steps")),
        "success": info["is_success"].tolist(),
        "fps": env.unwrapped.metadata["render_fps"],
        "autoreset": env.metadata["autoreset_mode"].value,
    }


def evaluate(
    envs: dict[str, Any],
    count: Count,
    task: str,
    episodes: int,
    seed: int | None = None,
    limit: int | None = None,
    actions: tuple[list[float], ...] = (),
) -> dict[str, Any]:
    """What LeRobot's own evaluation says."""
    if limit is not None:
        envs[task][0].set_attr("_max_episode_steps", limit)
    policy, begun = Player(list(actions)), count.steps
    pipe = PolicyProcessorPipeline(steps=[], to_transition=dict, to_output=dict)
    info = eval_policy_all(
        {task: envs[task]},
        policy,
        n_episodes=episodes,
        start_seed=seed,
        postprocessor=PolicyProcessorPipeline(steps=[], to_transition=same, to_output=same),
        **dict.fromkeys(("env_preprocessor", "env_postprocessor", "preprocessor"), pipe),
    )
    return {"info": info, "asked": policy.asked, "simulated": count.steps - begun}


def same(value: Any) -> Any:
    return value


def main(text: str) -> None:
    wishes, count = json.loads(text), Count()
    register_third_party_plugins()
    config = make_env_config("clevrskills", **wishes["config"])
    envs = make(wishes, config)
    features = env_to_policy_features(config).items()
    said = {
        "features": {name: [part.type.value, *part.shape] for name, part in features},
        "shown": {f"{s}/{k}": look(env) for s, group in envs.items() for k, env in group.items()},
        "evaluations": [evaluate(envs, count, **wish) for wish in wishes["evaluations"]],
    }
    close_envs(envs)
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
