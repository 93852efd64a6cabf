"""LoHoRavens suite: long-horizon rearrangement of blocks from one sentence."""
