"""Demonstrations for the controller: commands, motions and waypoints at their control steps.

Only states, actions and subgoals are read, so they are recorded without cameras.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.policies.compact.controller import rotation_matrix, to_tensor
from clevrskills.baselines.policies.compact.controller_network import (
    CHUNK,
    PHASES,
    ControllerNetwork,
    Situation,
    columns,
)
from clevrskills.baselines.policies.compact.skills import (
    CHUNKED,
    MOTION_NAMES,
    MOTIONS,
    SKILL_NAMES,
    SKILLS,
)
from clevrskills.baselines.policy import LEAST_STD
from clevrskills.core import geometry
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.scenes.scene_set import MOVED_M

CUP_TIP_M = 0.0011
"""Distance of the cup tips beyond the frame of the end effector."""
ABOVE_M, SAME_M = 0.015, 0.006
"""Least height of a vertical descent, and greatest lateral distance within it."""
MIN_ROWS = 6
"""Least number of rows of a motion, by repetition."""
RANDOM_SHARE = 0.75
"""Share of states of straight motions that are sampled on the way instead of recorded."""
NOISY_SHARE, NOISE_M = 0.7, (0.004, 0.004, 0.003)
"""Share of control steps with noise in positions, and its standard deviations, about those of
perception."""
WANDER_M = 0.03
"""Standard deviation of noise of the end effector's position among obstacles."""
SCALE_ROWS = 20_000
_KEY = re.compile(r"\{obj:(\w+)\}")

Array = NDArray[Any]
Rows = dict[str, Array]
_UNWRITTEN = {
    **dict.fromkeys(("pose", "start", "contact", "waypoint", "begin", "end"), np.full(7, np.nan)),
    "places": np.full((3, 3), np.nan),
    "skill": SKILL_NAMES.index("other"),
    **dict.fromkeys(("motion", "phase", "repeats"), 0),
    **dict.fromkeys(("straight", "last"), False),
    **dict.fromkeys(("angle_rad", "vacuum"), 0.0),
}
"""Values of a row without a subgoal."""


class _Part(NamedTuple):
    """Straight motion of a demonstration."""

    start: int  # first control step
    stop: int  # control step after the last one
    name: str  # its class of motion
    waypoint: Array  # (7,)
    failed: bool  # whether it belongs to a failed attempt
    retreats: str = ""  # motion before a retreat


def rows_of(episode: Episode) -> Rows:
    """Return the training rows of a demonstration: arrays with a row for each control step.

    ======================== =====================================================================
    fields of ``Situation``  see there
    motion                   index in ``MOTION_NAMES``
    waypoint                 pose of the end effector after the motion, (N, 7)
    begin, end               its poses as the motion begins and ends, (N, 7)
    vacuum                   action of the vacuum during the motion
    last                     whether the subgoal is reached after the motion
    straight                 whether states may be sampled between ``begin`` and ``end``
    action                   (N, 7)
    left                     remaining control steps, this one included
    repeats                  repetitions in training; 0: not used, such as failed attempts
    ======================== =====================================================================
    """
    segments, count = episode.info["segments"], len(episode)
    poses = episode.proprioception("ee_pose").astype(float)
    holding = episode.proprioception("holding").reshape(-1)[:count].astype(float)
    rows = {name: np.repeat(np.array([value]), count, 0) for name, value in _UNWRITTEN.items()}
    rows |= {"effector": poses[:count], "holding": holding, "action": episode.actions}
    rows["left"] = count - np.arange(count)
    parts = [p for each in segments["instruction"] for p in _parts(each, episode.actions, poses)]
    for subgoal in segments["subtask"]:
        inside = [part for part in parts if subgoal["start"] <= part.start < subgoal["stop"]]
        ends = [part.stop for part in inside if part.retreats in ("push", "place")][:-1]
        for start, stop in pairwise([subgoal["start"], *ends, subgoal["stop"]]):
            attempt = [p for p in inside if start <= p.start < stop and not p.failed]
            _command(rows, episode, {**subgoal, "start": start, "stop": stop}, attempt, poses)
            chunks = [part.name in CHUNKED for part in attempt]
            for number, part in enumerate(attempt):
                phase = chunks.index(True) if chunks[number] else number
                _motion(rows, part, min(phase, PHASES - 1), part is attempt[-1], poses)
    rows["repeats"] *= ~episode.unlearned
    return rows


