"""Models of every type in every state: meshes, sizes, doors, dirt."""

import numpy as np
import pytest

from clevrskills.suites.asgardbench.drawing.stage import mesh
from clevrskills.suites.asgardbench.models.catalogue import (
    STATES,
    builder,
    fixture_builders,
    item_builders,
)
from clevrskills.suites.asgardbench.models.model import BuildInput, FixtureModel, State
from clevrskills.suites.asgardbench.models.surfaces import texture

ALL = [
    (kind, state)
    for kind in (*item_builders(), *fixture_builders())
    for state in (State(), *STATES.get(kind, ()))
]


def drawn(kind: str, state: State, contrast: str = "high") -> FixtureModel:
    return builder(kind)(BuildInput(state, contrast))


@pytest.mark.parametrize(("kind", "state"), ALL, ids=str)
def test_meshes(kind, state):
    made = drawn(kind, state)
    assert made.pieces
    for piece in made.pieces:
        vertices, normals, uvs, faces = mesh(piece)
        assert len(faces) and faces.max() < len(vertices)
        for values in (vertices, normals, uvs):
            assert np.isfinite(values).all()
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-3)
        assert piece.joint is None or piece.joint in made.joints


@pytest.mark.parametrize("kind", [*item_builders()])
def test_objects_are_portable_and_stand_on_their_frame(kind):
    low, high = drawn(kind, State()).bounds_m()
    assert -0.002 <= low[2] < 0.01
    assert 0.05 < (high - low).max() < 0.55


def test_fixtures_have_the_sizes_of_a_kitchen():
    def size(kind: str) -> np.ndarray:
        low, high = drawn(kind, State()).bounds_m()
        return high - low

    np.testing.assert_allclose(size("CounterTop")[0], 0.60, atol=0.005)
    assert drawn("CounterTop", State()).bounds_m()[1, 2] == pytest.approx(0.92)
    np.testing.assert_allclose(size("Fridge")[[0, 2]], (0.7, 1.7), atol=0.01)
    np.testing.assert_allclose(size("Microwave"), (0.50, 0.38, 0.30), atol=0.05)
    np.testing.assert_allclose(size("Television")[0], 1.0, atol=0.01)


@pytest.mark.parametrize("kind", [k for k, states in STATES.items() if State(open=True) in states])
def test_doors_come_to_the_front_when_open(kind):
    closed, opened = drawn(kind, State()), drawn(kind, State(open=True))
    if not opened.joints:  # a book: another shape
        assert not np.allclose(closed.bounds_m(), opened.bounds_m())
        return
    before, after = [], []
    for piece in opened.pieces:
        if piece.joint is None:
            continue
        joint = opened.joints[piece.joint]
        np.testing.assert_allclose(joint.matrix(State()), np.eye(4), atol=1e-9)
        pose = joint.matrix(State(open=True))
        before.append(piece.solid.bounds() / 1000)
        corners = np.concatenate([patch.points for patch in piece.solid.patches]) / 1000
        after.append(corners @ pose[:3, :3].T + pose[:3, 3])
    closed_at, open_at = np.concatenate(before), np.concatenate(after)
    if kind in ("Box", "Laptop", "Toilet"):  # lids go up
        assert open_at[:, 2].max() > closed_at[:, 2].max() + 0.05
    else:  # −y is the front
        assert open_at[:, 1].min() < closed_at[:, 1].min() - 0.2


@pytest.mark.parametrize("kind", [k for k, states in STATES.items() if State(dirty=True) in states])
def test_dirt_fades_with_the_contrast(kind):
    clean = drawn(kind, State()).pieces
    change = []
    for contrast in ("high", "medium", "low"):
        dirty = drawn(kind, State(dirty=True), contrast).pieces
        change.append(
            sum(
                float(np.abs(texture(b) - np.asarray(b.color)).mean())
                for a, b in zip(clean, dirty, strict=True)
                if a.surface != b.surface
                for b in [b.surface]
            )
        )
    assert change[0] > change[1] > change[2] > 0


def test_unknown_types_are_refused():
    with pytest.raises(ValueError, match="unknown type 'Teapot'; allowed: AluminumFoil"):
        builder("Teapot")
