"""Names of shapes and textures in sentences: those of training, and some that are held out."""

import re
from collections.abc import Iterable

from clevrskills.assets.palettes import bare_name, palette_color
from clevrskills.assets.textures import COLOURS

SEEN_NAMES, HELD_OUT_NAMES = (0, 1, 2), (3, 4)
"""Numbers of the sets of names: those of any sentence, and those of held-out sentences only. Set 0
has the names that objects and textures have in tables."""

SHAPES: dict[str, tuple[str, ...]] = {
    # what is put on and into
    "area": ("area", "zone", "region", "patch", "field"),
    "bowl": ("bowl", "basin", "serving bowl", "salad bowl", "soup bowl"),
    "plate": ("plate", "dinner plate", "round plate", "saucer", "dining plate"),
    "tray": ("tray", "serving tray", "flat tray", "salver", "tea tray"),
    "casserole": ("casserole", "casserole dish", "cooking pot", "baking dish", "stew pot"),
    "cutting board": (
        *("cutting board", "chopping board", "kitchen board"),
        *("carving board", "bread board"),
    ),
    "book": ("book", "closed book", "hardcover", "volume", "textbook"),
    "cake stand": ("cake stand", "cake plate", "pastry stand", "dessert stand", "cake pedestal"),
    "foam brick": ("foam brick", "foam block", "brick of foam", "foam slab", "chunk of foam"),
    "oval dish": (
        "oval dish",
        "oval platter",
        "oblong dish",
        "elliptical dish",
        "oval serving dish",
    ),
    "frying pan": ("frying pan", "skillet", "fry pan", "cooking pan", "griddle pan"),
    "stool": ("stool", "footstool", "step stool", "low stool", "round seat"),
    "hat": ("hat", "sun hat", "brimmed hat", "boater", "broad hat"),
    # prisms
    "cube": ("cube", "cuboid", "square prism", "square solid", "four-sided prism"),
    "cylinder": ("cylinder", "round prism", "drum", "round column", "tube-shaped solid"),
    "triangle": (
        *("triangle", "triangular prism", "three-sided piece"),
        *("three-cornered solid", "wedge-shaped piece"),
    ),
    "hexagon": (
        *("hexagon", "hexagonal prism", "six-sided piece"),
        *("six-cornered solid", "hex-shaped piece"),
    ),
    "star": ("star", "star-shaped prism", "five-pointed star", "starlike solid", "pointed star"),
    "clover": ("clover", "four-leaf clover", "clover shape", "four-lobed piece", "quatrefoil"),
    "trapezoid": (
        *("trapezoid", "trapezoid-shaped prism", "tapered piece"),
        *("tapering solid", "trapezium"),
    ),
    "raindrop": ("raindrop", "water drop", "drop shape", "dewdrop", "drop-shaped piece"),
    "crown": ("crown", "royal crown", "king's crown", "crown-shaped piece", "coronet"),
    "leaf": ("leaf", "tree leaf", "leaf shape", "leaf-shaped piece", "laurel leaf"),
    "candy": ("candy", "wrapped candy", "sweet", "bonbon", "wrapped sweet"),
    "block": ("block", "building block", "toy block", "rectangular block", "play block"),
    "disc": ("disc", "round slab", "puck", "flat round piece", "counter"),
    "pentagon": (
        *("pentagon", "pentagonal prism", "five-sided piece"),
        *("five-cornered solid", "pentagon-shaped piece"),
    ),
    "octagon": (
        *("octagon", "octagonal prism", "eight-sided piece"),
        *("eight-cornered solid", "octagon-shaped piece"),
    ),
    "plus": ("plus", "plus sign", "cross", "cross-shaped piece", "plus-shaped piece"),
    "flower": ("flower", "flower shape", "blossom", "petalled piece", "flower-shaped piece"),
    "heart": ("heart", "heart shape", "valentine heart", "heart-shaped piece", "heart tile"),
    "diamond": ("diamond", "rhombus", "diamond shape", "lozenge", "diamond-shaped piece"),
    "arrow": ("arrow", "arrow sign", "pointer", "arrow-shaped piece", "direction marker"),
    "moon": ("moon", "crescent", "crescent moon", "half-moon", "moon-shaped piece"),
    "ring": ("ring", "hoop", "ring-shaped piece", "annulus", "circlet"),
    # household things
    "soup can": ("soup can", "can of soup", "soup tin", "tinned soup", "canned soup"),
    "tuna can": ("tuna can", "can of tuna", "tuna tin", "tinned tuna", "canned tuna"),
    "mustard bottle": (
        *("mustard bottle", "bottle of mustard", "mustard flask"),
        *("mustard dispenser", "squeeze bottle"),
    ),
    "gift box": ("gift box", "present", "gift package", "wrapped gift", "gift parcel"),
    "cracker box": (
        *("cracker box", "box of crackers", "cracker carton"),
        *("crackers package", "carton of crackers"),
    ),
    "matchbox": ("matchbox", "box of matches", "match box", "pack of matches", "matches box"),
    "sponge": ("sponge", "kitchen sponge", "cleaning sponge", "dish sponge", "scrubbing sponge"),
    "dice": ("dice", "die", "gaming die", "number cube", "spotted die"),
    "puzzle cube": (
        *("puzzle cube", "twisty cube", "cube puzzle"),
        *("speed cube", "brain-teaser cube"),
    ),
    "domino": ("domino", "domino tile", "domino piece", "domino stone", "gaming tile"),
    "mug": ("mug", "coffee mug", "cup", "teacup", "drinking mug"),
    "apple": ("apple", "ripe apple", "apple fruit", "eating apple", "orchard apple"),
    "banana": ("banana", "ripe banana", "banana fruit", "curved fruit", "tropical banana"),
    "pear": ("pear", "ripe pear", "pear fruit", "dessert pear", "orchard pear"),
    "lemon": ("lemon", "ripe lemon", "lemon fruit", "citrus fruit", "whole lemon"),
    "mushroom": ("mushroom", "edible mushroom", "toadstool", "fungus", "button mushroom"),
    "ball": ("ball", "toy ball", "round ball", "play ball", "bouncy ball"),
    "sphere": ("sphere", "orb", "globe", "round marker", "bubble"),
    "padlock": ("padlock", "lock", "hanging lock", "shackle lock", "security lock"),
    "marker": ("marker", "marker pen", "felt pen", "felt-tip pen", "whiteboard marker"),
    "wrench": ("wrench", "spanner", "open wrench", "bolt wrench", "spanner wrench"),
    "hammer": ("hammer", "claw hammer", "carpenter's hammer", "nail hammer", "hand hammer"),
    "screwdriver": (
        *("screwdriver", "driver tool", "hand screwdriver"),
        *("turnscrew", "screw driver"),
    ),
    "clamp": ("clamp", "spring clamp", "workshop clamp", "clip clamp", "hand clamp"),
    "key": ("key", "door key", "house key", "latchkey", "metal key"),
    "scissors": ("scissors", "shears", "paper scissors", "snips", "household scissors"),
    "spatula": ("spatula", "kitchen spatula", "turner", "cooking spatula", "flipper"),
    "bell": ("bell", "hand bell", "little bell", "service bell", "school bell"),
    "kettle": ("kettle", "tea kettle", "teapot", "water kettle", "stovetop kettle"),
    "toy car": ("toy car", "model car", "little car", "automobile", "toy vehicle"),
    "camera": ("camera", "photo camera", "film camera", "snapshot camera", "vintage camera"),
    "anvil": ("anvil", "iron anvil", "smith's anvil", "blacksmith's anvil", "forge anvil"),
    "fish": ("fish", "flat fish", "fish shape", "fish-shaped piece", "goldfish"),
    "bone": ("bone", "dog bone", "bone shape", "bone-shaped piece", "chew bone"),
    "airplane": ("airplane", "plane", "toy airplane", "aeroplane", "aircraft"),
}
"""By shape: its three seen names, the first the shape's own, then two held-out ones."""
LETTERS = ("letter {}", "capital {}", "character {}", "{}-shaped piece", "alphabet piece {}")

