"""Splits: objects and textures of training episodes, and those that are kept for testing."""

from dataclasses import dataclass, replace

from clevrskills.assets.others import other_object, other_objects
from clevrskills.errors import UnknownNameError

KINDS = ("base", "top", "random", "primitive")
"""Pools of shapes."""


@dataclass(frozen=True)
class Pools:
    """Names that one split draws from.

    Attributes:
        base: Shapes that others are put on.
        top: Shapes that are picked and placed.
        random: Household things, mostly with odd outlines.
        primitive: Simple prisms that may be stretched to any size.
        texture_1: Textures, usually of the objects that are moved.
        texture_1_dark: Dark textures that go with `texture_1`.
        texture_2: Textures, usually of bases and areas.
        texture_2_dark: Dark textures that go with `texture_2`.
    """

    base: tuple[str, ...]
    top: tuple[str, ...]
    random: tuple[str, ...]
    primitive: tuple[str, ...]
    texture_1: tuple[str, ...]
    texture_1_dark: tuple[str, ...]
    texture_2: tuple[str, ...]
    texture_2_dark: tuple[str, ...]

    @property
    def shapes(self) -> tuple[str, ...]:
        """All shapes of the split, each once."""
        return tuple(dict.fromkeys(self.base + self.movable))

    @property
    def movable(self) -> tuple[str, ...]:
        """Shapes of any kind that can be taken elsewhere."""
        return self.top + self.random + self.primitive

    @property
    def textures(self) -> tuple[str, ...]:
        """All textures of the split, each once."""
        return tuple(dict.fromkeys(self.textures_1 + self.textures_2))

    @property
    def textures_1(self) -> tuple[str, ...]:
        """Bright and dark textures, usually of the objects that are moved."""
        return self.texture_1 + self.texture_1_dark

    @property
    def textures_2(self) -> tuple[str, ...]:
        """Bright and dark textures, usually of bases and areas."""
        return self.texture_2 + self.texture_2_dark


def _list(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _dark(text: str) -> tuple[str, ...]:
    return tuple(f"dark {name}" for name in _list(text))


_TRAIN = Pools(
    base=_list(
        "bowl, plate, tray, casserole, cutting board, book, cake stand, block, disc, pentagon, "
        "octagon, plus, flower"
    ),
    top=_list(
        "block, disc, pentagon, octagon, plus, flower, letter A, letter E, letter H, letter K, "
        "letter L, letter M, letter N, letter O, letter R, letter T, soup can, mustard bottle, "
        "gift box, cracker box, matchbox, sponge, dice, puzzle cube, domino, arrow, moon, ring, "
        "mug"
    ),
    random=_list(
        "apple, banana, pear, ball, padlock, marker, wrench, hammer, screwdriver, clamp, key"
    ),
    primitive=_list("cube, cylinder, triangle, hexagon"),
    texture_1=_list(
        "black paisley, black white polka dot, checkerboard, cyan, green blue polka dot, "
        "green blue stripe, green paisley, green swirl, purple paisley, red, red purple stripe, "
        "red swirl, red yellow stripe, tiled, white, wooden, yellow, yellow green stripe, "
        "yellow paisley, yellow swirl"
    ),
    texture_1_dark=_dark(
        "green blue polka dot, green swirl, red purple stripe, red swirl, red yellow stripe, "
        "yellow swirl, green purple stripe, green blue stripe"
    ),
    texture_2=_list(
        "black, blue, blue purple polka dot, blue purple stripe, blue swirl, brick, granite, "
        "green, green purple stripe, grey, plastic, purple, red blue stripe, "
        "red green polka dot, red green stripe, red purple polka dot, red yellow polka dot, "
        "tiger, yellow blue polka dot, yellow green polka dot, yellow purple polka dot"
    ),
    texture_2_dark=_dark(
        "blue purple polka dot, blue purple stripe, blue swirl, red blue stripe, "
        "red green polka dot, red green stripe, red purple polka dot, red yellow polka dot, "
        "yellow green stripe, yellow blue polka dot, yellow green polka dot, "
        "yellow purple polka dot"
    ),
)

_TEST = Pools(
    base=_list("foam brick, oval dish, heart, diamond"),
    top=_list("tuna can, letter G, letter S, letter V"),
    random=_list("lemon, mushroom, scissors, spatula, bell"),
    primitive=_list("star"),
    texture_1=_list("blue paisley, magma, red blue polka dot, swirl, yellow blue stripe"),
    texture_1_dark=_dark("red blue polka dot, yellow blue stripe"),
    texture_2=_list(
        "green purple polka dot, rainbow, red paisley, purple swirl, yellow purple stripe"
    ),
    texture_2_dark=_dark("green purple polka dot, purple swirl, yellow purple stripe"),
)

_SPLITS = {"train": _TRAIN, "test": _TEST}


def pools(split: str, package: str = "clevrskills") -> Pools:
    """Names that a split draws from; the two splits share neither shapes nor textures.

    Args:
        split: "train" or "test".
        package: Package of the task that draws; objects of its own may ask to be drawn as well.

    Raises:
        UnknownNameError: `split` is neither "train" nor "test".
    """
    if split not in _SPLITS:
        raise UnknownNameError("split", split, tuple(_SPLITS))
    own = _SPLITS[split]
    more: dict[str, tuple[str, ...]] = {}
    for name, entry in other_objects().items() if package != "clevrskills" else ():
        item = other_object(name) if entry.module.partition(".")[0] == package else None
        for pool in item.pools if item else ():
            of, _, kind = pool.partition(".")
            if of not in _SPLITS or kind not in KINDS:
                allowed = [f"{one}.{kind}" for one in _SPLITS for kind in KINDS]
                raise UnknownNameError(f"pool of the object {name!r}", pool, allowed)
            if of == split:
                more[kind] = (*more.get(kind, getattr(own, kind)), name)
    return replace(own, **more) if more else own
