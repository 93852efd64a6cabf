"""Files of frozen episodes: written and read back; the shipped ones are complete."""

import gzip
import json
from collections import Counter
from dataclasses import replace

import pytest
from fake_screening import data_of

from clevrskills.core.episode import FROZEN, FrozenHeader, Rejection
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.evaluation.freeze import frozen
from clevrskills.suites.clevrskills.suite import EPISODES_DIR, ClevrSkillsSuite
from clevrskills.tasks import tasks

LIMIT_BYTES = 4_000_000
LEAST_SHAPES, MOST_SHARE = 6, 0.4
"""Number of shapes among the unseen objects of a task, and the largest share of one shape."""
SUITE = ClevrSkillsSuite()
ALL = [(task, split) for task, kind in tasks().items() for split in kind.splits()]
HEAD = FrozenHeader(
    "sort", "test", "xarm6", 3, 500, (10, 30, 11), (Rejection(5, "overlap"),), {"a": None}
)


def spec_of(task: str, split: str, seed: int) -> EpisodeSpec:
    return replace(EpisodeSpec.from_json(data_of(task, split, seed)), index=seed)


@pytest.fixture
def folder(tmp_path):
    frozen.write(tmp_path, HEAD, [spec_of("sort", "test", seed) for seed in range(3)])
    return tmp_path


def damage(folder, change):
    path = folder / "sort_test.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(change(lines))))


def test_written_files_are_read_back(folder):
    assert ClevrSkillsSuite(folder).frozen("sort", "test").header == HEAD
    assert (HEAD.oracle_median_steps, HEAD.oracle_most_steps) == (11, 30)
    made = ClevrSkillsSuite(folder).frozen("sort", "test")
    assert [(s.task, s.split, s.index) for s in made] == [("sort", "test", k) for k in range(3)]
    assert [spec.content_hash for spec in made] == [
        spec_of("sort", "test", seed).content_hash for seed in range(3)
    ]


def test_the_hash_is_of_the_text(folder):
    before = ClevrSkillsSuite(folder).frozen("sort", "test").content_hash
    damage(folder, lambda lines: lines)  # compressed in another way
    assert ClevrSkillsSuite(folder).frozen("sort", "test").content_hash == before
    damage(folder, lambda lines: lines[:-1])
    assert ClevrSkillsSuite(folder).frozen("sort", "test").content_hash != before


def test_missing_files_are_named(folder):
    for task, split, message in (
        ("pick", "test", "unknown task with frozen episodes 'pick'; allowed: sort"),
        ("sort", "train", "unknown split of sort 'train'; allowed: test"),
    ):
        with pytest.raises(UnknownNameError) as caught:
            ClevrSkillsSuite(folder).frozen(task, split)
        assert str(caught.value) == message
    with pytest.raises(ClevrSkillsError, match="nothing has no frozen episodes"):
        ClevrSkillsSuite(folder / "nothing").frozen("sort", "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "damaged: 2 of 3 episodes"),
        (lambda lines: [*lines[:-1], b'{"task": "sort"}\n'], r"damaged: KeyError\('layout'\)"),
        (lambda lines: [], "cannot be read"),
        (lambda lines: [b"[]\n"], "cannot be read"),
        (lambda lines: [b'{"format": "lerobot"}\n'], "format 'lerobot'; allowed: 'clevrskills-epi"),
        (
            lambda lines: [lines[0].replace(b'"format_version": 1', b'"format_version": 3')],
            "format version 3; this package reads 1",
        ),
    ],
)
def test_damaged_files(folder, change, message):
    damage(folder, change)
    with pytest.raises(ClevrSkillsError, match=f"sort_test.jsonl.gz .*{message}"):
        list(ClevrSkillsSuite(folder).frozen("sort", "test"))


def test_files_that_are_not_compressed_text(folder):
    path = folder / "sort_test.jsonl.gz"
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[:-20], whole[:30] + b"\0" * 9 + whole[39:]):
        path.write_bytes(content)
        with pytest.raises(ClevrSkillsError, match="sort_test.jsonl.gz cannot be read"):
            _ = ClevrSkillsSuite(folder).frozen("sort", "test").header


# --- the shipped ones


@pytest.mark.parametrize(("task", "split"), ALL)
def test_every_task_and_split_has_its_episodes(task, split):
    head, count = SUITE.frozen(task, split).header, SUITE.tasks[task].splits[split]
    assert (head.task, head.split, head.robot, head.episodes) == (task, split, "xarm6", count)
    assert head.benchmark == 1
    made = SUITE.frozen(task, split)
    assert [(s.task, s.split, s.index) for s in made] == [(task, split, k) for k in range(count)]
    kind = tasks()[task]
    assert {(spec.robot, *spec.task_args) for spec in made} == {
        ("xarm6", *([kind.count_argument] if split == "counts" else []))
    }
    # no seed was passed over in silence
    seeds = [spec.seed for spec in made]
    assert seeds == sorted(seeds)
    assert sorted([*seeds, *(rejection.seed for rejection in head.rejected)]) == list(
        range(FROZEN.start, seeds[-1] + 1)
    )
    assert all(rejection.reason for rejection in head.rejected)
    assert len(head.oracle_steps) == count and head.max_steps == kind.max_steps
    assert 0 < head.oracle_most_steps <= head.max_steps


def test_all_files_are_small():
    assert sum(path.stat().st_size for path in EPISODES_DIR.iterdir()) <= LIMIT_BYTES


@pytest.mark.parametrize("task", tasks())
def test_unseen_objects_have_many_shapes(task):
    unseen = SUITE.frozen(task, "test")
    free = [b for spec in unseen for b in spec.layout.bodies if b and b.movable and not b.hinge]
    shapes = Counter(body.shape for body in free)
    if shapes:
        assert len(shapes) >= LEAST_SHAPES
        assert max(shapes.values()) <= MOST_SHARE * sum(shapes.values())


def test_no_two_episodes_of_a_task_are_alike():
    counts = SUITE.tasks["stack"].splits
    layouts = {
        json.dumps(spec.to_json()["layout"])
        for split in counts
        for spec in SUITE.frozen("stack", split)
    }
    assert len(layouts) == sum(counts.values())


def check_start(task: str, split: str, count: int) -> None:
    env = ClevrSkillsEnv(task, split=split, obs_mode="none", render_backend="none")
    for spec in SUITE.frozen(task, split)[:count]:
        env.reset(options={"episode": spec})
        assert not any(env.faults().values()), (task, split, spec.index)
    env.close()


def test_a_shipped_episode_starts():
    check_start("place", "test", 2)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "split"), ALL)
def test_shipped_episodes_start_without_faults(task, split):
    check_start(task, split, 3)
