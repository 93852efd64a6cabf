"""Drawing of the household: things and fixtures in every state, rooms, first-person images."""
