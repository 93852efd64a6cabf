"""Parts of solids in TOML files, lengths in millimeters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from clevrskills.assets.outlines import (
    Outline,
    Points,
    circle,
    ellipse,
    rectangle,
    rounded_rectangle,
)
from clevrskills.assets.solids import Solid, Station, box, lathe, loft, prism, tube, vessel

SOLIDS: dict[str, type] = {
    **dict.fromkeys(("box", "lathe", "loft", "vessel", "tube"), list),
    **{"prism": object, "n": int, "height": object, "bottom": object, "bevel": object},
    **{"holes": list, "place": list, "at": dict, "detail": bool},
}
"""Types of the entries of a part."""
_OUTLINES: Mapping[str, Callable[..., Points]] = {
    "round": rounded_rectangle,
    "circle": circle,
    "ellipse": ellipse,
    "rectangle": rectangle,
}


def solid_of(part: Mapping[str, Any]) -> Solid:
    """Return the solid of a part with an entry ``box``, ``lathe``, ``prism``, ``loft``, ``vessel``
    or ``tube``: the arguments of that function in :mod:`~clevrskills.assets.solids`.

    Raises:
        ValueError: The part has none of these entries.
    """
    match part:
        case {"box": numbers}:
            return box(*numbers)
        case {"lathe": profile}:
            return lathe(profile, part.get("n", 32))
        case {"prism": outline, "height": height}:
            holes = tuple(_points(hole) for hole in part.get("holes", ()))
            return prism(Outline(_points(outline), holes), height, part.get("bottom", 0.0))
        case {"loft": rings}:
            return loft(_rings(rings))
        case {"vessel": [outer, inner]}:
            return vessel(_rings(outer), _rings(inner))
        case {"tube": stations, "bevel": bevel}:
            return tube([Station(*station) for station in stations], bevel)
    raise ValueError(f"no solid: {part}")


def placed(part: Mapping[str, Any], solid: Solid) -> list[Solid]:
    """Return copies of the solid of a part: ``place`` is a sequence of rotations (axis, degrees)
    and shifts (x, y, z), and ``at`` makes a copy for each combination of ``x``, ``y`` and ``z``.
    """
    for step in part.get("place", ()):
        solid = solid.turned(*step) if isinstance(step[0], str) else solid.moved(*step)
    at = part.get("at", {})
    shifts = (dict(zip(at, values, strict=True)) for values in product(*at.values()))
    return [solid.moved(**shift) for shift in shifts] if at else [solid]


def joined(parts: Iterable[Mapping[str, Any]]) -> Solid:
    """Return the union of parts; those with ``detail`` are visual only."""
    whole = Solid((), ())
    for part in parts:
        for solid in placed(part, solid_of(part)):
            whole = whole.decorated(solid) if part.get("detail") else whole + solid
    return whole


def _rings(rings: Sequence[Any]) -> list[tuple[Points, float]]:
    return [(_points(outline), z) for outline, z in rings]


def _points(outline: Any) -> Points:
    """Return points given directly, or as a named outline with optional scale and shift."""
    if isinstance(outline, list):
        return outline
    (name,) = outline.keys() & _OUTLINES.keys()
    points = _OUTLINES[name](*outline[name])
    (sx, sy), (x, y) = outline.get("scale", (1, 1)), outline.get("move", (0, 0))
    return [(sx * a + x, sy * b + y) for a, b in points]
