"""Run by .venv-clients with openpi-client: reads a message and writes it again."""

import sys
from pathlib import Path

from openpi_client import msgpack_numpy

message, again = map(Path, sys.argv[1:])
again.write_bytes(msgpack_numpy.packb(msgpack_numpy.unpackb(message.read_bytes())))
