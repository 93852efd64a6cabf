"""Training of the compact policy: perception on scenes, then its controller on demonstrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from clevrskills.baselines.checkpoint import CheckpointDescription
from clevrskills.baselines.data.sources import check_learnable, open_source
from clevrskills.baselines.data.track import Track, track_of
from clevrskills.baselines.data.windows import (
    DemonstrationFilter,
    SampleOrder,
    Source,
    files_of,
    fingerprint,
)
from clevrskills.baselines.policies.compact.demonstrations import ControlWindows, rows_of
from clevrskills.baselines.policies.compact.network import SIZE_PX
from clevrskills.baselines.policies.compact.perception import SceneWindows
from clevrskills.baselines.policies.compact.policy import CompactConfig, CompactPolicy
from clevrskills.baselines.policy import LearnedPolicy
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.baselines.training.arguments import TrainArgs
from clevrskills.baselines.training.training_config import (
    TrainingConfig,
    check_not_given,
    identity_of,
    weights_of,
)
from clevrskills.core.suite import all_splits, load_suite
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.scenes.scene_set import HEADER_FILE, SceneHeader, SceneSet
from clevrskills.errors import ClevrSkillsError


@dataclass(frozen=True)
class CompactTraining(TrainingConfig):
    """Training of perception on scenes, or of the controller on demonstrations.

    Attributes:
        scenes: The scenes, if perception is trained.
    """

    scenes: SceneSet | None = None

    def make(self, latest: Path | None) -> tuple[LearnedPolicy, Any, SampleOrder]:
        """Return the policy, what it is trained on, and in what order."""
        policy, windows, order = super().make(latest)
        assert isinstance(policy, CompactPolicy)
        policy.train_part(controller=self.scenes is None)
        if latest is None and self.scenes is None and "demonstrations" not in self._declared():
            windows.fit_scales(policy.controller)
        return policy, windows, order

    def windows(self, policy: LearnedPolicy) -> SceneWindows | ControlWindows:
        """Return what the policy is trained on."""
        config = self.config
        assert isinstance(config, CompactConfig)
        if self.scenes is not None:
            return SceneWindows(self.scenes, policy.tokenizer, config.length, self.args.seed)
        chosen = self.selection.choose(self.sources)
        paths = [(self.sources[k].root, self.sources[k].demonstrations[n]) for k, n in chosen]
        rows = [rows_of(Episode(root / one.id)) for root, one in paths]
        tasks = [one.task for _, one in paths]
        return ControlWindows(rows, tasks, self.args.seed)

    def track(self, policy: LearnedPolicy, windows: Any) -> Track:
        """Return the track of the data."""
        if self.scenes is not None:
            return Track(None, 0, False)
        return track_of(self.sources, len(self.selection.choose(self.sources)), False)

    def provenance(
        self, policy: LearnedPolicy, windows: Any, track: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return training data and numbers of parameters of the policy, as JSON data. Those of the
        checkpoint that it starts from are included, as in :class:`Track`.
        """
        tasks, before = sorted(set(windows.tasks)), self._declared()
        if self.scenes is not None:
            learned = {
                "scenes": before.get("scenes", 0) + len(windows),
                "scene_tasks": sorted({*before.get("scene_tasks", ()), *tasks}),
                "scene_labels": "positions, subgoals and grasp points of the simulator",
                "calibration": "of the base camera, in training and acting",
            }
        else:
            labels = "positions and subgoals of the simulator"
            count = before.get("demonstrations", 0) + len(windows.tasks)
            learned = {"demonstrations": count, "demonstration_labels": labels}
        return {
            "data": [str(root) for root in self.args.data],
            "track": track,
            "tasks": tasks,
            "learned_from": before | learned,
            "parameters": sum(p.numel() for p in policy.parameters()),
            "trained_parameters": sum(p.numel() for p in policy.parameters() if p.requires_grad),
        }

    def _declared(self) -> dict[str, Any]:
        """Return the training data declared by the checkpoint that it starts from."""
        return {} if self.before is None else self.before.learned_from


def prepare(
    args: TrainArgs,
    name: str,
    config: PolicyConfig,
    start: Path | None,
    before: CheckpointDescription | None,
) -> CompactTraining:
    """Read what a training run on scenes or demonstrations is about.

    Raises:
        ClevrSkillsError: Options or data are not for training this policy, missing or damaged.
    """
    check_not_given(args, ("cache_dir", "published_weights", "evaluate_every"), name)
    if args.prompt == "language":
        raise ClevrSkillsError(f"--prompt language is not for {name}")
    split, weights = all_splits(load_suite())[0], weights_of(args)
    selection = DemonstrationFilter(args.task, args.level, (split,))
    kinds = {(root / HEADER_FILE).is_file() for root in args.data}
    if len(kinds) != 1:
        raise ClevrSkillsError("--data are scenes or demonstrations, not both at once")
    scenes, sources, about = None, list[Source](), dict[str, Any]()
    if kinds == {True}:
        check_not_given(args, ("task", "level"), "scenes; --weight TASK=0 leaves a task out")
        for root in args.data:
            header = SceneHeader.read(root)
            if (header.split, header.size_px) != (split, SIZE_PX):
                raise ClevrSkillsError(
                    f"{root} has scenes of {header.split} at {header.size_px} px; allowed: "
                    f"{split} at {SIZE_PX} px"
                )
        scenes = SceneSet(*args.data)
        check_learnable(cast(Any, scenes.episodes))
        spec = CompactPolicy.make_spec(scenes.header.look)
        about |= {"scenes": len(scenes), "files": scenes.fingerprint}
    elif before is None:
        raise ClevrSkillsError(
            f"{name} trains on demonstrations only --from a perception checkpoint"
        )
    else:
        spec, sources = before.spec, [open_source(path, ()) for path in args.data]
        about["demonstrations"] = fingerprint(sources, selection)
        about["files"] = files_of(sources, selection)
    identity = identity_of(args, name, config, about | {"weights": weights})
    what = (args, name, config, config, spec, start, before, sources, selection, weights, identity)
    return CompactTraining(*what, scenes)
