"""Demonstrations for the controller: commands, motions and waypoints at their control steps.

Only states, actions and subgoals are read, so they are recorded without cameras.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.policies.compact.controller import (
    CARRIED,
    CHUNK,
    CHUNK_MOTIONS,
    CONTACTS,
    MOTIONS,
    PHASES,
    PUSHES,
    SKILLS,
    TURNED,
    ControllerNetwork,
    Situation,
)
from clevrskills.baselines.policy import LEAST_STD
from clevrskills.core import geometry
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.scenes.scene_set import MOVED_M

PRESS_M = {"pick": 0.02, "touch": 0.006, "topple": 0.03}
"""Distance of a waypoint beyond the pose at contact, so that the servo presses."""
RETREAT_M = {"place": 0.05, "touch": 0.03, "topple": 0.06, "push": -0.04}
"""Rise of the arm after a motion; negative: horizontal retreat."""
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

Rows = dict[str, NDArray[Any]]


def rows_of(episode: Episode) -> Rows:
    """Return the training rows of a demonstration: arrays with a row for each control step.

    ======================== =====================================================================
    fields of ``Situation``  see there
    motion                   index in ``MOTIONS``
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
    data, count = episode.info, len(episode)
    poses = episode.proprioception("ee_pose").astype(float)
    holding = episode.proprioception("holding").reshape(-1)[:count]
    rows = _empty(count)
    rows.update(effector=poses[:count], holding=holding.astype(float), action=episode.actions)
    rows["left"] = count - np.arange(count)
    parts = [part for each in data["segments"]["instruction"] for part in _parts(each, rows, poses)]
    for subgoal in data["segments"]["subtask"]:
        inside = [p for p in parts if subgoal["start"] <= p["start"] < subgoal["stop"]]
        ends = [p["stop"] for p in inside if p["retreats"] in ("push", "place")][:-1]
        starts = [subgoal["start"], *ends]
        for start, stop in zip(starts, [*ends, subgoal["stop"]], strict=True):
            under = [p for p in inside if start <= p["start"] < stop and not p["failed"]]
            _command(rows, episode, {**subgoal, "start": start, "stop": stop}, under, poses)
            chunks = [p["action_class"] in CHUNK_MOTIONS for p in under]
            for number, part in enumerate(under):
                phase = chunks.index(True) if chunks[number] else number
                _motion(rows, part, min(phase, PHASES - 1), part is under[-1], poses)
    rows["repeats"] *= ~episode.unlearned
    return rows


def _empty(count: int) -> Rows:
    pose, flag, number = np.full((count, 7), np.nan), np.zeros(count, bool), np.zeros(count, int)
    names = ("pose", "start", "contact", "waypoint", "begin", "end")
    return {
        **{name: pose.copy() for name in names},
        **{name: number.copy() for name in ("motion", "phase", "repeats")},
        **{name: flag.copy() for name in ("straight", "last")},
        **{name: np.zeros(count) for name in ("angle_rad", "vacuum")},
        "skill": np.full(count, SKILLS.index("other")),
        "places": np.full((count, 3, 3), np.nan),
    }


def _parts(segment: Mapping[str, Any], rows: Rows, poses: NDArray[Any]) -> list[dict[str, Any]]:
    """Return the straight motions of an instruction segment: approach and descent, or contact and
    retreat. ``retreats`` names the motion before a retreat.
    """
    start, stop, name = segment["start"], segment["stop"], segment["action_class"]
    if name not in MOTIONS or stop <= start:
        return []
    part = {**segment, "retreats": "", "waypoint": poses[stop]}
    way = poses[start : stop + 1, :3] - poses[start, :3]
    if name == "move":
        aside = np.linalg.norm((poses[start : stop + 1] - poses[stop])[:, :2], axis=1) > SAME_M
        middle = int(np.flatnonzero(aside).max(initial=-1)) + 1
        if 0 < middle < stop - start and way[middle, 2] > way[-1, 2] + ABOVE_M:
            above = {**part, "stop": start + middle, "waypoint": poses[start + middle]}
            return [above, {**part, "start": start + middle}]
        return [part]
    ahead = _approach(poses[start])
    if name in ("push", "topple"):
        ahead = way[np.linalg.norm(way[:, :2], axis=1).argmax()] * [1, 1, 0]
        ahead /= max(float(np.linalg.norm(ahead)), 1e-9)
    middle = stop - start
    if name == "place":
        middle = int(np.flatnonzero(rows["action"][start:stop, 6] <= 0).min(initial=middle))
    elif name in RETREAT_M:
        depth = way @ ahead
        middle = int(np.flatnonzero(depth > depth.max() - 0.001).min())
    end = poses[start + middle].copy()
    end[:3] += PRESS_M.get(name, 0.0) * (ahead if name == "topple" else _approach(end))
    pressing = {**part, "stop": start + middle, "waypoint": end}
    if not 0 < middle < stop - start:
        return [pressing]
    away = poses[start + middle].copy()
    back = RETREAT_M[name]
    away[:3] += back * (ahead if back < 0 else np.array([0, 0, 1]))
    return [
        pressing,
        {
            **part,
            **{"start": start + middle, "action_class": "lift", "retreats": name},
            "waypoint": away,
        },
    ]


