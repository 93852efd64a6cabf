"""Static 3D scene of a board, for rendering."""

from __future__ import annotations

from functools import cache
from math import cos, pi, radians, sin

import numpy as np
import sapien
import trimesh

from clevrskills.sim.cameras import FAR_M
from clevrskills.sim.render.offscreen import OffscreenScene, looking_at, render_device
from clevrskills.suites.ivispar.board import State
from clevrskills.suites.ivispar.boards import Geom, Puzzle
from clevrskills.suites.ivispar.schematic import HEIGHT, INK, RINGS, WIDTH, ring

PITCH_M, PIECE_M = 0.1, 0.045
"""Spacing of cells, and width of pieces."""
THICK_M = 0.02  # thickness of the board's tiles
GREYS = (0.10, 0.87)
FOV_RAD = radians(60)
EYE, TARGET = (-0.2, -3.88, 4.57), (-0.2, -0.2, -1.0)
"""Position and target of the camera of ``view3d``: right, away, up from the board's center, in
pitches (iVISPAR's repository)."""
_TILTS, _TURN = (40.0, 70.0), 30.0  # random cameras, degrees
_SEGMENTS = 48


class BoardScene:
    """Board of one size; pieces are created on demand, and hidden ones are moved far below.

    Args:
        size: Cells in a row, n.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._scene = OffscreenScene("soft", render_device())
        self._pieces: dict[Geom, sapien.Entity] = {}
        for cell in range(size * size):
            x, z = cell % size, cell // size
            material = _material((GREYS[(x + z) % 2],) * 3, metallic=0.0)
            half = [0.5 * PITCH_M, 0.5 * PITCH_M, 0.5 * THICK_M]
            tile = sapien.render.RenderShapeBox(half, material)
            self._scene.add([tile], (*self._place(cell)[:2], -0.5 * THICK_M, 1, 0, 0, 0))
        self._camera = self._scene.add_camera("board", WIDTH, HEIGHT, FOV_RAD)

    def render(
        self,
        puzzle: Puzzle,
        cells: State,
        behind: tuple[int, int, int],
        camera: str = "front",
        seed: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Render a board.

        Args:
            puzzle: The puzzle.
            cells: Cells of the pieces.
            behind: Color of the background.
            camera: ``front``, ``top``, or ``random``.
            seed: Seed of random cameras.

        Returns:
            Image and cell centers as :func:`~clevrskills.suites.ivispar.schematic.draw_board`.
        """
        self._set(puzzle, cells)
        eye, target = _view(camera, seed, self._size)
        self._camera.entity.set_pose(looking_at(eye.tolist(), target.tolist()))
        self._scene.scene.update_render()
        self._camera.take_picture()
        drawn = np.asarray(self._camera.get_picture("Color"), np.float32)
        # alpha is the coverage of a pixel, over black
        image = drawn[..., :3] + (1 - drawn[..., 3:] / np.float32(255)) * np.array(
            behind, np.float32
        )
        return image.round().astype(np.uint8), self._centres(eye, target)

    def _set(self, puzzle: Puzzle, cells: State) -> None:
        for entity in self._pieces.values():
            entity.set_pose(sapien.Pose([0, 0, -5 * FAR_M]))
        for geom, cell in zip(puzzle.geoms, cells, strict=True):
            if geom not in self._pieces:
                self._pieces[geom] = self._scene.add([_shape(geom, self._size)])
            self._pieces[geom].set_pose(sapien.Pose([*self._place(cell)]))

    def _place(self, cell: int) -> tuple[float, float, float]:
        """Return the center of a cell, in meters right, away and up from the board's center."""
        x, z = cell % self._size, cell // self._size
        off = (self._size - 1) / 2
        return (x - off) * PITCH_M, (z - off) * PITCH_M, 0.0

    def _centres(self, eye: np.ndarray, target: np.ndarray) -> np.ndarray:
        n = self._size
        x, z = np.meshgrid(np.arange(-1, n + 1), np.arange(-1, n + 1))
        off = (n - 1) / 2
        points = np.stack([(x - off) * PITCH_M, (z - off) * PITCH_M, 0.0 * x], axis=-1)
        forward = (target - eye) / np.linalg.norm(target - eye)
        left = np.cross([0.0, 0.0, 1.0], forward)
        left /= np.linalg.norm(left)
        up = np.cross(forward, left)
        ray = points - eye
        focal = HEIGHT / 2 / np.tan(FOV_RAD / 2)
        depth = ray @ forward
        return np.stack(
            [WIDTH / 2 - focal * (ray @ left) / depth, HEIGHT / 2 - focal * (ray @ up) / depth],
            axis=-1,
        )


@cache
def board_scene(size: int) -> BoardScene:
    """Return the scene of boards of a size, cached per process."""
    return BoardScene(size)


def _view(camera: str, seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return position and target of a camera, in meters, scaled with the size of the board."""
    scale = PITCH_M * size / 4
    if camera == "front":
        return scale * np.array(EYE), scale * np.array(TARGET)
    far = 6.0 * scale
    if camera == "top":
        return np.array([0.0, -1e-4, far]), np.zeros(3)
    generator = np.random.default_rng((seed, 3))
    tilt = radians(generator.uniform(*_TILTS))
    turn = radians(generator.uniform(-_TURN, _TURN))
    eye = far * np.array([sin(turn) * cos(tilt), -cos(turn) * cos(tilt), sin(tilt)])
    return eye, np.zeros(3)


def _material(color: tuple[float, ...], metallic: float = 0.2) -> sapien.render.RenderMaterial:
    linear = [c**2.2 for c in color]
    return sapien.render.RenderMaterial(
        base_color=[*linear, 1.0], metallic=metallic, roughness=0.5, specular=0.5
    )


def _shape(geom: Geom, size: int) -> sapien.render.RenderShapeTriangleMesh:
    first, shape = geom
    if shape == "tile":
        ink = RINGS[ring(int(first), size)]
        mesh = trimesh.creation.box((0.86 * PITCH_M, 0.86 * PITCH_M, 0.02))
    else:
        ink, mesh = INK[first], _solid(shape)
    mesh.apply_translation([0, 0, -mesh.bounds[0, 2]])
    mesh = trimesh.graph.smooth_shade(mesh, angle=radians(40))
    vertices, faces = np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32)
    return sapien.render.RenderShapeTriangleMesh(
        vertices,
        faces,
        np.asarray(mesh.vertex_normals, np.float32),
        np.zeros((len(vertices), 2), np.float32),
        _material(tuple(c / 255 for c in ink)),
    )


def _solid(shape: str) -> trimesh.Trimesh:
    a = PIECE_M
    if shape == "cube":
        return trimesh.creation.box((a, a, a))
    if shape == "sphere":
        return trimesh.creation.icosphere(subdivisions=4, radius=0.55 * a)
    if shape == "cylinder":
        return trimesh.creation.cylinder(0.42 * a, 1.6 * a, sections=_SEGMENTS)
    if shape == "cone":
        return trimesh.creation.cone(0.55 * a, 1.6 * a, sections=_SEGMENTS)
    sides = 4 if shape == "pyramid" else 3
    angles = [2 * pi * k / sides + pi / sides for k in range(sides)]
    base = [(0.7 * a * cos(t), 0.7 * a * sin(t), 0.0) for t in angles]
    top = [(0.0, 0.0, 1.3 * a)] if shape == "pyramid" else [(x, y, 0.8 * a) for x, y, _ in base]
    return trimesh.convex.convex_hull(np.array(base + top))
