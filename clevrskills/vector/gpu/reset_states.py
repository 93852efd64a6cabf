"""Reset states: scenes with the same bodies, differently laid out, that episodes begin with."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from clevrskills.envs.scene_sampling import ATTEMPTS, DrawnScene, NeutralPose, is_fair, scene_of
from clevrskills.errors import ClevrSkillsError
from clevrskills.predicates import Criteria
from clevrskills.sim.body_geometry import Solids
from clevrskills.tasks import EpisodeRng, Layout, LayoutError, Task, stack_roles

NOWHERE = (0.0,) * 7


@dataclass(frozen=True)
class ResetScenes:
    """The scenes of B environments, S for each, and what they have in common."""

    layouts: list[Layout]  # one layout of each environment, to build it from
    solids: Solids  # geometry of the bodies
    pose: Tensor  # world poses, (B, S, K, 7)
    held: Tensor  # slot of the body that the gripper holds, -1 for none, (B, S)
    roles: dict[str, Tensor]  # what else differs, by name, each (B, S, ...)

    @classmethod
    def of(
        cls, scenes: Sequence[Sequence[DrawnScene]], count: int, device: torch.device | str
    ) -> ResetScenes:
        """Share sets of scenes with the same bodies out to ``count`` environments, in turn."""
        turn = torch.arange(count) % len(scenes)
        each = [scene for same in scenes for scene in same]

        def share(values: Tensor) -> Tensor:
            return values.unflatten(0, (len(scenes), -1))[turn].to(device)

        solids = Solids.stack([same[0].solids for same in scenes])
        parts = {
            name: getattr(solids, name)[turn].to(device) for name in Solids.__dataclass_fields__
        }
        return cls(
            layouts=[scenes[k][0].layout for k in turn.tolist()],
            solids=Solids(**parts),
            pose=share(torch.cat([scene.start.body_pose for scene in each])),
            held=share(torch.tensor([scene.layout.in_gripper for scene in each])),
            roles={
                name: share(values)
                for name, values in stack_roles([scene.layout for scene in each]).items()
            },
        )


def draw_same(
    task: Task, seeds: Sequence[int], split: str, robot_name: str, criteria: Criteria
) -> list[DrawnScene]:
    """Draw scenes with the same bodies: the first as any episode, the others with other places and,
    where that leaves the bodies as they are, other roles.

    Args:
        task: The task.
        seeds: A seed for each scene.
        split: ``train`` or ``test``.
        robot_name: Key of the robot.
        criteria: Tolerances of success.

    Raises:
        ClevrSkillsError: No layout fits.
    """
    scenes: list[DrawnScene] = []
    first: EpisodeRng | None = None
    home = NeutralPose.of(robot_name) if task.shows_robot else None
    for seed in seeds:
        for attempt in range(ATTEMPTS):
            rng = task.rng(seed, attempt, split)
            if first:
                rng.shapes, rng.textures = deepcopy((first.shapes, first.textures))
                if attempt % 2:
                    rng.roles = deepcopy(first.roles)
            drawn_with = deepcopy(rng)
            try:
                scene = scene_of(task, task.layout(rng), robot_name, criteria)
            except LayoutError:
                continue
            same = not scenes or _bodies(scene.layout) == _bodies(scenes[0].layout)
            if same and is_fair(scene.goal, scene.start, home):
                scenes.append(scene)
                first = first or drawn_with
                break
        else:
            raise ClevrSkillsError(f"{task.key}, seed {seed}: no fair scene in {ATTEMPTS} draws")
    return scenes


def _bodies(layout: Layout) -> list[object]:
    """The bodies of all slots, wherever they are."""
    return [body and replace(body, pose=NOWHERE) for body in layout.bodies]
