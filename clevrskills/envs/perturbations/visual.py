"""Visual axes: camera, light, background, image noise."""

import colorsys
from collections.abc import Iterable
from functools import cache
from math import cos, dist, pi, radians, sin

import numpy as np

from clevrskills.assets.palettes import lab
from clevrskills.assets.textures import surface_texture
from clevrskills.envs.perturbations.axis import (
    Draft,
    PerturbationError,
    Range,
    TabletopAxis,
    steps_of,
)
from clevrskills.envs.perturbations.semantic import mean_lab
from clevrskills.envs.perturbations.visibility import CONTRAST, KEPT_CONTRAST
from clevrskills.envs.scene_sampling import scene_of
from clevrskills.sim.cameras import FixedCamera
from clevrskills.sim.conditions import ImageNoise, Viewpoint
from clevrskills.sim.render import scene_visuals
from clevrskills.sim.setting import Light, Surfaces

TRIES = 40
STRAIGHT_M = 1e-6
"""Horizontal distance to its target below which a camera looks straight down."""
SATURATION, VALUES = 0.35, (0.35, 0.85)
"""Saturation of sampled surfaces, and range of their value, in HSV."""
IN_VIEW = 0.0
"""Margin of bodies at the edge of the image."""


def draw_camera(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample pose and field of view of the main camera with all bodies in view."""
    name = draft.setting.watch[0]
    camera = draft.setting.cameras[name]
    world = scene_of(draft.task, draft.layout, draft.robot).start
    present = world.solids.present[0].nonzero()[:, 0]
    points = np.concatenate([world.world_points(k[None])[0].numpy() for k in present])
    for _ in range(TRIES):
        view = _moved(camera, most, generator)
        if view.of(camera).sees(points, IN_VIEW):
            draft.conditions["cameras"] = {name: view}
            return
    raise PerturbationError(f"no camera pose with all bodies in view in {TRIES} attempts")


def _moved(camera: FixedCamera, most: Range, generator: np.random.Generator) -> Viewpoint:
    """Return a viewpoint rotated around the target, at another distance, with a shifted target."""
    eye, target = np.array(camera.eye_m), np.array(camera.target_m)
    yaw, pitch = generator.uniform(-1, 1, 2) * radians(most["angle_deg"])
    scale = 1.0 + generator.uniform(-1, 1) * most["distance_%"] / 100
    x, y, z = eye - target
    around = np.array([cos(yaw) * x - sin(yaw) * y, sin(yaw) * x + cos(yaw) * y, z])
    flat = np.hypot(*around[:2])
    length = np.hypot(flat, z) * scale
    if flat > STRAIGHT_M:
        up = np.arctan2(z, flat) + pitch
        ray = np.array([*(around[:2] / flat * cos(up)), sin(up)]) * length
    else:  # looks straight down
        tilted = np.array([sin(yaw), sin(pitch), cos(yaw) * cos(pitch)])
        ray = tilted / np.linalg.norm(tilted) * length
    target = target + generator.uniform(-1, 1, 3) * most["aim_m"]
    fov = camera.fov_rad * (1.0 + generator.uniform(-1, 1) * most["field_%"] / 100)
    return Viewpoint(_rounded(target + ray), _rounded(target), round(float(fov), 6))


def draw_light(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample changes of the lights of a look, at high levels with another light."""
    lamps, added = [], []
    for _ in scene_visuals.LIGHTS[draft.setting.look]:
        turn, strength, warm = generator.uniform(-1, 1, 3)
        tint = warm * most["tint_%"] / 100  # warmer or colder
        factors = np.array([1 + tint, 1, 1 - tint]) * (1 + strength * most["strength_%"] / 100)
        lamps.append((round(float(turn) * radians(most["turn_deg"]), 6), _rounded(factors)))
    around, brightness = generator.uniform(0, 1, 2)
    if most["lamps"]:  # the shaders support three
        direction = (cos(2 * pi * around), sin(2 * pi * around), -1.2)
        added.append((_rounded(direction), _rounded(np.full(3, 0.3 + 0.3 * brightness))))
    dim = 1.0 + generator.uniform(-1, 1) * most["strength_%"] / 200
    draft.conditions["light"] = Light(round(float(dim), 6), tuple(lamps), tuple(added))


def draw_background(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Sample colors of table, floor and background; the table until all bodies have enough contrast
    at every level.

    Raises:
        PerturbationError: No color has enough contrast.
    """
    drawn = [*map(_muted, generator.uniform(0, 1, 4), generator.uniform(0, 1, 4))]
    textures = {body.texture for body in draft.layout.bodies if body and body.texture}
    for _ in range(TRIES):
        if stand_out(textures, drawn[0]):
            break
        drawn[0] = _muted(*generator.uniform(0, 1, 2))
    else:
        raise PerturbationError("no table color has enough contrast to all objects")
    usual = (scene_visuals.FLOOR_COLOR, scene_visuals.HORIZON_COLOR, scene_visuals.ZENITH_COLOR)
    share = most["share_%"] / 100
    floor, horizon, zenith = (
        _rounded((1 - share) * np.array(old) + share * new)
        for old, new in zip(usual, drawn[1:], strict=True)
    )
    draft.conditions["surfaces"] = Surfaces(_rounded(drawn[0]), floor, horizon, zenith, share)


def _muted(hue: float, value: float) -> np.ndarray:
    return np.array(colorsys.hsv_to_rgb(hue, SATURATION, VALUES[0] + value * np.ptp(VALUES)))


def stand_out(textures: Iterable[str], stain: np.ndarray) -> bool:
    """Return whether textures have enough contrast at all levels to a table with a stain, sRGB (3,)
    in [0, 1]: :data:`CONTRAST`, or :data:`KEPT_CONTRAST` of that to the default table.
    """
    shares = [level["share_%"] / 100 for level in BACKGROUND.levels]
    tables = [lab((1 - share) * _wood() + share * 255 * stain) for share in shares]
    usual = lab(_wood())
    return all(
        dist(table, color) >= min(CONTRAST, KEPT_CONTRAST * dist(usual, color))
        for color in map(mean_lab, textures)
        for table in tables
    )


@cache
def _wood() -> np.ndarray:
    """Return the mean color of the default table, sRGB (3,), 0 to 255."""
    return surface_texture("table wood").reshape(-1, 3).mean(axis=0)


def draw_noise(draft: Draft, most: Range, generator: np.random.Generator) -> None:
    """Set noise, blur, compression and dropped frames of images."""
    seed = int(generator.integers(2**31))
    draft.conditions["image"] = ImageNoise(
        most["sigma"], most["blur_px"], int(most["quality"]), most["dropped_%"] / 100, seed
    )


def _rounded(values: np.ndarray | tuple[float, ...]) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 6) for value in values)
    return x, y, z


CAMERA = TabletopAxis(
    "camera",
    steps_of(**{"angle_deg": 20.0, "distance_%": 15.0, "aim_m": 0.04, "field_%": 8.0}),
    visual=True,
    physical=False,
    draw=draw_camera,
)
LIGHT = TabletopAxis(
    "light",
    tuple(
        {**one, "lamps": extra}
        for one, extra in zip(
            steps_of(**{"turn_deg": 150.0, "strength_%": 50.0, "tint_%": 25.0}),
            (0, 0, 1, 1, 1),
            strict=True,
        )
    ),
    visual=True,
    physical=False,
    draw=draw_light,
)
BACKGROUND = TabletopAxis(
    "background", steps_of(**{"share_%": 100.0}), visual=True, physical=False, draw=draw_background
)
NOISE = TabletopAxis(
    "noise",
    tuple(
        {"sigma": sigma, "blur_px": blur, "quality": quality, "dropped_%": dropped}
        for sigma, blur, quality, dropped in (
            (4, 0.3, 90, 2),
            (8, 0.5, 75, 4),
            (12, 0.7, 60, 6),
            (16, 1.0, 45, 8),
            (20, 1.3, 30, 10),
        )
    ),
    visual=True,
    physical=False,
    draw=draw_noise,
)
