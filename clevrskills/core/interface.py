"""What a policy may answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from clevrskills.core.policy import PolicyError

SIZE = 7
TOLERANCE = 0.01
"""How far beyond 1 an entry may be: numbers of half precision are rounded by up to 0.008 there."""


def read_actions(answer: Any, clip: bool = False) -> np.ndarray:
    """The actions of an answer, (H, 7) float32 in [-1, 1].

    Args:
        answer: An action (7,) or several (H, 7).
        clip: Whether to clip what lies outside [-1, 1] instead of refusing it.

    Raises:
        PolicyError: It is something else, not finite or outside [-1, 1].
    """
    if hasattr(answer, "detach"):  # a torch tensor, wherever it is and whatever its precision
        answer = answer.detach().float().cpu()
    try:
        actions = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError):
        raise PolicyError(
            f"an action of type {type(answer).__name__}; allowed: numbers (7,) or (H, 7)"
        ) from None
    if actions.shape != (SIZE,) and (actions.ndim != 2 or actions.shape[1] != SIZE):
        raise PolicyError(f"an action of shape {actions.shape}; allowed: (7,) or (H, 7)")
    if not actions.size:
        raise PolicyError("no action: the chunk is empty")
    actions = actions.reshape(-1, SIZE)
    if not np.isfinite(actions).all():
        row, entry = np.argwhere(~np.isfinite(actions))[0]
        raise PolicyError(f"entry {entry} of an action is {actions[row, entry]}, not a number")
    if not clip and np.abs(actions).max() > 1.0 + TOLERANCE:
        row, entry = np.unravel_index(np.abs(actions).argmax(), actions.shape)
        raise PolicyError(
            f"entry {entry} of an action is {actions[row, entry]:.4g}; allowed: -1 to 1 "
            "(--clip clips it)"
        )
    return np.clip(actions, -1.0, 1.0)
