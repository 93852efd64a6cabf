"""Conditions of an episode: cameras, light, image noise, start of the arm, disturbances.

Other changes by perturbations, such as textures, wordings or the robot, are part of the episode.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.setting import Light, Setting, Surfaces


@dataclass(frozen=True)
class Viewpoint:
    """Pose and field of view that replace those of a camera."""

    eye_m: tuple[float, float, float]  # world position
    target_m: tuple[float, float, float]  # world point at the image center
    fov_rad: float  # vertical field of view

    def of(self, camera: FixedCamera) -> FixedCamera:
        """Return the camera at this viewpoint."""
        return replace(camera, eye_m=self.eye_m, target_m=self.target_m, fov_rad=self.fov_rad)


@dataclass(frozen=True)
class ImageNoise:
    """Noise of camera images."""

    sigma: float  # standard deviation of Gaussian noise per channel, of 255
    blur_px: float  # standard deviation of Gaussian blur in pixels, for an image height of 256
    quality: int  # JPEG quality, 1 to 95; 0: no compression
    dropped: float  # share of images replaced by the previous one
    seed: int


@dataclass(frozen=True)
class Disturbance:
    """Disturbance during an episode."""

    # ``nudge`` (a body is pushed), ``loss`` (the vacuum fails while it holds a body), ``delay``
    # (actions are delayed), ``scale`` (motions are scaled) or ``drop`` (an action is dropped)
    kind: str
    step: int  # first control step; a loss occurs at the first grasp from this step on
    steps: int = 1  # duration in control steps
    body: int = -1  # slot of the pushed body
    push_ms: tuple[float, float] = (0.0, 0.0)  # change of its velocity along x and y, m/s
    by: float = 0.0  # delay in control steps, or scale of motions


@dataclass(frozen=True)
class Conditions:
    """Perturbations of an episode that are not part of its layout or prompt."""

    axes: Mapping[str, int] = field(default_factory=dict)  # level, 1 to 5, of each perturbed axis
    twin: str = ""  # content hash of the clean episode; empty: this one is clean
    cameras: Mapping[str, Viewpoint] = field(default_factory=dict)  # changed viewpoints by camera
    light: Light | None = None  # ``None``: no change
    surfaces: Surfaces | None = None  # ``None``: default surfaces
    image: ImageNoise | None = None  # ``None``: no noise
    start_qpos: tuple[float, ...] = ()  # initial joint angles in rad; empty: default
    disturbances: tuple[Disturbance, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.axes)

    def of(self, setting: Setting, robot_name: str = "") -> Setting:
        """Return a setting under these conditions, with the initial joint angles of a robot."""
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
        """Return JSON data; empty without conditions."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {name: value for name, value in data.items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the conditions from the data of :meth:`to_json`."""
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
