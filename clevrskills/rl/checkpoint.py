"""Checkpoints of PPO; see :mod:`clevrskills.core.checkpoint` for the format."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from clevrskills.core import checkpoint
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.run_folder import versions
from clevrskills.rl.agent import Agent, MovesAgent, Spaces, make_agent
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import RLRun, read_run

_GENERATOR = "generator"


def save(ppo: PPO, root: Path, provenance: Mapping[str, Any]) -> None:
    """Write the checkpoint of a training run atomically.

    Args:
        ppo: The learner.
        root: Folder of the training run.
        provenance: Description of the training run, JSON data.

    Raises:
        StorageError: The checkpoint cannot be written; the previous one is kept.
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


def restore(ppo: PPO, root: Path) -> None:
    """Restore a learner from the latest checkpoint, if there is one.

    Raises:
        ClevrSkillsError: The checkpoint is damaged.
    """
    ppo.steps, folder = checkpoint.latest(root)
    if folder is None:
        return
    path = folder / checkpoint.OPTIMIZER_FILE
    checkpoint.load_weights(ppo.agent, folder)
    training = checkpoint.read_tensors(path)
    ppo.generator.set_state(training.pop(_GENERATOR))
    checkpoint.load_optimizer(ppo.optimizer, ppo.agent, training, path)


def load_initial_weights(ppo: PPO, run: RLRun) -> None:
    """Load the networks of the training run that another one starts from.

    Raises:
        ClevrSkillsError: There is no checkpoint, or it is of another task, robot or network.
    """
    root = checkpoint.located(Path(run.begin_with))
    before = read_run(root)
    for kind, theirs, ours in (
        ("task", before.task, run.task),
        ("robot", before.robot, run.robot),
        ("hidden layers", before.ppo.hidden, run.ppo.hidden),
    ):
        if theirs != ours:
            raise ClevrSkillsError(f"{run.begin_with} has {kind} {theirs}, not {ours}")
    ppo.agent.load_state_dict(load_agent(root, before).state_dict())


def load_agent(root: Path, run: RLRun) -> Agent | MovesAgent:
    """Return the networks of a training run.

    Raises:
        ClevrSkillsError: There is no checkpoint, or it is damaged.
    """
    folder = checkpoint.latest(root)[1]
    if folder is None:
        raise ClevrSkillsError(f"{root} has no checkpoint yet; continue the training run")
    with torch.random.fork_rng():  # the initial weights are overwritten
        agent = make_agent(Spaces(**checkpoint.read_config(folder)["spec"]), run.ppo)
    checkpoint.load_weights(agent, folder)
    return agent.eval()
