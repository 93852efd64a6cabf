"""Published results of iVISPAR (arXiv 2502.03214, table 2)."""

from clevrskills.core.report import PublishedTable

_ROWS = (
    ("Sonnet-3.5", 54.56, 28.67, 89.67, 45.33, 3.05, 4.10, 1.44, 3.60),
    ("Gemini-2.0-flash", 27.11, 12.67, 47.33, 21.33, 4.87, 5.25, 4.09, 5.26),
    ("GPT-4o", 17.56, 9.33, 37.33, 6.00, 5.30, 5.45, 4.15, 6.30),
    ("InternVL2.5-78B", 10.16, 1.67, 9.42, 19.33, 5.98, 6.39, 5.86, 5.69),
    ("LLaVA-OneVision-72B", 8.22, 0.67, 1.33, 22.67, 6.35, 6.75, 6.81, 5.50),
    ("Qwen2-VL-72B", 5.89, 0.67, 1.67, 15.33, 6.37, 6.66, 6.54, 5.90),
)
PUBLISHED = (
    PublishedTable(
        "iVISPAR, published: puzzles solved, %, and mean step deviation (our d_opt)",
        (
            *("model", "solved all", "3D", "2D", "text"),
            *("deviation all", "deviation 3D", "deviation 2D", "deviation text"),
        ),
        _ROWS,
        "Not comparable: the boards were drawn anew, the images are others, commands are read "
        "strictly here. Nearest is the preset text with --criteria released. Doing nothing has a "
        "deviation of 6.50, the mean of c1 = 2 to 11: four of these entries are worse. 9.42 % is "
        "26 of 276 episodes, so some were lost.",
        "arXiv 2502.03214, table 2: temperature 1.0, top-p 0.95, 500 tokens, the last two turns",
    ),
)
