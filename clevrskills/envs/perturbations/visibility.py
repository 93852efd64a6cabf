"""Visibility check of perturbed episodes in the image of the main camera."""

from collections.abc import Sequence
from dataclasses import replace
from math import dist, inf

import numpy as np

from clevrskills.assets.palettes import lab
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.sim.body import Body
from clevrskills.sim.cameras import TABLE_ID, CameraImage
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.render.trajectory_renderer import AWAY, TrajectoryRenderer
from clevrskills.sim.setting import Setting
from clevrskills.tasks import task as make_task

LEAST_PX = 100
"""Smallest number of visible pixels of a body in an image with height 256."""
LEAST_FAR_PX = 50
"""The same for targets out of reach of the arm, where a pixel covers 5 cm of the table."""
LEAST_SHARE = 0.5
"""Smallest visible share of the outline of a body."""
CONTRAST = 20.0
"""Smallest distance in CIELAB (CIE 1976) between the mean colors of a body and its surroundings:
nine just noticeable differences of 2.3 (Mahy, Van Eycken and Oosterlinck 1994)."""
KEPT_CONTRAST = 0.75
"""Share of the contrast under default conditions that suffices if that is low."""
MARGIN_PX, LEAST_AROUND_PX = 8, 20
"""Width of the band around a body used for its contrast, and its smallest number of pixels."""
LIGHTNESS = 0.5
"""Weight of lightness beside hue, as shadows change it."""


def hidden(episode: EpisodeSpec) -> str:
    """Return which body is not visible in the initial image of the main camera, and why; empty if
    all are visible.

    Each body of the task must show enough pixels, have a contrast of :data:`CONTRAST` or
    :data:`KEPT_CONTRAST` to its surroundings, and have a mean color that is closest to its own
    texture under default conditions.
    """
    task = make_task(episode.task, **episode.task_args)
    setting, slots = task.setting, len(task.slots)
    asked = [body for body in episode.layout.bodies[:slots] if body]
    everything = [body for body in episode.layout.bodies if body]
    plain = replace(episode.conditions, image=None)
    film = _film(episode, setting, everything, plain)
    alone = _alone(film, asked, everything)
    view = usual = _draw(film, episode, setting, everything)
    if episode.conditions.image:
        view = start_view(episode, setting, everything, episode.conditions)
    if plain.of(setting) != setting:
        usual = start_view(episode, setting, everything, Conditions())
    colors = {k: _color(usual, k) for k in range(len(everything)) if _count(usual, k)}
    for k, body in enumerate(asked):
        shown = _count(view, k)
        if shown < (LEAST_PX if setting.workspace.contains(*body.pose[:2]) else LEAST_FAR_PX):
            return f"{body.key} shows {shown} pixels"
        if shown < LEAST_SHARE * alone[k]:
            return f"{body.key} is hidden, but for {100 * shown / alone[k]:.0f} %"
        if not body.texture or k not in colors:
            continue
        contrast = _contrast(view, k)
        if contrast < min(CONTRAST, KEPT_CONTRAST * _contrast(usual, k)):
            return f"{body.key} has a contrast of only {contrast:.0f} to its surroundings"
        seen = _color(view, k)
        near = min(colors, key=lambda other: dist(seen, colors[other]))
        if everything[near].texture != body.texture:
            return f"{body.key} looks like {everything[near].key}"
    return ""


def start_view(
    episode: EpisodeSpec,
    setting: Setting,
    bodies: Sequence[Body],
    conditions: Conditions,
    size_px: int | None = None,
) -> CameraImage:
    """Return the initial image of the main camera, optionally with another height."""
    film = _film(episode, setting, bodies, conditions, size_px)
    return _draw(film, episode, setting, bodies)


def _alone(film: TrajectoryRenderer, asked: Sequence[Body], bodies: Sequence[Body]) -> list[int]:
    """Return the number of pixels of each body without occlusion by others."""
    counts = []
    for k, body in enumerate(asked):
        poses = np.tile(np.array([*AWAY.p, *AWAY.q]), (len(bodies), 1))
        poses[k] = body.pose
        (view,) = film.render(None, poses, {}).values()
        counts.append(_count(view, k))
    return counts


def _film(
    episode: EpisodeSpec,
    setting: Setting,
    bodies: Sequence[Body],
    conditions: Conditions,
    size_px: int | None = None,
) -> TrajectoryRenderer:
    film = TrajectoryRenderer((setting.watch[0],), episode.robot, size_px, setting=setting)
    description = {"bodies": [body.to_json() for body in bodies]}
    film.open({**description, "conditions": conditions.to_json()})
    return film


def _draw(
    film: TrajectoryRenderer, episode: EpisodeSpec, setting: Setting, bodies: Sequence[Body]
) -> CameraImage:
    own = episode.conditions.of(setting, episode.robot)
    poses = np.array([body.pose for body in bodies])
    (view,) = film.render(own.qpos_at_start(episode.robot), poses, {}).values()
    return view


def _count(view: CameraImage, k: int) -> int:
    return int((view.segmentation == 1 + k).sum())


def _contrast(view: CameraImage, k: int) -> float:
    """Return the distance in CIELAB between the mean colors of a body and of the table, floor and
    background around it; infinite if too few of their pixels are visible.
    """
    own = view.segmentation == 1 + k
    box = tuple(
        slice(max(0, indices.min() - MARGIN_PX), indices.max() + 1 + MARGIN_PX)
        for indices in np.nonzero(own)
    )
    around, color = np.isin(view.segmentation[box], (0, TABLE_ID)), view.color[..., :3]
    if around.sum() < LEAST_AROUND_PX:
        return inf
    return dist(lab(color[own].mean(axis=0)), lab(color[box][around].mean(axis=0)))


def _color(view: CameraImage, k: int) -> tuple[float, float, float]:
    """Return the mean color of a body in CIELAB with reduced lightness."""
    light, a, b = lab(view.color[..., :3][view.segmentation == 1 + k].mean(axis=0))
    return LIGHTNESS * light, a, b
