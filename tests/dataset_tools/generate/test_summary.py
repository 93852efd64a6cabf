"""The summary of a run of ``generate``."""

from clevrskills.dataset_tools.generate.summary import TaskSummary, remarks


def test_the_cpu_time_fits_on_a_line_of_a_terminal() -> None:
    phases = ("reset", "plan", "physics", "render", "encode", "write", "other")
    times_s = dict.fromkeys(phases, 1.0)
    summary = TaskSummary(
        task="sort",
        level="L1",
        episodes=1,
        failures=0,
        kinds={},
        success_rate=1.0,
        interval=(0.2, 1.0),
        mean_steps=90.0,
        cpu_s=7.0,
        cpu_s_per_step=0.1,
        episodes_per_h=500.0,
        times_s=times_s,
    )
    text = remarks([summary])
    assert text.startswith("CPU %: reset 14, plan 14, ")
    assert len(text) <= 80
