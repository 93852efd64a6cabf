"""Checkpoints of PPO; see :mod:`clevrskills.core.checkpoint` for the format.

Before version 0.2 a training run had one file instead, ``checkpoint.safetensors``. It is read, and
gives way to the next checkpoint.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clevrskills.core import checkpoint
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.run_folder import versions
from clevrskills.rl.agent import Agent, MovesAgent, Spaces, make_agent
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import Run, read_run

SINGLE_FILE = "checkpoint.safetensors"
_GENERATOR = "generator"


def save(ppo: PPO, root: Path, provenance: Mapping[str, Any]) -> None:
    """Write the checkpoint of a training run, whole or not at all.

    Args:
        ppo: The learner.
        root: Folder of the training run.
        provenance: What it was made of, as JSON data.

    Raises:
        StorageError: The disk refused; the checkpoint before is still there.
    """
    config = {
        "policy": "ppo",
        "config": asdict(ppo.config),
        "spec": asdict(ppo.agent.spaces),
        "provenance": {"versions": versions(), **provenance},
    }
    training = checkpoint.optimizer_tensors(ppo.agent, ppo.optimizer)
    training[_GENERATOR] = ppo.generator.get_state()
    with PartialDirectory(root, checkpoint.folder_of(root, ppo.steps)) as partial:
        with storage_errors(partial.final):
            checkpoint.write(partial.path, config, ppo.agent.state_dict(), training)
        partial.commit()
    checkpoint.prune(root, keep=1)
    (root / SINGLE_FILE).unlink(missing_ok=True)


def restore(ppo: PPO, root: Path) -> None:
    """Bring a learner to where the checkpoint was written, if there is one.

    Raises:
        ClevrSkillsError: The checkpoint is damaged.
    """
    ppo.steps, folder = checkpoint.latest(root)
    if folder is not None:
        path = folder / checkpoint.OPTIMIZER_FILE
        checkpoint.load_weights(ppo.agent, folder)
        training = checkpoint.read_tensors(path)
    elif (path := root / SINGLE_FILE).exists():
        tensors, numbers = _read_single(path)
        ppo.steps = numbers["steps"]
        ppo.agent.load_state_dict(_weights(tensors))
        names = [name for name, _ in ppo.agent.named_parameters()]
        training = {_GENERATOR: tensors[_GENERATOR]}
        for name, value in _below(tensors, "optimizer/").items():
            index, _, entry = name.partition("/")
            training[f"{names[int(index)]}/{entry}"] = value
    else:
        return
    ppo.generator.set_state(training.pop(_GENERATOR))
    checkpoint.load_optimizer(ppo.optimizer, ppo.agent, training, path)


def adopt(ppo: PPO, run: Run) -> None:
    """Give a learner the networks of the training that a run begins with.

    Raises:
        ClevrSkillsError: There is none, or it learned something else.
    """
    root = checkpoint.located(Path(run.begin_with))
    before = read_run(root)
    for kind, theirs, ours in (
        ("task", before.task, run.task),
        ("robot", before.robot, run.robot),
        ("hidden layers", before.ppo.hidden, run.ppo.hidden),
    ):
        if theirs != ours:
            raise ClevrSkillsError(f"{run.begin_with} has the {kind} {theirs}, not {ours}")
    ppo.agent.load_state_dict(load_agent(root, before).state_dict())


def steps_made(root: Path) -> int:
    """Control steps of the checkpoint; 0 if there is none."""
    steps, folder = checkpoint.latest(root)
    if folder is None and (root / SINGLE_FILE).exists():
        steps = _read_single(root / SINGLE_FILE)[1]["steps"]
    return steps


def load_agent(root: Path, run: Run) -> Agent | MovesAgent:
    """The networks of a training run.

    Raises:
        ClevrSkillsError: There is no checkpoint, or it is damaged.
    """
    folder = checkpoint.latest(root)[1]
    if folder is not None:
        agent = _make_agent(checkpoint.read_config(folder)["spec"], run)
        checkpoint.load_weights(agent, folder)
        return agent.eval()
    if not (root / SINGLE_FILE).exists():
        raise ClevrSkillsError(f"{root} has no checkpoint yet")
    tensors, numbers = _read_single(root / SINGLE_FILE)
    agent = _make_agent(numbers["spaces"], run)
    agent.load_state_dict(_weights(tensors))
    return agent.eval()


def _make_agent(spaces: Mapping[str, int], run: Run) -> Agent | MovesAgent:
    with torch.random.fork_rng():  # the weights drawn here are overwritten
        return make_agent(Spaces(**spaces), run.ppo)


def _read_single(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and numbers of a checkpoint that is one file."""
    from safetensors import safe_open

    tensors = checkpoint.read_tensors(path)
    with safe_open(path, framework="pt") as file:
        return tensors, json.loads(file.metadata()["numbers"])


def _weights(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The networks in a checkpoint that is one file."""
    found = _below(tensors, "agent/")
    return {name.replace("eyes.", "image_encoder."): value for name, value in found.items()}


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Entries whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
