"""The catalogue of objects.

A new object is a table in `catalogue.toml`, a row in `flat`, or, if it is computed, a function with
`@entry`, and its name in the split (`clevrskills.assets.splits`) that is to use it.

Builders draw in millimetres, x to the right and y away from the viewer. An object stands on its
flat underside and offers, seen from above, a flat place 33 mm wide for a suction cup; its parts
touch but do not overlap. Where it is drawn does not matter: the origin becomes the centre of the
bounding box.
"""

# ruff: noqa: F401 (the modules enter their objects into the catalogue)
from clevrskills.assets.objects import computed, flat
from clevrskills.assets.objects.registry import Item, catalogue, fittings
