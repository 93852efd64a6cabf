"""Solver: the commands that solve an instance, from perfect knowledge of the world."""

from __future__ import annotations

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.verbs import TOPS, apply
from clevrskills.suites.asgardbench.rules.world import SHUTTING, Entity, World
from clevrskills.suites.asgardbench.tasks.instances import Variant


class StuckError(ClevrSkillsError):
    """A step of a plan was refused."""


def solve(task: str, variant: Variant, world: World) -> list[str]:
    """A plan for an instance, as commands.

    Args:
        task: The family.
        variant: The instance.
        world: Its start; it stays as it is.

    Raises:
        StuckError: A step was refused.
    """
    solver = _Solver(world.copy())
    getattr(solver, _METHODS.get(task, task))(variant)
    return solver.plan


_METHODS = {
    **dict.fromkeys(("put_away_food", "put_away_dishes", "put_away_silverware"), "put_away"),
}


class _Solver:
    """Procedures that each bring about what they are named after."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan: list[str] = []

    def do(self, verb: str, kind: str) -> None:
        result = apply(self.world, verb, kind)
        self.plan.append(f"{verb} {kind}")
        if not result.ok:
            raise StuckError(f"{verb} {kind}: {result.code}, after {self.plan[-6:]}")

    def one(self, kind: str) -> Entity:
        """The instance of a type that does not yet serve the goal, if there is one."""
        there = sorted(self.world.of_type(kind), key=self.world.serves)
        if not there:
            raise StuckError(f"there is no {kind}")
        return there[0]

    # ---- hand ----

    def pick_up(self, kind: str) -> None:
        """Hold a thing; what was opened for it is closed."""
        held = self.world.held
        if held is not None and held.type == kind:
            return
        self.free_hand()
        self.do("FIND", kind)
        thing = self.world.entities[self.world.found[kind]]
        shut = self.world.shut_in(thing)
        if shut is not None:
            self.do("OPEN", shut.type)
        around = next((p for p in self.world.parents(thing) if p.type in SHUTTING), None)
        self.do("PICKUP", kind)
        if around is not None and around.open:
            self.do("CLOSE", around.type)

    def free_hand(self) -> None:
        """Lay down what is held."""
        if self.world.held is not None:
            self.put("CounterTop")

    def put(self, kind: str) -> None:
        """Put what is held in or onto something; a door that was opened for it is closed."""
        self.do("FIND", kind)
        target = self.world.entities[self.world.found[kind]]
        if kind in SHUTTING and not target.open:
            self.do("OPEN", kind)
        self.do("PUT", kind)
        while kind in SHUTTING and any(e.open for e in self.world.of_type(kind)):
            self.do("CLOSE", kind)

    def put_into(self, thing: str, container: str) -> None:
        """Put a thing into something clean."""
        self.pick_up(thing)
        self.put(container)

    def to_top(self, kind: str) -> None:
        """Bring a thing onto a counter or table."""
        thing = self.one(kind)
        parent = self.world.entities.get(thing.parent)
        if parent is None or parent.type not in TOPS:
            self.put_into(kind, "CounterTop")

    # ---- washing ----

    def wash(self, kind: str) -> None:
        """Clean a thing, in the sink, and bring it onto a counter."""
        if not self.one(kind).dirty:
            return
        for inside in list(self.world.contents(self.one(kind))):
            self.put_into(inside.type, "CounterTop")
        if self.one(kind).filled:
            self.do("FIND", kind)
            self.do("EMPTY", kind)
        self.clear_basin(kind)
        self.put_into(kind, "SinkBasin")
        self.pick_up("DishSponge")
        self.do("FIND", "Faucet")
        self.do("TOGGLE_ON", "Faucet")
        self.do("CLEAN", kind)
        self.do("TOGGLE_OFF", "Faucet")
        self.free_hand()
        self.put_into(kind, "CounterTop")

    def clear_basin(self, keep: str) -> None:
        """Take everything out of the sink."""
        basin = self.one("SinkBasin")
        for thing in list(self.world.contents(basin)):
            if thing.type != keep:
                self.put_into(thing.type, "CounterTop")

    def dishes(self, variant: Variant) -> None:
        """Wash what starts dirty."""
        for kind in variant.dirty:
            self.wash(kind)

    # ---- food ----

    def slice(self, kind: str) -> None:
        """Slice a food on a counter."""
        self.to_top(kind)
        self.pick_up("Knife")
        self.do("FIND", kind)
        self.do("SLICE", kind)
        self.free_hand()

    def run(self, device: str) -> None:
        """Switch a device on and off again."""
        self.do("TOGGLE_ON", device)
        self.do("TOGGLE_OFF", device)

    def coffee(self, variant: Variant) -> None:
        self.brew()
        self.pick_up("Mug")
        self.do("DRINK", "Mug")
        self.wash("Mug")
        self.put_into("Mug", "Cabinet")

    def brew(self) -> None:
        """Have the mug filled with coffee."""
        if self.one("Mug").filled == "coffee" and not self.one("Mug").dirty:
            return
        self.wash("Mug")
        self.put_into("Mug", "CoffeeMachine")
        self.run("CoffeeMachine")

    def cook_potato(self, variant: Variant) -> None:
        self.dishes(variant)
        self.put_into("Potato", "Microwave")
        self.run("Microwave")
        self.put_into("Potato", "Bowl")

    def cook_egg(self, variant: Variant) -> None:
        self.dishes(variant)
        self.put_into("Egg", "Pan")
        self.do("SLICE", "Egg")
        self.fry("EggCracked")

    def cook_potato_slice(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice("Potato")
        self.put_into("PotatoSliced", "Pan")
        self.fry("PotatoSliced")

    def fry(self, kind: str) -> None:
        """Cook what is in the pan and serve it."""
        self.put_into("Pan", "StoveBurner")
        self.run("StoveBurner")
        self.put_into(kind, "Plate")

    def cook_toast(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice("Bread")
        self.put_into("BreadSliced", "Toaster")
        self.run("Toaster")
        self.put_into("BreadSliced", "Plate")

    def distribute(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice(variant.food)
        for dish in variant.objects:
            self.put_into(catalogue().slices[variant.food], dish)

    # ---- tidying ----

    def put_away(self, variant: Variant) -> None:
        self.dishes(variant)
        for kind in variant.objects:
            homes = catalogue().homes[kind][0]
            parent = self.world.entities.get(self.one(kind).parent)
            if parent is not None and parent.type in homes:
                continue
            there = [home for home in homes if self.world.of_type(home)]
            self.put_into(kind, there[0])

    def set_table(self, variant: Variant) -> None:
        table = self.one("DiningTable")
        for thing in list(self.world.contents(table)):
            self.put_into(thing.type, "CounterTop")
        self.dishes(variant)
        self.brew()
        self.put_into("Mug", "DiningTable")
        self.put_into("Plate", "DiningTable")
        self.cook_toast(Variant(variant.label))

    # ---- other rooms ----

    def clean_mirror(self, variant: Variant) -> None:
        self.pick_up("SprayBottle")
        self.do("FIND", "Mirror")
        self.do("SPRAY", "Mirror")
        self.pick_up("Cloth")
        self.do("FIND", "Mirror")
        self.do("CLEAN", "Mirror")

    def turn_on_tv(self, variant: Variant) -> None:
        self.pick_up("RemoteControl")
        self.do("FIND", "Television")
        self.do("TOGGLE_ON", "Television")
