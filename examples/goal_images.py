"""Render the key-steps of an episode without physics or an oracle.

Each predicate can set a world to a state in which it holds; the prompt renderer draws that state.

python examples/goal_images.py [TASK] [SEED]
"""

import sys

from PIL import Image

from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.sim.prompt_images import prompt_renderer
from clevrskills.tasks import task

key = sys.argv[1] if len(sys.argv) > 1 else "sort"
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 32

scene = draw_scene(task(key), seed, split="train")
print(scene.prompt.plain())

captions = ["Start", *(step.describe(scene.start) for step in scene.goal.steps())]
for k, (caption, keystep) in enumerate(zip(captions, scene.keysteps(), strict=True)):
    Image.fromarray(keystep.image(prompt_renderer())).save(f"keystep_{k}.png")
    print(f"keystep_{k}.png: {scene.prompt.plain(caption)}")
