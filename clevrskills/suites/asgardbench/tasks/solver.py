"""Solver of the household: plans from any state, with full knowledge of it."""

from __future__ import annotations

from collections.abc import Sequence

from clevrskills.core.goal.predicate import Predicate
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.asgardbench.predicates import met_now
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.rules.verbs import TOPS, apply
from clevrskills.suites.asgardbench.rules.world import SHUTTING, Entity, Household
from clevrskills.suites.asgardbench.tasks.instances import Variant

RESTS = (*TOPS, "CoffeeTable", "TVStand", "Shelf", "Sofa", "Cabinet", "Fridge")
"""Fixtures to put a held object on, in order of preference."""
DEVICES = ("CoffeeMachine", "Toaster", "StoveBurner", "Faucet", "Microwave")
"""Devices that are switched off after use."""
_CLOSED_AT_LAST = ("Fridge", "Microwave", "Cabinet", "Drawer")


class StuckError(ClevrSkillsError):
    """Refused step of a plan."""


def solve(task: str, variant: Variant, world: Household) -> list[str]:
    """Return the remaining plan for an instance, as commands.

    Args:
        task: The family.
        variant: The instance.
        world: Current state, which is not changed.

    Raises:
        StuckError: A step was refused.
    """
    return solved(task, variant, world)[0]


def solved(task: str, variant: Variant, world: Household) -> tuple[list[str], Household, bool]:
    """Return the plan, the state at its end, and whether the solver had to improvise: the usual
    place was full, or an opened door was out of sight.
    """
    solver = _Solver(world.copy())
    solver.switch_off()
    getattr(solver, _METHODS.get(task, task))(variant)
    solver.tidy()
    return solver.plan, solver.world, solver.improvised


def shorten(plan: Sequence[str], world: Household, goal: Predicate) -> list[str]:
    """Drop commands of a plan until each one is necessary for the goal.

    Args:
        plan: Commands that reach the goal.
        world: Initial state.
        goal: The goal.
    """
    plan, place = list(plan), 0
    before = [world.copy()]  # state before each command, up to ``place``
    while place < len(plan):
        rest = plan[place + 1 :]
        reached = reaches(rest, before[place], goal)
        if reached:
            plan = plan[:place] + rest[:reached]
            place = max(place - 1, 0)
            del before[place + 1 :]
            continue
        after = before[place].copy()
        apply(after, *plan[place].split())
        before.append(after)
        place += 1
    return plan


def reaches(plan: Sequence[str], world: Household, goal: Predicate) -> int:
    """Return the number of commands after which the goal holds; 0: never, or one is refused."""
    house = world.copy()
    for done, command in enumerate(plan, 1):
        if not apply(house, *command.split()).ok:
            return 0
        if met_now(goal, house):
            return done
    return 0


_METHODS = dict.fromkeys(("put_away_food", "put_away_dishes", "put_away_silverware"), "put_away")