def _parts(segment: Mapping[str, Any], actions: Array, poses: Array) -> list[_Part]:
    """Return the straight motions of an instruction segment: approach and descent, or contact and
    retreat.
    """
    start, stop, name = segment["start"], segment["stop"], segment["action_class"]
    if name not in MOTIONS or stop <= start:
        return []
    part = _Part(start, stop, name, poses[stop], segment["failed"])
    way = poses[start : stop + 1, :3] - poses[start, :3]
    if name == "move":
        aside = np.linalg.norm((poses[start : stop + 1] - poses[stop])[:, :2], axis=1) > SAME_M
        middle = int(np.flatnonzero(aside).max(initial=-1)) + 1
        if not 0 < middle < stop - start or way[middle, 2] <= way[-1, 2] + ABOVE_M:
            return [part]
        middle += start
        return [part._replace(stop=middle, waypoint=poses[middle]), part._replace(start=middle)]
    ahead, motion = rotation_matrix(poses[start])[:, 2], MOTIONS[name]
    if name in ("push", "topple"):
        ahead = way[np.linalg.norm(way[:, :2], axis=1).argmax()] * [1, 1, 0]
        ahead /= max(float(np.linalg.norm(ahead)), 1e-9)
    middle = stop
    if name == "place":
        middle = start + int(np.flatnonzero(actions[start:stop, 6] <= 0).min(initial=stop - start))
    elif motion.retreat_m:
        depth = way @ ahead
        middle = start + int(np.flatnonzero(depth > depth.max() - 0.001).min())
    end, away = poses[middle].copy(), poses[middle].copy()
    end[:3] += motion.press_m * (ahead if name == "topple" else rotation_matrix(end)[:, 2])
    pressing = part._replace(stop=middle, waypoint=end)
    if not start < middle < stop:
        return [pressing]
    away[:3] += motion.retreat_m * (ahead if motion.retreat_m < 0 else np.array([0, 0, 1]))
    return [pressing, part._replace(start=middle, name="lift", waypoint=away, retreats=name)]


def _command(
    rows: Rows, episode: Episode, attempt: Mapping[str, Any], parts: Sequence[_Part], poses: Array
) -> None:
    """Write the command of an attempt at a subgoal into its rows."""
    goal, start, stop = episode.info["goal"], attempt["start"], attempt["stop"]
    leaves, skill = _leaves(goal), attempt["predicate"]
    if attempt["subgoal"] not in range(len(leaves)) or skill not in SKILLS:
        return
    leaf = leaves[attempt["subgoal"]]
    skill = "avoiding" if goal["predicate"] == "avoiding" else skill
    keys = [each["key"] for each in episode.objects]
    named = [keys.index(key) for key in _KEY.findall(attempt["text"]) if key in keys][:2]
    command: dict[str, Any] = {"places": np.full((3, 3), np.nan)}
    places = command["places"]
    places[: len(named)] = episode.object_poses[start, named, :3]
    if SKILLS[skill].turned:  # the arm may need several turns
        first, last = torch.from_numpy(episode.object_poses[[start, stop], named[0], 3:]).double()
        w, _, _, z = geometry.quaternion_multiply(last, geometry.quaternion_conjugate(first))
        command["angle_rad"] = (2 * np.arctan2(z, w) + np.pi) % (2 * np.pi) - np.pi
    if SKILLS[skill].target == "key-step":
        command["pose"] = [*leaf["position"][0], *leaf["orientation"][0]]
    elif "position" in leaf:
        place = np.asarray(leaf["position"][0])
        if skill != "rotated" or np.linalg.norm(place - places[0]) > MOVED_M:
            skill = "at_pose" if skill == "rotated" else skill
            places[1] = place
    about = SKILLS[skill]
    for part in parts:
        begin, end = poses[part.start], poses[part.stop]
        if about.pushed and part.name in ("push", "topple"):
            places[1] = places[0] + (end - begin)[:3] * [1, 1, 0]
        elif about.carried and part.name == "place":
            places[1, :2] = episode.object_poses[part.stop, named[0], :2]
        elif part.name in ("pick", "touch") and np.isnan(places[2, 0]):
            places[2] = end[:3] + CUP_TIP_M * rotation_matrix(end)[:, 2]
            if not about.carried:
                break
    command |= {"skill": SKILL_NAMES.index(skill), "start": poses[start], "contact": poses[start]}
    _write(rows, start, stop, command)
    for part in parts:
        if MOTIONS[part.name].contact:
            _write(rows, part.stop, stop, {"contact": poses[part.stop]})


