"""Context of goals: a batch of parallel environments.

All results are tensors (B, ...) with the environment first. Other batches can be derived: some of
the environments (:meth:`Context.select`), each of them several times (:meth:`Context.repeat`,
:func:`broadcast_slots`), or only those where a result matters (:meth:`Context.and_where`,
:meth:`Context.evaluate_where`). Suites extend the context with the state of their worlds.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, Self, TypeVar, cast

import torch
from torch import Tensor

__all__ = ["Context"]

Evaluate = TypeVar("Evaluate", bound=Callable[..., Tensor])

FEW = 64
"""Number of elements up to which a Python loop is faster than a kernel."""


def any_true(where: Tensor) -> bool:
    """Return whether any element (B,) is true, without a kernel for few elements."""
    return True in where.tolist() if where.numel() <= FEW else bool(where.any())


def broadcast_slots(evaluate: Evaluate) -> Evaluate:
    """Extend a function of a context and slots (B,) to slots (B, ...) whose shapes broadcast.

    They are evaluated at once in a repeated context. The result is (B, ..., *) where that for slots
    (B,) is (B, *). Tensors come first; other arguments are passed on.
    """

    @wraps(evaluate)
    def broadcast(context: Context, *args: Any) -> Tensor:
        if args[0].ndim == 1:
            return evaluate(context, *args)
        slots = [each for each in args if isinstance(each, Tensor)]
        others = args[len(slots) :]
        if len(slots) > 1:
            slots = torch.broadcast_tensors(*slots)  # type: ignore[no-untyped-call]
        shape = slots[0].shape
        several = context.repeat(shape[1:].numel())
        answer = evaluate(several, *(each.flatten() for each in slots), *others)
        return answer.view(*shape, *answer.shape[1:])

    return cast(Evaluate, broadcast)


class Context:
    """``B`` environments with the same slots, and values cached until they change.

    Args:
        keys: Names of the ``K`` slots, the same in all environments.
        num_envs: Number of environments.
        device: Device of the results.
    """

    rewards = True
    """True if rewards and progress are computed; otherwise they may be 0."""

    def __init__(self, keys: Sequence[str], num_envs: int, device: torch.device) -> None:
        self.keys = tuple(keys)
        self.num_envs, self.device = num_envs, device
        self._rows = _arange(num_envs, 1, device)
        self._derived: dict[str, Any] = {}
        self._whole: Self | None = None

    @contextmanager
    def without_rewards(self) -> Iterator[None]:
        """Evaluate goals without rewards and progress inside the block."""
        before, self.rewards = self.rewards, False
        try:
            yield
        finally:
            self.rewards = before

    def mention(self, env: int, *slots: Tensor) -> list[str]:
        """Return the ``{obj:key}`` placeholders of slots (B,) and (B, n) in one environment; -1 is
        an empty entry of the latter.
        """
        every = ((each, k) for each in slots for k in each[env].reshape(-1).tolist())
        return [f"{{obj:{self.keys[k]}}}" for each, k in every if k >= 0 or each.ndim == 1]

    # ---- other batches ----

    def select(self, rows: Tensor) -> Self:
        """Return the environments ``rows`` (n,) as a batch of n.

        The batch is read-only and valid until something changes. Tensors of all slots (B, K, ...)
        are not selected; results about slots are.
        """
        return self._with_rows(self._rows[rows])

    def repeat(self, times: int) -> Self:
        """Return a batch of ``B * times`` whose row ``times * b + k`` is environment ``b``."""
        rows = _arange(self.num_envs, times, self.device)
        return self._with_rows(rows if self._whole is None else self._rows[rows])

    def _with_rows(self, rows: Tensor) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._whole = self._whole or self
        other._rows = rows
        other.num_envs = len(rows)
        return other

    def select_rows(self, values: Tensor) -> Tensor:
        """Select the rows of this batch from values (B, ...) of all environments."""
        if self._whole is None:
            return values
        if self._whole.num_envs == 1:
            return values.expand(self.num_envs, *values.shape[1:])
        return values.index_select(0, self._rows)

    # ---- only where it matters ----

    def and_where(self, where: Tensor, evaluate: Callable[..., Tensor], *slots: Tensor) -> Tensor:
        """Return ``where & evaluate(...)``, (B,) bool, evaluated only where ``where`` is true."""
        return self.evaluate_where(where, where, evaluate, *slots)

    def evaluate_where(
        self, where: Tensor, otherwise: Tensor, evaluate: Callable[..., Tensor], *slots: Tensor
    ) -> Tensor:
        """Evaluate costly values only in the rows where they matter.

        Args:
            where: Rows to evaluate, (B,) bool.
            otherwise: Values of the other rows, (B, ...).
            evaluate: Called with a context of the n rows and their ``slots``; returns (n, ...).
            slots: Slots, positions and the like, each (B, ...).

        Returns:
            (B, ...), of the type of ``otherwise``.
        """
        if not any_true(where):
            return otherwise
        if len(where) == 1 or len(rows := where.nonzero()[:, 0]) == len(where):
            return evaluate(self, *slots)
        values = evaluate(self.select(rows), *(each.index_select(0, rows) for each in slots))
        return otherwise.index_copy(0, rows, values)

    # ---- computed for all environments at once and kept until something changes ----

    def invalidate(self) -> None:
        """Drop all :meth:`cached` values; must be called after every change."""
        self._derived.clear()

    def cached(self, name: str, compute: Callable[[Self], Any]) -> Any:
        """Return the value under a name, computed once for all environments."""
        if name not in self._derived:
            self._derived[name] = compute(self._whole or self)
        return self._derived[name]


@lru_cache(maxsize=256)
def _arange(count: int, times: int, device: torch.device) -> Tensor:
    """Return the numbers below ``count``, each repeated ``times``, (count * times,)."""
    return torch.arange(count, device=device).repeat_interleave(times)
