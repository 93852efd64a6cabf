"""Makes ``fake_suite``, ``fake_policies`` and the others here importable, in worker processes too,
and the ``browser`` of the tests of datasets' pages.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent / "dataset_tools"))
