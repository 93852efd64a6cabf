"""Training of learned policies on demonstrations: training loop, settings, DAgger."""
