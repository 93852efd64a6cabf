"""Training of learned policies on demonstrations: the loop, its state, DAgger."""
