"""Causal confusion of perception: does it find the object in the image, or read it off the arm?

    clevrskills generate pick push rotate --episodes 300 --no-cameras --out D
    clevrskills scenes pick push rotate --scenes 600 --out S
    clevrskills scenes pick push rotate --scenes 50 --split val --out V
    python benchmarks/arm_state.py --demonstrations D --scenes S --val V --steps 1000 --out arms

The reader of the compact policy is trained equally long on four sets of images of ``train``:
frames of demonstrations at random steps; the same frames, with the pose of the end effector as a
further input; their first frames; and initial scenes, half of them with the arm in a random pose.
Each is then tested on initial scenes of ``val``, where the arm reveals nothing, and on frames of
demonstrations left out of training. The network with the pose also gets those of other frames
there. The body nearest to the predicted position is compared with the object of the next subgoal.
Shares are means over episodes, with 95 % intervals by bootstrap over episodes where they have
several frames. Scores are written to ``scores.json`` in the output folder after each training; a
rerun continues after the last one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from clevrskills.baselines.policies.compact.network import BOTTOM_PX, TOP_PX
from clevrskills.baselines.policies.compact.perception import (
    SceneBatch,
    SceneWindows,
    perception_losses,
)
from clevrskills.baselines.policies.compact.policy import CompactConfig, CompactPolicy
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.episode import RecordedName
from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.scenes.scene_set import LabeledScene, SceneHeader, SceneSet
from clevrskills.dataset_tools.scenes.worker import ScenePart, SceneWorker
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.statistics import Estimate, share
from clevrskills.jobs.files import read_json, to_json, write_whole
from clevrskills.jobs.run_folder import check_settings

FRAMES = 4
"""Frames of a demonstration."""
HELD_OUT = 10
"""One in so many demonstrations is left out of training."""
POSE_UNIT_M = 0.1
SCORES_FILE = "scores.json"


@dataclass
class Args:
    """Data and training."""

    demonstrations: Path
    """Demonstrations of ``train``."""
    scenes: Path
    """Scenes of ``train``."""
    val: Path
    """Scenes of ``val``."""
    out: Path
    """Folder of the frames, which are kept, and of the scores."""
    steps: int = 500
    """Optimizer steps of each training."""
    batch: int = 32
    """Images in a batch."""
    learning_rate: float = 2e-3
    seed: int = 0


class FrameWorker(SceneWorker):
    """Worker that renders frames of demonstrations at random steps."""

    def _moments(self, env: Any, name: str) -> Iterator[tuple[int, int, int]]:
        starts, root = list(super()._moments(env, name)), self._demonstrations
        assert root is not None
        episode = Episode(root / name)
        env.set_state(torch.as_tensor(episode.states[0][None]))
        yield starts[0]  # later frames refer to its image
        random = np.random.default_rng(episode.info["seed"])
        later = np.arange(1, len(episode))
        steps = random.choice(later, min(FRAMES, len(later)), replace=False)
        for step in sorted(steps.tolist()):
            env.set_state(torch.as_tensor(episode.states[step][None]))
            _, leaf, done = max(start for start in starts if start[0] <= step)
            yield step, leaf, done


def draw_frames(args: Args) -> SceneSet:
    """Render the frames, unless they exist."""
    header, suite, root = SceneHeader.read(args.scenes), load_suite(), args.out.absolute()
    replace(header, demonstrations=True, counts={}).open(root)
    config = EnvConfig("", cameras=(header.camera["name"],), size_px=256, look=header.look)
    worker = FrameWorker(root, suite, config, args.demonstrations.absolute())
    for name in map(RecordedName.parse, Dataset(args.demonstrations).ids):
        worker(ScenePart(name.task, name.split, (name.seed,)))
    return SceneSet(root)


class Part:
    """Those of some scenes of a set in which nothing is held."""

    def __init__(self, of: SceneSet, scenes: Sequence[LabeledScene]) -> None:
        self.scenes = [scene for scene in scenes if scene.held < 0]
        chosen = copy(of)
        chosen.scenes = self.scenes
        tokenizer, length = CompactPolicy.tokenizer, CompactConfig().length
        self.windows = SceneWindows(chosen, tokenizer, length, seed=0)


class ArmPose(nn.Module):
    """Embedding of the number of subgoals done and of the pose of the end effector.

    Attributes:
        pose: Poses of the next batch, (n, 7).
    """

    def __init__(self, count: nn.Embedding) -> None:
        super().__init__()
        self.count, self.pose = count, torch.zeros(1, 7)
        hidden = 2 * count.embedding_dim
        self.embed = nn.Sequential(
            nn.Linear(7, hidden), nn.ReLU(), nn.Linear(hidden, count.embedding_dim)
        )

    def forward(self, count: Tensor) -> Tensor:
        """Embed the numbers of subgoals done (n,) -> (n, D)."""
        known: Tensor = self.count(count) + self.embed(self.pose[: len(count)])
        return known


def poses_of(args: Args, scenes: Sequence[LabeledScene]) -> Tensor:
    """Return the poses of the end effector in frames, (n, 7)."""
    poses = {
        each.episode.id: Episode(args.demonstrations / each.episode.id).proprioception("ee_pose")
        for each in scenes
    }
    found = np.stack([poses[scene.episode.id][scene.step] for scene in scenes])
    return torch.tensor(found, dtype=torch.float32) / torch.tensor([POSE_UNIT_M] * 3 + [1.0] * 4)


def train(args: Args, part: Part, poses: Tensor | None) -> CompactPolicy:
    """Return a policy whose perception is trained on scenes, with poses (n, 7) if given."""
    torch.manual_seed(args.seed)
    policy = CompactPolicy(CompactConfig(), CompactPolicy.make_spec("flat"))
    if poses is not None:
        policy.reader.count = ArmPose(policy.reader.count)  # type: ignore[assignment]
    policy.train_part(controller=False)
    optimizer = torch.optim.AdamW(policy.parameters(), args.learning_rate, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, args.learning_rate, args.steps, pct_start=0.1
    )
    random = np.random.default_rng(args.seed)
    for step in range(args.steps):
        chosen = random.integers(len(part.scenes), size=args.batch)
        batch: SceneBatch = part.windows[[int(k) for k in chosen]]
        if poses is not None:
            policy.reader.count.pose = poses[chosen]
        with torch.autocast("cpu", torch.bfloat16):
            losses = perception_losses(
                policy.reader, policy.cropper, policy.poser, policy.camera, batch
            )
        optimizer.zero_grad()
        losses["loss"].backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"{step + 1} of {args.steps} steps, loss {losses['loss']:.3f}", flush=True)
    return policy.eval()


def share_right(scenes: Sequence[LabeledScene], right: Sequence[bool]) -> Estimate:
    """Return the mean over episodes of the share of scenes whose nearest body is the right one.

    Scenes of the same episode are not independent.
    """
    by_episode: dict[str, list[bool]] = defaultdict(list)
    for scene, one in zip(scenes, right, strict=True):
        by_episode[scene.episode.id].append(one)
    return share([np.array([np.mean(each) for each in by_episode.values()])])


@torch.no_grad()
def test(policy: CompactPolicy, part: Part, poses: Tensor | None) -> dict[str, Any]:
    """Return how often the nearest body is the right one."""
    found = []
    for k, scene in enumerate(part.scenes):
        batch: SceneBatch = part.windows[[k]]
        if poses is not None:
            policy.reader.count.pose = poses[k : k + 1]
        images = batch.images.float() / 255
        corner = batch.reader_corner.expand(len(images), 2)
        maps = policy.reader.encode_scenes(images[:, :, TOP_PX:BOTTOM_PX], corner)
        shown = policy.reader.embed(batch.prompts.images.float() / 255)
        answer = policy.reader(maps, batch.frames, batch.prompts, shown, batch.labels.state)
        place = policy.camera.points(*answer.pixels(corner[:1]))[0, 0].numpy()
        nearest = np.linalg.norm(scene.positions - place, axis=1).argmin()
        found.append(bool(nearest == scene.subgoal.object))
    chance = np.mean([1 / len(scene.positions) for scene in part.scenes])
    estimate = share_right(part.scenes, found)
    about = {"right": sum(found), "of": len(found), "episodes": estimate.n}
    return {**about, **estimate.columns("share"), "chance": round(float(chance), 3)}


def divide(frames: SceneSet) -> tuple[Part, Part, Part]:
    """Return later and first frames for training, and later ones of other demonstrations."""
    held_out = {each.id for each in frames.episodes[::HELD_OUT]}
    usual = [scene for scene in frames.scenes if not scene.elsewhere]
    known = [scene for scene in usual if scene.episode.id not in held_out]
    new = [scene for scene in usual if scene.step and scene.episode.id in held_out]
    later, first = [s for s in known if s.step], [s for s in known if not s.step]
    return Part(frames, later), Part(frames, first), Part(frames, new)


def open_scores(args: Args) -> dict[str, Any]:
    """Return the scores of finished trainings, with the settings.

    Raises:
        ClevrSkillsError: They were made with other settings.
    """
    path, settings = args.out / SCORES_FILE, {**vars(args)}
    del settings["out"]
    for name in ("demonstrations", "scenes", "val"):
        settings[name] = str(settings[name].absolute())
    if not path.is_file():
        return settings | {"trainings": {}}
    scores: dict[str, Any] = read_json(path)
    check_settings(path, scores, settings)
    return scores


def main(args: Args) -> None:
    """Render frames, train, and print how often the right body is found."""
    scores, threads = open_scores(args), torch.get_num_threads()
    drawn, frames = SceneSet(args.scenes), draw_frames(args)
    torch.set_num_threads(threads)  # rendering sets one
    known, first, new = divide(frames)
    val = SceneSet(args.val)
    starts = Part(val, [scene for scene in val.scenes if not scene.elsewhere])
    at_start = poses_of(args, frames.scenes[:1]).expand(len(starts.scenes), 7)
    of_known, of_new = (poses_of(args, part.scenes) for part in (known, new))
    for title, part, poses in (
        ("frames", known, None),
        ("frames, arm pose", known, of_known),
        ("first frames", first, None),
        ("scenes", Part(drawn, drawn.scenes), None),
    ):
        if title in scores["trainings"]:
            continue
        policy = train(args, part, poses)
        tests = [("start", starts, at_start), ("frames", new, of_new)]
        if poses is not None:
            tests.append(("frames, poses of others", new, of_new.roll(len(of_new) // 2, 0)))
        found = {
            name: test(policy, each, None if poses is None else arm) for name, each, arm in tests
        }
        scores["trainings"][title] = {"images": len(part.scenes), **found}
        write_whole(args.out / SCORES_FILE, to_json(scores, indent=1) + "\n")
        for name, score in found.items():
            low, value, high = (score[f"share{end}"] for end in ("_low", "", "_high"))
            chance = score["chance"]
            print(f"{title}: {name} {value:.1%} [{low:.1%}, {high:.1%}], chance {chance:.1%}")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
