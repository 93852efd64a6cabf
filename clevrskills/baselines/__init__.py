"""Learned policies: base class, data and training, and the policies of the package.

::

    from clevrskills.baselines import load
    policy = load("runs/bc")

A policy of your own is a subclass of ``LearnedPolicy``, see :mod:`clevrskills.baselines.policy`;
``clevrskills train --policy my_module:MyPolicy`` trains it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clevrskills.baselines.policy import LearnedPolicy

__all__ = ["load"]


def load(
    path: str | Path,
    device: str | None = None,
    weights: str | None = None,
    stop: str | None = None,
    together: bool = False,
) -> LearnedPolicy:
    """Load a trained policy; see :func:`clevrskills.baselines.checkpoint.load`.

    Args:
        path: Folder of a checkpoint, or of a training run.
        device: Device of the policy.
        weights: Folder with published weights.
        stop: ``learned``: the policy declares when it is done, for ``--stop declared``.
        together: Whether to evaluate all episodes of ``--batch`` in one batch on a CPU, too, as on
            a GPU: faster, but rounding depends on the number of episodes.

    Raises:
        ClevrSkillsError: The checkpoint is missing or damaged, or its policy does not support an
            option.
    """
    from clevrskills.baselines import checkpoint
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.errors import ClevrSkillsError

    policy = checkpoint.load(path, device, weights)
    if together and type(policy).act is not LearnedPolicy.act:
        raise ClevrSkillsError("together=true: this policy acts in one episode at a time")
    policy.together = together
    if stop is not None:
        if not (configure := getattr(policy, "configure", None)):
            raise ClevrSkillsError(f"stop is for checkpoints of cliport, unlike {path}")
        configure(stop)
    return policy
