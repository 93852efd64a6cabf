"""Demonstrations for the controller: commands, motions and waypoints at their control steps.

Only states, actions and subgoals are read, so they are recorded without cameras.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Movable
from clevrskills.baselines.policies.compact.controller import (
    CHUNK,
    MOTIONS,
    SERVO_MOTIONS,
    SKILLS,
    ControllerNetwork,
    Situation,
)
from clevrskills.baselines.policy import LEAST_STD
from clevrskills.core import geometry
from clevrskills.dataset_tools.dataset import Episode

DEEPER_M = {"pick": 0.02, "touch": 0.006}
"""How far beyond the pose at contact the waypoint of a motion is, along the approach, so that the
servo presses."""
CUP_TIP_M = 0.0011
"""Distance of the cup tips beyond the frame of the end effector."""
LIFT_M = 0.03
"""How far the arm lifts after a touch."""
REPEATS = 6
"""Drawn states at the contact of a touch, which is a single step of a demonstration."""
DRAWN = 0.75
"""Share of states on straight motions that are drawn."""
NOISY, NOISE_M = 0.7, (0.004, 0.004, 0.003)
"""Share of control steps to whose positions errors are added, and their standard deviations, about
those of perception."""
WANDER_M = 0.03
"""Standard deviation of what is added to the positions of an end effector among obstacles."""
AT_END_M = 0.005
FOLLOWED = tuple(MOTIONS.index(name) for name in ("move", "lift", "place", "turn"))
"""Motions that end where they are to go, rather than at a contact."""
SCALED = 20_000
_KEY = re.compile(r"\{obj:(\w+)\}")

Rows = dict[str, NDArray[Any]]


def rows_of(episode: Episode) -> Rows:
    """Return what is learned from a demonstration.

    Each is an array of N rows, one for each control step and some more at touches:

    ======================== =====================================================================
    fields of ``Situation``  as there
    motion                   index in ``MOTIONS``
    waypoint                 pose of the end effector after the motion, (N, 7)
    begin, end               its poses as the motion begins and ends, (N, 7)
    vacuum                   the vacuum's action during the motion
    next_motion, ...         motion, waypoint and vacuum of the motion that follows in the subgoal
    straight                 whether each pose on the way from ``begin`` to ``end`` is as good
    action                   (N, 7)
    left                     control steps left in the demonstration, this one included; 0: the row
                             is drawn, and no action is learned from it
    subgoal_left             control steps left in the subgoal
    learned                  whether it is learned from: not failed attempts
    ======================== =====================================================================
    """
    data, count = episode.info, len(episode)
    poses = episode.proprioception("ee_pose").astype(float)
    holding = episode.proprioception("holding").reshape(-1)[:count]
    rows = _empty(count)
    rows.update(effector=poses[:count], holding=holding.astype(float), action=episode.actions)
    rows["left"] = count - np.arange(count)
    touches = list[int]()
    motions = list[dict[str, Any]]()
    for segment in data["segments"]["instruction"]:
        for part in _parts(segment, poses):
            motions.append(part)
            if len(motions) > 1 and part.get("touched"):
                touches.append(part["start"])
    for subgoal in data["segments"]["subtask"]:
        _command(rows, episode, subgoal, motions, poses)
        start, stop = subgoal["start"], subgoal["stop"]
        contact = poses[start]
        for step in range(start, stop):
            if step > start and (holding[step] != holding[step - 1] or step in touches):
                contact = poses[step]
            rows["contact"][step] = contact
    for motion, following in zip(motions, [*motions[1:], None], strict=True):
        if following is not None and following["subgoal"] != motion["subgoal"]:
            following = None
        _motion(rows, motion, following, poses)
    rows["learned"] &= ~episode.unlearned
    return _with_touches(rows, touches, poses, np.random.default_rng(data["seed"]))


def _empty(count: int) -> Rows:
    pose, flag, number = np.full((count, 7), np.nan), np.zeros(count, bool), np.zeros(count, int)
    names = ("pose", "start", "contact", "waypoint", "begin", "end", "next_waypoint")
    return {
        **{name: pose.copy() for name in names},
        **{name: number.copy() for name in ("motion", "next_motion", "subgoal_left")},
        **{name: flag.copy() for name in ("straight", "learned")},
        **{name: np.zeros(count) for name in ("angle_rad", "vacuum", "next_vacuum")},
        "skill": np.full(count, SKILLS.index("other")),
        "places": np.full((count, 3, 3), np.nan),
    }


def _parts(segment: Mapping[str, Any], poses: NDArray[Any]) -> list[dict[str, Any]]:
    """Return an instruction segment; that of a touch is split at the contact, where it is deepest,
    into the touch and the lift.
    """
    start, stop = segment["start"], segment["stop"]
    if (segment["action_class"], segment["skill"]) == ("touch", "touch") and stop - start > 2:
        depth = (poses[start : stop + 1, :3] - poses[start, :3]) @ _approach(poses[start])
        contact = start + int(depth.argmax())
        if start < contact < stop:
            return [
                {**segment, "stop": contact},
                {**segment, "start": contact, "action_class": "lift", "touched": True},
            ]
    return [dict(segment)] if stop > start else []


def _approach(pose: NDArray[Any]) -> NDArray[Any]:
    """Return the direction in which a pose (7,) points, (3,)."""
    matrix: NDArray[Any] = geometry.rotation_matrix(torch.tensor(pose[3:])).numpy()
    return matrix[:, 2]


def _command(
    rows: Rows,
    episode: Episode,
    subgoal: Mapping[str, Any],
    motions: Iterable[Mapping[str, Any]],
    poses: NDArray[Any],
) -> None:
    """Enter what a subgoal demands into its rows, as it is when the subgoal begins."""
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
    if "angle_rad" in leaf:
        rows["angle_rad"][steps] = np.ravel(leaf["angle_rad"])[0]
    elif "position" in leaf and skill in ("end_effector_at_pose", "avoiding"):
        rows["pose"][steps] = [*leaf["position"][0], *leaf["orientation"][0]]
    elif "position" in leaf:
        places[1] = leaf["position"][0]
    for motion in motions:
        grasps = motion["action_class"] in DEEPER_M and start <= motion["start"] < stop
        if grasps and not motion["failed"]:
            end = poses[motion["stop"]]
            places[2] = end[:3] + CUP_TIP_M * _approach(end)
            break
    rows["places"][steps], rows["skill"][steps] = places, SKILLS.index(skill)
    rows["start"][steps], rows["learned"][steps] = poses[start], True
    rows["subgoal_left"][steps] = stop - np.arange(start, stop)


def _leaves(goal: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return leaves of a goal, as JSON data, in order."""
    children = goal.get("children") or [goal[name] for name in ("child",) if name in goal]
    return [leaf for child in children for leaf in _leaves(child)] if children else [goal]


