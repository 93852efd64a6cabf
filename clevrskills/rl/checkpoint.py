"""What was learnt, on disk: tensors and numbers, nothing that could run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.rl.agent import Agent, Spaces
from clevrskills.rl.run import CHECKPOINT_FILE, Run

if TYPE_CHECKING:
    from clevrskills.rl.ppo import PPO

_AGENT, _OPTIMIZER, _GENERATOR, _NUMBERS = "agent/", "optimizer/", "generator", "numbers"
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of each parameter."""


def save(ppo: PPO, root: Path, seconds: float) -> None:
    """Write the checkpoint of a training, whole or not at all.

    Args:
        ppo: The learner.
        root: Folder of the training.
        seconds: Time spent on it so far.

    Raises:
        StorageError: The disk refused; the checkpoint before is still there.
    """
    from safetensors.torch import save as to_bytes

    tensors = {_AGENT + name: value for name, value in ppo.agent.state_dict().items()}
    for index, moments in ppo.optimizer.state_dict()["state"].items():
        tensors |= {f"{_OPTIMIZER}{index}/{name}": moments[name] for name in _MOMENTS}
    tensors[_GENERATOR] = ppo.generator.get_state()
    numbers = {"steps": ppo.steps, "seconds": seconds, "spaces": asdict(ppo.agent.spaces)}
    data = to_bytes(
        {k: v.cpu().contiguous() for k, v in tensors.items()}, metadata={_NUMBERS: to_json(numbers)}
    )
    write_whole(root / CHECKPOINT_FILE, data)


def restore(ppo: PPO, root: Path) -> float:
    """Bring a learner to where the checkpoint was written, if there is one.

    Returns:
        Seconds spent until then.

    Raises:
        ClevrSkillsError: The checkpoint is damaged.
    """
    if not (root / CHECKPOINT_FILE).exists():
        return 0.0
    tensors, numbers = _read(root)
    ppo.agent.load_state_dict(_below(tensors, _AGENT))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _below(tensors, _OPTIMIZER).items():
        index, _, moment = name.partition("/")
        state.setdefault(int(index), {})[moment] = value
    groups = ppo.optimizer.state_dict()["param_groups"]
    ppo.optimizer.load_state_dict({"state": state, "param_groups": groups})
    ppo.generator.set_state(tensors[_GENERATOR])
    ppo.steps = numbers["steps"]
    return float(numbers["seconds"])


def steps_made(root: Path) -> int:
    """Control steps of the checkpoint; 0 if there is none."""
    return _read(root)[1]["steps"] if (root / CHECKPOINT_FILE).exists() else 0


def load_agent(root: Path, run: Run) -> Agent:
    """The networks of a training.

    Raises:
        ClevrSkillsError: There is no checkpoint, or it is damaged.
    """
    if not (root / CHECKPOINT_FILE).exists():
        raise ClevrSkillsError(f"{root} has no {CHECKPOINT_FILE} yet")
    tensors, numbers = _read(root)
    with torch.random.fork_rng():  # the weights drawn here are overwritten
        agent = Agent(Spaces(**numbers["spaces"]), run.ppo)
    agent.load_state_dict(_below(tensors, _AGENT))
    return agent.eval()


def _read(root: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise ClevrSkillsError("safetensors is missing: pip install 'clevrskills[rl]'") from error
    path = root / CHECKPOINT_FILE
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, json.loads(file.metadata()[_NUMBERS])
    except (SafetensorError, OSError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error}") from error


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Entries whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
