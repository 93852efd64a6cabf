"""Polygons: triangulation and partition into convex pieces.

A polygon consists of `points` (n, 2) and loops of indices: the outer loop counter-clockwise, holes
clockwise. Outlines have at most a few dozen corners, so the algorithms are simple.
"""

from collections.abc import Sequence

import numpy as np

Loop = list[int]

_EPSILON = 1e-9


def signed_area(points: np.ndarray) -> float:
    """Return the area of a closed polygon (n, 2), positive if counter-clockwise."""
    x, y = points[:, 0], points[:, 1]
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def triangulate(points: np.ndarray, loops: Sequence[Loop]) -> list[Loop]:
    """Return counter-clockwise triangles of a polygon with holes, by ear clipping.

    Args:
        points: Corners, (n, 2).
        loops: Outer loop (counter-clockwise), then the holes (clockwise).
    """
    remaining = _bridge_holes(points, loops)
    triangles = []
    while len(remaining) > 3:
        ear = _best_ear(points, remaining)
        triangles.append(_corner(remaining, ear))
        del remaining[ear]
    triangles.append(remaining)
    return triangles


def convex_pieces(points: np.ndarray, triangles: Sequence[Loop]) -> list[Loop]:
    """Return a partition of `triangles` into few convex pieces (Hertel and Mehlhorn 1983).

    Diagonals are removed, longest first, if the union of both sides is convex.
    """
    pieces = [list(triangle) for triangle in triangles]
    edges = {edge for piece in pieces for edge in _edges(piece)}
    diagonals = [(a, b) for a, b in edges if a < b and (b, a) in edges]
    for a, b in sorted(diagonals, key=lambda edge: -_length(points, *edge)):
        left = next(piece for piece in pieces if (a, b) in _edges(piece))
        right = next((piece for piece in pieces if (b, a) in _edges(piece)), left)
        merged = _merge(left, right, a, b)
        if left is not right and _is_convex(points[merged]):
            pieces = [piece for piece in pieces if piece is not left and piece is not right]
            pieces.append(merged)
    return [_without_straight_corners(points, piece) for piece in pieces]


def _corner(loop: Loop, k: int) -> Loop:
    return [loop[k - 1], loop[k], loop[(k + 1) % len(loop)]]


def _cross(o: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return float((a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]))


def _length(points: np.ndarray, a: int, b: int) -> float:
    return float(np.hypot(*(points[a] - points[b])))


def _best_ear(points: np.ndarray, loop: Loop) -> int:
    """Return the index into `loop` of the ear with the shortest diagonal, to avoid slivers."""
    ears = [k for k in range(len(loop)) if _is_ear(points, loop, k)]
    if not ears:
        raise ValueError("polygon outline crosses itself: no ear left to clip")
    return min(ears, key=lambda k: _length(points, loop[k - 1], loop[(k + 1) % len(loop)]))


def _is_ear(points: np.ndarray, loop: Loop, k: int) -> bool:
    corner = _corner(loop, k)
    a, b, c = points[corner]
    if _cross(a, b, c) <= _EPSILON:
        return False
    others = points[[index for index in loop if index not in corner]]
    if not len(others):
        return True
    inside = np.ones(len(others), dtype=bool)
    for start, end in ((a, b), (b, c), (c, a)):
        edge, offset = end - start, others - start
        inside &= edge[0] * offset[:, 1] - edge[1] * offset[:, 0] > -_EPSILON
    return not inside.any()


def _bridge_holes(points: np.ndarray, loops: Sequence[Loop]) -> Loop:
    """Return one loop that connects the boundary and the holes by shortest free bridges."""
    outer = list(loops[0])
    for hole in loops[1:]:
        candidates = sorted(
            (_length(points, o, h), i, j) for i, o in enumerate(outer) for j, h in enumerate(hole)
        )
        i, j = next(
            (i, j) for _, i, j in candidates if _is_free(points, (outer[i], hole[j]), loops)
        )
        outer = outer[: i + 1] + hole[j:] + hole[: j + 1] + outer[i:]
    return outer


def _is_free(points: np.ndarray, bridge: tuple[int, int], loops: Sequence[Loop]) -> bool:
    p, q = points[list(bridge)]
    for loop in loops:
        for a, b in _edges(loop):
            if {a, b} & set(bridge):
                continue
            r, s = points[a], points[b]
            if _cross(p, q, r) * _cross(p, q, s) < 0 and _cross(r, s, p) * _cross(r, s, q) < 0:
                return False
    return True


def _edges(loop: Loop) -> list[tuple[int, int]]:
    return list(zip(loop, loop[1:] + loop[:1], strict=True))


def _merge(left: Loop, right: Loop, a: int, b: int) -> Loop:
    """Join two loops over the edge from a to b in `left` and from b to a in `right`."""
    start = left.index(b)
    walk = left[start:] + left[:start]  # b ... a
    start = right.index(a) if a in right else 0
    return walk + (right[start:] + right[:start])[1:-1]  # a ... b without its ends


def _without_straight_corners(points: np.ndarray, loop: Loop) -> Loop:
    corners = (_corner(loop, k) for k in range(len(loop)))
    return [corner[1] for corner in corners if _cross(*points[corner]) > 1e-6]


def _is_convex(loop: np.ndarray) -> bool:
    before, after = np.roll(loop, 1, axis=0), np.roll(loop, -1, axis=0)
    a, b = loop - before, after - loop
    return bool(np.all(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] >= -_EPSILON))
