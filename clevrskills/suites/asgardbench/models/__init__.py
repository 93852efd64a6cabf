"""Models: the shapes, colors and moving parts of all things and fixtures; no simulator."""
