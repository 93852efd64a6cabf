"""Views: content, and distinguishable pieces."""

import numpy as np
import pytest

from clevrskills.core.suite import all_views, load_suite
from clevrskills.suites.ivispar.boards import COLORS, SHAPES, Puzzle
from clevrskills.suites.ivispar.schematic import INK, draw_board, ring
from clevrskills.suites.ivispar.views import SINGLE, VIEWS, Marked, draw_view, in_one

SUITE = load_suite("ivispar")
GEOMS = [("red", "cube"), ("blue", "sphere"), ("green", "pyramid"), ("yellow", "cylinder")]
PUZZLE = Puzzle(4, GEOMS, (0, 5, 10, 15), (1, 2, 3, 4))
BASE = [(color, shape) for color in COLORS[:4] for shape in SHAPES[:4]]


def test_names_of_views() -> None:
    assert list(all_views(SUITE))[: len(VIEWS)] == list(VIEWS) and len(VIEWS) == 2 + 2 * 4 * 4 + 1
    assert all(view.name == name for name, view in VIEWS.items())
    assert all_views(SUITE)["text@goal"] == "text" and all_views(SUITE)["top3d-none"] == "image"
    for preset in SUITE.presets().values():
        assert set(preset.options.get("view", ())) <= set(VIEWS)


