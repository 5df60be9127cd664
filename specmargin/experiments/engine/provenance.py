"""Where numbers come from: versions, commit, platform, data. Collected once per run and referenced by its rows.

No paths, no host or user names: what `collect` returns may be published.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["PACKAGES", "collect"]

PACKAGES = ("specmargin", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "ecos")


def collect(
    *, seed: int | None = None, data: Mapping[str, str | None] | None = None, solver: str | None = None
) -> dict[str, Any]:
    """Return the provenance of a run as JSON values: what follows, and the arguments.

    ``versions`` (None for what is not installed), ``git`` (commit and whether files differ from it; None outside a
    checkout of this package), ``platform``, ``cpu_count``, ``utc``. `data` has the SHA-256 of each data set by its
    name, and `solver` is who was asked to solve.

    Examples
    --------
    >>> provenance = collect(seed=0)
    >>> provenance["seed"], sorted(provenance["versions"])[:3]
    (0, ['clarabel', 'cvxpy', 'ecos'])
    """
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "git": _git(),
        "platform": f"{platform.system()} {platform.machine()}, {platform.python_implementation()}",
        "cpu_count": os.cpu_count(),
        "utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "data": dict(data or {}),
        "solver": solver,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit of the checkout that this file belongs to, if it does."""
    root = Path(__file__).resolve().parents[3]

    def ask(*arguments: str) -> str:
        # No optional locks: another git command may be at work in the checkout.
        command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # An installed copy may lie inside the checkout of something else: that commit would be a lie.
        if Path(ask("rev-parse", "--show-toplevel")).resolve() != root:
            return None
        return {
            "commit": ask("rev-parse", "HEAD"),
            "dirty": bool(ask("status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError):
        return None
