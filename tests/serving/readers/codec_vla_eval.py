"""Run by .venv-clients with vla-eval: reads a message and writes it again, images in a format."""

import sys
from pathlib import Path

from vla_eval.protocol.messages import pack_message, unpack_message
from vla_eval.protocol.numpy_codec import set_image_format

form, message, again = sys.argv[1:]
set_image_format(form)
Path(again).write_bytes(pack_message(unpack_message(Path(message).read_bytes())))
