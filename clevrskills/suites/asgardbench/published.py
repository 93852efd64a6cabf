"""Reference results in reports: published ones (arXiv 2603.15888, table 6) and blind policies."""

import json
from pathlib import Path

from clevrskills.core.report import PublishedTable

BLIND_FILE = Path(__file__).with_name("blind.json")
"""Results of the blind policies, written by ``benchmarks/household_blind.py``."""
BLIND_HEADINGS = ("policy", "instances", "solved", "careful", "dirty, solved", "dirty, careful")

_ROWS = (
    ("Claude Opus 4.5", 76.5, "-", "-", "-", "-", 77.8, 36.1, "-", "-"),
    ("Gemini 3 Pro", 72.5, "-", "-", "-", "-", 78.7, 35.2, "-", "-"),
    ("GPT-5.2", 71.3, "-", "-", "-", "-", "-", 25.0, "-", "-"),
    ("Kimi-K2.5", 68.8, 66.4, 55.2, 61.4, 61.1, 64.8, 21.9, 41.4, 14.2),
    ("Qwen3-VL-235B Thinking", 32.4, 35.2, 26.9, 24.1, 29.6, 31.5, 13.9, 38.3, 8.3),
    ("GLM-4.6V", 30.6, 36.1, 23.1, 15.7, 27.8, 23.1, 8.3, 13.9, 2.8),
    ("GPT-4o", 23.4, 41.2, 21.3, 22.7, 29.9, 18.3, 4.2, 8.6, 0.0),
    ("Mistral-Large-3", 7.4, 11.8, 7.2, 2.5, 12.5, 8.3, 7.9, 16.9, 3.0),
    ("Llama-4 Maverick", 5.8, 11.1, 7.2, 5.3, 9.0, 8.3, 6.7, 9.5, 4.6),
)
PUBLISHED = (
    PublishedTable(
        "AsgardBench: the oracle and policies without observations, test",
        BLIND_HEADINGS,
        tuple(map(tuple, json.loads(BLIND_FILE.read_text(encoding="utf-8")))),
        "All but the oracle get no observation; feedback says only whether an action succeeded. "
        "Careful: solved without a refused turn and without a needless repair.",
        "benchmarks/household_blind.py",
        comparable=True,
    ),
    PublishedTable(
        "AsgardBench, published: instances solved, %, median over runs",
        (
            *("model", "baseline", "detailed", "no_feedback", "no_hand", "no_memory"),
            *("no_previous", "text_simple", "text_detailed", "text_none"),
        ),
        _ROWS,
        "Images, rooms, instances and lengths of plans are others, and rules are those of a small "
        "world of symbols. Only the order of presets may be compared, with "
        "intervals: one instance is 0.93 points.",
        "arXiv 2603.15888, table 6: temperature 0, 4,096 or 16,384 tokens",
    ),
)
