"""RoboFlamingo."""
