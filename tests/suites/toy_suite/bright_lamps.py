"""Bright lamps: the suite of lamps with measures, tags, views, presets and published numbers."""

from dataclasses import replace

from lamps import LAMPS, Lamps, Room

from clevrskills.core.report import Measure, Pivot, PublishedTable
from clevrskills.core.suite import Preset

STATES = ("off", "plugged in", "on")


class BrightRoom(Room):
    def measures(self):
        lit = (self.world.lamps[0] == 2).float().mean().item()
        return {"lit": lit, "commands": self.elapsed_steps}

    def look(self, views):
        states = zip(LAMPS, self.world.lamps[0].tolist(), strict=True)
        return {"text": ", ".join(f"{lamp} {STATES[k]}" for lamp, k in states)}


class BrightLamps(Lamps):
    name, title, env = "bright_lamps", "Bright lamps", BrightRoom
    tasks = {
        key: replace(task, views={"text": "text"}, tags=("single",) if key == "lamps_one" else ())
        for key, task in Lamps.tasks.items()
    }

    def tags(self, start):
        colors = [LAMPS[k] for k in start["wanted"]]
        return {"wanted": len(colors), "powered": sum(start["lamps"]), "colors": colors}

    def report(self):
        commands = Measure("commands", "commands", digits=2, episodes="solved")
        columns, rows = ("model", "success %"), (("Electrician", 97.5),)
        published = PublishedTable("lamps", columns, rows, "Other lamps.", "a paper")
        return Measure("lit", "lamps lit", "share"), commands, Pivot("wanted", "powered"), published

    def presets(self):
        blind = {"feedback": "none", "view": ("text",), "stop": "limit", "interface": "text"}
        return {"blind": Preset("Nothing is said of turns.", blind)}
