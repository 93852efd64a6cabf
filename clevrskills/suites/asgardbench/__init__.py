"""AsgardBench: household tasks whose plan must be repaired from observations."""

TASKS = (
    "coffee",
    "cook_potato",
    "cook_egg",
    "cook_toast",
    "cook_potato_slice",
    "put_away_food",
    "put_away_dishes",
    "put_away_silverware",
    "distribute",
    "set_table",
    "clean_mirror",
    "turn_on_tv",
)
"""Names of the tasks."""