def _leaves(goal: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return leaves of a goal, as JSON data, in order."""
    children = goal.get("children") or [goal[name] for name in ("child",) if name in goal]
    return [leaf for child in children for leaf in _leaves(child)] if children else [goal]


def _motion(rows: Rows, part: _Part, phase: int, last: bool, poses: Array) -> None:
    """Write a motion into its rows."""
    start, stop = part.start, part.stop
    skill, chunked = SKILL_NAMES[rows["skill"][start]], part.name in CHUNKED
    avoids, repeats = skill == "avoiding", max(1, MIN_ROWS // (stop - start))
    motion = {
        "waypoint": rows["pose"][start] if avoids else part.waypoint,
        "motion": MOTION_NAMES.index(part.name),
        "vacuum": rows["action"][start, 6],
        "begin": poses[start],
        "end": part.waypoint if part.retreats else poses[stop],
        "phase": 0 if avoids else phase,
        "straight": not chunked and not avoids,
        "repeats": 0 if skill == "other" else repeats,
    }
    _write(rows, start, stop, motion)
    _write(rows, stop - 1 if chunked else start, stop, {"last": last})


def _write(rows: Rows, start: int, stop: int, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        rows[name][start:stop] = value


@dataclass(frozen=True)
class ControlBatch(Movable):
    """B control steps with the targets of the controller.

    Attributes:
        situation: Inputs of the controller.
        waypoint: Pose of the end effector at the end of the motion, (B, 7).
        motion: Index of the motion, (B,).
        vacuum: Vacuum at the next steps, on above 0, (B, CHUNK).
        action: Next actions, (B, CHUNK, 6).
        exists: Which of the next steps exist, (B, CHUNK).
        acts: Which of the next actions are targets, (B, CHUNK).
        ends: Whether the subgoal is reached after this step, (B,).
    """

    situation: Situation
    waypoint: Tensor
    motion: Tensor
    vacuum: Tensor
    action: Tensor
    exists: Tensor
    acts: Tensor
    ends: Tensor


class ControlWindows:
    """Control steps of demonstrations, in batches.

    States of straight motions are sampled evenly on the way, with noise: the waypoint does not
    depend on the progress of a motion, and demonstrations have few states near its end.

    Args:
        rows: Rows of each demonstration, see :func:`rows_of`.
        tasks: Task of each.
        seed: Seed of the sampling.

    Attributes:
        tasks: Task of each demonstration.
        counts: Number of training rows of each.
    """

    def __init__(self, rows: Sequence[Rows], tasks: Sequence[str], seed: int) -> None:
        self.tasks, self._seed = tuple(tasks), seed
        repeats = [each["repeats"] for each in rows]
        self.counts = np.array([int(each.sum()) for each in repeats])
        every = np.concatenate(repeats)
        self._kept = torch.from_numpy(np.repeat(np.arange(len(every)), every))
        joined = {name: np.concatenate([each[name] for each in rows]) for name in rows[0]}
        self._rows = {name: to_tensor(values) for name, values in joined.items()}

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self._kept)

    def __getitem__(self, indices: Sequence[int]) -> ControlBatch:
        """Return a batch; indices beyond the last row wrap around and are sampled anew."""
        n, generator = len(indices), torch.Generator()
        generator.manual_seed(hash((self._seed, int(indices[0]))))
        index = self._kept[torch.as_tensor(indices) % len(self)]
        row = {name: values[index] for name, values in self._rows.items()}
        situation = Situation(**{f.name: row[f.name] for f in fields(Situation)})
        share = torch.rand(2, n, generator=generator)
        off = torch.randn(n, 4, 3, generator=generator)
        straight, left = row["straight"][:, None], row["left"][:, None]
        drawn = straight & (share[0] < RANDOM_SHARE)[:, None]
        pose = _between(row["begin"], row["end"], generator)
        effector = torch.where(drawn, pose, situation.effector)
        avoids = situation.skill == SKILL_NAMES.index("avoiding")
        effector[:, :3] += WANDER_M * off[:, 3] * avoids[:, None]
        noise = torch.tensor(NOISE_M)[:, None] * (share[1] < NOISY_SHARE)[:, None, None]
        places = situation.places + off[:, :3] * noise
        ahead = torch.arange(CHUNK)
        exists = ahead < left
        action = self._rows["action"][index[:, None] + torch.minimum(ahead, left - 1)]
        vacuum = torch.where(straight, row["vacuum"][:, None], action[..., 6])
        return ControlBatch(
            *(replace(situation, effector=effector, places=places), row["waypoint"], row["motion"]),
            *(vacuum, action[..., :6], exists, exists & ~drawn, row["last"]),
        )

    def fit_scales(self, network: ControllerNetwork) -> None:
        """Set the normalization of a network from a sample of rows."""
        some = np.random.default_rng(self._seed).integers(len(self), size=SCALE_ROWS)
        batch = self[some.tolist()]
        features = batch.situation.features()
        network.mean.copy_(features.mean(0))
        network.std.copy_(features.std(0).clamp(min=LEAST_STD))
        network.action_std.copy_(batch.action[:, 0].std(0).clamp(min=LEAST_STD))


def _between(begin: Tensor, end: Tensor, generator: torch.Generator) -> Tensor:
    """Return poses (n, 7) sampled on the way, with less noise near its end."""
    n = len(begin)
    uniform = torch.rand(5, n, 1, generator=generator)
    share = torch.where(uniform[0] < 0.12, 1.0, uniform[1] * 1.02)
    apart = torch.where(uniform[3] < 0.3, uniform[4], share)  # rotation leads or lags
    far = torch.where(uniform[2] < 0.5, torch.where(uniform[2] < 0.25, 0.05, 0.02), 0.004)
    spread = far * (2 * (1 - share)).clamp(0, 1) + 0.0015
    off = torch.randn(n, 7, generator=generator)
    position = begin[:, :3] + (end - begin)[:, :3] * share + off[:, :3] * spread
    same = torch.where((begin[:, 3:] * end[:, 3:]).sum(1, keepdim=True) < 0, -1.0, 1.0)
    turned = begin[:, 3:] + (same * end[:, 3:] - begin[:, 3:]) * apart.clamp(max=1)
    turned = functional.normalize(turned + 0.02 * off[:, 3:], dim=1)
    return torch.cat([position, turned], 1)


def controller_losses(network: ControllerNetwork, batch: ControlBatch) -> dict[str, Tensor]:
    """Return the total ``loss`` and its terms."""
    predicted, acts = network(batch.situation), batch.acts.float()
    waypoint = functional.smooth_l1_loss(
        predicted.waypoint / 0.01, batch.waypoint[:, :3] / 0.01, reduction="none", beta=0.5
    )
    present = geometry.rotation_matrix(batch.situation.effector[:, 3:]).mT
    turn = columns(present @ geometry.rotation_matrix(batch.waypoint[:, 3:]))
    decided = functional.binary_cross_entropy_with_logits(
        predicted.vacuum, (batch.vacuum > 0).float(), reduction="none"
    )
    error = ((predicted.chunk - batch.action / network.action_std) ** 2).mean(-1)
    ends = functional.binary_cross_entropy_with_logits(predicted.ends, batch.ends.float())
    terms = {
        "waypoint": waypoint.mean(1).clamp(max=30).mean(),
        "turn": 20 * functional.smooth_l1_loss(predicted.turn, turn, beta=0.05),
        "vacuum": 2 * (decided * batch.exists).mean(),
        "chunk": (error * acts).sum() / acts.sum().clamp(min=1),
        "motion": 0.3 * functional.cross_entropy(predicted.motion, batch.motion),
        "ends": 0.3 * ends,
    }
    return {"loss": torch.stack([*terms.values()]).sum(), **terms}