def _motion(
    rows: Rows, motion: Mapping[str, Any], following: Mapping[str, Any] | None, poses: NDArray[Any]
) -> None:
    """Enter a motion, and what follows it in the subgoal, into its rows."""
    start, stop, name = motion["start"], motion["stop"], motion["action_class"]
    if name not in MOTIONS:
        rows["learned"][start:stop] = False
        return
    vacuum = rows["action"][:, 6]
    end = stop
    released = np.flatnonzero(vacuum[start:stop] <= 0)
    if name == "place" and len(released):
        end = start + int(released[0])
    steps, held = slice(start, stop), slice(start, max(end, start + 1))
    avoids = rows["skill"][start] == SKILLS.index("avoiding")
    goal = rows["pose"][start] if avoids else waypoint_of(motion, poses, end)
    rows["waypoint"][steps], rows["waypoint"][end:stop] = goal, poses[stop]
    rows["motion"][steps], rows["vacuum"][steps] = MOTIONS.index(name), vacuum[start]
    rows["begin"][steps], rows["end"][steps] = poses[start], poses[end]
    rows["straight"][held] = name in SERVO_MOTIONS and not avoids
    last = -1.0 if name == "place" else vacuum[stop - 1]
    rows["next_vacuum"][steps], rows["next_motion"][steps] = last, MOTIONS.index(name)
    rows["next_waypoint"][steps] = rows["waypoint"][stop - 1]
    if following is not None and following["action_class"] in MOTIONS:
        rows["next_motion"][steps] = MOTIONS.index(following["action_class"])
        rows["next_waypoint"][steps] = waypoint_of(following, poses, following["stop"])
        if name != "place":
            rows["next_vacuum"][steps] = vacuum[following["start"]]


