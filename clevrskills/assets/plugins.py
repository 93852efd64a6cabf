"""Objects and textures of other distributions, found by entry points."""

import re
from collections.abc import Container
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np

from clevrskills import additions
from clevrskills.assets import mesh_files
from clevrskills.assets.objects import Item, catalogue, fittings
from clevrskills.errors import ClevrSkillsError, NameTakenError, errors_in

DENSITY = 700.0
"""Default density of objects in kg/m^3."""
_NAME = re.compile(r"[A-Za-z][A-Za-z-]*( [A-Za-z][A-Za-z-]*)*")


def others(kind: str, own: Container[str]) -> dict[str, EntryPoint]:
    """Return the objects or textures of other distributions by name.

    Args:
        kind: ``objects`` or ``textures``.
        own: Names in this package.

    Raises:
        ClevrSkillsError: A name is not made of words, or is taken.
    """
    found: dict[str, EntryPoint] = {}
    for added in additions(kind):
        if not _NAME.fullmatch(added.name):
            raise ClevrSkillsError(
                f"{kind}: {added.name!r} = {added.value}: names must consist of words of letters"
            )
        if added.name in own or added.name in found:
            first = found[added.name].value if added.name in found else "clevrskills"
            raise NameTakenError(kind, added.name, first, added.value)
        found[added.name] = added
    return found


def other_objects() -> dict[str, EntryPoint]:
    """Return the objects of other distributions by name; see :func:`others`."""
    return others("objects", {**catalogue(), **fittings()})


@cache
def other_object(name: str) -> Item | None:
    """Return an object of another distribution; ``None`` if the name is unknown.

    Raises:
        ClevrSkillsError: The entry point cannot be imported or is not an object.
    """
    added = other_objects().get(name)
    if added is None:
        return None
    what = f"object {name!r} = {added.value}"
    with errors_in(what):
        found = added.load()
    if isinstance(found, str | Path):
        return mesh_files.item(Path(found), DENSITY)
    if callable(found):
        found = Item(found, DENSITY)
    if not isinstance(found, Item):
        raise ClevrSkillsError(
            f"{what} is of type {type(found).__name__}; allowed: an Item, a function that builds a "
            "Solid, or the path of a GLB or URDF file"
        )
    return found


def other_texture(added: EntryPoint, size_px: int) -> np.ndarray:
    """Return the texture of another distribution, (size_px, size_px, 3) in [0, 1].

    Args:
        added: Entry point of a function of the size in pixels, or of the path of an image.
        size_px: Width and height.

    Raises:
        ClevrSkillsError: The entry point cannot be imported or is not a texture.
    """
    from PIL import Image

    what = f"texture {added.name!r} = {added.value}"
    with errors_in(what):
        found = added.load()
        if isinstance(found, str | Path):
            pixels = np.asarray(Image.open(found).convert("RGB").resize((size_px, size_px)))
        else:
            pixels = np.asarray(found(size_px))
    if pixels.shape != (size_px, size_px, 3):
        raise ClevrSkillsError(f"{what} is {pixels.shape}; allowed: ({size_px}, {size_px}, 3)")
    return pixels / 255 if pixels.dtype == np.uint8 else pixels.astype(float)
