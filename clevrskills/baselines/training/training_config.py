"""Training configuration: arguments of ``clevrskills train``, checked, and what is made of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from clevrskills.errors import ClevrSkillsError

if TYPE_CHECKING:
    from clevrskills.baselines.checkpoint import Description
    from clevrskills.baselines.data.sources import Source
    from clevrskills.baselines.data.windows import Order, Selection, Windows
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.baselines.spec import PolicyConfig, PolicySpec

TRAINING_FILE = "training.json"


@dataclass(kw_only=True)
class TrainArgs:
    """Train a policy on demonstrations; running it again continues.

    On several GPUs: `accelerate launch -m clevrskills train ...`; each of them has batches of its
    own.
    """

    policy: str | None = None
    """The policy: bc, act, stream_robolm, jat, robo_flamingo, octo, or `module:Class`; with --from,
    that of the checkpoint."""
    data: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction]
    """Folder of demonstrations, made by `clevrskills generate` or `clevrskills export --to
    lerobot`; may be given several times."""
    out: Path
    """Folder of the training."""
    configuration: str | None = None
    """Configuration of the policy: default, tiny or others that it has; with --from, by default
    that of the checkpoint, whose weights have to fit."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Entry of the configuration, NAME=VALUE, the value as JSON, e.g. `batch_size=32` or
    `learning_rate=1e-4`; may be given several times."""
    start: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    """Checkpoint, or folder of a training, to go on from."""
    task: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this task; may be given several times."""
    level: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this level, L0, L1 or L2; may be given several times."""
    split: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Only demonstrations of this split, train or test; by default train."""
    weight: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """How often windows of a task are drawn, TASK=WEIGHT; may be given several times. All other
    tasks have weight 1 then; without it, all windows are drawn equally often."""
    balance: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Draw windows of all tasks equally often."""
    prompt: Literal["multimodal", "language"] = "multimodal"
    """Prompts with images, or in words alone; the latter leaves out the tasks that evaluations
    leave out there."""
    steps: int = 20_000
    """Steps of the optimizer."""
    accumulate: int = 1
    """Batches to a step."""
    bf16: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Compute in bfloat16 where that is safe."""
    cpu: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Train on the CPU even if there is a GPU."""
    seed: int = 0
    """Decides the first weights, the order of the windows and all else that is random."""
    workers: int = 2
    """Processes that load windows, for each process that trains."""
    cache_gb: float = 0.0
    """Memory in which each process that loads keeps the images that it has read, in GB: much
    quicker where all demonstrations fit into it."""
    log_every: int = 50
    """Steps between two lines of the log."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """Checkpoints that stay, the latest ones."""
    evaluate_every: int | None = None
    """Steps between two evaluations on frozen episodes; the last one is at the end."""
    evaluate_episodes: int = 5
    """Frozen episodes of each task in these evaluations."""
    evaluate_split: Literal["train", "test"] = "train"
    """Their split."""
    evaluate_workers: int = 1
    """Processes that evaluate."""


@dataclass(frozen=True)
class TrainingConfig:
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
        cache_bytes: Memory for images that were read, of each process that reads them.
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
        from clevrskills.baselines import checkpoint
        from clevrskills.baselines.data.windows import Order, Windows
        from clevrskills.baselines.registry import build

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

    def describe(self, policy: LearnedPolicy, windows: Windows) -> Description:
        """What checkpoints of the training say."""
        from clevrskills.baselines.checkpoint import Description

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
        return Description(self.policy, self.config, self.spec, provenance)


def prepare(args: TrainArgs) -> TrainingConfig:
    """Read what a training is about.

    Raises:
        ClevrSkillsError: Something is not there, damaged, or does not fit.
    """
    from clevrskills.baselines.checkpoint import describe
    from clevrskills.baselines.data.sources import open_source
    from clevrskills.baselines.data.windows import Selection, fingerprint, make_spec
    from clevrskills.core.checkpoint import find

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a policy of one's own may be there
    start = None if args.start is None else find(args.start)
    before = None if start is None else describe(start)
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
    return TrainingConfig(
        *(name, config, spec, start, sources, selection, weights, args.seed, cache_bytes, identity)
    )


def _policy(args: TrainArgs, before: Description | None) -> tuple[str, PolicyConfig]:
    """Name and configuration of the policy."""
    from clevrskills.baselines.registry import configuration
    from clevrskills.core.policy_loader import policy_arguments

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
    from clevrskills.core.policy_loader import policy_arguments

    if not args.weight:
        return {} if args.balance else None
    weights = policy_arguments(args.weight)
    for task, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ClevrSkillsError(f"--weight {task} must be a number, not {weight!r}")
    return weights


def open_training(root: Path, what: Mapping[str, Any]) -> None:
    """Make the folder of a training, or check that it is the one of the same training.

    Raises:
        ClevrSkillsError: It holds something else.
        StorageError: It cannot be written.
    """
    from clevrskills.jobs.files import storage_errors, to_json, write_whole
    from clevrskills.jobs.run_folder import check_settings, open_folder

    path = root / TRAINING_FILE
    now = json.loads(to_json(what))
    if open_folder(root, TRAINING_FILE, "no training"):
        with storage_errors(path):
            there = json.loads(path.read_text(encoding="utf-8"))
        check_settings(root, there, now, _words, "trained")
    else:
        write_whole(path, to_json(now, indent=1) + "\n")


def _words(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)
