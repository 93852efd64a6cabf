"""Tables of texts on a terminal."""

from __future__ import annotations

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

TEXT_COLUMNS = ("level", "task", "split", "run", "model", "ended by")
FILE_WIDTH = 400
"""Characters that a line may have where there is no terminal."""


def print_table(frame: pd.DataFrame, title: str = "") -> None:
    """Print a table; on a narrow terminal its cells are folded, in a file nothing is."""
    table = Table(box=None, pad_edge=False, title=title or None, title_justify="left")
    for column in frame.columns:
        table.add_column(
            Text(column), justify="left" if column in TEXT_COLUMNS else "right", overflow="fold"
        )
    for row in frame.to_numpy().tolist():
        table.add_row(*(Text(str(cell)) for cell in row))  # its brackets are no markup
    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    console.print(table)
    console.print()


def print_lines(*lines: str) -> None:
    """Print sentences."""
    for line in lines:
        Console().print(Text(line), soft_wrap=True)
