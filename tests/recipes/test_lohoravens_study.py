"""The study of LoHoRavens: its file names what there is, and what it does not is refused."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from clevrskills.errors import ClevrSkillsError

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture(scope="module")
def study() -> Any:
    """The recipe, imported."""
    spec = spec_from_file_location("lohoravens_study", RECIPES / "lohoravens_study.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_dry_study_names_existing_tasks_and_options_only(
    study: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = RECIPES / "lohoravens_study.toml"
    assert study.main(study.StudyArgs(file, set=("model=some",), dry_run=True)) == 0
    said = capsys.readouterr().out
    assert said.count("clevrskills evaluate --out study/") == 17
    assert "--group workshop --preset p10_explicit" in said and "model=some" in said
    assert said.splitlines()[-1].startswith("clevrskills report study/oracle ")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[run.a]\nsuite = "lohoravens"\npolicy = "zero"\npreset = "p41"\n')
    with pytest.raises(ClevrSkillsError, match=r"p41.*p40"):
        study.main(study.StudyArgs(wrong, dry_run=True))
    with pytest.raises(ClevrSkillsError, match=r"chat:{url} is open"):
        study.main(study.StudyArgs(file, ("hard_planner",)))
    with pytest.raises(ClevrSkillsError, match="unheard_of"):
        study.main(study.StudyArgs(file, ("unheard_of",)))
