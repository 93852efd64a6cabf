"""Planning backends: collision checking and RRT-Connect, by MPlib or by FCL."""
