"""``clevrskills render``: images of recorded episodes, by any cameras."""