def _approach(pose: NDArray[Any]) -> NDArray[Any]:
    """Return the approach direction (3,) of a pose (7,)."""
    matrix: NDArray[Any] = geometry.rotation_matrix(torch.tensor(pose[3:])).numpy()
    return matrix[:, 2]


def _command(
    rows: Rows,
    episode: Episode,
    subgoal: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    poses: NDArray[Any],
) -> None:
    """Write the command of a subgoal into its rows."""
    data, start, stop = episode.info, subgoal["start"], subgoal["stop"]
    steps, leaves, skill = slice(start, stop), _leaves(data["goal"]), subgoal["predicate"]
    if subgoal["subgoal"] not in range(len(leaves)) or skill not in SKILLS:
        return
    leaf = leaves[subgoal["subgoal"]]
    skill = "avoiding" if data["goal"]["predicate"] == "avoiding" else skill
    keys = [each["key"] for each in episode.objects]
    named = [keys.index(key) for key in _KEY.findall(subgoal["text"]) if key in keys][:2]
    places = np.full((3, 3), np.nan)
    places[: len(named)] = episode.object_poses[start, named, :3]
    if skill in TURNED:  # the arm may need several turns
        first, last = torch.from_numpy(episode.object_poses[[start, stop], named[0], 3:]).double()
        w, _, _, z = geometry.quaternion_multiply(last, geometry.quaternion_conjugate(first))
        rows["angle_rad"][steps] = (2 * np.arctan2(z, w) + np.pi) % (2 * np.pi) - np.pi
    if skill in ("end_effector_at_pose", "avoiding"):
        rows["pose"][steps] = [*leaf["position"][0], *leaf["orientation"][0]]
    elif "position" in leaf:
        place = np.asarray(leaf["position"][0])
        if skill != "rotated" or np.linalg.norm(place - places[0]) > MOVED_M:
            skill = "at_pose" if skill == "rotated" else skill
            places[1] = place
    for part in parts:
        name, begin, end = part["action_class"], poses[part["start"]], poses[part["stop"]]
        if skill in PUSHES and name in ("push", "topple"):
            places[1] = places[0] + (end - begin)[:3] * [1, 1, 0]
        elif skill in CARRIED and name == "place":
            places[1, :2] = episode.object_poses[part["stop"], named[0], :2]
        elif name in ("pick", "touch") and np.isnan(places[2, 0]):
            places[2] = end[:3] + CUP_TIP_M * _approach(end)
            if skill not in CARRIED:
                break
    rows["places"][steps], rows["skill"][steps] = places, SKILLS.index(skill)
    rows["start"][steps] = rows["contact"][steps] = poses[start]
    for part in parts:
        if part["action_class"] in CONTACTS:
            rows["contact"][part["stop"] : stop] = poses[part["stop"]]


