"""Symbolic predicates of boards: a piece is on its cell; all pieces were listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from clevrskills.core.goal.context import Context
from clevrskills.core.goal.predicate import SymbolicPredicate
from clevrskills.suites.ivispar.board import cell_name


class BoardWorld(Context):
    """Batch of boards of one size.

    Args:
        names: Names of the pieces.
        size: Cells in a row.
        cells: Cell of each piece, (B, K) int.

    Attributes:
        listed: Quality of the listing in [0, 1], (B,).
    """

    def __init__(self, names: tuple[str, ...], size: int, cells: Tensor) -> None:
        super().__init__(names, len(cells), torch.device("cpu"))
        self.size, self.cells = size, cells
        self.listed = torch.zeros(len(cells))


@dataclass(frozen=True, eq=False)
class AtCell(SymbolicPredicate):
    """A piece is on a cell."""

    name: ClassVar[str] = "at_cell"
    piece: int  # number of the piece
    cell: int  # number of the cell

    def credit(self, world: BoardWorld) -> Tensor:
        return (world.cells[:, self.piece] == self.cell).float()

    def describe(self, world: BoardWorld, env: int = 0) -> str:
        return f"Move the {world.keys[self.piece]} to {cell_name(self.cell, world.size)}"

    def realize(self, world: BoardWorld, where: Tensor | None = None) -> None:
        rows = slice(None) if where is None else where
        world.cells[rows, self.piece] = self.cell


@dataclass(frozen=True, eq=False)
class Listed(SymbolicPredicate):
    """All pieces were listed with their cells, and nothing else; the credit is intersection over
    union of listed and present pieces, ``BoardWorld.listed``.
    """

    name: ClassVar[str] = "listed"

    def credit(self, world: BoardWorld) -> Tensor:
        return world.listed

    def describe(self, world: BoardWorld, env: int = 0) -> str:
        return "List every piece with its cell"

    def realize(self, world: BoardWorld, where: Tensor | None = None) -> None:
        world.listed[slice(None) if where is None else where] = 1.0
