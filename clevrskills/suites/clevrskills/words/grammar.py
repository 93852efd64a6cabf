"""Grammar of commands, which are sentences of goal-tree leaves about objects of the scene."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import radians

import torch
from torch import Tensor

from clevrskills.core import geometry
from clevrskills.core.goal.tree import state_of
from clevrskills.core.policy import GaveUp
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.scene_text import NAMES, bodies_of, shown_name
from clevrskills.predicates import (
    AtPose,
    AtPoseOnTop,
    AtPosition,
    AtPositionPushed,
    Balanced,
    EndEffectorAtPose,
    EndEffectorAtPosition,
    Hit,
    HitToppled,
    Inside,
    OnTop,
    Picked,
    Predicate,
    PushedTowards,
    Rotated,
    SameStack,
    ToppledStructure,
    Touched,
    TouchedPushed,
    TouchedToppled,
    Traced,
)

UNPARSABLE, UNKNOWN_OBJECT, AMBIGUOUS = "UNPARSABLE", "UNKNOWN_OBJECT", "AMBIGUOUS"
NOT_HERE = "NOT_HERE"
PUT_DOWN, WAIT = "put down", "wait"
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_XY, _XYZ = rf"\({_NUMBER},{_NUMBER}\)", rf"\({_NUMBER},{_NUMBER},{_NUMBER}\)"
_MOST_RAD = radians(170.0)
_PLACEHOLDER = re.compile(r"\{obj:(\w+)\}")
_ARTICLE = re.compile(r"^(the|a|an)\s+")


@dataclass(frozen=True)
class SkillCommand:
    """Parsed command."""

    leaf: Predicate | None = None  # goal of the command, if it has one
    action: str = ""  # :data:`PUT_DOWN`, :data:`WAIT` or empty
    code: str = ""  # result code of an invalid command
    args: Mapping[str, str] = field(default_factory=dict)  # arguments of the code's sentence


class _Refused(Exception):  # noqa: N818 (nothing is in error)
    """Refusal of a command, with its code and arguments."""

    def __init__(self, code: str, **args: str) -> None:
        super().__init__(code)
        self.command = SkillCommand(code=code, args=args)


def read(text: str, env: ClevrSkillsEnv) -> SkillCommand:
    """Parse a command in an environment; case, a final full stop and articles are ignored."""
    words = canonical(text)
    if words in (PUT_DOWN, WAIT):
        return SkillCommand(action=words)
    try:
        for pattern, build in _FORMS:
            if match := pattern.fullmatch(words):
                return SkillCommand(
                    build(_CommandScene(env), *match.groups()).with_criteria(env.criteria)
                )
    except _Refused as refused:
        return refused.command
    return SkillCommand(code=UNPARSABLE)


def canonical(text: str) -> str:
    """Return a command in lower case without full stop; empty if it is not a single command."""
    words = " ".join(text.lower().split()).removesuffix(".").rstrip()
    known = words in (PUT_DOWN, WAIT) or any(form.fullmatch(words) for form, _ in _FORMS)
    return words if known and ";" not in words else ""


def command_for(leaf: Predicate, env: ClevrSkillsEnv) -> str:
    """Return the command for a leaf of a goal tree: its sentence with keys of objects.

    Raises:
        GaveUp: There is no command for the leaf.
    """
    description = leaf.describe(env.world)
    if isinstance(leaf, Rotated):
        description = _what_is_left(leaf, env)
    sentence = _PLACEHOLDER.sub(lambda match: match[1], description).partition(" after ")[0]
    command = sentence[:1].lower() + sentence[1:]
    if read(command, env).leaf is None:
        raise GaveUp(f"there is no command for: {sentence}")
    return command


def _what_is_left(leaf: Rotated, env: ClevrSkillsEnv) -> str:
    """Return the sentence for placing a displaced object, otherwise for its remaining rotation, in
    parts of less than half a turn.
    """
    world = env.world
    away = world.position(leaf.object)[0, :2] - leaf.position[0, :2]
    if float(away.norm()) > env.criteria.position_m / 2:
        return AtPosition.describe(leaf, world)
    left = leaf.angle_rad - state_of(leaf, env.goal, env.outcome)["turned_rad"]
    return replace(leaf, angle_rad=left.clamp(-_MOST_RAD, _MOST_RAD)).describe(world)


class _CommandScene:
    """Scene of an environment that commands refer to."""

    def __init__(self, env: ClevrSkillsEnv) -> None:
        self.env, self.world = env, env.world

    def find(self, phrase: str) -> Tensor:
        """Return the slot (1,) of an object given by its key, its name, or words of its name."""
        bodies, wanted = bodies_of(self.env), _ARTICLE.sub("", phrase.strip())
        if wanted in bodies:
            return self.world.index(wanted)
        names = {
            key: {shown_name(self.env, body, k) for k in range(NAMES)}
            for key, body in bodies.items()
        }
        found = [key for key, called in names.items() if wanted in called]
        if not found:
            words = set(wanted.split())
            found = [k for k, called in names.items() if any(words <= {*n.split()} for n in called)]
        if len(found) == 1:
            return self.world.index(found[0])
        if found:
            raise _Refused(AMBIGUOUS, phrase=wanted, names=", ".join(found))
        raise _Refused(UNKNOWN_OBJECT, phrase=wanted, names=", ".join(bodies))

    def several(self, phrases: str) -> Tensor:
        """Return the slots (1, n) of enumerated objects."""
        named = [phrase for phrase in re.split(r",|\band\b", phrases) if phrase.strip()]
        return torch.stack([self.find(phrase) for phrase in named], dim=-1)

    def place(self, body: Tensor, x: str, y: str) -> Tensor:
        """Return the origin (1, 3) of a body, with its current orientation, at a table position."""
        world = self.world
        height = world.position(body)[:, 2] - world.bottom(body)
        return torch.tensor([[float(x), float(y), float(height)]])

    def own(self, kind: type[Predicate]) -> Predicate:
        """Return the leaf of a type in the goal of the episode."""
        found = [leaf for leaf in self.env.goal.leaves() if isinstance(leaf, kind)]
        if not found:
            raise _Refused(NOT_HERE)
        return found[0]


def _on(scene: _CommandScene, one: str, where: str, other: str) -> Predicate:
    kind = OnTop if where in ("on", "onto", "on top of") else Inside
    return kind(scene.find(one), scene.find(other))


def _at(
    scene: _CommandScene, one: str, x: str, y: str, turn: str | None, other: str | None
) -> Predicate:
    body = scene.find(one)
    place = scene.place(body, x, y)
    if turn is None:
        return AtPosition(body, place)
    orientation = geometry.yaw_quaternion(torch.tensor([radians(float(turn))]))
    if other is None:
        return AtPose(body, place, orientation)
    return AtPoseOnTop(body, place, orientation, scene.find(other))


def _rotated(scene: _CommandScene, one: str, angle: str, direction: str) -> Predicate:
    body = scene.find(one)
    turn = torch.tensor([radians(float(angle)) * (-1 if direction == "clockwise" else 1)])
    if float(turn.abs()) >= torch.pi:
        raise _Refused(UNPARSABLE)
    start = scene.world.pose(body)
    x, y = start[0, :2].tolist()
    return Rotated.by(body, start, turn, scene.place(body, x, y))


def _thrown(scene: _CommandScene, one: str, other: str, falls: str | None) -> Predicate:
    kind = HitToppled if falls else Hit
    return kind(scene.find(one), scene.find(other))


def _moved(scene: _CommandScene, x: str, y: str, z: str, *axis: str | None) -> Predicate:
    place = torch.tensor([[float(x), float(y), float(z)]])
    if axis[0] is None:
        return EndEffectorAtPosition(place)
    aim = torch.tensor([[float(v) for v in axis if v is not None]])
    aim = aim / aim.norm().clamp(min=1e-6)
    now = scene.world.end_effector_pose[:, 3:]
    return EndEffectorAtPose(place, geometry.quaternion_multiply(_turn_to(now, aim), now))


def _turn_to(orientation: Tensor, aim: Tensor) -> Tensor:
    """Return the shortest rotation (1, 4) of the z axis of an orientation (1, 4) to a direction
    (1, 3).
    """
    axis = geometry.rotation_matrix(orientation)[..., 2]
    cross = torch.linalg.cross(axis, aim)
    sine, cosine = cross.norm(dim=-1, keepdim=True), (axis * aim).sum(-1, keepdim=True)
    angle = torch.atan2(sine, cosine)
    side = geometry.rotation_matrix(orientation)[..., 0]
    unit = torch.where(sine > 1e-6, cross / sine.clamp(min=1e-6), side)
    return geometry.rotation_quaternion(unit * angle)


def _balanced(scene: _CommandScene, several: str) -> Predicate:
    leaf = scene.own(Balanced)
    assert isinstance(leaf, Balanced)
    named, meant = set(scene.several(several)[0].tolist()), set(leaf.objects[0].tolist()) - {-1}
    if named != meant:
        raise _Refused(NOT_HERE)
    return leaf


_Build = Callable[..., Predicate]
_ON = r"(on top of|onto|on|into|inside|in)"
_FORMS: Sequence[tuple[re.Pattern[str], _Build]] = [
    (re.compile(pattern), build)
    for pattern, build in (
        (r"pick (?:up )?(.+)", lambda s, a: Picked(s.find(a))),
        (r"stack (.+?) on top of each other", lambda s, a: SameStack(s.several(a))),
        (rf"(?:put|place) (.+?) at {_XY}(?: turned to {_NUMBER} degrees(?: on (.+))?)?", _at),
        (rf"(?:put|place|stack) (.+?) {_ON} (.+)", _on),
        (
            rf"push (.+?) to {_XY}",
            lambda s, a, x, y: AtPositionPushed(s.find(a), s.place(s.find(a), x, y)),
        ),
        (r"push (.+?) towards? (.+)", lambda s, a, b: PushedTowards(s.find(a), s.find(b))),
        (r"(?:rotate|turn) (.+?) (\d+(?:\.\d+)?) degrees (clockwise|anti-clockwise)", _rotated),
        (r"throw (.+?) (?:to|at|into) (.+?)( such that it falls over)?", _thrown),
        (r"(?:touch and )?push (.+)", lambda s, a: TouchedPushed(s.find(a))),
        (r"topple the stack of (.+)", lambda s, a: ToppledStructure(s.several(a))),
        (r"(?:touch and )?topple (.+)", lambda s, a: TouchedToppled(s.find(a))),
        (r"touch (.+)", lambda s, a: Touched(s.find(a))),
        (rf"move (?:the end effector )?to {_XYZ}(?:, pointing along {_XYZ})?", _moved),
        (r"move to (.+)", lambda s, a: Traced(s.find(a))),
        (r"balance the scale with (.+)", _balanced),
    )
]