def test_a_drawing_has_each_piece_in_its_cell() -> None:
    image, centers = draw_board(PUZZLE, PUZZLE.start, Marked.ACTIVE.value[1])
    for (color, _), cell in zip(PUZZLE.geoms, PUZZLE.start, strict=True):
        right, down = centers[cell // 4 + 1, cell % 4 + 1].astype(int)
        assert image[down, right].tolist() == list(INK[color])
    free = centers[1, 2].astype(int)  # B1
    assert image[free[1], free[0]].tolist() == [255, 255, 255]
    assert image[5, 5].tolist() == list(Marked.ACTIVE.value[1])
    # column A is left of B, row 1 nearer than row 2
    assert centers[1, 1, 0] < centers[1, 2, 0] and centers[1, 1, 1] > centers[2, 1, 1]


def test_marks_and_labels() -> None:
    images = {
        name: draw_view(VIEWS[name], PUZZLE, PUZZLE.start, Marked.ACTIVE)
        for name in ("schematic", "schematic-edge", "schematic-cell", "schematic-none")
    }
    inside = (slice(90, 810), slice(240, 960))
    differ = {n: (i != images["schematic-none"]).any(-1) for n, i in images.items()}
    assert differ["schematic-cell"][inside].any() and not differ["schematic-edge"][inside].any()
    assert differ["schematic-edge"].any()
    assert (differ["schematic"] == (differ["schematic-edge"] | differ["schematic-cell"])).all()
    goal = draw_view(VIEWS["schematic@goal"], PUZZLE, PUZZLE.goal, Marked.GOAL)
    assert goal[5, 5].tolist() == list(Marked.GOAL.value[1]) == [100, 191, 106]


def test_all_boards_in_one_image() -> None:
    """Goal left, current board right; past boards below, the latest on the right."""
    moved = (4, 5, 10, 15)
    seen = [
        draw_view(VIEWS[SINGLE], PUZZLE, cells, Marked.ACTIVE) for cells in (PUZZLE.start, moved)
    ]
    goal, present = (
        draw_view(VIEWS[name], PUZZLE, cells, mark)
        for name, cells, mark in (
            ("view3d@goal", PUZZLE.goal, Marked.GOAL),
            ("view3d", moved, Marked.ACTIVE),
        )
    )
    assert (seen[1] == np.hstack([goal, present])).all()
    assert in_one(seen[1], []) is seen[1]
    one = in_one(seen[1], seen[:1])
    assert one.shape == (1800, 2400, 3) and (one[:900] == seen[1]).all()
    assert not one[900:, :1200].any() and one[905, 1205].tolist() == list(Marked.PAST.value[1])
    assert (in_one(seen[1], seen)[900:, :1200] == one[900:, 1200:]).all()


def test_rings_of_tiles() -> None:
    assert [ring(k, 4) for k in (1, 4, 6, 11, 16)] == [0, 0, 1, 1, 0]
    assert [ring(k, 3) for k in (1, 5)] == [0, 1] and ring(13, 5) == 2


def described(image: np.ndarray) -> np.ndarray:
    """Features of the only piece: color, brightness, fill of its box, roundness, edges."""
    seen = np.ptp(image.astype(int), axis=-1) > 40
    rows, columns = (np.flatnonzero(seen.any(axis)) for axis in (1, 0))
    box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    mask, shade = seen[box], image[box].max(-1).astype(float)
    color = image[seen].mean(0)
    spread = np.sqrt(np.linalg.eigvalsh(np.cov(np.stack(np.nonzero(mask)))))
    steep = np.hypot(*np.gradient(shade * mask))
    inside = mask[2:-2, 2:-2] & mask[4:, 2:-2] & mask[:-4, 2:-2] & mask[2:-2, 4:] & mask[2:-2, :-4]
    return np.concatenate(
        [
            color / np.linalg.norm(color),
            np.quantile(shade[mask], [0.05, 0.25, 0.5, 0.75, 0.95]) / 255,
            [mask.mean(), spread[0] / spread[1], mask.sum() / (4 * np.pi * spread.prod())],
            [(steep[2:-2, 2:-2][inside] > 8).mean()],
        ]
    )


@pytest.mark.parametrize(
    ("view", "least"), [("schematic", 0.99), ("front", 0.99), ("random", 0.97)]
)
@pytest.mark.render
@pytest.mark.slow
def test_pieces_can_be_distinguished(view: str, least: float) -> None:
    """Classify each piece of the base set in each cell by a linear discriminant that is fitted on
    the other cells.
    """
    from clevrskills.suites.ivispar.scene import board_scene

    found, names = [], []
    for cell in range(16):
        for k, geom in enumerate(BASE):
            puzzle = Puzzle(4, [geom], (cell,), (cell,))
            if view == "schematic":
                image, _ = draw_board(puzzle, (cell,), (0, 0, 0))
            else:
                seed = 16 * cell + k
                image, _ = board_scene(4).render(puzzle, (cell,), (0, 0, 0), view, seed)
            found.append(described(image))
            names.append(k)
    array, labels = np.array(found), np.array(names)
    cells = np.repeat(np.arange(16), len(BASE))
    right = []
    for half in (cells % 3 == 0, cells % 3 != 0):
        known, of = array[~half], labels[~half]
        means = np.array([known[of == k].mean(0) for k in range(len(BASE))])
        within = sum(np.cov(known[of == k].T) for k in range(len(BASE))) / len(BASE)
        scale = np.linalg.cholesky(np.linalg.inv(within + 1e-4 * np.eye(len(within))))
        apart = np.linalg.norm((array[half][:, None] - means) @ scale, axis=-1)
        right += (apart.argmin(1) == labels[half]).tolist()
    assert np.mean(right) >= least


@pytest.mark.render
@pytest.mark.slow
def test_three_dimensions() -> None:
    images = {
        name: draw_view(VIEWS[f"{name}-none"], PUZZLE, PUZZLE.start, Marked.PAST, seed=4)
        for name in ("view3d", "random3d", "top3d")
    }
    again = draw_view(VIEWS["random3d-none"], PUZZLE, PUZZLE.start, Marked.PAST, seed=4)
    other = draw_view(VIEWS["random3d-none"], PUZZLE, PUZZLE.start, Marked.PAST, seed=5)
    np.testing.assert_array_equal(again, images["random3d"])
    assert not np.array_equal(other, again)
    for image in images.values():
        assert image.shape == (900, 1200, 3)
        assert image[5, 5].tolist() == list(Marked.PAST.value[1])
