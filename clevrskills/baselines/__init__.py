"""Learned policies: what they have in common, their data and their training, and the policies.

::

    from clevrskills.baselines import load
    policy = load("runs/bc")

A policy of one's own is a class beside those here: :mod:`clevrskills.baselines.policy` says what
it has to have, and ``clevrskills train --policy my_module:MyPolicy`` trains it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrskills.baselines.policy import LearnedPolicy

__all__ = ["load"]


def load(path: str | Path, device: str | None = None, weights: str | None = None) -> LearnedPolicy:
    """A trained policy; see :func:`clevrskills.baselines.checkpoint.load`."""
    from clevrskills.baselines import checkpoint

    return checkpoint.load(path, device, weights)
