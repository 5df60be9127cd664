"""The memory that is available, read before it is taken: `require_memory`."""

from __future__ import annotations

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")
_SHARE = 0.9  # of what is free that one fit may take


def available_memory() -> float | None:
    """Return the free bytes of the computer, or of the control group if it has less; None where that is unknown."""
    sizes = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes += [1024.0 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            sizes.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    try:
        limit = (_GROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            sizes.append(float(limit) - float((_GROUP / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return min(sizes) if sizes else None


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError where `needed` bytes are too many, before hours are lost in swapping.

    It says what needs the memory, how much there is, and what to do instead.
    """
    there = available_memory()
    if there is not None and needed > _SHARE * there:
        raise MemoryError(f"{what} needs about {needed / 1e9:.1f} GB, and {there / 1e9:.1f} GB are free; {remedy}.")
