"""``python -m clevrskills``."""

import sys

from clevrskills.cli import main

sys.exit(main())
