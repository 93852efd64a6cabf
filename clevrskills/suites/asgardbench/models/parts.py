"""Models in TOML files, as lists of solids with surfaces; lengths are in millimeters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clevrskills.assets.parts import SOLIDS, placed, solid_of
from clevrskills.assets.solids import Solid, Station, tube
from clevrskills.assets.tables import check_table, read_toml
from clevrskills.suites.asgardbench.models.model import (
    Builder,
    BuildInput,
    FixtureModel,
    ModelJoint,
    Piece,
    arc3,
    ball,
    hollow,
    revolved,
    rod,
    round_vessel,
    scaled,
)
from clevrskills.suites.asgardbench.models.surfaces import SHARED, Appearance

_MODEL = {"parts": list, "surfaces": dict, "joints": dict, "scale": float}
_PART: dict[str, type] = {
    **SOLIDS,
    **dict.fromkeys(("round_vessel", "revolved", "ball", "grip", "hollow", "liquid"), list),
    **dict.fromkeys(("of", "lining", "when", "joint", "use"), str),
    **dict.fromkeys(("rod", "radius"), object),
}


def read_models(path: Path) -> Mapping[str, Builder]:
    """Return the builders of the models of a TOML file, by type.

    A model has ``parts``, ``surfaces`` and ``joints`` by name, and ``scale``. A part is a solid,
    placed by :func:`~clevrskills.assets.parts.placed`, with its surface ``of``; optional are
    ``when``, a state such as ``on`` or ``not open`` in which it is present, and ``joint`` and
    ``use`` of :class:`~.model.Piece`.

    Raises:
        ClevrSkillsError: The file is not TOML, or an entry is missing, unknown or of a wrong type.
    """
    models = read_toml(path)
    for kind, table in models.items():
        check_table(f"{path}: {kind}", table, _MODEL, optional=_MODEL.keys() - {"parts"})
        for k, part in enumerate(table["parts"]):
            optional = _PART.keys() - {"of"}
            check_table(f"{path}: {kind}.parts[{k}]", part, _PART, optional)
    return {kind: partial(_model, table) for kind, table in models.items()}


def _model(table: Mapping[str, Any], look: BuildInput) -> FixtureModel:
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
            pieces += [Piece(copy, surface, joint, use) for copy in placed(part, _solid(part))]
    if "scale" in table:
        return scaled(FixtureModel(*pieces), table["scale"])
    joints = {name: ModelJoint(**entries) for name, entries in table.get("joints", {}).items()}
    return FixtureModel(*pieces, **joints)


def _surface(
    look: BuildInput,
    color: Sequence[float],
    lit: Sequence[float] = (),
    dirt: bool = False,
    second: Sequence[float] = (0.0, 0.0, 0.0),
    **entries: Any,
) -> Appearance:
    """Return a surface; ``lit`` is the color of a lamp that is on, ``dirt`` allows stains."""
    (r, g, b), (r2, g2, b2) = color, second
    if lit:
        return look.lit((r, g, b), (lit[0], lit[1], lit[2]))
    surface = Appearance((r, g, b), second=(r2, g2, b2), **entries)
    return look.dirt(surface) if dirt else surface


def _solid(part: Mapping[str, Any]) -> Solid:
    match part:
        case {"rod": path, "radius": radius}:
            points = path if isinstance(path, list) else arc3(*path["arc"])
            return rod(points, radius, part.get("n", 10))
        case {"round_vessel": [outer, inner]}:
            return round_vessel(outer, inner, part.get("n", 40))
        case {"revolved": profile}:
            return revolved(profile)
        case {"ball": numbers}:
            return ball(*numbers)
        case {"grip": [length, width, height]}:
            return grip(length, width, height)
    return solid_of(part)


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
