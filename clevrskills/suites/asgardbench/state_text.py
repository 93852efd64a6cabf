"""Text view of the visible objects, their places and states."""

from __future__ import annotations

from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.world import HAND, Entity, Household

NOTHING = "nothing"


def describe(house: Household) -> str:
    """Return the view ``text_state``: the held object, then a line for each visible entity, e.g.
    ``Plate in CounterTop: dirty`` (in or on).
    """
    lines = [f"In hand: {house.held_type or NOTHING}", "In view:"]
    lines += [f"- {line(house, e)}" for e in house.entities.values() if house.visible(e)]
    return "\n".join(lines)


def line(house: Household, entity: Entity) -> str:
    """Return the description of an entity."""
    states = [name for name in ("dirty", "cooked", "sprayed") if getattr(entity, name)]
    if entity.filled:
        states.append(f"filled with {entity.filled}")
    if entity.type in catalogue().openable:
        states.append("open" if entity.open else "closed")
    if entity.type in catalogue().toggleable:
        states.append("on" if entity.on else "off")
    parent = "hand" if entity.parent == HAND else house.parent_type(entity)
    where = f" in {parent}" if parent else ""
    return f"{entity.type}{where}{': ' if states else ''}{', '.join(states)}"