DARK = ("dark", "dark", "dark", "deep", "dim")
FAMILIES: dict[str, tuple[str, ...]] = {
    "polka dot": (
        *("{} polka dot", "{} dotted", "{} polka-dotted"),
        *("{} spotted", "{} spotty"),
    ),
    "stripe": ("{} stripe", "{} striped", "{} banded", "{} barred", "{} stripy"),
    "swirl": ("{} swirl", "{} swirled", "{} spiral", "{} curled", "{} whirled"),
    "paisley": (
        *("{} paisley", "{} paisley-print", "{} paisley-patterned"),
        *("{} teardrop", "{} droplet-print"),
    ),
    "checkerboard": (
        *("checkerboard", "checkered", "chessboard"),
        *("chequered", "chess-patterned"),
    ),
    "brick": ("brick", "brickwork", "brick-wall", "masonry", "bricked"),
    "granite": ("granite", "granite-like", "stone", "rock", "stony"),
    "magma": ("magma", "lava", "molten", "volcanic", "lava-like"),
    "plastic": ("plastic", "plastic-like", "plastic-coated", "vinyl", "synthetic"),
    "rainbow": ("rainbow", "rainbow-colored", "rainbow-hued", "spectrum", "spectral"),
    "tiger": ("tiger", "tiger-striped", "tiger-print", "tiger-skin", "tigerish"),
    "tiled": ("tiled", "tile-patterned", "mosaic", "tessellated", "tilework"),
    "wooden": ("wooden", "wood", "wood-grain", "timber", "woody"),
}
"""By texture or kind of pattern: its three seen names, then two held-out ones; ``{}`` is the
colors."""
PLAIN = ("{}", "plain {}", "solid {}", "uniform {}", "unpatterned {}")
"""Names of a color alone."""
ALL_COLORS = "multicolored"
"""What a swirl of all colors is called beside one of a single color."""


