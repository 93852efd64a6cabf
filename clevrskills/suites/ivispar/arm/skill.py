"""Skills of the board: sliding pieces, centering them, solving the puzzle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import torch
from sapien import Pose

from clevrskills.envs.scene_sampling import NeutralPose
from clevrskills.solvers.grasps import down
from clevrskills.solvers.motion import Actions, Arm, SkillFailed, yaw_of
from clevrskills.solvers.skills import solves
from clevrskills.suites.ivispar.arm.field import HEIGHT_M, SIZE, cell_at, place_of
from clevrskills.suites.ivispar.arm.predicates import RestsAtCell, upright
from clevrskills.suites.ivispar.board import Board, cell_name
from clevrskills.suites.ivispar.search import solve

CLEAR_M = 0.025
"""Clearance of the cups above the pieces."""
SLIDE_M = 0.003
"""Height of a piece above the board while it slides."""
SLOW_M, SLOW_PER_STEP_M = 0.005, 0.0025
"""Length of the slow final approach to a piece, and distance per control step there."""
OVERTRAVEL_M = 0.004
TRAVEL_PER_STEP_M, SLIDE_PER_STEP_M = 0.06, 0.025
RELEASE_GAP_M = 0.0005
"""Height above the board at which a piece is released."""
CENTERED_M = 0.015
"""Distance from the center of its cell, along each axis, above which a piece is centered."""
ATTEMPTS = 3
REST_STEPS = 20
MOST_MOVES = 60


def cells_of(arm: Arm) -> dict[int, int]:
    """Return the nearest cell of each piece, by slot.

    Raises:
        SkillFailed: A piece is off the board, or lies on its side.
    """
    found = {}
    for slot, body in enumerate(arm.env.layouts[0].bodies):
        if body is None or body.ghost:
            continue
        x, y, _ = arm.body_pose(slot).p
        cell = cell_at(float(x), float(y))
        if cell is None:
            raise SkillFailed(f"{body.name} is beside the board")
        if not bool(upright(arm.world.pose(torch.tensor([slot])))[0]):
            raise SkillFailed(f"{body.name} lies on its side")
        found[slot] = cell
    return found


def slide(arm: Arm, body: int, cell: int) -> Actions:
    """Pick a piece, unless it is held, and slide it in a straight line to the center of a cell.

    Raises:
        SkillFailed: The piece could not be picked, or was dropped on the way.
    """
    x, y = place_of(cell)
    for _ in range(ATTEMPTS):
        if arm.held >= 0 and arm.held != body:
            raise SkillFailed(f"another piece is held: {arm.world.keys[arm.held]}")
        start = arm.actions
        if arm.held != body:
            yield from _take(arm, body)
        if arm.held == body:
            arm.set_label("slide", f"Slide {arm.label(body)} to {cell_name(cell, SIZE)}")
            lift = SLIDE_M - float(arm.world.bottom(torch.tensor([body]))[0])
            yield from arm.straight(Pose([0, 0, lift]) * arm.pose, SLIDE_PER_STEP_M)
            offset = np.array([x, y]) - arm.body_pose(body).p[:2]
            yield from arm.straight(Pose([*offset, 0.0]) * arm.pose, SLIDE_PER_STEP_M)
        if arm.held == body:
            arm.set_label("place", f"Put {arm.label(body)} down")
            yield from _put_down(arm, body, x, y)
            return
        arm.vacuum = False
        yield from arm.rise(CLEAR_M)
        arm.mark_failed(start)
    raise SkillFailed(f"{arm.world.keys[body]} could not be taken in {ATTEMPTS} attempts")


def _tip(arm: Arm, x: float, y: float, z: float) -> Pose:
    """Return the end effector's pose with the cups at a position, pointing straight down."""
    home = NeutralPose.of(arm.env.robot_name, arm.env.setting).pose[0].double().numpy()
    turn = down(yaw_of(home[3:]))
    turn = turn if float(np.dot(turn, arm.pose.q)) >= 0 else -turn
    return Pose([x, y, z], turn) * Pose([0, 0, -arm.cup_tip_z_m])


