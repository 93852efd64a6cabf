"""Words for the 33 tasks: commands that skills carry out, and the scene as text."""
