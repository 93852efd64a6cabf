"""Checkpoints of PPO; see :mod:`clevrskills.core.checkpoint` for the format."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clevrskills.core import checkpoint
from clevrskills.envs.state_observation import BODY_NUMBERS
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.run_folder import versions
from clevrskills.rl.agent import Agent, MovesAgent, Spaces, make_agent
from clevrskills.rl.ppo import PPO
from clevrskills.rl.run import CLEVRSKILLS, RLRun, read_run

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

    Standard deviations of actions start as configured. For another task, weights are matched by
    state entries; those of new entries start at 0.

    Raises:
        ClevrSkillsError: There is no checkpoint, or it is of another suite, robot or network.
    """
    root = checkpoint.located(Path(run.begin_with))
    before = read_run(root)
    is_matched = run.suite == CLEVRSKILLS and run.obs == "state"
    for name in ("suite", "robot", "obs", "ppo.hidden", *(() if is_matched else ("task",))):
        theirs, ours = map(attrgetter(name), (before, run))
        if theirs != ours:
            raise ClevrSkillsError(f"{run.begin_with} has {name} {theirs}, not {ours}")
    weights, own = load_agent(root, before).state_dict(), ppo.agent.state_dict()
    if "log_std" in own:
        weights["log_std"] = own["log_std"]
    if before.task != run.task:
        with contextlib.closing(replace(before, num_envs=1).make_envs(1)) as envs:
            weights = _matched(weights, own, envs.layout, ppo.envs.layout)
    ppo.agent.load_state_dict(weights)


def _matched(
    theirs: Mapping[str, Tensor],
    ours: Mapping[str, Tensor],
    their_layout: Sequence[Mapping[str, Any]],
    our_layout: Sequence[Mapping[str, Any]],
) -> dict[str, Tensor]:
    """Return weights of an agent from those of another one: of state entries with the same name and
    size, and of the first body of the next leaf; 0 for other entries.
    """
    entries = _entries(their_layout)
    pairs: list[tuple[int, int]] = []
    for name, own in _entries(our_layout).items():
        if len(own) == len(other := entries.get(name, range(0))):
            pairs += zip(own, other, strict=True)
    to, of = torch.tensor(pairs).T
    found = dict(theirs)
    for name in ("states.mean", "states.variance", "policy.0.weight", "critic.0.weight"):
        found[name] = ours[name] * (not name.endswith("weight"))  # also a copy
        found[name][..., to] = theirs[name][..., of]
    return found


def _entries(layout: Sequence[Mapping[str, Any]]) -> dict[str, range]:
    """Return the indices of state entries by name; ``""``: the first body of the next leaf."""
    entries = {each["name"]: range(each["start"], each["stop"]) for each in layout}
    body = list(entries)[list(entries).index("next/leaf") + 1]
    if len(entries[body]) == BODY_NUMBERS:
        entries[""] = entries.pop(body)
    return entries


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
