"""Playing episodes by hand: at the terminal, from a script, on a page."""
