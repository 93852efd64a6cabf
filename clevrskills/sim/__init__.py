"""The simulation that predicates stand on: world, bodies, robots, cameras, images."""
