"""Splits: shapes, textures and combinations of training and test episodes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from clevrskills.assets.plugins import other_object, other_objects
from clevrskills.assets.tables import read_toml
from clevrskills.errors import UnknownNameError

KINDS = ("base", "top", "random", "primitive")
"""Pools of shapes."""
OWN_POOLS = ("train", "test")
"""Splits with pools for objects of other distributions."""


@dataclass(frozen=True)
class Pools:
    """Shapes and textures of a split."""

    base: tuple[str, ...]  # shapes that others are placed on
    top: tuple[str, ...]  # shapes that are picked and placed
    random: tuple[str, ...]  # household objects, mostly with irregular outlines
    primitive: tuple[str, ...]  # prisms that can be stretched to any size
    texture_1: tuple[str, ...]  # textures, usually of moved objects
    texture_1_dark: tuple[str, ...]  # dark variants of `texture_1`
    texture_2: tuple[str, ...]  # textures, usually of bases and areas
    texture_2_dark: tuple[str, ...]  # dark variants of `texture_2`

    @property
    def shapes(self) -> tuple[str, ...]:
        """Unique shapes of the split."""
        return tuple(dict.fromkeys(self.base + self.movable))

    @property
    def movable(self) -> tuple[str, ...]:
        """Shapes of movable objects."""
        return self.top + self.random + self.primitive

    @property
    def textures(self) -> tuple[str, ...]:
        """Unique textures of the split."""
        return tuple(dict.fromkeys(self.textures_1 + self.textures_2))

    @property
    def textures_1(self) -> tuple[str, ...]:
        """Bright and dark textures, usually of moved objects."""
        return self.texture_1 + self.texture_1_dark

    @property
    def textures_2(self) -> tuple[str, ...]:
        """Bright and dark textures, usually of bases and areas."""
        return self.texture_2 + self.texture_2_dark


_POOLS = {
    name: {kind: tuple(names) for kind, names in pools.items()}
    for name, pools in read_toml(Path(__file__).with_suffix(".toml")).items()
}
_TRAIN, _TEST = Pools(**_POOLS["train"]), Pools(**_POOLS["test"])
_PAPER_TEST = replace(_TEST, **_POOLS["paper_test"])
_ROLES = replace(
    _TRAIN,
    **_POOLS["roles"],
    texture_1=_TRAIN.texture_2,
    texture_1_dark=_TRAIN.texture_2_dark,
    texture_2=_TRAIN.texture_1,
    texture_2_dark=_TRAIN.texture_1_dark,
)
"""Bases have shapes and textures of objects that are only placed on bases in training."""

Shown = Literal["all", "seen", "held out"]
"""Combinations in a split: all, those in training, or those held out from training."""
HELD_OUT_OF = 5
"""One in this many combinations is held out."""


@dataclass(frozen=True)
class Split:
    """Content of the episodes of a split."""

    sentence: str  # description
    pools: Pools
    pairs: Shown = "all"  # pairs of shape and texture
    orders: Shown = "all"  # orders of subgoals: pairs of successive textures
    one_more: bool = False  # whether it has one object, area or visit more than training


SPLITS: Mapping[str, Split] = {
    "train": Split("what may be learned from", _TRAIN, "seen", "seen"),
    "val": Split("other scenes of what training shows, to choose by", _TRAIN, "seen", "seen"),
    "test": Split("objects and textures never seen", _TEST),
    "paper_test": Split("the few unseen objects and textures of the paper", _PAPER_TEST),
    "combinations": Split(
        "seen shapes in seen textures, paired as never in training", _TRAIN, "held out", "seen"
    ),
    "counts": Split(
        "one object, area or visit more than in training", _TRAIN, "seen", "seen", one_more=True
    ),
    "roles": Split("bases that training only shows as what is put on others", _ROLES),
    "orders": Split("orders of sub-goals never in training", _TRAIN, "seen", "held out"),
}
"""All splits by name, training first."""


def split(name: str) -> Split:
    """Return a split by name.

    Raises:
        UnknownNameError: The split is unknown.
    """
    if name not in SPLITS:
        raise UnknownNameError("split", name, tuple(SPLITS))
    return SPLITS[name]


def shows_pair(split_name: str, shape: str, texture: str) -> bool:
    """Return whether a split has a pair of shape and texture; pairs with unseen parts are never
    held out.
    """
    shapes, textures = _numbers()
    known = shape in shapes and texture in textures
    held_out = known and (shapes[shape] + textures[texture]) % HELD_OUT_OF == 0
    return _shows(split(split_name).pairs, held_out)


def shows_order(split_name: str, texture: str, then: str) -> bool:
    """Return whether subgoals with these textures may be successive in a split."""
    _, textures = _numbers()
    known = texture in textures and then in textures
    held_out = known and (textures[then] - textures[texture]) % HELD_OUT_OF == 1
    return _shows(split(split_name).orders, held_out)


def _shows(kind: Shown, held_out: bool) -> bool:
    return kind == "all" or held_out == (kind == "held out")


@cache
def _numbers() -> tuple[dict[str, int], dict[str, int]]:
    """Return the indices of the shapes and the textures of training."""
    shapes = {name: k for k, name in enumerate(_TRAIN.shapes)}
    return shapes, {name: k for k, name in enumerate(_TRAIN.textures)}


def pools(split_name: str, package: str = "clevrskills") -> Pools:
    """Return the shapes and textures of a split; ``train`` and ``test`` are disjoint.

    Args:
        split_name: Name of the split.
        package: Package of the task; its own objects are included in their pools.

    Raises:
        UnknownNameError: The split is unknown.
    """
    own = split(split_name).pools
    of_split = "test" if split_name in ("test", "paper_test") else "train"
    more: dict[str, tuple[str, ...]] = {}
    for name, entry in other_objects().items() if package != "clevrskills" else ():
        item = other_object(name) if entry.module.partition(".")[0] == package else None
        for pool in item.pools if item else ():
            of, _, kind = pool.partition(".")
            if of not in OWN_POOLS or kind not in KINDS:
                allowed = [f"{one}.{kind}" for one in OWN_POOLS for kind in KINDS]
                raise UnknownNameError(f"pool of the object {name!r}", pool, allowed)
            if of == of_split:
                more[kind] = (*more.get(kind, getattr(own, kind)), name)
    return replace(own, **more) if more else own
