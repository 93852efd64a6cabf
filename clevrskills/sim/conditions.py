"""Conditions of an episode: how it is seen, where the arm starts, what disturbs it; plain data.

An episode without conditions is as frozen. Everything else that a perturbation changes, such as
textures, wordings or the robot, is part of the episode itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Self

from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.setting import Light, Setting, Surfaces


@dataclass(frozen=True)
class Viewpoint:
    """Pose and field of view of a camera that replace its own."""

    eye_m: tuple[float, float, float]  # world position
    target_m: tuple[float, float, float]  # world point in the middle of the image
    fov_rad: float  # vertical field of view

    def of(self, camera: FixedCamera) -> FixedCamera:
        """Return a camera that stands there."""
        return replace(camera, eye_m=self.eye_m, target_m=self.target_m, fov_rad=self.fov_rad)


@dataclass(frozen=True)
class ImageNoise:
    """Noise of a poor camera."""

    sigma: float  # standard deviation of Gaussian noise in each channel, of 255
    blur_px: float  # standard deviation of a Gaussian blur, in pixels of an image 256 high
    quality: int  # quality of JPEG compression, 1 to 95; 0: none
    dropped: float  # share of the images in whose place the one before is shown
    seed: int  # what the noise is drawn from


@dataclass(frozen=True)
class Disturbance:
    """Disturbance that happens while an episode runs."""

    # ``nudge`` (a body is pushed), ``loss`` (the vacuum fails when it holds something), ``delay``
    # (actions come later), ``scale`` (the arm moves more or less than told) or ``drop`` (a control
    # step is lost)
    kind: str
    step: int  # control step at which it begins; a loss comes at the first hold from then on
    steps: int = 1  # how many control steps it lasts
    body: int = -1  # slot of the body that is pushed
    push_ms: tuple[float, float] = (0.0, 0.0)  # its change of velocity along x and y, m/s
    by: float = 0.0  # by how many control steps actions are late, or the factor of movements


@dataclass(frozen=True)
class Conditions:
    """Perturbations of an episode that are not part of its layout or prompt."""

    # level, 1 to 5, of each axis that perturbs it
    axes: Mapping[str, int] = field(default_factory=dict)
    twin: str = ""  # content hash of the episode that it is made of; empty: it is that
    # where cameras stand, by name, in place of their own places
    cameras: Mapping[str, Viewpoint] = field(default_factory=dict)
    light: Light | None = None  # the light; ``None``: as usual
    surfaces: Surfaces | None = None  # what is around; ``None``: as usual
    image: ImageNoise | None = None  # what is done to images; ``None``: nothing
    start_qpos: tuple[float, ...] = ()  # joint angles at the start, rad; empty: as usual
    disturbances: tuple[Disturbance, ...] = ()  # what happens, in order

    def __bool__(self) -> bool:
        return bool(self.axes)

    def of(self, setting: Setting, robot_name: str = "") -> Setting:
        """Return a setting under these conditions, the arm of a robot where it starts."""
        own = {name: v.of(setting.cameras[name]) for name, v in self.cameras.items()}
        start = {robot_name: self.start_qpos} if self.start_qpos and robot_name else {}
        return replace(
            setting,
            cameras={**setting.cameras, **own},
            start_qpos={**setting.start_qpos, **start},
            light=self.light or setting.light,
            surfaces=self.surfaces or setting.surfaces,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data that :meth:`from_json` reads; empty without conditions."""
        data = {f.name: _to_json(getattr(self, f.name)) for f in fields(self)}
        return {name: value for name, value in data.items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        views = {name: _read(Viewpoint, view) for name, view in data.get("cameras", {}).items()}
        return cls(
            dict(data.get("axes", {})),
            data.get("twin", ""),
            views,
            _read(Light, data.get("light")),
            _read(Surfaces, data.get("surfaces")),
            _read(ImageNoise, data.get("image")),
            tuple(data.get("start_qpos", ())),
            tuple(_read(Disturbance, one) for one in data.get("disturbances", ())),
        )


def _read(kind: type, data: Mapping[str, Any] | None) -> Any:
    if data is None:
        return None
    return kind(**{name: _tuples(value) for name, value in data.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: _to_json(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_to_json(part) for part in value]
    return value