def waypoint_of(motion: Mapping[str, Any], poses: NDArray[Any], end: int) -> NDArray[Any]:
    """Return the waypoint (7,) of a motion that ends after a control step."""
    goal = poses[end].copy()
    goal[:3] += DEEPER_M.get(motion["action_class"], 0.0) * _approach(goal)
    return goal


def _with_touches(
    rows: Rows, touches: Iterable[int], poses: NDArray[Any], rng: np.random.Generator
) -> Rows:
    """Return the rows with some more at each contact, at which the arm is to lift."""
    found = {name: [values] for name, values in rows.items()}
    for step in touches:
        at = poses[step]
        up = -_approach(at)
        drawn = np.tile(at, (REPEATS, 1))
        off = np.concatenate([np.zeros(2), rng.uniform(0, 0.02, REPEATS - 2)])[:, None] * up
        drawn[:, :3] += off + rng.normal(0, 0.002, (REPEATS, 3))
        lifted = np.append(at[:3] + LIFT_M * up, at[3:])
        changed = {"effector": drawn, "contact": at, "waypoint": lifted, "straight": False}
        changed |= {"motion": MOTIONS.index("lift"), "left": 0}
        index = np.full(REPEATS, min(step, len(rows["left"]) - 1))
        for name, values in rows.items():
            more = values[index]
            if name in changed:
                more = np.broadcast_to(changed[name], more.shape).astype(values.dtype)
            found[name].append(more)
    return {name: np.concatenate(values) for name, values in found.items()}


@dataclass(frozen=True)
class ControlBatch(Movable):
    """B control steps, and what the controller is to predict at each.

    Attributes:
        situation: What it acts on.
        waypoint: Pose of the end effector after the motion, (B, 7).
        motion: Index of the motion, (B,).
        vacuum: The vacuum at the next steps, on above 0, (B, CHUNK).
        action: The next actions, (B, CHUNK, 6).
        exists: Which of the next steps there are, (B, CHUNK).
        acts: Which of the next actions are learned, (B, CHUNK).
        ends: Whether the subgoal is reached after this step, (B,).
        timed: Whether that is learned, (B,).
    """

    situation: Situation
    waypoint: Tensor
    motion: Tensor
    vacuum: Tensor
    action: Tensor
    exists: Tensor
    acts: Tensor
    ends: Tensor
    timed: Tensor


class ControlWindows:
    """Control steps of demonstrations that batches are drawn from.

    Along a straight motion the state is drawn evenly, with noise: what is to be done does not
    depend on how far the motion is, and a demonstration has few states near its end, where the next
    motion begins.

    Args:
        rows: Rows of each demonstration, as of :func:`rows_of`.
        tasks: Task of each.
        seed: For what is drawn.

    Attributes:
        tasks: Task of each demonstration.
        counts: Rows that are learned from of each.
    """

    def __init__(self, rows: Sequence[Rows], tasks: Sequence[str], seed: int) -> None:
        self.tasks, self._seed = tuple(tasks), seed
        keep = [each["learned"] & np.isfinite(each["waypoint"]).all(1) for each in rows]
        self.counts = np.array([int(each.sum()) for each in keep])
        self._kept = torch.from_numpy(np.flatnonzero(np.concatenate(keep)))
        self._rows = {name: _joined([each[name] for each in rows]) for name in rows[0]}

    def __len__(self) -> int:
        """Return the number of rows that are learned from."""
        return len(self._kept)

    def __getitem__(self, indices: Sequence[int]) -> ControlBatch:
        """Draw a batch; indices count on beyond the last row, and each batch draws anew."""
        n, generator = len(indices), torch.Generator()
        generator.manual_seed(hash((self._seed, int(indices[0]))))
        index = self._kept[torch.as_tensor(indices) % len(self)]
        batch = self._recorded(index)
        begin, end, motion = (self._rows[name][index] for name in ("begin", "end", "motion"))
        pose, near = _between(begin, end, generator)
        share, off = (
            torch.rand(2, n, generator=generator),
            torch.randn(n, 4, 3, generator=generator),
        )
        drawn = self._rows["straight"][index] & (share[0] < DRAWN)
        effector = torch.where(drawn[:, None], pose, batch.situation.effector)
        avoids = batch.situation.skill == SKILLS.index("avoiding")
        wander = WANDER_M * off[:, 3] * avoids[:, None]
        effector = torch.cat([effector[:, :3] + wander, effector[:, 3:]], 1)
        noise = torch.tensor(NOISE_M)[:, None] * (share[1] < NOISY)[:, None, None]
        places = batch.situation.places + off[:, :3] * noise
        ends = drawn & near & ((effector[:, :3] - end[:, :3]).norm(dim=1) < AT_END_M)
        ends &= torch.isin(motion, torch.tensor(FOLLOWED))
        follows = ends & (motion != MOTIONS.index("place"))  # what is placed is let go there
        following = {name: self._rows[f"next_{name}"][index] for name in ("waypoint", "motion")}
        vacuum = torch.where(ends, self._rows["next_vacuum"][index], self._rows["vacuum"][index])
        return replace(
            batch,
            situation=replace(batch.situation, effector=effector, places=places),
            waypoint=torch.where(follows[:, None], following["waypoint"], batch.waypoint),
            motion=torch.where(follows, following["motion"], batch.motion),
            vacuum=torch.where(drawn[:, None], vacuum[:, None], batch.vacuum),
            acts=batch.acts & ~drawn[:, None],
            timed=batch.timed & ~drawn,
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
            rows["subgoal_left"][index] <= 1,
            left[:, 0] > 0,
        )

    def fit_scales(self, network: ControllerNetwork) -> None:
        """Set the scales of a network's features and actions by some rows."""
        some = np.random.default_rng(self._seed).integers(len(self), size=SCALED)
        batch = self[some.tolist()]
        features = batch.situation.features()
        network.mean.copy_(features.mean(0))
        network.std.copy_(features.std(0).clamp(min=LEAST_STD))
        network.action_std.copy_(batch.action[:, 0].std(0).clamp(min=LEAST_STD))


