"""Runs `main.py` of a ComfyUI in this process, which ends when the process that started it does.

`python launch.py MAIN [arguments]`. The starter keeps the other end of standard input open; when it is gone, for
whatever reason, this side reads the end of the stream and leaves, so that no server outlives its test run.
"""

import os
import runpy
import sys
import threading
from pathlib import Path


def _leave_with_the_starter() -> None:
    # Not sys.stdin, whose lock would be held when the interpreter shuts down.
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_leave_with_the_starter, daemon=True).start()
    main = sys.argv[1]
    sys.argv[:] = sys.argv[1:]
    # As `python main.py` would have it; this file's folder holds a module with the name of ComfyUI's `comfy`.
    sys.path[0] = str(Path(main).parent)
    runpy.run_path(main, run_name="__main__")
