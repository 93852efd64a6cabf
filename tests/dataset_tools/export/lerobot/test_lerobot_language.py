import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from clevrskills.dataset_tools import Dataset, Episode
from clevrskills.dataset_tools.export.lerobot.features import task_sentences
from clevrskills.dataset_tools.export.lerobot.language import event_rows, persistent_rows
from clevrskills.sim.body import Body
from clevrskills.sim.prompt import Keystep, Prompt

WORDS = "role: string, content: string, style: string"
REST = "camera: string, tool_calls: list<element: string>"


@pytest.fixture(scope="module")
def rows(exported: dict[str, Path]) -> list[dict[str, Any]]:
    """All frames with their language."""
    table = pq.read_table(exported["lerobot-v3.1"] / "data/chunk-000/file-000.parquet")
    return table.to_pylist()


def test_columns_and_features(exported: dict[str, Path]) -> None:
    root = exported["lerobot-v3.1"]
    schema = pq.read_schema(root / "data/chunk-000/file-000.parquet")
    persistent = f"list<element: struct<{WORDS}, timestamp: float, {REST}>>"
    assert str(schema.field("language_persistent").type) == persistent
    assert str(schema.field("language_events").type) == f"list<element: struct<{WORDS}, {REST}>>"
    features = json.loads((root / "meta/info.json").read_text())["features"]
    language = {"dtype": "language", "shape": [1], "names": None}
    assert features.pop("language_persistent") == features.pop("language_events") == language
    plain = json.loads((exported["lerobot"] / "meta/info.json").read_text())["features"]
    assert features == plain


def test_active_rows_are_true_on_every_frame(
    rows: list[dict[str, Any]], in_order: list[Episode]
) -> None:
    """As lerobot finds them: of a style, the last one whose time has come."""
    frames = iter(rows)
    for episode in in_order:
        steps = episode.steps
        for step in range(len(episode)):
            frame = next(frames)
            active = {
                row["style"]: row["content"]
                for row in frame["language_persistent"]
                if row["timestamp"] <= frame["timestamp"]
            }
            todo = steps["subtask"][step:].drop_duplicates().tolist()
            plan = "\n".join(f"{number}. {text}" for number, text in enumerate(todo, start=1))
            assert (active["subtask"], active["plan"]) == (todo[0], plan)
            done = [key for key in episode.keysteps if key["subgoal"] is not None]
            if any(key["step"] <= step for key in done):
                assert active["memory"] == "Done: Reach the red dot."
            else:
                assert "memory" not in active
    assert next(frames, None) is None


