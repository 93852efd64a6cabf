"""What a training is about, from the arguments of the command, all of it checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.baselines import checkpoint
from clevrskills.baselines.data.sources import Source, open_source
from clevrskills.baselines.data.windows import Order, Selection, Windows, fingerprint, make_spec
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import build, configuration
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.serving.command import policy_arguments

if TYPE_CHECKING:
    from clevrskills.baselines.training.train import TrainArgs


@dataclass(frozen=True)
class Job:
    """What is trained, on what.

    Attributes:
        policy: Name of the policy.
        config: Its configuration.
        spec: What it sees and does.
        start: Folder of the checkpoint that it starts from; ``None``: none.
        sources: Where the demonstrations are.
        selection: Which of them.
        weights: How often the windows of each task are drawn; ``None``: all windows alike.
        seed: What decides all that is random.
        cache_bytes: Memory for pictures that were read, of each process that reads them.
        identity: What must be the same when the training is continued.
    """

    policy: str
    config: PolicyConfig
    spec: PolicySpec
    start: Path | None
    sources: Sequence[Source]
    selection: Selection
    weights: Mapping[str, float] | None
    seed: int
    cache_bytes: int
    identity: Mapping[str, Any]

    def make(self, latest: Path | None) -> tuple[LearnedPolicy, Windows, Order]:
        """The policy, what it is trained on, and in what order.

        Args:
            latest: The training's latest checkpoint; ``None``: it begins.

        Raises:
            ClevrSkillsError: One of them cannot be made.
        """
        policy = build(self.policy, self.config, self.spec, self.seed)
        folder = latest or self.start
        if folder is None:
            policy.start()
        else:
            checkpoint.fill(policy, folder)
        windows = Windows(
            self.sources, self.config, self.selection, policy.tokenizer, self.cache_bytes
        )
        return policy, windows, Order(windows, self.weights, self.seed)

    def describe(self, policy: LearnedPolicy, windows: Windows) -> checkpoint.Description:
        """What checkpoints of the training say."""
        parameters = [(p.numel(), p.requires_grad) for p in policy.parameters()]
        provenance = {
            **{k: v for k, v in self.identity.items() if k not in ("policy", "config")},
            "data": [str(source.root) for source in self.sources],
            "robot": self.sources[0].robot,
            "tasks": sorted(set(windows.tasks)),
            "windows": len(windows),
            "parameters": sum(count for count, _ in parameters),
            "trained_parameters": sum(count for count, trained in parameters if trained),
        }
        return checkpoint.Description(self.policy, self.config, self.spec, provenance)


def prepare(args: TrainArgs) -> Job:
    """Read what a training is about.

    Raises:
        ClevrSkillsError: Something is not there, damaged, or does not fit.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a policy of one's own may be there
    start = None if args.start is None else checkpoint.find(args.start)
    before = None if start is None else checkpoint.describe(start)
    name, config = _policy(args, before)
    sources = [open_source(path, config.cameras) for path in args.data]
    selection = Selection(args.task, args.level, args.split or ("train",), args.prompt)
    spec = make_spec(sources, config, selection)
    if before is not None:
        spec = _as_before(spec, before.spec, str(args.start))
    weights = _weights(args)
    identity = {
        "policy": name,
        "config": asdict(config),
        "demonstrations": fingerprint(sources, selection),
        "prompt": args.prompt,
        "weights": weights,
        "from": None if args.start is None else str(args.start),
        **{key: getattr(args, key) for key in ("steps", "accumulate", "bf16", "seed")},
    }
    cache_bytes = int(args.cache_gb * 1e9)
    return Job(
        *(name, config, spec, start, sources, selection, weights, args.seed, cache_bytes, identity)
    )


def _policy(args: TrainArgs, before: checkpoint.Description | None) -> tuple[str, PolicyConfig]:
    """Name and configuration of the policy."""
    changes = policy_arguments(args.set)
    if before is not None and args.policy not in (None, before.policy):
        raise ClevrSkillsError(
            f"{args.start} is a checkpoint of {before.policy}, not of {args.policy}"
        )
    name = args.policy if before is None else before.policy
    assert name is not None
    if before is not None and args.configuration is None:
        return name, before.config.changed(changes)
    return name, configuration(name, args.configuration or "default", changes)


def _as_before(spec: PolicySpec, before: PolicySpec, name: str) -> PolicySpec:
    """A specification with the scales of a checkpoint, without which its weights mean nothing.

    Raises:
        ClevrSkillsError: The robot's state has other parts.
    """
    if spec.state_parts != before.state_parts:
        raise ClevrSkillsError(
            f"{name} was trained with {dict(before.state_parts)}, the demonstrations have "
            f"{dict(spec.state_parts)}"
        )
    return replace(spec, statistics=before.statistics)


def _weights(args: TrainArgs) -> dict[str, float] | None:
    if not args.weight:
        return {} if args.balance else None
    weights = policy_arguments(args.weight)
    for task, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ClevrSkillsError(f"--weight {task} must be a number, not {weight!r}")
    return weights
