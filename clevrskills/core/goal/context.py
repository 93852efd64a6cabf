"""Context of goals: parallel environments that are evaluated together.

Every answer is a tensor whose first dimension is the environment, ``(B, ...)``. A context also
gives the same answers for other batches: some of the environments (:meth:`Context.select`), each
of them several times (:meth:`Context.repeat`, :func:`broadcast_slots`), or only those in which the
answer matters (:meth:`Context.and_where`, :meth:`Context.evaluate_where`). A suite adds what its
goals are about.
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
"""Number of elements up to which reading them one by one is cheaper than a kernel."""


def any_true(where: Tensor) -> bool:
    """Return whether any element (B,) is true; avoids the launch of a kernel for few elements."""
    return True in where.tolist() if where.numel() <= FEW else bool(where.any())


def broadcast_slots(evaluate: Evaluate) -> Evaluate:
    """Let a function of a context and slots (B,) take slots (B, ...) of shapes that broadcast.

    They are evaluated at once, as slots of a repeated context; the answer is (B, ..., *), where it
    is (B, *) for slots (B,). Tensors come first; other arguments are passed on.
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
    """``B`` environments with the same slots, and what was computed since they last changed.

    Args:
        keys: Names of the ``K`` slots, the same in all environments.
        num_envs: Number of environments.
        device: Device of the answers.
    """

    rewards = True
    """True if rewards and progress matter; if not, what only they need may be 0."""

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
        """Return the ``{obj:key}`` placeholders of slots (B,) and (B, n) for one environment; of
        the latter, -1 stands for none.
        """
        every = ((each, k) for each in slots for k in each[env].reshape(-1).tolist())
        return [f"{{obj:{self.keys[k]}}}" for each, k in every if k >= 0 or each.ndim == 1]

    # ---- other batches ----

    def select(self, rows: Tensor) -> Self:
        """Return the environments with the numbers ``rows`` (n,), in that order, as a batch of n.

        It must be read only, and only until something changes. Tensors of all slots (B, K, ...) are
        not selected; answers about slots are.
        """
        return self._with_rows(self._rows[rows])

    def repeat(self, times: int) -> Self:
        """Return every environment ``times`` over, as a batch of ``B * times``; see :meth:`select`.

        Row ``times * b + k`` is environment ``b``.
        """
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
        """Return the rows of this batch from values (B, ...) of all environments, such as those of
        :meth:`cached`.
        """
        if self._whole is None:
            return values
        if self._whole.num_envs == 1:
            return values.expand(self.num_envs, *values.shape[1:])
        return values.index_select(0, self._rows)

    # ---- only where it matters ----

    def and_where(self, where: Tensor, evaluate: Callable[..., Tensor], *slots: Tensor) -> Tensor:
        """Return ``where & evaluate(...)``, (B,) bool, calling ``evaluate`` only for the rows in
        which ``where`` (B,) is true; see :meth:`evaluate_where`.
        """
        return self.evaluate_where(where, where, evaluate, *slots)

    def evaluate_where(
        self, where: Tensor, otherwise: Tensor, evaluate: Callable[..., Tensor], *slots: Tensor
    ) -> Tensor:
        """Return costly values for the rows in which they matter, and others elsewhere.

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
        if len(where) == 1:
            return evaluate(self, *slots)
        rows = where.nonzero()[:, 0]
        if len(rows) == len(where):
            return evaluate(self, *slots)
        values = evaluate(self.select(rows), *(each.index_select(0, rows) for each in slots))
        return otherwise.index_copy(0, rows, values)

    # ---- computed for all environments at once and kept until something changes ----

    def invalidate(self) -> None:
        """Drop everything :meth:`cached`; must be called whenever something has changed."""
        self._derived.clear()

    def cached(self, name: str, compute: Callable[[Self], Any]) -> Any:
        """Return the value under a name; compute it, of all environments, if it is not there."""
        if name not in self._derived:
            self._derived[name] = compute(self._whole or self)
        return self._derived[name]


@lru_cache(maxsize=256)
def _arange(count: int, times: int, device: torch.device) -> Tensor:
    """Return the numbers from 0 to ``count``, each ``times`` over, (count * times,)."""
    return torch.arange(count, device=device).repeat_interleave(times)
