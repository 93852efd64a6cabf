"""Drawing: images of a household as the agent sees it."""
