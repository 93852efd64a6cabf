"""Models of objects and fixtures: shapes, colors and joints, without a simulator."""
