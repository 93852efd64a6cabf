"""Training on turns: what is trained on what, where a policy learns from picks and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clevrskills.baselines import checkpoint
from clevrskills.baselines.checkpoint import Description, describe
from clevrskills.baselines.data.track import Track
from clevrskills.baselines.data.turns import Turns, TurnWindows, read_turns
from clevrskills.baselines.data.windows import Order, Selection
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import build, policy_type
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.training_config import TrainingConfig
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True)
class TurnTraining(TrainingConfig):
    """What is trained, on which turns.

    Attributes:
        turns: The turns.
    """

    turns: Sequence[Turns] = ()

    def make(self, latest: Path | None) -> tuple[LearnedPolicy, Any, Order]:
        """The policy, what it is trained on, and in what order."""
        policy = build(self.policy, self.config, self.spec, self.args.seed)
        folder = latest or self.start
        if folder is not None:
            checkpoint.fill(policy, folder)
        config: Any = self.config
        size = (config.vocabulary, config.length, config.augment, config.turns_per_image)
        windows: Any = TurnWindows(self.turns, *size, seed=self.args.seed)
        return policy, windows, Order(windows, None, self.args.seed)

    def describe(self, policy: LearnedPolicy, windows: Any) -> Description:
        """What checkpoints of the training run say."""
        track = Track(None, len(windows), False)
        if self.before is not None:
            track = track.after(Track.of(self.before.provenance) or Track(None, 0, False))
        provenance = {
            **{k: v for k, v in self.identity.items() if k not in ("policy", "config")},
            "data": [str(turns.root) for turns in self.turns],
            "track": track.to_json(),
            "turns": sum(len(turns) for turns in self.turns),
            "parameters": sum(p.numel() for p in policy.parameters()),
        }
        return Description(self.policy, self.config, self.spec, provenance)


def prepare_turns(
    args: TrainArgs, name: str, config: PolicyConfig, start: Path | None
) -> TurnTraining:
    """Read what a training on turns is about.

    Raises:
        ClevrSkillsError: An option is not for turns, or data are not there or damaged.
    """
    given = {
        "--task": args.task,
        "--level": args.level,
        "--weight": args.weight,
        "--balance": args.balance,
        "--cache-dir": args.cache_dir,
        "--published-weights": args.published_weights,
        "--evaluate-every": args.evaluate_every,
    }
    for option, value in given.items():
        if value:
            raise ClevrSkillsError(f"{option} is not for {name}, which learns from turns")
    kind: Any = policy_type(name)
    turns = [read_turns(root) for root in args.data]
    before = None if start is None else describe(start)
    identity = {
        "policy": name,
        "config": asdict(config),
        "demonstrations": [each.digest for each in turns],
        "from": None if args.from_ is None else str(args.from_),
        **{key: getattr(args, key) for key in ("steps", "accumulate", "bf16", "seed")},
    }
    selection = Selection((), (), (), "language")
    return TurnTraining(
        *(args, name, config, config, kind.turn_spec(), start, before, (), selection, None),
        identity,
        turns,
    )
