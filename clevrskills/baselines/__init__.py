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
        weights: A folder with published weights.
        stop: ``learned``: it declares itself when all is done, for ``--stop declared``.
        together: Act in all episodes of ``--batch`` at once on a CPU, too, as on a GPU: quicker,
            but actions depend on their number by rounding.

    Raises:
        ClevrSkillsError: The checkpoint is not there or damaged, or its policy can't do what is
            asked for.
    """
    from clevrskills.baselines import checkpoint
    from clevrskills.baselines.policy import LearnedPolicy
    from clevrskills.errors import ClevrSkillsError

    policy = checkpoint.load(path, device, weights)
    if together and type(policy).act is not LearnedPolicy.act:
        raise ClevrSkillsError("together=true: this policy acts in one episode after the other")
    policy.together = together
    if stop is not None:
        if not (configure := getattr(policy, "configure", None)):
            raise ClevrSkillsError(f"stop is for checkpoints of cliport, unlike {path}")
        configure(stop)
    return policy
