"""Metadata of our benchmark in vla-eval, or why it refuses parameters, as JSON.

Usage: vla_eval_probe.py PARAMETERS..., each JSON, with vla_eval on PYTHONPATH.
"""

import json
import sys
from typing import Any

from vla_eval.registry import resolve_import_string
from vla_eval.specs import check_specs

from clevrskills.errors import ClevrSkillsError


def said(benchmark_class: type, parameters: dict[str, Any]) -> dict[str, Any]:
    try:
        benchmark = benchmark_class(**parameters)
    except ClevrSkillsError as error:
        return {"error": str(error)}
    action, shown = benchmark.get_action_spec(), benchmark.get_observation_spec()
    return {
        "tasks": benchmark.get_tasks(),
        "metadata": benchmark.get_metadata(),
        "metrics": benchmark.get_metric_keys(),
        "action": {name: spec.to_dict() for name, spec in action.items()},
        "observation": {name: spec.to_dict() for name, spec in shown.items()},
        "mismatches": check_specs(action, action, shown, shown),
        "hold": benchmark.get_hold_action({"actions": [0.5] * 7})["actions"].tolist(),
        "hold_first": benchmark.get_hold_action(None)["actions"].tolist(),
        "backends": sorted(benchmark.render_backends),
    }


def main(*parameters: str) -> None:
    benchmark_class = resolve_import_string(
        "clevrskills.integrations.vla_eval:ClevrSkillsBenchmark"
    )
    assert "sapien" not in sys.modules  # or the renderer could not be chosen any more
    benchmark_class.configure_render("gpu")
    print(json.dumps([said(benchmark_class, json.loads(text)) for text in parameters]))


if __name__ == "__main__":
    main(*sys.argv[1:])
