"""Tables of the skills that achieve subgoals, and of the motions that skills consist of."""

from __future__ import annotations

from typing import NamedTuple


class Skill(NamedTuple):
    """Skill of a subgoal.

    Attributes:
        target: Where perception locates the target: ``crop``, a body; ``image``, a place, or a body
            outside the range of crops; ``key-step``, a pose of the end effector; empty: nowhere.
        grasped: Whether perception gives the grasp point of the body.
        carried: Whether the target is a body that another one is put on.
        area: Whether the target is an area, with a free spot to be chosen.
        moved: Whether the subgoal is achieved once the body has moved.
        turned: Whether the body is turned by an angle.
        pushed: Whether the target is the end of a push.
    """

    target: str = ""
    grasped: bool = False
    carried: bool = False
    area: bool = False
    moved: bool = False
    turned: bool = False
    pushed: bool = False


SKILLS = {
    "picked": Skill(grasped=True),
    "set_down": Skill("crop", carried=True, moved=True),
    "pushed_towards": Skill("crop", pushed=True),
    "rotated": Skill(grasped=True, turned=True),
    "hit": Skill("image", grasped=True),
    "hit_toppled": Skill("image", grasped=True),
    "touched": Skill(grasped=True),
    "touched_pushed": Skill(pushed=True),
    "touched_toppled": Skill(pushed=True),
    "traced": Skill(),
    "end_effector_at_pose": Skill("key-step"),
    "avoiding": Skill("key-step"),
    "on_top": Skill("crop", grasped=True, carried=True, moved=True),
    "inside": Skill("crop", grasped=True, carried=True, moved=True, area=True),
    "inside_after": Skill("image", grasped=True, carried=True, moved=True, area=True),
    "at_position": Skill("image", grasped=True, moved=True),
    "at_pose": Skill("image", grasped=True, moved=True, turned=True),
    "at_pose_on_top": Skill("image", grasped=True, moved=True),
    "at_position_pushed": Skill("image", moved=True, pushed=True),
    "toppled_structure": Skill(),
    "other": Skill(),
}
"""Skills by the predicate of a subgoal; ``avoiding`` is ``end_effector_at_pose`` past obstacles."""
SKILL_NAMES = tuple(SKILLS)
EQUIVALENT_SKILLS = {"same_stack": "on_top"}
"""Predicates that are achieved by the skill of another one."""


class Motion(NamedTuple):
    """Class of motion, the action class of a demonstration's instruction segment.

    Attributes:
        gain: Share of the way to the waypoint in a step of the servo.
        least_m: Least length of a step.
        most_m: Greatest length of a step.
        contact: Whether it ends with a contact or a release.
        chunked: Whether it is a chunk of predicted actions instead.
        press_m: Distance of the waypoint beyond the pose at contact, so that the servo presses.
        retreat_m: Rise of the arm after it; negative: horizontal retreat.
    """

    gain: float = 0.5
    least_m: float = 0.004
    most_m: float = 0.03
    contact: bool = False
    chunked: bool = False
    press_m: float = 0.0
    retreat_m: float = 0.0


MOTIONS = {
    "move": Motion(),
    "pick": Motion(0.3, contact=True, press_m=0.02),
    "lift": Motion(),
    "place": Motion(contact=True, retreat_m=0.05),
    "push": Motion(0.35, most_m=0.02, contact=True, retreat_m=-0.04),
    "throw": Motion(chunked=True),
    "swing": Motion(chunked=True),
    "turn": Motion(),
    "touch": Motion(0.2, least_m=0.002, contact=True, press_m=0.006, retreat_m=0.03),
    "topple": Motion(1.0, most_m=0.02, contact=True, press_m=0.03, retreat_m=0.06),
}
MOTION_NAMES = tuple(MOTIONS)
CHUNKED = tuple(name for name, motion in MOTIONS.items() if motion.chunked)
