"""Observations of policies."""

from collections.abc import Mapping

import numpy as np
import pytest

from clevrskills.core.observer import Observer, in_words
from clevrskills.core.policy import ObservationOptions
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import Keystep, Prompt
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS
from clevrskills.tasks import task, tasks

CUBE = Body("object_0", "cube", "red", (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))


class Counter:
    """Shows the number of steps made."""

    prompt = Prompt("Lift {obj:object_0}", (CUBE,))

    def __init__(self) -> None:
        self.elapsed_steps = np.array([0])

    def capture(self) -> Mapping[str, np.ndarray]:
        image = np.full((2, 2, 3), self.elapsed_steps[0], np.uint8)
        return {"base_camera": image, "hand_camera": image + 100}

    def proprioception(self) -> Mapping[str, np.ndarray]:
        return {"qpos": np.full(3, self.elapsed_steps[0], np.float32)}


def looks(env: Counter, options: ObservationOptions, steps: int) -> list[Mapping]:
    observer = Observer(env, options)
    observer.begin()
    found = []
    for step in range(steps):
        env.elapsed_steps[0] = step
        found.append(observer.look())
    return found


def test_without_a_history() -> None:
    options = ObservationOptions(cameras=("hand_camera",), prompt="language")
    (_, second) = looks(Counter(), options, 2)
    assert list(second["images"]) == ["hand_camera"]
    assert second["images"]["hand_camera"].shape == (2, 2, 3)
    assert second["images"]["hand_camera"][0, 0, 0] == 101
    assert second["proprioception"]["qpos"].tolist() == [1, 1, 1]
    assert second["step"] == 1 and second["prompt"] == "Lift the red cube"


def test_a_history_begins_with_the_first_state() -> None:
    options = ObservationOptions(cameras=(), history=3)
    shown = [o["proprioception"]["qpos"][:, 0].tolist() for o in looks(Counter(), options, 5)]
    assert shown == [[0, 0, 0], [0, 0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]
    options = ObservationOptions(cameras=("base_camera",), history=2, proprioception=False)
    last = looks(Counter(), options, 3)[-1]
    assert last["images"]["base_camera"].shape == (2, 2, 2, 3) and last["proprioception"] == {}
    assert last["prompt"] == "Lift {obj:object_0}"


@pytest.mark.parametrize(
    ("more", "rendered"), [({}, 1), ({"history": 2}, 3), ({"views": ("base_camera",)}, 3)]
)
def test_images_on_demand_are_rendered_when_read(more: dict, rendered: int) -> None:
    env = Counter()
    options = ObservationOptions(cameras=("base_camera",), **more)
    captured: list[int] = []

    def capture() -> Mapping[str, np.ndarray]:
        captured.append(int(env.elapsed_steps[0]))
        return env.capture()

    observer = Observer(env, options, capture=capture, on_demand=True)
    observer.begin()
    for step in range(3):
        env.elapsed_steps[0] = step
        images = observer.look()["images"]
        assert list(images) == ["base_camera"]
        with pytest.raises(KeyError):
            images["hand_camera"]
        if step == 1:
            latest = images["base_camera"].reshape(-1, 2, 2, 3)[-1]
            np.testing.assert_array_equal(latest, env.capture()["base_camera"])
    assert len(captured) == rendered and 1 in captured


def test_another_episode_has_another_history() -> None:
    env, options = Counter(), ObservationOptions(cameras=(), history=2)
    observer = Observer(env, options)
    for step in (5, 7):
        env.elapsed_steps[0] = step
        prompt = observer.begin(seed=step)
        assert (prompt.seed, prompt.images) == (step, {})
        assert observer.look()["proprioception"]["qpos"][:, 0].tolist() == [step, step]


def test_images_of_the_prompt_are_drawn_only_for_those_who_look() -> None:
    """Where there are cameras, or where they are asked for without any; not with words alone."""
    for cameras, asked, form, shown in (
        ((), None, "multimodal", False),
        (("base_camera",), None, "multimodal", True),
        ((), True, "multimodal", True),
        (("base_camera",), False, "multimodal", False),
        ((), True, "language", False),
    ):
        options = ObservationOptions(cameras=cameras, prompt_images=asked, prompt=form)
        images = Observer(Counter(), options).begin().images
        assert list(images) == (["{obj:object_0}"] if shown else [])
        assert options.draws == (shown or bool(cameras))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history": 0}, "history must be at least 1, not 0"),
        ({"size_px": 0}, "size_px must be at least 1, not 0"),
        ({"prompt": "song"}, "unknown form of the prompt 'song'; allowed: multimodal, language"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        ObservationOptions(**options)


def test_words_alone() -> None:
    prompt = Prompt("Make {ks:0}", (CUBE,), (Keystep((CUBE,)),))
    assert in_words(prompt) is None
    other = Prompt("Make {ks:0}", (CUBE,), (Keystep((CUBE,)),), None, ("Lift {obj:object_0}",))
    assert in_words(other) == "Lift the red cube"
    env = Counter()
    env.prompt = prompt
    with pytest.raises(ClevrSkillsError, match="'Make {ks:0}' has no wording without images"):
        Observer(env, ObservationOptions(prompt="language")).begin()


def test_tasks_without_text_prompts_are_among_those_the_paper_leaves_out() -> None:
    """Follow-order tasks have text prompts here; the paper leaves them out."""
    unsaid = {key for key in tasks() if in_words(draw_scene(task(key), 0, "test").prompt) is None}
    assert unsaid == set(KEYSTEP_TASKS) - {"follow_order", "follow_order_restore"}