def _joined(arrays: Sequence[NDArray[Any]]) -> Tensor:
    joined = torch.from_numpy(np.concatenate(arrays))
    return joined.float() if joined.is_floating_point() else joined


def _between(begin: Tensor, end: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return poses (n, 7) drawn on the way, less noisy near its end, and whether each is there."""
    n = len(begin)
    uniform = torch.rand(3, n, 1, generator=generator)
    share = torch.where(uniform[0] < 0.12, 1.0, uniform[1] * 1.02)
    spread = torch.where(uniform[2] < 0.5, 0.02, 0.004) * (2 * (1 - share)).clamp(0, 1) + 0.0015
    off = torch.randn(n, 7, generator=generator)
    position = begin[:, :3] + (end - begin)[:, :3] * share + off[:, :3] * spread
    near = share > 0.97
    same = torch.where((begin[:, 3:] * end[:, 3:]).sum(1, keepdim=True) < 0, -1.0, 1.0)
    turned = begin[:, 3:] + (same * end[:, 3:] - begin[:, 3:]) * share.clamp(max=1)
    turned = functional.normalize(turned + 0.02 * off[:, 3:] * ~near, dim=1)
    return torch.cat([position, turned], 1), near[:, 0]


def controller_losses(network: ControllerNetwork, batch: ControlBatch) -> dict[str, Tensor]:
    """Return what is minimized, under ``loss``, and its terms."""
    said = network(batch.situation)
    missed = functional.smooth_l1_loss(
        said.waypoint / 0.01, batch.waypoint[:, :3] / 0.01, reduction="none", beta=0.5
    )
    present = geometry.rotation_matrix(batch.situation.effector[:, 3:]).transpose(1, 2)
    turn = (present @ geometry.rotation_matrix(batch.waypoint[:, 3:]))[..., :2]
    decided = functional.binary_cross_entropy_with_logits(
        said.vacuum, (batch.vacuum > 0).float(), reduction="none"
    )
    acts, timed = batch.acts.float(), batch.timed.float()
    error = ((said.chunk - batch.action / network.action_std) ** 2).mean(-1)
    ends = functional.binary_cross_entropy_with_logits(
        said.ends, batch.ends.float(), reduction="none"
    )
    terms = {
        "waypoint": missed.mean(1).clamp(max=30).mean(),
        "turn": 20
        * functional.smooth_l1_loss(said.turn, turn.transpose(1, 2).flatten(1), beta=0.05),
        "vacuum": 2 * (decided * batch.exists).mean(),
        "chunk": (error * acts).sum() / acts.sum().clamp(min=1),
        "motion": 0.3 * functional.cross_entropy(said.motion, batch.motion),
        "ends": 0.3 * (ends * timed).mean(),
    }
    return {"loss": torch.stack([*terms.values()]).sum(), **terms}