def shape_words(shape: str, names: int = 0, others: Iterable[str] = ()) -> str:
    """What a shape is called in a set of names, told from others that are there: a ``cube`` beside
    a ``puzzle cube`` is a ``cuboid``. Shapes of other distributions have one name.

    Args:
        shape: Name of the shape.
        names: Number of the set.
        others: Names of the shapes that it must be told from.
    """
    if names == 0 and any(set(shape.split()) < set(other.split()) for other in others):
        names = 1
    letter = shape.removeprefix("letter ")
    if letter != shape:
        return LETTERS[names].format(letter)
    return SHAPES[shape][names] if shape in SHAPES else shape


def texture_words(texture: str, names: int = 0, others: Iterable[str] = ()) -> str:
    """What a texture is called in a set of names, told from others that are there.

    ``red`` beside ``red swirl`` is ``plain red``; ``red swirl`` beside ``dark red swirl`` is
    ``bright red swirl``.

    Args:
        texture: Name of the texture.
        names: Number of the set.
        others: Names of the textures that it must be told from.
    """
    if palette_color(texture) is not None:
        return bare_name(texture)
    bright = texture.removeprefix("dark ")
    kind = next((kind for kind in FAMILIES if bright.endswith(kind)), "")
    colors = bright.removesuffix(kind).split()
    if not kind and texture not in COLOURS:
        return texture
    said = (FAMILIES[kind] if kind else PLAIN)[names]
    if kind in ("polka dot", "stripe") and names:
        colors = [" and ".join(colors)]
    words = " ".join(said.format(" ".join(colors)).split())
    if bright != texture:
        return f"{DARK[names]} {words}"
    if any(set(texture.split()) < set(other.split()) for other in others):
        if not kind:
            return words if names else f"plain {words}"
        return f"{'bright' if colors else ALL_COLORS} {words}"
    return words


def vocabulary() -> frozenset[str]:
    """All words that names of shapes and textures are made of, in lower case."""
    sets = (*SHAPES.values(), *FAMILIES.values(), LETTERS, DARK, PLAIN)
    names = " ".join(name for names in sets for name in names)
    return frozenset(re.findall(r"[a-z]+", names.lower())) | {*COLOURS, ALL_COLORS}
