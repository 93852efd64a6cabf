"""Console on which commands print tables and messages."""

from rich.console import Console

FILE_WIDTH = 1000
"""Line width in characters without a terminal."""


def console(stderr: bool = False) -> Console:
    """Return a console on standard output or error; table cells are folded on a terminal only."""
    made = Console(stderr=stderr, force_jupyter=False)
    if not made.is_terminal:
        made.width = FILE_WIDTH
    return made