class _Solver:
    """Procedures of the solver, each named after its result."""

    def __init__(self, world: Household) -> None:
        self.world = world
        self.plan: list[str] = []
        self.rests: tuple[str, ...] = RESTS
        self.improvised = False

    def do(self, verb: str, kind: str) -> None:
        result = apply(self.world, verb, kind)
        self.plan.append(f"{verb} {kind}")
        if not result.ok:
            raise StuckError(f"{verb} {kind}: {result.code}, after {self.plan[-6:]}")

    def one(self, kind: str) -> Entity:
        """Return an entity of a type, preferably one that does not serve the goal yet."""
        there = sorted(self.world.of_type(kind), key=self.world.serves)
        if not there:
            raise StuckError(f"there is no {kind}")
        return there[0]

    def inside(self, kind: str, container: str) -> bool:
        """Return whether an object of a type is directly in or on a container of another type."""
        return any(self.world.parent_type(e) == container for e in self.world.of_type(kind))

    def find(self, kind: str) -> Entity:
        """Look at an entity, unless that was the last command."""
        used = self.world.entities.get(self.world.last_used)
        if self.world.last_verb != "FIND" or used is None or used.type != kind:
            self.do("FIND", kind)
        return self.world.entities[self.world.found[kind]]

    def see(self, kind: str) -> None:
        """Look at an entity if it is not visible."""
        if not self.world.visible(self.one(kind)):
            self.find(kind)

    # ---- hand ----

    def pick_up(self, kind: str) -> None:
        """Pick up an object, and close what was opened for it."""
        if self.world.held_type == kind:
            return
        self.free_hand()
        item = self.find(kind)
        shut = self.world.shut_in(item)
        if shut is not None:
            self.do("OPEN", shut.type)
        around = next((p for p in self.world.parents(item) if p.type in SHUTTING), None)
        self.do("PICKUP", kind)
        if around is not None and around.open:
            self.do("CLOSE", around.type)

    def free_hand(self) -> None:
        """Put down the held object."""
        if self.world.held is not None:
            self.put_on_one_of(self.rests)

    def put_on_one_of(self, kinds: Sequence[str], usual: str = "") -> None:
        """Put the held object in or on the first of several types that has room; another than the
        usual one is improvised.
        """
        item = self.world.held
        assert item is not None
        for kind in kinds:
            there = self.world.of_type(kind)
            fits = kind in catalogue().fits[item.type]
            if fits and any(self.world.free_slot(each, item) is not None for each in there):
                self.improvised |= bool(usual) and kind != usual
                self.put(kind)
                return
        raise StuckError(f"there is no place for the {item.type}")

    def set_down(self, kind: str) -> None:
        """Move an object to a free place, preferably a counter."""
        self.pick_up(kind)
        self.put_on_one_of(self.rests, "CounterTop")

    def put(self, kind: str) -> None:
        """Put the held object in or on a container, opened and closed if necessary."""
        target = self.find(kind)
        if target.shut:
            self.do("OPEN", kind)
        self.do("PUT", kind)
        self.close(kind)

    def close(self, kind: str) -> None:
        """Close all open entities of a type, found by their content if they are not visible."""
        while kind in SHUTTING and (left := [e for e in self.world.of_type(kind) if e.open]):
            inside = self.world.contents(left[0])
            if inside and not any(map(self.world.visible, left)):
                self.do("FIND", inside[0].type)
                self.improvised = True
            self.do("CLOSE", kind)

    def put_into(self, item: str, container: str) -> None:
        """Put an object into a container, washed first if it is dirty."""
        if container in catalogue().dirtyable:
            self.wash(container)
        self.pick_up(item)
        self.put(container)

    def to_top(self, kind: str) -> None:
        """Move an object onto a counter or table."""
        if not any(self.inside(kind, top) for top in TOPS):
            self.pick_up(kind)
            self.put_on_one_of(TOPS, "CounterTop")

    # ---- washing ----

    def wash(self, kind: str, leave: bool = False) -> None:
        """Wash a dirty object in the sink, and put it on a counter or leave it there."""
        if not self.one(kind).dirty:
            return
        for inside in list(self.world.contents(self.one(kind))):
            self.set_down(inside.type)
        self.pour_out(kind)
        self.clear_basin(kind)
        self.serve(kind, "SinkBasin")
        self.pick_up("DishSponge")
        self.find("Faucet")
        self.do("TOGGLE_ON", "Faucet")
        self.do("CLEAN", kind)
        self.do("TOGGLE_OFF", "Faucet")
        self.free_hand()
        if not leave:
            self.set_down(kind)

    def pour_out(self, kind: str) -> None:
        """Empty a vessel."""
        if self.one(kind).filled:
            self.find(kind)
            self.do("EMPTY", kind)

    def clear_basin(self, keep: str) -> None:
        """Take everything out of the sink."""
        for item in list(self.world.contents(self.one("SinkBasin"))):
            if item.type != keep:
                self.set_down(item.type)

    def dishes(self, variant: Variant) -> None:
        """Wash the dishes that start dirty."""
        for kind in variant.dirty:
            self.wash(kind)

    # ---- devices ----

    def run(self, device: str) -> None:
        """Switch a device on and off again."""
        self.see(device)
        if device == "Microwave" and self.one(device).open:
            self.do("CLOSE", device)
        self.do("TOGGLE_ON", device)
        self.do("TOGGLE_OFF", device)

    def switch_off(self) -> None:
        """Switch off all devices."""
        for kind in DEVICES:
            if any(device.on for device in self.world.of_type(kind)):
                self.find(kind)
                self.do("TOGGLE_OFF", kind)

    def tidy(self) -> None:
        """Close everything that is open and visible after a search."""
        for kind in _CLOSED_AT_LAST:
            if any(each.open for each in self.world.of_type(kind)):
                self.find(kind)
                there = [e for e in self.world.of_type(kind) if self.world.visible(e)]
                for _ in [each for each in there if each.open]:
                    self.do("CLOSE", kind)

    # ---- food ----

    def slice(self, kind: str) -> None:
        """Slice a food on a counter."""
        if self.world.of_type(catalogue().slices[kind]):
            return
        self.to_top(kind)
        self.pick_up("Knife")
        self.find(kind)
        self.do("SLICE", kind)
        self.free_hand()

    def heat(self, kind: str, device: str, pan: str = "") -> None:
        """Cook a food in a device, or in a pan on it."""
        if any(piece.cooked for piece in self.world.of_type(kind)):
            return
        if pan:
            self.serve(kind, pan)
        self.serve(pan or kind, device)
        self.run(device)

    def serve(self, kind: str, container: str) -> None:
        """Put an object into a container, unless it holds one of the type."""
        if not self.inside(kind, container):
            self.put_into(kind, container)

    def cook_potato(self, variant: Variant) -> None:
        self.dishes(variant)
        self.heat("Potato", "Microwave")
        self.serve("Potato", "Bowl")

    def cook_egg(self, variant: Variant) -> None:
        self.dishes(variant)
        if not self.world.of_type("EggCracked"):
            self.serve("Egg", "Pan")
            self.see("Egg")
            self.do("SLICE", "Egg")
        self.heat("EggCracked", "StoveBurner", "Pan")
        self.serve("EggCracked", "Plate")

    def cook_potato_slice(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice("Potato")
        self.heat("PotatoSliced", "StoveBurner", "Pan")
        self.serve("PotatoSliced", "Plate")

    def cook_toast(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice("Bread")
        self.heat("BreadSliced", "Toaster")
        self.serve("BreadSliced", "Plate")

    def distribute(self, variant: Variant) -> None:
        self.dishes(variant)
        self.slice(variant.food)
        for dish in variant.objects:
            self.serve(catalogue().slices[variant.food], dish)

    # ---- coffee ----

    def coffee(self, variant: Variant) -> None:
        if ("DRINK", "coffee") not in self.world.events:
            self.brew()
            self.pick_up("Mug")
            self.do("DRINK", "Mug")
        self.wash("Mug")
        self.pour_out("Mug")
        self.store("Mug")

    def brew(self) -> None:
        """Fill the mug with coffee."""
        mug = self.one("Mug")
        if mug.filled == "coffee" and not mug.dirty:
            return
        self.wash("Mug")
        self.pour_out("Mug")
        self.serve("Mug", "CoffeeMachine")
        self.run("CoffeeMachine")

    # ---- tidying ----

    def store(self, kind: str) -> None:
        """Put an object into its home, else onto a counter."""
        homes = catalogue().homes.get(kind, ((), ()))[0]
        if any(self.inside(kind, home) for home in homes):
            return
        self.pick_up(kind)
        usual = next((home for home in homes if self.world.of_type(home)), "CounterTop")
        self.put_on_one_of((*homes, *self.rests), usual)

    def put_away(self, variant: Variant) -> None:
        for kind in variant.objects:
            self.wash(kind, leave=True)
            self.store(kind)

    def set_table(self, variant: Variant) -> None:
        self.rests = tuple(each for each in RESTS if each != "DiningTable")
        for item in list(self.world.contents(self.one("DiningTable"))):
            if item.type not in ("Mug", "Plate", "BreadSliced"):
                self.store(item.type)
        self.dishes(variant)
        self.brew()
        for kind in ("Mug", "Plate"):
            self.serve(kind, "DiningTable")
        self.cook_toast(Variant(variant.label))

    # ---- other rooms ----

    def clean_mirror(self, variant: Variant) -> None:
        mirror = self.one("Mirror")
        if not mirror.sprayed or ("SPRAY", "Mirror") not in self.world.events:
            self.pick_up("SprayBottle")
            self.find("Mirror")
            self.do("SPRAY", "Mirror")
        self.pick_up("Cloth")
        self.find("Mirror")
        self.do("CLEAN", "Mirror")

    def turn_on_tv(self, variant: Variant) -> None:
        self.pick_up("RemoteControl")
        self.find("Television")
        self.do("TOGGLE_ON", "Television")
