"""Training configuration: what is trained on what, as the arguments and the data say."""

import contextlib
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from clevrskills.baselines import checkpoint
from clevrskills.baselines.checkpoint import CheckpointDescription, describe
from clevrskills.baselines.data.sources import LeRobotSource, open_source
from clevrskills.baselines.data.track import Track, track_of
from clevrskills.baselines.data.windows import (
    DemonstrationFilter,
    SampleOrder,
    Source,
    Windows,
    files_of,
    fingerprint,
    make_spec,
    packed,
)
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.published import PLACES, pinned, place, places, remembered
from clevrskills.baselines.registry import build, configuration, policy_type
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.core.checkpoint import find, latest
from clevrskills.core.observer import LANGUAGE
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.core.suite import all_splits, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import read_json, to_json, write_whole
from clevrskills.jobs.run_folder import check_settings, locked, open_folder

TRAINING_FILE = "training.json"


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training: the policy and its data."""

    args: TrainArgs
    policy: str
    config: PolicyConfig
    placed: PolicyConfig  # the same with the folders of published weights
    spec: PolicySpec  # what it sees and does
    start: Path | None  # folder of the checkpoint that it starts from; `None`: none
    before: CheckpointDescription | None  # what that says of itself
    sources: Sequence[Source]  # where the demonstrations are
    selection: DemonstrationFilter  # which of them
    # how often the windows of each task are drawn; `None`: all windows alike
    weights: Mapping[str, float] | None
    identity: Mapping[str, Any]  # what must be the same when the training run is continued

    def make(self, latest: Path | None) -> tuple[LearnedPolicy, Any, SampleOrder]:
        """Return the policy, what it is trained on, and in what order.

        Args:
            latest: The training run's latest checkpoint; ``None``: it begins.

        Raises:
            ClevrSkillsError: One of them cannot be made.
        """
        policy = build(self.policy, self.placed, self.spec, self.args.seed)
        folder = latest or self.start
        if folder is None:
            policy.start()
        else:
            checkpoint.fill(policy, folder)
        windows = self.windows(policy)
        return policy, windows, SampleOrder(windows, self.weights, self.args.seed)

    def windows(self, policy: LearnedPolicy) -> Any:
        """Return what the policy is trained on."""
        cache_bytes = int(self.args.cache_gb * 1e9)
        return Windows(self.sources, self.config, self.selection, policy.tokenizer, cache_bytes)

    def describe(self, policy: LearnedPolicy, windows: Any) -> CheckpointDescription:
        """Return what checkpoints of the training run say."""
        track = self.track(policy, windows)
        if self.before is not None:
            track = track.after(Track.of(self.before.provenance) or Track(None, 0, False))
        identity = {k: v for k, v in self.identity.items() if k not in ("policy", "config", PLACES)}
        provenance = identity | self.provenance(policy, windows, asdict(track))
        config = pinned(self.config, self.placed)
        return CheckpointDescription(self.policy, config, self.spec, provenance)

    def track(self, policy: LearnedPolicy, windows: Any) -> Track:
        """Return the track of the data."""
        count = len(self.selection.choose(self.sources))
        return track_of(self.sources, count, policy.starts_published)

    def provenance(
        self, policy: LearnedPolicy, windows: Any, track: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what the policy is made of, as JSON data."""
        parameters = list(policy.parameters())
        return {
            "data": [str(source.root) for source in self.sources],
            "robot": self.sources[0].robot,
            "track": track,
            "tasks": sorted(set(windows.tasks)),
            "windows": len(windows),
            "parameters": sum(p.numel() for p in parameters),
            "trained_parameters": sum(p.numel() for p in parameters if p.requires_grad),
        }


Prepare = Callable[
    [TrainArgs, str, PolicyConfig, Path | None, CheckpointDescription | None], TrainingConfig
]
"""Reads what a training run is about: arguments, policy, configuration, first checkpoint, what that
says of itself."""


