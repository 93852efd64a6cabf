"""Objects and textures that other distributions add, found by their entry points."""

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
"""Of objects that do not say theirs, kg/m^3."""
_NAME = re.compile(r"[A-Za-z][A-Za-z-]*( [A-Za-z][A-Za-z-]*)*")


def others(kind: str, own: Container[str]) -> dict[str, EntryPoint]:
    """Return objects or textures of other distributions, by name.

    Args:
        kind: ``objects`` or ``textures``.
        own: Names that the package has itself.

    Raises:
        ClevrSkillsError: A name cannot stand in a sentence, is the package's own, or comes twice.
    """
    found: dict[str, EntryPoint] = {}
    for added in additions(kind):
        if not _NAME.fullmatch(added.name):
            raise ClevrSkillsError(
                f"{kind}: {added.name!r} = {added.value}: a name is one or several words of letters"
            )
        if added.name in own or added.name in found:
            first = found[added.name].value if added.name in found else "clevrskills"
            raise NameTakenError(kind, added.name, first, added.value)
        found[added.name] = added
    return found


def other_objects() -> dict[str, EntryPoint]:
    """Return objects of other distributions, by name.

    Raises:
        ClevrSkillsError: See :func:`others`.
    """
    return others("objects", {**catalogue(), **fittings()})


@cache
def other_object(name: str) -> Item | None:
    """Return the object of another distribution, ``None`` if there is none of that name.

    Raises:
        ClevrSkillsError: It cannot be imported, or is no object.
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
    """Return the image of a texture of another distribution, (size_px, size_px, 3) in [0, 1].

    Args:
        added: A function that draws it, given its size in pixels, or the path of an image.
        size_px: Its width and height.

    Raises:
        ClevrSkillsError: It cannot be imported, or draws something else.
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
