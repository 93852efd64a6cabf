"""Tables in TOML files: faults are named in one line."""

import pytest

from clevrskills.assets.tables import check_table, read_rows, read_toml
from clevrskills.errors import ClevrSkillsError


def test_rows_have_a_length_and_a_type(tmp_path):
    path = tmp_path / "tints.toml"
    path.write_text('red = [1.0, 0.5]\n"dark red" = [0.5, 0.25]\n')
    assert read_rows(path, float, 2) == {"red": (1.0, 0.5), "dark red": (0.5, 0.25)}
    for kind, length, given in (
        (float, 3, "red must be 3 values of type float, not"),
        (int, 2, "type int, not"),
    ):
        with pytest.raises(ClevrSkillsError, match=given):
            read_rows(path, kind, length)


def test_a_file_is_toml(tmp_path):
    path = tmp_path / "tints.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(ClevrSkillsError, match=r"tints.toml is not valid TOML"):
        read_toml(path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "a", "shade": "b"}, "unknown entry of here 'shade'; allowed: name, color"),
        ({"name": 1}, r"here\.name must be a str, not 1"),
        ({"color": "red"}, r"here\.name is missing"),
        ("red", "here must be a table, not 'red'"),
    ],
)
def test_entries_of_a_table_are_checked(table, message):
    check_table("here", {"name": "a"}, {"name": str, "color": str}, optional=("color",))
    with pytest.raises(ClevrSkillsError, match=message):
        check_table("here", table, {"name": str, "color": str}, optional=("color",))
