"""Half a suite: it lacks most members."""

from clevrskills.core.suite import Suite


class HalfLamps(Suite):
    name, title = "half_lamps", "Half lamps"

    def oracle(self, env, interface=None):
        return None

    def read_episode(self, data):
        return None
