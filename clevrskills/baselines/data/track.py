"""Track of a training run: its training data, so that comparisons of policies are fair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrskills.baselines.data.windows import Source


@dataclass(frozen=True)
class Track:
    """Training data of a policy, including those of the checkpoint that it started from."""

    # size of the standard dataset that contains all demonstrations; ``None``: there is none
    standard: int | None
    # number of demonstrations; those that an initial checkpoint was trained on, too, count twice
    demonstrations: int
    pretrained: bool  # whether training started from published weights of others

    def __str__(self) -> str:
        own = f"open ({self.demonstrations} demonstrations)"
        name = own if self.standard is None else f"standard-{self.standard}"
        return f"{name}, pretrained" if self.pretrained else name

    def after(self, before: Track) -> Track:
        """Return the track of a training run that starts from a checkpoint with another track."""
        both = None not in (self.standard, before.standard)
        return Track(
            max(self.standard or 0, before.standard or 0) if both else None,
            self.demonstrations + before.demonstrations,
            self.pretrained or before.pretrained,
        )

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> Track | None:
        """Return the track of a checkpoint; ``None``: unknown."""
        data = provenance.get("track")
        return None if data is None else cls(**data)


def track_of(sources: Sequence[Source], demonstrations: int, pretrained: bool) -> Track:
    """Return the track of a training run without an initial checkpoint.

    Args:
        sources: Sources of its demonstrations.
        demonstrations: Number of demonstrations that it is trained on.
        pretrained: Whether it starts from published weights of others.
    """
    sizes = [source.standard for source in sources]
    known = [size for size in sizes if size is not None]
    standard = max(known) if len(known) == len(sizes) else None
    return Track(standard, demonstrations, pretrained)
