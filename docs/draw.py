"""Former name of ``docs/build.py``."""

import sys

from build import main

if __name__ == "__main__":
    main(*({"page": "tasks", "suite": "suites"}.get(part, part) for part in sys.argv[1:]))
