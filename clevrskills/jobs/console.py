"""Console of the command line: what its tables and sentences are printed on."""

from rich.console import Console

FILE_WIDTH = 1000
"""Characters that a line may have where there is no terminal."""


def console(stderr: bool = False) -> Console:
    """Return a console. On a narrow terminal the cells of tables are folded; in a file, a pipe or
    a notebook nothing is.

    Args:
        stderr: Whether it prints to the standard error.
    """
    made = Console(stderr=stderr, force_jupyter=False)
    if not made.is_terminal:
        made.width = FILE_WIDTH
    return made
