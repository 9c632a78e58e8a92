"""How much host memory the machine has. Imports no torch: the doctor asks where there is none."""

from __future__ import annotations

import os


def ram_bytes() -> tuple[int | None, int | None]:
    """(total, free) bytes; None where the system does not tell."""
    try:
        import psutil  # ComfyUI brings it
    except ImportError:
        return _asked_of_the_system()
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def _asked_of_the_system() -> tuple[int | None, int | None]:
    # What the system could reclaim counts as used here: less is reported than psutil would.
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = os.sysconf("SC_PHYS_PAGES") * page
    except (AttributeError, OSError, ValueError):
        return None, None
    try:
        return total, os.sysconf("SC_AVPHYS_PAGES") * page
    except (OSError, ValueError):  # macOS
        return total, None
