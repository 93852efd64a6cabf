"""Writer of what is published of the standard datasets, from one that was made.

clevrskills generate --standard 100 --out standard --workers 8
python scripts/publish_standard.py standard clevrskills/suites/clevrskills/standard.json
"""

import sys
from pathlib import Path

from clevrskills.core.suite import load_suite
from clevrskills.dataset_tools import Dataset
from clevrskills.dataset_tools.standard import measure
from clevrskills.jobs.files import write_whole

if __name__ == "__main__":
    dataset, out = sys.argv[1:]
    write_whole(Path(out), measure(Dataset(dataset), load_suite()).to_json())
