"""Models in TOML files, as lists of solids with surfaces; lengths are in millimeters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clevrskills.assets.parts import SOLIDS, placed, solid_of
from clevrskills.assets.solids import Solid, Station, tube
from clevrskills.assets.tables import check_table, read_toml
from clevrskills.suites.asgardbench.models.cabinets import case, handle, panel
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
    standing,
)
from clevrskills.suites.asgardbench.models.style import Style
from clevrskills.suites.asgardbench.models.surfaces import SHARED, Appearance, blend

_MODEL = {"parts": list, "surfaces": dict, "joints": dict, "scale": float, "standing": bool}
_PART: dict[str, type] = {
    **SOLIDS,
    **dict.fromkeys(("round_vessel", "revolved", "ball", "grip", "hollow", "liquid"), list),
    **dict.fromkeys(("case", "panel", "handle"), list),
    **dict.fromkeys(("of", "lining", "when", "joint", "use"), str),
    **dict.fromkeys(("rod", "radius"), object),
}


def read_models(path: Path) -> Mapping[str, Builder]:
    """Return the builders of the models of a TOML file, by type.

    A model has ``parts``, ``surfaces`` and ``joints`` by name, and ``scale``; with ``standing`` it
    is moved onto its support. A part is a solid, placed by
    :func:`~clevrskills.assets.parts.placed`, with its surface ``of``; optional are ``when``, a
    state such as ``on`` or ``not open`` in which it is present, and ``joint`` and ``use`` of
    :class:`~.model.Piece`.

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
    room = {f"style.{name}": value for name, value in look.style.surfaces().items()}
    surfaces = {**SHARED, **room, **own}
    pieces: list[Piece] = []
    for part in table["parts"]:
        state, surface = part.get("when", ""), surfaces[part["of"]]
        there = not state or bool(getattr(look.state, state.removeprefix("not ")))
        if there == state.startswith("not "):
            continue
        if "liquid" in part:
            radius, level = part["liquid"]
            pieces += look.liquid(radius, level, surface.color)
        elif "hollow" in part:
            outer, inner = part["hollow"]
            pieces += hollow(outer, inner, surface, surfaces[part["lining"]])
        else:
            joint, use = part.get("joint"), part.get("use", "both")
            for solid in _solids(part, look.style):
                pieces += [Piece(copy, surface, joint, use) for copy in placed(part, solid)]
    if table.get("standing"):
        return standing(FixtureModel(*pieces))
    if "scale" in table:
        return scaled(FixtureModel(*pieces), table["scale"])
    joints = {name: ModelJoint(**entries) for name, entries in table.get("joints", {}).items()}
    return FixtureModel(*pieces, **joints)


def _surface(
    look: BuildInput,
    color: Sequence[float],
    second: Sequence[float] = (0.0, 0.0, 0.0),
    lit: Sequence[float] = (),
    cooked: Sequence[float] = (),
    filled: bool = False,
    browned: bool = False,
    dirt: bool = False,
    **entries: Any,
) -> Appearance:
    """Return a surface; ``lit`` and ``cooked`` are its colors in these states, ``filled`` gives it
    the color of the liquid, ``browned`` and ``dirt`` allow these overlays.
    """
    (r, g, b), (r2, g2, b2) = color, second
    if lit:
        return look.lit((r, g, b), (lit[0], lit[1], lit[2]), **entries)
    if cooked:
        r, g, b = blend(
            (r, g, b), (cooked[0], cooked[1], cooked[2]), look.strength * look.state.cooked
        )
    if filled:
        r, g, b = look.filled((r, g, b))
    surface = Appearance((r, g, b), second=(r2, g2, b2), **entries)
    surface = look.browned(surface) if browned else surface
    return look.dirt(surface) if dirt else surface


def _solids(part: Mapping[str, Any], style: Style) -> list[Solid]:
    match part:
        case {"case": numbers}:
            return case(*numbers)
        case {"panel": numbers}:
            return panel(style.panel, *numbers)
        case {"handle": numbers}:
            return [handle(style.handle, *numbers)]
    return [_solid(part)]


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
