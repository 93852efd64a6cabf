"""Stand-in for the programs that recipes call: notes its arguments, and leaves what they would.

FAILS, in the environment, is a word of the command lines that fail; NOTES the file of the notes.
"""

import json
import os
import shutil
import socket
import sys
from pathlib import Path

SERVERS = ("serve_policy.py", "run_gr00t_server.py", "deploy.py")


def main(name: str, *arguments: str) -> int:
    with Path(os.environ["NOTES"]).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps([name, *arguments]) + "\n")
    line = " ".join((name, *arguments))
    if os.environ.get("FAILS", "\n") in line:
        return 1
    if name == "git" and "init" in arguments:
        Path(arguments[-1]).mkdir(parents=True)
    if name == "uv" and arguments[0] in ("sync", "venv"):
        programs = Path(".venv/bin")
        programs.mkdir(parents=True)
        for program in ("python", "torchrun"):
            shutil.copy(sys.argv[0], programs / program)
    if name == "clevrskills" and arguments[0] in ("generate", "export"):
        out = Path(arguments[arguments.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=arguments[0] == "generate")
        (out / "dataset.json").write_text('{\n "standard": 100,\n "fps": 20\n}\n')
    if any(server in line for server in SERVERS):
        with socket.create_server(("127.0.0.1", int(os.environ["PORT"]))) as server:
            while True:
                server.accept()[0].close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, *sys.argv[1:]))
