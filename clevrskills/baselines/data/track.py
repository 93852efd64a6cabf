"""Track of a training run: what it was given to learn from, so that like is compared with like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrskills.baselines.data.windows import Source


@dataclass(frozen=True)
class Track:
    """Training data of a policy, including those of the checkpoint that it started from."""

    # size of the standard dataset that all demonstrations are of; ``None``: there are others
    standard: int | None
    # how many there are; those that a checkpoint has learned from before, and that are learned from
    # again, count twice
    demonstrations: int
    pretrained: bool  # whether weights that others have published are in it

    def __str__(self) -> str:
        own = f"open ({self.demonstrations} demonstrations)"
        name = own if self.standard is None else f"standard-{self.standard}"
        return f"{name}, pretrained" if self.pretrained else name

    def after(self, before: Track) -> Track:
        """Return the track of a training run that goes on from a checkpoint of another."""
        both = None not in (self.standard, before.standard)
        return Track(
            max(self.standard or 0, before.standard or 0) if both else None,
            self.demonstrations + before.demonstrations,
            self.pretrained or before.pretrained,
        )

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> Track | None:
        """Return the track of a checkpoint; ``None``: it states none."""
        data = provenance.get("track")
        return None if data is None else cls(**data)


def track_of(sources: Sequence[Source], demonstrations: int, pretrained: bool) -> Track:
    """Return the track of a training run that starts from nothing.

    Args:
        sources: Where its demonstrations are.
        demonstrations: How many of them are learned from.
        pretrained: Whether it starts from weights that others have published.
    """
    sizes = [source.standard for source in sources]
    known = [size for size in sizes if size is not None]
    standard = max(known) if len(known) == len(sizes) else None
    return Track(standard, demonstrations, pretrained)
