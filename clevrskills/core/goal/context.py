"""Context of goals: parallel environments that are asked about together.

Every answer is a tensor whose first dimension is the environment, ``(B, ...)``. A context also
gives the same questions in other batches: some of the environments (:meth:`Context.select`), each
of them several times (:meth:`Context.repeat`), or those only in which the answer matters
(:meth:`Context.also`, :meth:`Context.sparse`). A suite adds what its goals are about.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Self

import torch
from torch import Tensor

__all__ = ["Context"]

FEW = 64
"""Up to how many answers are cheaper to look at one by one."""


def anywhere(where: Tensor) -> bool:
    """Whether any of some answers (B,) is yes; of a few, without the start of a kernel."""
    return True in where.tolist() if where.numel() <= FEW else bool(where.any())


class Context:
    """``B`` environments with the same slots, and what was computed of them since they changed.

    Args:
        keys: Names of the ``K`` slots, the same in all environments.
        num_envs: Number of environments.
        device: Where the answers are.
    """

    rewards = True
    """Whether rewards and progress matter; if not, what only they ask for may be told as 0."""

    def __init__(self, keys: Sequence[str], num_envs: int, device: torch.device) -> None:
        self.keys = tuple(keys)
        self.num_envs, self.device = num_envs, device
        self._rows = _each(num_envs, 1, device)
        self._derived: dict[str, Any] = {}
        self._whole: Self | None = None

    @contextmanager
    def without_rewards(self) -> Iterator[None]:
        """Within it, rewards and progress do not matter."""
        before, self.rewards = self.rewards, False
        try:
            yield
        finally:
            self.rewards = before

    # ---- other batches ----

    def select(self, rows: Tensor) -> Self:
        """Some of the environments, each as often as its number is among the rows (n,): as if they
        were all.

        It is to be asked only, before anything changes. What it tells of all slots at once
        (B, K, ...) is not selected; the questions about a slot are.
        """
        return self._chosen(self._rows[rows])

    def repeat(self, times: int) -> Self:
        """Every environment several times over, to be asked about several slots at once:
        environment ``times * b + k`` is environment ``b``; see :meth:`select`. Asked about
        ``slots.flatten()``, what it tells is ``.view_as(slots)``, (B, times).
        """
        rows = _each(self.num_envs, times, self.device)
        return self._chosen(rows if self._whole is None else self._rows[rows])

    def _chosen(self, rows: Tensor) -> Self:
        """Some environments of the whole, by their rows."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._whole = self._whole or self
        other._rows = rows
        other.num_envs = len(rows)
        return other

    def _of_each(self, values: Tensor) -> Tensor:
        """Values (B, ...) of all environments, for those that were selected."""
        if self._whole is None:
            return values
        if self._whole.num_envs == 1:
            return values.expand(self.num_envs, *values.shape[1:])
        return values.index_select(0, self._rows)

    def of_each(self, values: Tensor) -> Tensor:
        """Values (B, ...) that were computed :meth:`once`, of all environments, for these."""
        return self._of_each(values)

    # ---- only where it matters ----

    def also(self, where: Tensor, ask: Callable[..., Tensor], *about: Tensor) -> Tensor:
        """``where`` and an answer that is costly: asked only where it matters, see
        :meth:`sparse`, (B,) bool.
        """
        return self.sparse(where, where, ask, *about)

    def sparse(
        self, where: Tensor, otherwise: Tensor, ask: Callable[..., Tensor], *about: Tensor
    ) -> Tensor:
        """What is costly to tell, only in the environments in which it matters.

        Args:
            where: In which, (B,) bool.
            otherwise: What to tell of the others, (B, ...).
            ask: Called with a context of n of the environments, and what it is about there; gives
                (n, ...).
            about: Slots, positions and the like, each (B, ...).

        Returns:
            (B, ...), of the type of ``otherwise``.
        """
        if not anywhere(where):
            return otherwise
        if len(where) == 1:
            return ask(self, *about)
        rows = where.nonzero()[:, 0]
        if len(rows) == len(where):
            return ask(self, *about)
        answers = ask(self.select(rows), *(values.index_select(0, rows) for values in about))
        return otherwise.index_copy(0, rows, answers)

    # ---- computed for all environments at once and kept until something changes ----

    def moved(self) -> None:
        """Forget what was read and computed; to be called whenever something changed."""
        self._derived.clear()

    def once(self, name: str, compute: Callable[[Self], Any]) -> Any:
        """What was computed under a name since something changed last; else it is computed now, of
        all environments.
        """
        if name not in self._derived:
            self._derived[name] = compute(self._whole or self)
        return self._derived[name]


@lru_cache(maxsize=256)
def _each(count: int, times: int, device: torch.device) -> Tensor:
    """The numbers from 0 to ``count``, each several times."""
    return torch.arange(count, device=device).repeat_interleave(times)
