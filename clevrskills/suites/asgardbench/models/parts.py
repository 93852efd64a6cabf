"""Models in TOML files: parts of solids, each with a surface. Lengths are in millimetres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from clevrskills.assets.outlines import Outline, Points, circle, rounded_rectangle
from clevrskills.assets.solids import Solid, Station, box, lathe, loft, prism, tube, vessel
from clevrskills.assets.tables import check_table, read_toml
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    Joint,
    Look,
    Model,
    Piece,
    arc3,
    ball,
    hollow,
    revolved,
    rod,
    round_vessel,
    scaled,
)
from clevrskills.suites.asgardbench.models.surfaces import SHARED, Surface

_MODEL = {"parts": list, "surfaces": dict, "joints": dict, "scale": float}
_SOLIDS: dict[str, type] = {
    **dict.fromkeys(("box", "lathe", "loft", "vessel", "round_vessel", "revolved"), list),
    **dict.fromkeys(("ball", "grip", "tube", "hollow", "liquid"), list),
    "rod": object,
    "prism": object,
}
_PART: dict[str, type] = {
    **_SOLIDS,
    **dict.fromkeys(("of", "lining", "when", "joint", "use"), str),
    **{"n": int, "radius": object, "height": object, "bottom": object},
    **{"holes": list, "place": list, "at": dict},
}


def read_models(path: Path) -> Mapping[str, Builder]:
    """Return what builds the models of a TOML file, by their types.

    A model has ``parts``, its own ``surfaces`` and ``joints`` by name, and ``scale``. A part is a
    solid, its surface ``of``, and optionally ``place``: turns (axis, degrees) and shifts (x, y, z)
    one after the other; ``at``: shifts of its copies, all combinations; ``when`` a state shows,
    such as ``on`` or ``not open``; ``joint`` and ``use`` as of :class:`~.model.Piece`.

    Raises:
        ClevrSkillsError: It is no TOML, or an entry is missing, unknown or of another type.
    """
    models = read_toml(path)
    for kind, table in models.items():
        check_table(f"{path}: {kind}", table, _MODEL, optional=_MODEL.keys() - {"parts"})
        for k, part in enumerate(table["parts"]):
            optional = _PART.keys() - {"of"}
            check_table(f"{path}: {kind}.parts[{k}]", part, _PART, optional)
    return {kind: partial(_model, table) for kind, table in models.items()}


def _model(table: Mapping[str, Any], look: Look) -> Model:
    own = {name: _surface(look, **entries) for name, entries in table.get("surfaces", {}).items()}
    room = {f"style.{name}": value for name, value in vars(look.style).items()}
    surfaces = {**SHARED, **room, **own}
    pieces: list[Piece] = []
    for part in table["parts"]:
        state, surface = part.get("when", ""), surfaces[part["of"]]
        if state and getattr(look.state, state.removeprefix("not ")) == state.startswith("not "):
            continue
        if "liquid" in part:
            radius, level = part["liquid"]
            pieces += look.liquid(radius, level, surface.color)
        elif "hollow" in part:
            outer, inner = part["hollow"]
            pieces += hollow(outer, inner, surface, surfaces[part["lining"]])
        else:
            joint, use = part.get("joint"), part.get("use", "both")
            pieces += [Piece(solid, surface, joint, use) for solid in _copies(part)]
    joints = {name: Joint(**entries) for name, entries in table.get("joints", {}).items()}
    return scaled(Model(*pieces), table["scale"]) if "scale" in table else Model(*pieces, **joints)


def _surface(
    look: Look,
    color: Sequence[float],
    lit: Sequence[float] = (),
    dirt: bool = False,
    second: Sequence[float] = (0.0, 0.0, 0.0),
    **entries: Any,
) -> Surface:
    """Return a surface; of a lamp its color off, and `lit` on; `dirt`: it shows when dirty."""
    (r, g, b), (r2, g2, b2) = color, second
    if lit:
        return look.lit((r, g, b), (lit[0], lit[1], lit[2]))
    surface = Surface((r, g, b), second=(r2, g2, b2), **entries)
    return look.dirt(surface) if dirt else surface


def _copies(part: Mapping[str, Any]) -> list[Solid]:
    """Return the solids of a part, one for each shift of ``at``."""
    solid = _solid(part)
    for step in part.get("place", ()):
        solid = solid.turned(*step) if isinstance(step[0], str) else solid.moved(*step)
    at = part.get("at", {})
    shifts = (dict(zip(at, values, strict=True)) for values in product(*at.values()))
    return [solid.moved(**shift) for shift in shifts] if at else [solid]


def _solid(part: Mapping[str, Any]) -> Solid:
    match part:
        case {"box": numbers}:
            return box(*numbers)
        case {"lathe": profile}:
            return lathe(profile, part.get("n", 32))
        case {"rod": path, "radius": radius}:
            points = path if isinstance(path, list) else arc3(*path["arc"])
            return rod(points, radius, part.get("n", 10))
        case {"prism": outline, "height": height}:
            holes = tuple(_points(hole) for hole in part.get("holes", ()))
            return prism(Outline(_points(outline), holes), height, part.get("bottom", 0.0))
        case {"loft": rings}:
            return loft(_rings(rings))
        case {"vessel": [outer, inner]}:
            return vessel(_rings(outer), _rings(inner))
        case {"round_vessel": [outer, inner]}:
            return round_vessel(outer, inner, part.get("n", 40))
        case {"revolved": profile}:
            return revolved(profile)
        case {"ball": numbers}:
            return ball(*numbers)
        case {"grip": numbers}:
            return grip(*numbers)
        case {"tube": stations}:
            return lying(stations)
    raise ValueError(f"no solid: {part}")


def _rings(rings: Sequence[Any]) -> list[tuple[Points, float]]:
    return [(_points(outline), z) for outline, z in rings]


def _points(outline: Any) -> Points:
    """Return points as they are given, or of a rounded rectangle or circle, scaled, then moved."""
    if isinstance(outline, list):
        return outline
    points = rounded_rectangle(*outline["round"]) if "round" in outline else []
    points = points or circle(*outline["circle"])
    (sx, sy), (x, y) = outline.get("scale", (1, 1)), outline.get("move", (0, 0))
    return [(sx * a + x, sy * b + y) for a, b in points]


def lying(stations: Sequence[Sequence[float]]) -> Solid:
    """Return a bar along x; stations (x, width, height, bottom)."""
    return tube([Station(x, 0.0, w, h, 0.0, z) for x, w, h, z in stations], 1.0)


def grip(length: float, width: float, height: float) -> Solid:
    """Return the handle of a knife, along x up to x = 0."""
    profile = [
        (-length, width * 0.8, height * 0.8, 0.0),
        (-length * 0.85, width, height, 0.0),
        (-length * 0.4, width * 0.85, height, 0.0),
        (0.0, width * 0.7, height * 0.8, 1.0),
    ]
    return lying(profile)
