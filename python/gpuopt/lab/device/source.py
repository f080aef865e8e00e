"""Which source a run is of: the commit, and a hash of the code that measures."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from pathlib import Path

from gpuopt import _core
from gpuopt.lab.rows.facts import SourceFacts
from gpuopt.signals import let_through

PACKAGE = Path(__file__).parents[2]
DIRTY = "+dirty"


def source() -> SourceFacts:
    """The commit of the working tree that the package runs from, else the one that the core was built from; whether
    files were changed since; the commit of the core; and a hash of the code."""
    built = _core.__commit__ or None
    commit, dirty = tree() or (None, None)
    if commit is None and built is not None:
        commit, dirty = built.removesuffix(DIRTY), built.endswith(DIRTY)
    return {"commit": commit, "dirty": dirty, "built": built, "code": code()}


@functools.cache
def commit() -> str | None:
    """The commit of the running source as rows name it, with "+dirty" where files were changed; None if unknown."""
    facts = source()
    return facts["commit"] and facts["commit"] + (DIRTY if facts["dirty"] else "")


def tree() -> tuple[str | None, bool | None] | None:
    """Commit and dirty flag if the package runs from a working tree that tracks it, not merely inside one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(PACKAGE), *arguments]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=20, env=clean | {"GIT_OPTIONAL_LOCKS": "0"}
            )
        except (OSError, subprocess.SubprocessError) as error:
            let_through(error)
            return None
        return run.stdout.strip() if run.returncode == 0 else None

    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    # Rows that a study writes into the tree change nothing of what is measured.
    changes = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":/src", ":/kernels", ":/cmake")
    return git("rev-parse", "HEAD"), None if changes is None else bool(changes)


@functools.cache
def code() -> str | None:
    """A hash of the core and of the package's Python, but for what only shows results; None where it cannot be read.

    Kernels are not in it: the key of a row holds the source of its own.
    """
    digest = hashlib.sha256()
    own = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "show" and "picture" not in path.name)
    try:
        for path in (Path(_core.__file__), *own):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        let_through(error)
        return None
    return digest.hexdigest()[:16]
