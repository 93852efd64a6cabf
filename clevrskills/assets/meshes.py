"""Renderable meshes of solids: vertex normals and texture coordinates."""

import numpy as np

from clevrskills.assets.solids import Patch, Solid

TEXTURE_PERIOD_M = 0.1  # size of a texture tile
CREASE_DEG = 35.0  # faces that meet at a smaller angle are shaded smooth
_LEVEL = 0.75  # |normal z| above which a face is textured from above
_DEGENERATE_M2 = 1e-10


def render_mesh(solid: Solid) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the render mesh of a solid in meters, with vertices split at creases and seams.

    Returns:
        vertices (V, 3) float32, normals (V, 3) float32, uvs (V, 2) float32 (1 = one texture
        period), faces (F, 3) uint32.
    """
    triangles = np.concatenate([patch.points[patch.faces] for patch in solid.patches])  # (F, 3, 3)
    uvs = np.concatenate([_patch_uvs(patch) for patch in solid.patches])  # (F, 3, 2)
    keep = np.linalg.norm(_face_crosses(triangles), axis=1) > _DEGENERATE_M2
    triangles, uvs = triangles[keep], uvs[keep]
    normals = _corner_normals(triangles)
    corners = np.concatenate([triangles, normals, uvs], axis=2).reshape(-1, 8)
    _, first, index = np.unique(
        np.round(corners, 6), axis=0, return_index=True, return_inverse=True
    )
    vertices, normals, uvs = np.split(corners[first].astype(np.float32), [3, 6], axis=1)
    return vertices.copy(), normals.copy(), uvs.copy(), index.reshape(-1, 3).astype(np.uint32)


def _face_crosses(triangles: np.ndarray) -> np.ndarray:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def _face_normals(triangles: np.ndarray) -> np.ndarray:
    normals = _face_crosses(triangles)
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)


def _corner_normals(triangles: np.ndarray) -> np.ndarray:
    """Return corner normals (F, 3, 3): means over neighbors at soft edges, weighted by angle."""
    face = _face_normals(triangles)
    before = np.roll(triangles, 1, axis=1) - triangles
    after = np.roll(triangles, -1, axis=1) - triangles
    lengths = np.linalg.norm(before, axis=2) * np.linalg.norm(after, axis=2)
    angles = np.arccos(np.clip(np.sum(before * after, axis=2) / lengths, -1, 1)).ravel()  # (3F,)
    _, vertex = np.unique(np.round(triangles.reshape(-1, 3), 6), axis=0, return_inverse=True)
    order = np.argsort(vertex.ravel(), kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(vertex.ravel()[order])) + 1)
    limit = np.cos(np.radians(CREASE_DEG))
    result = np.empty((len(angles), 3))
    for corners in groups:
        around = face[corners // 3]  # (k, 3)
        soft = (around @ around.T > limit) * angles[corners]
        result[corners] = soft @ around
    result /= np.linalg.norm(result, axis=1, keepdims=True)
    return result.reshape(-1, 3, 3)


def _patch_uvs(patch: Patch) -> np.ndarray:
    """Return texture coordinates (F, 3, 2): from above on level faces, else along wall or axes."""
    triangles = patch.points[patch.faces]
    normals = np.abs(_face_normals(triangles))
    axis = np.where(normals[:, 2] > _LEVEL, 2, np.argmax(normals, axis=1))
    plane = np.array([[1, 2], [0, 2], [0, 1]])[axis]  # (F, 2)
    flat = np.take_along_axis(triangles, np.repeat(plane[:, None], 3, axis=1), axis=2)
    flat = flat / TEXTURE_PERIOD_M
    if patch.grid is None:
        return flat
    along = _grid_uvs(patch.points.reshape(*patch.grid, 3)).reshape(-1, 2)[patch.faces]
    return np.where((normals[:, 2] > _LEVEL)[:, None, None], flat, along)


def _grid_uvs(points: np.ndarray) -> np.ndarray:
    """Return lengths (rows, columns, 2) along a wall, seamless around it."""
    rings = np.linalg.norm(np.diff(points, axis=1), axis=2)  # (rows, columns - 1)
    widest = rings[np.argmax(rings.sum(axis=1))]
    u = np.concatenate([[0.0], np.cumsum(widest)])
    u *= max(1.0, round(u[-1] / TEXTURE_PERIOD_M)) / u[-1]
    steps = np.linalg.norm(np.diff(points, axis=0), axis=2).mean(axis=1)  # (rows - 1,)
    v = np.concatenate([[0.0], np.cumsum(steps)])
    return np.stack(np.broadcast_arrays(u[None, :], v[:, None] / TEXTURE_PERIOD_M), axis=2)