def prepare(args: TrainArgs) -> TrainingConfig:
    """Read what a training run is about.

    Args:
        args: What is asked for.

    Raises:
        ClevrSkillsError: Something is not there, damaged, or does not fit.
    """
    start = None if args.from_ is None else find(args.from_)
    before = None if start is None else describe(start)
    name, config = _policy(args, before)
    if own := policy_type(name).prepared_by:
        module, _, function = own.partition(":")
        prepare_own: Prepare = getattr(importlib.import_module(module), function)
        return prepare_own(args, name, config, start, before)
    sources: Sequence[Source] = [open_source(path, config.cameras) for path in args.data]
    for source in sources:
        if args.prompt != LANGUAGE and isinstance(source, LeRobotSource):
            raise ClevrSkillsError(
                f"{source.root} is a LeRobot export, which has prompts in words only: add "
                f"--prompt {LANGUAGE}"
            )
    selection = DemonstrationFilter(
        args.task, args.level, tuple(all_splits(load_suite())[:1]), args.prompt
    )
    if args.cache_dir is not None:
        sources = packed(sources, config, selection, args.cache_dir, args.workers)
    spec = make_spec(sources, config, selection)
    if before is not None:
        if spec.state_parts != before.spec.state_parts:
            raise ClevrSkillsError(
                f"{args.from_} was trained with {dict(before.spec.state_parts)}, the "
                f"demonstrations have {dict(spec.state_parts)}"
            )
        spec = replace(spec, statistics=before.spec.statistics)  # else its weights mean nothing
    weights = weights_of(args)
    placed = config if start is None else remembered(config, start)
    if args.published_weights is not None:
        placed = place(config, args.published_weights)
    about = {
        PLACES: places(placed),
        "demonstrations": fingerprint(sources, selection),
        "files": files_of(sources, selection),
        "prompt": args.prompt,
        "weights": weights,
    }
    identity = identity_of(args, name, config, about)
    return TrainingConfig(
        *(args, name, config, placed, spec, start, before, sources, selection, weights, identity)
    )


def identity_of(
    args: TrainArgs, policy: str, config: PolicyConfig, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what must be the same when a training run is continued.

    Args:
        args: What is asked for.
        policy: Name of the policy.
        config: Its configuration.
        about: What it is trained on.
    """
    return {
        "policy": policy,
        "config": asdict(config),
        **about,
        "from": None if args.from_ is None else str(args.from_),
        **{key: getattr(args, key) for key in ("steps", "accumulate", "bf16", "seed")},
    }


def _policy(args: TrainArgs, before: CheckpointDescription | None) -> tuple[str, PolicyConfig]:
    """Return the name and configuration of the policy."""
    changes = policy_arguments(args.set)
    if before is not None and args.policy not in (None, before.policy):
        raise ClevrSkillsError(
            f"{args.from_} is a checkpoint of {before.policy}, not of {args.policy}: "
            "leave out --policy"
        )
    name = args.policy if before is None else before.policy
    assert name is not None
    if before is not None and args.configuration is None:
        return name, before.config.changed(changes)
    return name, configuration(name, args.configuration or "default", changes)


def check_not_given(args: TrainArgs, names: Iterable[str], why: str) -> None:
    """Check that options have not been given.

    Raises:
        ClevrSkillsError: One has; the message ends with ``why``.
    """
    for name in names:
        if getattr(args, name):
            raise ClevrSkillsError(f"--{name.strip('_').replace('_', '-')} is not for {why}")


def weights_of(args: TrainArgs) -> dict[str, float] | None:
    """Return how often windows of tasks are drawn; ``None``: all windows alike."""
    if not args.weight:
        return {} if args.balance else None
    weights = policy_arguments(args.weight)
    for task, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ClevrSkillsError(f"--weight {task} must be a number, not {weight!r}")
    return weights


def open_training(root: Path, what: Mapping[str, Any]) -> None:
    """Make the folder of a training run, or check that it is that of the same one. One that has no
    checkpoint yet is begun anew.

    Raises:
        ClevrSkillsError: It holds something else, or another process is at work there.
        StorageError: It cannot be written.
    """
    path = root / TRAINING_FILE
    now = json.loads(to_json(what))
    begun = open_folder(root, TRAINING_FILE, "no training")
    if begun and latest(root)[1] is not None:
        before = read_json(path)
        for settings in (before, now):
            settings.pop(PLACES, None)  # published weights may have been moved
        check_settings(root, before, now, _words, "trained", trained=True)
        return
    with locked(root) if begun else contextlib.nullcontext():
        write_whole(path, to_json(now, indent=1) + "\n")


def _words(value: Any) -> str:
    return "unset" if value is None else json.dumps(value)