def _leaves(goal: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return leaves of a goal, as JSON data, in order."""
    children = goal.get("children") or [goal[name] for name in ("child",) if name in goal]
    return [leaf for child in children for leaf in _leaves(child)] if children else [goal]


def _motion(
    rows: Rows, part: Mapping[str, Any], phase: int, last: bool, poses: NDArray[Any]
) -> None:
    """Write a motion into its rows."""
    start, stop, name = part["start"], part["stop"], part["action_class"]
    steps = slice(start, stop)
    avoids, chunks = rows["skill"][start] == SKILLS.index("avoiding"), name in CHUNK_MOTIONS
    rows["waypoint"][steps] = rows["pose"][start] if avoids else part["waypoint"]
    rows["motion"][steps], rows["vacuum"][steps] = MOTIONS.index(name), rows["action"][start, 6]
    rows["begin"][steps] = poses[start]
    rows["end"][steps] = part["waypoint"] if part["retreats"] else poses[stop]
    rows["phase"][steps] = 0 if avoids else phase
    rows["straight"][steps] = not chunks and not avoids
    rows["last"][stop - 1 if chunks else start : stop] = last
    known = rows["skill"][start] != SKILLS.index("other")
    rows["repeats"][steps] = known * max(1, MIN_ROWS // (stop - start))


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
        self._rows = {name: _joined([each[name] for each in rows]) for name in rows[0]}

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self._kept)

    def __getitem__(self, indices: Sequence[int]) -> ControlBatch:
        """Return a batch; indices beyond the last row wrap around and are sampled anew."""
        n, generator = len(indices), torch.Generator()
        generator.manual_seed(hash((self._seed, int(indices[0]))))
        index = self._kept[torch.as_tensor(indices) % len(self)]
        batch = self._recorded(index)
        begin, end, straight, vacuum = (
            self._rows[name][index] for name in ("begin", "end", "straight", "vacuum")
        )
        share, off = (
            torch.rand(2, n, generator=generator),
            torch.randn(n, 4, 3, generator=generator),
        )
        drawn = straight & (share[0] < RANDOM_SHARE)
        pose = _between(begin, end, generator)
        effector = torch.where(drawn[:, None], pose, batch.situation.effector)
        avoids = batch.situation.skill == SKILLS.index("avoiding")
        wander = WANDER_M * off[:, 3] * avoids[:, None]
        effector = torch.cat([effector[:, :3] + wander, effector[:, 3:]], 1)
        noise = torch.tensor(NOISE_M)[:, None] * (share[1] < NOISY_SHARE)[:, None, None]
        places = batch.situation.places + off[:, :3] * noise
        return replace(
            batch,
            situation=replace(batch.situation, effector=effector, places=places),
            vacuum=torch.where(straight[:, None], vacuum[:, None], batch.vacuum),
            acts=batch.acts & ~drawn[:, None],
        )

    def _recorded(self, index: Tensor) -> ControlBatch:
        """Return rows (B,) as they were recorded."""
        rows, left = self._rows, self._rows["left"][index][:, None]
        ahead = torch.arange(CHUNK)
        exists = ahead < left
        action = rows["action"][index[:, None] + torch.minimum(ahead, (left - 1).clamp(min=0))]
        return ControlBatch(
            Situation(**{f.name: rows[f.name][index] for f in fields(Situation)}),
            rows["waypoint"][index],
            rows["motion"][index],
            action[..., 6],
            action[..., :6],
            exists,
            exists,
            rows["last"][index],
        )

    def fit_scales(self, network: ControllerNetwork) -> None:
        """Set the normalization of a network from a sample of rows."""
        some = np.random.default_rng(self._seed).integers(len(self), size=SCALE_ROWS)
        batch = self[some.tolist()]
        features = batch.situation.features()
        network.mean.copy_(features.mean(0))
        network.std.copy_(features.std(0).clamp(min=LEAST_STD))
        network.action_std.copy_(batch.action[:, 0].std(0).clamp(min=LEAST_STD))


def _joined(arrays: Sequence[NDArray[Any]]) -> Tensor:
    joined = torch.from_numpy(np.concatenate(arrays))
    return joined.float() if joined.is_floating_point() else joined


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
    predicted = network(batch.situation)
    waypoint = functional.smooth_l1_loss(
        predicted.waypoint / 0.01, batch.waypoint[:, :3] / 0.01, reduction="none", beta=0.5
    )
    present = geometry.rotation_matrix(batch.situation.effector[:, 3:]).transpose(1, 2)
    turn = (present @ geometry.rotation_matrix(batch.waypoint[:, 3:]))[..., :2]
    decided = functional.binary_cross_entropy_with_logits(
        predicted.vacuum, (batch.vacuum > 0).float(), reduction="none"
    )
    acts = batch.acts.float()
    error = ((predicted.chunk - batch.action / network.action_std) ** 2).mean(-1)
    ends = functional.binary_cross_entropy_with_logits(
        predicted.ends, batch.ends.float(), reduction="none"
    )
    terms = {
        "waypoint": waypoint.mean(1).clamp(max=30).mean(),
        "turn": 20
        * functional.smooth_l1_loss(predicted.turn, turn.transpose(1, 2).flatten(1), beta=0.05),
        "vacuum": 2 * (decided * batch.exists).mean(),
        "chunk": (error * acts).sum() / acts.sum().clamp(min=1),
        "motion": 0.3 * functional.cross_entropy(predicted.motion, batch.motion),
        "ends": 0.3 * ends.mean(),
    }
    return {"loss": torch.stack([*terms.values()]).sum(), **terms}
