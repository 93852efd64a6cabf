"""Training of policies on turns, demonstrated picks and places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrskills.baselines.checkpoint import CheckpointDescription
from clevrskills.baselines.data.track import Track
from clevrskills.baselines.data.windows import DemonstrationFilter
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.registry import policy_type
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.training_config import (
    TrainingConfig,
    check_not_given,
    identity_of,
)
from clevrskills_policies.cliport.turns import Turns, TurnWindows, read_turns


@dataclass(frozen=True)
class TurnTraining(TrainingConfig):
    """Training of a policy on turns."""

    turns: Sequence[Turns] = ()  # demonstrated turns of each dataset

    def windows(self, policy: LearnedPolicy) -> TurnWindows:
        """Return the training data of the policy."""
        config: Any = self.config
        size = (config.vocabulary, config.length, config.augment, config.turns_per_image)
        return TurnWindows(self.turns, *size, seed=self.args.seed)

    def track(self, policy: LearnedPolicy, windows: TurnWindows) -> Track:
        """Return the track of the data."""
        counts = (len(turns.tasks) or len(turns.map) for turns in self.turns)
        return Track(None, sum(counts), False)

    def provenance(
        self, policy: LearnedPolicy, windows: TurnWindows, track: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the provenance of the policy as JSON data."""
        return {
            "data": [str(turns.root) for turns in self.turns],
            "track": track,
            "tasks": sorted({task for turns in self.turns for task in turns.tasks}),
            "turns": sum(len(turns) for turns in self.turns),
            "parameters": sum(p.numel() for p in policy.parameters()),
        }


def prepare_turns(
    args: TrainArgs,
    name: str,
    config: PolicyConfig,
    start: Path | None,
    before: CheckpointDescription | None,
) -> TurnTraining:
    """Prepare training on turns.

    Raises:
        ClevrSkillsError: An option does not apply to turns, or data are missing or damaged.
    """
    names = ("task", "level", "weight", "balance", "cache_dir", "published_weights")
    check_not_given(args, (*names, "evaluate_every"), f"{name}, which learns from turns")
    kind: Any = policy_type(name)
    turns = [read_turns(root) for root in args.data]
    about = {"demonstrations": [each.digest for each in turns]}
    selection = DemonstrationFilter((), (), (), "language")
    return TurnTraining(
        *(args, name, config, config, kind.turn_spec(), start, before, (), selection, None),
        identity_of(args, name, config, about),
        turns,
    )