def _take(arm: Arm, body: int) -> Actions:
    """Move above a piece, then down with the vacuum on until it is held."""
    arm.set_label("move", f"Move above {arm.label(body)}")
    arm.vacuum = False
    x, y, _ = (float(v) for v in arm.body_pose(body).p)
    top = float(arm.world.top(torch.tensor([body]))[0])
    travel_m = max(top, HEIGHT_M) + CLEAR_M
    height_m = float((arm.pose * Pose([0, 0, arm.cup_tip_z_m])).p[2])  # of the tips of the cups
    if height_m < travel_m:
        yield from arm.rise(travel_m - height_m)
    yield from arm.straight(_tip(arm, x, y, travel_m), TRAVEL_PER_STEP_M)
    arm.set_label("pick", f"Pick {arm.label(body)}")
    arm.vacuum = True
    yield from arm.straight(_tip(arm, x, y, top + SLOW_M))
    low = _tip(arm, x, y, top - OVERTRAVEL_M)
    for action in chain(arm.straight(low, SLOW_PER_STEP_M), arm.wait(2)):
        if arm.held >= 0:
            return
        yield action


def _put_down(arm: Arm, body: int, x: float, y: float) -> Actions:
    """Correct the position, lower and release a piece, retreat, and wait until it rests."""
    offset = np.array([x, y]) - arm.body_pose(body).p[:2]
    fall = RELEASE_GAP_M - float(arm.world.bottom(torch.tensor([body]))[0])
    yield from arm.straight(Pose([*offset, fall]) * arm.pose, SLOW_PER_STEP_M)
    yield from arm.wait(1)
    arm.vacuum = False
    yield from arm.wait(1)
    yield from arm.rise(CLEAR_M)
    index = torch.tensor([body])
    for action in arm.wait(REST_STEPS):
        if bool(arm.world.is_static(index)[0]):
            return
        yield action


def put_right(arm: Arm) -> Actions:
    """Put the held piece on a free cell, and center misplaced pieces, on the cell where a piece was
    when the board was last settled if possible.

    Raises:
        SkillFailed: A piece lies on its side or off the board, or there is no room.
    """
    for _ in range(SIZE * SIZE):
        cells = cells_of(arm)
        wrong = [slot for slot in cells if slot == arm.held or _off_center(arm, slot, cells[slot])]
        if not wrong:
            return
        slot = arm.held if arm.held in wrong else wrong[0]
        taken = {cell for other, cell in cells.items() if other != slot}
        wish = int(arm.env.rules_kept["cells"][0, slot])
        wish = wish if wish >= 0 else cells[slot]
        free = [cell for cell in range(SIZE * SIZE) if cell not in taken]
        apart = Board(SIZE).manhattan
        best = min(free, key=lambda c: (c != wish, apart[cells[slot]][c]))  # noqa: B023
        yield from slide(arm, slot, best)


def _off_center(arm: Arm, slot: int, cell: int) -> bool:
    """Return whether a piece is too far from the center of its cell."""
    away = np.abs(arm.body_pose(slot).p[:2] - np.array(place_of(cell)))
    return bool(away.max() > CENTERED_M)


def next_move(arm: Arm, goal: dict[int, int]) -> tuple[int, int] | None:
    """Return slot and target cell of the first move of a shortest solution; ``None``: the board is
    solved.

    Raises:
        SkillFailed: There is no solution.
    """
    cells, slots = cells_of(arm), list(goal)
    state = tuple(cells[slot] for slot in slots)
    if len({*state}) < len(state):
        raise SkillFailed("two pieces are on one cell")
    plan = solve(Board(SIZE), state, tuple(goal.values()))
    if plan is None:
        raise SkillFailed("there is no solution")
    if not plan:
        return None
    number, direction = plan[0]
    return slots[number], Board(SIZE).target(state, number, direction)


def play(arm: Arm) -> Iterator[np.ndarray]:
    """Solve the puzzle, replanning before each move.

    Raises:
        SkillFailed: The puzzle cannot be solved.
    """
    cells = arm.env.layouts[0].roles["goal"]
    goal = {slot: int(cell) for slot, cell in enumerate(cells) if cell >= 0}
    for _ in range(MOST_MOVES):
        yield from put_right(arm)
        move = next_move(arm, goal)
        if move is None:
            return
        yield from slide(arm, *move)
    raise SkillFailed(f"not solved after {MOST_MOVES} moves")


@solves(RestsAtCell)
def solve_rests_at_cell(arm: Arm, goal: RestsAtCell) -> Actions:
    """Solve the whole puzzle, as a single piece may be blocked."""
    yield from play(arm)
