"""Interfaces of LoHoRavens: pick and place by poses, by pixels of the map, or in words."""
