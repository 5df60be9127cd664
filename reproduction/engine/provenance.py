"""Provenance of numbers: versions, commit, platform, data. Collected once per run and referenced by its rows.

`changed_since` names the sources that differ from those of a commit.

No paths, no host or user names: what `collect` returns may be published.
"""

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import specmargin

_SOURCES = ("specmargin/", "reproduction/")
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


def _ask_git(*arguments: str) -> str | None:
    """Return what git says of the checkout that this package belongs to; None if it belongs to none, or git fails."""
    root = Path(specmargin.__file__).resolve().parents[1]

    def ask(*given: str) -> str:
        # No optional locks: another git command may be at work in the checkout.
        command = ["git", "--no-optional-locks", "-C", str(root), *given]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # An installed copy may lie inside the checkout of something else: that commit would be a lie.
        return ask(*arguments) if Path(ask("rev-parse", "--show-toplevel")).resolve() == root else None
    except (OSError, subprocess.SubprocessError):
        return None


def _git() -> dict[str, Any] | None:
    commit, changed = _ask_git("rev-parse", "HEAD"), _ask_git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None or changed is None else {"commit": commit, "dirty": bool(changed)}


@cache
def changed_since(commit: str) -> tuple[str, ...] | None:
    """Return the sources that differ from those of a commit; None where the checkout does not have it, or is none."""
    changed = _ask_git("diff", "--name-only", commit, "--", "*.py") if commit.isalnum() else None
    return None if changed is None else tuple(name for name in changed.splitlines() if name.startswith(_SOURCES))


def since_commit(commit: str) -> str:
    """Return a line on the code that has changed since a commit; empty where it is that of today."""
    changed = changed_since(commit)
    if changed is None:
        return f"commit {commit[:12]} is not in this checkout, so that what has changed since is not known"
    files = f"{len(changed)} file{'s' if len(changed) > 1 else ''}"
    return f"the code has changed since commit {commit[:12]}, in {files}" if changed else ""
