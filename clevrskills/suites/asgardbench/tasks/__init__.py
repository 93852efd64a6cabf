"""Tasks of the household: rooms, instances, goals, and how they are solved."""
