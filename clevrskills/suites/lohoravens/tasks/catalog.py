"""Catalog of the tasks: a row for each, read without importing what runs them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

LEVELS = ("primitive", "seen", "unseen", "workshop")
CAPABILITIES = (
    *("color", "size", "spatiality", "arithmetic"),
    *("reference", "commonsense", "occlusion", "shape"),
)
"""Capabilities that a sentence may ask for."""


class CatalogRow(NamedTuple):
    """A task.

    Attributes:
        kind: Module and class of its goal, ``module:Class``, after those of what it adds to it.
        level: One of :data:`LEVELS`.
        capabilities: Those of :data:`CAPABILITIES` that its sentence asks for.
        moves: Least and greatest number of moves.
        sentence: Request in general terms.
        rules: Further attributes of the class.
    """

    kind: str
    level: str
    capabilities: tuple[str, ...]
    moves: tuple[int, int]
    sentence: str
    rules: Mapping[str, Any] = MappingProxyType({})


def box_slots(drawn: str, boxes: int) -> tuple[str, ...]:
    """Return the keys of slots: of a drawn line or circle, then of boxes."""
    return (f"{drawn}_0", *(f"box_{k}" for k in range(boxes)))


def block_slots(blocks: int, zones: int = 0, bowls: int = 0) -> tuple[str, ...]:
    """Return the keys of slots: zones, bowls, blocks."""
    counts = (("zone", zones), ("bowl", bowls), ("block", blocks))
    return tuple(f"{kind}_{k}" for kind, count in counts for k in range(count))


CATALOG: Mapping[str, CatalogRow] = {
    "bowls_matching": CatalogRow(
        "bowls:SortIntoBowls",
        "seen",
        ("color",),
        (5, 6),
        "Put the blocks into the bowls with matching colors",
    ),
    "bowls_mismatching": CatalogRow(
        "bowls:SortIntoBowls",
        "seen",
        ("color",),
        (5, 6),
        "Put the blocks into the bowls with mismatching colors",
        {"matching": False},
    ),
    "even_to_zone": CatalogRow(
        "count:ParityToZone",
        "seen",
        ("color", "reference", "arithmetic"),
        (2, 6),
        "Move all blocks of a color that occur in even numbers to the same colored zone",
        {"even": True, "most": 4, "least": 2},
    ),
    "most_even_to_zone": CatalogRow(
        "count:MostEvenToZone",
        "unseen",
        ("color", "reference", "arithmetic"),
        (4, 8),
        "For each color, put the largest even number of blocks into the zone of that color",
    ),
    "most_odd_stacked": CatalogRow(
        "count:MostOddStacked",
        "unseen",
        ("color", "size", "reference", "arithmetic"),
        (6, 10),
        "For each color, stack the largest odd number of blocks in its zone, by size",
    ),
    "odd_to_zone": CatalogRow(
        "count:ParityToZone",
        "unseen",
        ("color", "reference", "arithmetic"),
        (3, 6),
        "Move all blocks of a color that occur in odd numbers to the same colored zone",
        {"even": False, "most": 5, "least": 3},
    ),
    "stack_most_frequent": CatalogRow(
        "count:StackMostFrequent",
        "unseen",
        ("color", "reference", "arithmetic"),
        (4, 5),
        "Stack the blocks of the most frequent color on a zone",
    ),
    "hidden_in_pyramid": CatalogRow(
        "hidden:HiddenInPyramid",
        "unseen",
        ("color", "occlusion", "commonsense"),
        (6, 6),
        "Put the blocks in the lowest row of the pyramid into the bowls of the same colors",
    ),
    "hidden_in_three_layers": CatalogRow(
        "hidden:HiddenInTowers",
        "unseen",
        ("color", "occlusion", "commonsense"),
        (6, 6),
        "Put the bottom blocks of the three-layer towers into the bowls of the same colors",
        {
            "most": 2,
            "towers": (2, 2),
            "high": 2,
            "visible": (1, 2),
            "slots": block_slots(8, bowls=3),
        },
    ),
    "hidden_in_two_layers": CatalogRow(
        "hidden:HiddenInTowers",
        "seen",
        ("color", "occlusion", "commonsense"),
        (4, 6),
        "Put all blocks hidden in the two-layer towers into the bowls of the same colors",
        {
            "most": 3,
            "towers": (2, 3),
            "high": 1,
            "visible": (2, 3),
            "slots": block_slots(9, bowls=4),
        },
    ),
    "hidden_under_block": CatalogRow(
        "hidden:HiddenUnderBlock",
        "seen",
        ("color", "occlusion", "commonsense"),
        (2, 2),
        "Put the block hidden under a block into the bowl of the same color",
    ),
    "move_area": CatalogRow(
        "move:MoveBetweenAreas",
        "seen",
        ("spatiality", "color"),
        (3, 5),
        "Move all the blocks in one area to another",
    ),
    "move_area_by_color": CatalogRow(
        "move:MoveBetweenAreas",
        "seen",
        ("color", "spatiality", "commonsense"),
        (3, 5),
        "Move all the blocks of a category of colors in one area to another",
        {"by_color": True, "most_categories": 2},
    ),
    "move_area_by_color_and_size": CatalogRow(
        "move:MoveBetweenAreas",
        "unseen",
        ("color", "size", "spatiality", "commonsense"),
        (3, 5),
        "Move all the blocks of a size and a category of colors in one area to another",
        {"by_size": True, "mixed": True, "by_color": True},
    ),
    "move_area_by_size": CatalogRow(
        "move:MoveBetweenAreas",
        "seen",
        ("size", "spatiality"),
        (3, 5),
        "Move all the blocks of a size in one area to another",
        {"by_size": True, "mixed": True},
    ),
    "pick_place_area": CatalogRow(
        "primitive:PickPlaceArea",
        "primitive",
        ("color", "spatiality"),
        (1, 1),
        "Pick up the block in one area and place it in another",
    ),
    "pick_place_color": CatalogRow(
        "primitive:PickPlaceColor",
        "primitive",
        ("color",),
        (1, 1),
        "Pick up the block of one color and place it on the block, bowl or zone of another",
    ),
    "pick_place_side": CatalogRow(
        "primitive:PickPlaceSide",
        "primitive",
        ("color", "spatiality"),
        (1, 1),
        "Pick up a block and place it on one side of another",
    ),
    "pick_place_size": CatalogRow(
        "primitive:PickPlaceSize",
        "primitive",
        ("color", "size"),
        (1, 1),
        "Pick up the block of one size and color and place it on that of another",
    ),
    "circle_by_size": CatalogRow(
        "shape:OrderBoxes",
        "unseen",
        ("color", "size", "spatiality"),
        (6, 6),
        "Place the boxes on the circle so that their size increases counter-clockwise",
        {"figure": "ring", "anchor": "center", "slots": box_slots("circle", 6)},
    ),
    "circle_with_middle": CatalogRow(
        "shape:CircleWithMiddle",
        "seen",
        ("shape", "spatiality", "reference"),
        (5, 10),
        "Arrange blocks in a circle with a block of another color in the middle",
    ),
    "concentric_circles": CatalogRow(
        "shape:ConcentricCircles",
        "unseen",
        ("shape", "spatiality", "reference"),
        (10, 18),
        "Build two concentric circles of blocks",
    ),
    "letter_m": CatalogRow(
        "shape:BuildOutline",
        "unseen",
        ("shape", "spatiality", "reference", "commonsense"),
        (6, 10),
        "Construct the letter M with the blocks",
        {"figure": "letter_m", "counts": (9,), "slots": block_slots(9)},
    ),
    "line_by_color": CatalogRow(
        "shape:OrderBoxes",
        "seen",
        ("color", "spatiality", "commonsense"),
        (5, 7),
        "Align the boxes on a line in rainbow order from left to right",
        {
            "figure": "line",
            "anchor": "middle",
            "by_color": True,
            "all_colors": True,
            "slots": box_slots("line", 7),
        },
    ),
    "line_by_size": CatalogRow(
        "shape:OrderBoxes",
        "unseen",
        ("color", "size", "spatiality"),
        (6, 6),
        "Align the boxes on a line in increasing size from left to right",
        {"figure": "line", "anchor": "middle", "slots": box_slots("line", 6)},
    ),
    "rectangle_on_zone": CatalogRow(
        "shape:BuildOutline",
        "unseen",
        ("shape", "reference"),
        (8, 10),
        "Build a rectangle with the blocks on a zone",
        {
            "figure": "rectangle",
            "counts": (8, 10),
            "zone_m": (0.24, 0.30),
            "slots": block_slots(10, zones=1),
        },
    ),
    "stack_all_in_area": CatalogRow(
        "stack:StackAllInArea",
        "workshop",
        ("spatiality",),
        (3, 5),
        "Stack all the blocks in an area",
    ),
    "stack_all_on_zone": CatalogRow(
        "stack:StackAllOnZone", "seen", ("color",), (3, 5), "Stack all the blocks on a zone"
    ),
    "stack_alternate_colors": CatalogRow(
        "stack:StackAlternateColors",
        "unseen",
        ("color",),
        (5, 5),
        "Build a stack on a zone whose colors alternate",
    ),
    "stack_by_area_and_size": CatalogRow(
        "stack_selection:StackSelection",
        "unseen",
        ("color", "size", "spatiality", "commonsense"),
        (3, 4),
        "Stack the blocks of a size in an area on a zone",
        {"ways": ("area", "size"), "mixed": True, "zones": (2, 3)},
    ),
    "stack_by_area_in_size_order": CatalogRow(
        "stack_selection:StackSelection",
        "seen",
        ("color", "size", "spatiality", "commonsense"),
        (3, 4),
        "Stack the blocks in an area on a zone, big ones below small ones",
        {"ways": ("area",), "mixed": True, "big_below": True, "zones": (2, 3)},
    ),
    "stack_by_color": CatalogRow(
        "stack_selection:StackSelection",
        "seen",
        ("color", "commonsense"),
        (3, 5),
        "Pile up just the blocks of a category of colors on a zone",
        {"ways": ("category",)},
    ),
    "stack_by_color_and_size": CatalogRow(
        "stack_selection:StackSelection",
        "seen",
        ("color", "size", "commonsense"),
        (3, 5),
        "Pile up just the blocks of a size and a category of colors on a zone",
        {"ways": ("category", "size"), "mixed": True},
    ),
    "stack_by_color_in_size_order": CatalogRow(
        "stack_selection:StackSelection",
        "unseen",
        ("color", "size", "commonsense"),
        (3, 5),
        "Pile up just the blocks of a category of colors on a zone, big ones below small ones",
        {"ways": ("category",), "mixed": True, "big_below": True},
    ),
    "stack_by_side": CatalogRow(
        "stack_selection:StackSelection",
        "seen",
        ("color", "spatiality", "commonsense"),
        (3, 5),
        "Stack all the blocks on one side of a block on a zone",
        {"ways": ("side",)},
    ),
    "stack_by_side_and_size": CatalogRow(
        "stack_selection:StackSelection",
        "unseen",
        ("color", "size", "spatiality", "commonsense"),
        (3, 5),
        "Stack the blocks of a size on one side of a block on a zone",
        {"ways": ("side", "size"), "mixed": True},
    ),
    "stack_same_color": CatalogRow(
        "stack:StackSameColor",
        "seen",
        ("color", "reference"),
        (4, 9),
        "Stack the blocks of each color on the zone of that color",
    ),
    "stack_same_size": CatalogRow(
        "stack:StackSameSize",
        "seen",
        ("color", "size"),
        (5, 8),
        "Stack the bigger blocks on one zone and the smaller blocks on another",
    ),
    "stack_small_on_big": CatalogRow(
        "stack_pairs:StackSmallOnBig",
        "unseen",
        ("color", "size"),
        (4, 5),
        "Stack each smaller block on the bigger block of the same color",
    ),
    "stack_small_on_big_in_zone": CatalogRow(
        "stack_pairs:StackSmallOnBigInZone",
        "unseen",
        ("color", "size"),
        (4, 8),
        "Stack the blocks of each color in the zone of the same color, the bigger below",
    ),
    "bowls_matching_steps": CatalogRow(
        "steps:Stepwise bowls:SortIntoBowls",
        "seen",
        ("color",),
        (5, 6),
        "Put the blocks into the bowls with matching colors, step by step",
        {"targets": ("bowl",)},
    ),
    "hidden_under_block_steps": CatalogRow(
        "steps:HiddenUnderBlockSteps",
        "unseen",
        ("color", "occlusion", "commonsense"),
        (2, 2),
        "Put the block hidden under a block into the bowl of the same color, step by step",
    ),
    "move_area_steps": CatalogRow(
        "steps:Stepwise move:MoveBetweenAreas",
        "unseen",
        ("spatiality", "color"),
        (3, 5),
        "Move all the blocks in one area to another, step by step",
        {"targets": ("area",), "sources": True, "distinct": True},
    ),
    "stack_all_on_zone_steps": CatalogRow(
        "steps:Stepwise stack:StackAllOnZone",
        "seen",
        ("color",),
        (3, 5),
        "Stack all the blocks on a zone, step by step",
        {"targets": ("zone", "block")},
    ),
    "stack_by_side_steps": CatalogRow(
        "steps:Stepwise stack_selection:StackSelection",
        "seen",
        ("color", "spatiality", "commonsense"),
        (3, 5),
        "Stack all the blocks on one side of a block on a zone, step by step",
        {"targets": ("zone", "block"), "ways": ("side",)},
    ),
}
"""Tasks by key, in the order of their families."""
