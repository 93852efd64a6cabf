"""Training configuration: policy and data, from the arguments and the demonstrations."""

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
    """Settings of a training run: the policy and its data."""

    args: TrainArgs
    policy: str
    config: PolicyConfig
    placed: PolicyConfig  # configuration with the locations of published weights
    spec: PolicySpec  # observations and actions
    start: Path | None  # folder of the initial checkpoint; `None`: none
    before: CheckpointDescription | None  # description of that checkpoint
    sources: Sequence[Source]  # sources of the demonstrations
    selection: DemonstrationFilter  # filter of the demonstrations
    # sampling weights of tasks; `None`: all windows are sampled equally often
    weights: Mapping[str, float] | None
    identity: Mapping[str, Any]  # settings that must not change when the run is resumed

    def make(self, latest: Path | None) -> tuple[LearnedPolicy, Any, SampleOrder]:
        """Return the policy, its training windows and their order.

        Args:
            latest: Latest checkpoint of the training run; ``None``: a new run.

        Raises:
            ClevrSkillsError: One of them cannot be created.
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
        """Return the training windows of the policy."""
        return Windows(self.sources, self.config, self.selection, policy.tokenizer)

    def describe(self, policy: LearnedPolicy, windows: Any) -> CheckpointDescription:
        """Return the description for checkpoints of the training run."""
        track, before = self.track(policy, windows), self.before
        if before is None and policy.part_from:
            before = describe(find(Path(policy.part_from)))
        if before is not None:
            track = track.after(Track.of(before.provenance) or Track(None, 0, False))
        identity = {k: v for k, v in self.identity.items() if k not in ("policy", "config", PLACES)}
        provenance = identity | self.provenance(policy, windows, asdict(track))
        if before is not None:
            provenance["earlier_tasks"] = sorted(before.trained_tasks)
            provenance.setdefault("learned_from", before.learned_from)
        config = pinned(self.config, self.placed)
        return CheckpointDescription(self.policy, config, self.spec, provenance)

    def track(self, policy: LearnedPolicy, windows: Any) -> Track:
        """Return the track of the data."""
        count = len(self.selection.choose(self.sources))
        return track_of(self.sources, count, policy.starts_published)

    def provenance(
        self, policy: LearnedPolicy, windows: Any, track: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return training data and numbers of parameters of the policy, as JSON data."""
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
"""Function that prepares a training run from the arguments of the command, the policy's name and
configuration, and the initial checkpoint with its description."""


def prepare(args: TrainArgs) -> TrainingConfig:
    """Prepare a training run.

    Args:
        args: Arguments of the command.

    Raises:
        ClevrSkillsError: A file is missing or damaged, or arguments and data do not match.
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
                f"{source.root} is a LeRobot export, which has text prompts only: add "
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
        spec = replace(spec, statistics=before.spec.statistics)  # those that its weights need
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
    """Return the settings that must not change when a training run is resumed.

    Args:
        args: Arguments of the command.
        policy: Name of the policy.
        config: Configuration of the policy.
        about: Settings of its training data.
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
        ClevrSkillsError: An option has been given; the message ends with ``why``.
    """
    for name in names:
        if getattr(args, name):
            raise ClevrSkillsError(f"--{name.strip('_').replace('_', '-')} is not for {why}")


def weights_of(args: TrainArgs) -> dict[str, float] | None:
    """Return the sampling weights of tasks; ``None``: all windows are sampled equally often."""
    if not args.weight:
        return {} if args.balance else None
    weights = policy_arguments(args.weight)
    for task, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ClevrSkillsError(f"--weight {task} must be a number, not {weight!r}")
    return weights


def open_training(root: Path, what: Mapping[str, Any]) -> None:
    """Create the folder of a training run, or check that it has the same settings. A run without a
    checkpoint starts anew.

    Raises:
        ClevrSkillsError: The folder has other content, or another process writes to it.
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