def test_answers_match_the_camera_image(
    rows: list[dict[str, Any]], in_order: list[Episode]
) -> None:
    frames, kinds = iter(rows), set()
    for episode in in_order:
        asked = {step: next(frames)["language_events"] for step in range(len(episode))}
        assert [step for step, events in asked.items() if events] == list(
            range(0, len(episode), 10)
        )
        for step, events in asked.items():
            if not events:
                continue
            assert [row["role"] for row in events] == ["user", "assistant"]
            (key,) = {row["camera"] for row in events}
            camera = key.removeprefix("observation.images.")
            assert camera == episode.cameras[step // 10 % 2]
            boxes, visible = episode.boxes(camera)[step], episode.visible(camera)[step]
            answer = json.loads(events[1]["content"])
            kinds.add(tuple(answer)[-1])
            seen = [
                each["name"] for each, v in zip(episode.objects, visible, strict=True) if v > 0.1
            ]
            if "detections" in answer:
                assert [found["label"] for found in answer["detections"]] == seen
                assert [found["bbox"] for found in answer["detections"]] == boxes.tolist()
            elif "count" in answer:
                assert answer["count"] == len(seen)
            else:
                assert answer["label"] in events[0]["content"]
                assert answer["value"] == "fully visible"
    assert len(kinds) >= 2


def fake(visible: list[float], **more: Any) -> Any:
    """An episode of 100 steps with one camera and objects of which so much is visible."""
    names = [{"name": f"object {index}"} for index in range(len(visible))]
    boxes = np.arange(4 * len(visible), dtype=np.int16).reshape(-1, 4)
    return SimpleNamespace(
        cameras=("eye",),
        objects=names,
        info={"fps": 20},
        boxes=lambda _: np.tile(boxes, (101, 1, 1)),
        visible=lambda _: np.tile(np.array(visible, np.float32), (101, 1)),
        __len__=lambda: 100,
        **more,
    )


class Sized(SimpleNamespace):
    def __len__(self) -> int:
        return 100


def test_all_kinds_of_questions() -> None:
    episode = Sized(**vars(fake([1.0, 0.5, 0.0])))
    answers = [json.loads(rows[1]["content"]) for rows in event_rows(episode).values()]
    assert [found["bbox"] for found in answers[0]["detections"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert answers[1] == {"label": "object", "count": 2}
    assert answers[2] == {
        "label": "object 0",
        "attribute": "visibility",
        "value": "fully visible",
        "note": "100% of it",
    }
    assert [sorted(answer) for answer in answers[3:]] == [sorted(a) for a in answers[:2]]
    others = [Sized(**vars(fake(visible))) for visible in ([0.5, 1.0], [0.02, 1.0])]
    values = [json.loads(event_rows(other)[40][1]["content"])["value"] for other in others]
    assert values == ["partly visible", "not visible"]


def test_a_scene_without_objects_has_no_questions() -> None:
    assert event_rows(Sized(**vars(fake([])))) == {}


BODIES = (
    Body("object_0", "cube", "red", (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)),
    Body("object_1", "bowl", "blue", (0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)),
)


@pytest.mark.parametrize(
    ("text", "others", "sentences"),
    [
        ("Lift {obj:object_0}", (), ["Lift the red cube"]),
        (
            "Put {obj:object_0} in {obj:object_1}",
            (
                "Put the {tex:object_0} thing into {obj:object_1}",
                "Put the red cube in the blue bowl",
            ),
            ["Put the red cube in the blue bowl", "Put the red thing into the blue bowl"],
        ),
        ("Make it look like {ks:0}", ("Lift {obj:object_0}",), ["Lift the red cube"]),
        ("Make it look like {ks:0}", (), ["Make it look like the scene at key-step 0"]),
    ],
)
def test_ways_to_ask(text: str, others: tuple[str, ...], sentences: list[str]) -> None:
    prompt = Prompt(text, BODIES, (Keystep(BODIES),), others=others)
    data = {"plain": prompt.plain(), "data": json.loads(json.dumps(prompt.to_json()))}
    assert task_sentences(SimpleNamespace(prompt=data)) == sentences


def test_ways_to_ask_are_rows_if_there_are_several(demos: Path) -> None:
    episode = Dataset(demos)[0]
    prompt = Prompt("Lift {obj:object_0}", BODIES, others=("Pick up {obj:object_0}",))
    episode.__dict__["info"] = {**episode.info, "prompt": {"data": prompt.to_json()}}
    rows = [row for row in persistent_rows(episode) if row["style"] == "task_aug"]
    assert [row["content"] for row in rows] == ["Lift the red cube", "Pick up the red cube"]
    assert {(row["role"], row["timestamp"]) for row in rows} == {("user", 0.0)}


def test_a_subgoal_taken_up_again_is_planned_again(demos: Path) -> None:
    episode = Dataset(demos).filter(task="visit")[0]
    segments = [
        {"start": start, "stop": start + 5, "plain": text}
        for start, text in enumerate(("A", "A", "B", "A"))
    ]
    episode.__dict__["info"] = {**episode.info, "segments": {"subtask": segments}}
    found = [
        (r["timestamp"], r["content"]) for r in persistent_rows(episode) if r["style"] == "plan"
    ]
    assert [text for _, text in found] == ["1. A\n2. B\n3. A", "1. B\n2. A", "1. A"]
    assert [time for time, _ in found] == pytest.approx([0.0, 0.1, 0.15])
