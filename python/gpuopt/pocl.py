"""Why PoCL, which is installed, shows no device: without a cache of its own that can be written it shows none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuopt.signals import let_through

PLATFORM = "Portable Computing Language"


def is_hidden(platforms: Sequence[Mapping[str, Any]]) -> bool:
    """Whether PoCL is among the platforms, without a device."""
    return any(entry["name"] == PLATFORM and not entry["devices"] for entry in platforms)


def cache_place(environment: Mapping[str, str]) -> Path:
    """The folder in which PoCL keeps what it compiles: what POCL_CACHE_DIR says, else one in the user's cache."""
    if own := environment.get("POCL_CACHE_DIR"):
        return Path(own)
    if xdg := environment.get("XDG_CACHE_HOME"):
        return Path(xdg) / "pocl" / "kcache"
    home = environment.get("HOME")
    return Path(home, ".cache", "pocl", "kcache") if home else Path("/tmp/pocl/kcache")


def unwritable_cache() -> dict[str, str] | None:
    """PoCL's cache and why it cannot be written; None where it can."""
    place = cache_place(os.environ)
    try:
        place.mkdir(parents=True, exist_ok=True)  # as PoCL does
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
    except OSError as error:
        let_through(error)
        return {"path": str(place), "reason": error.strerror or str(error)}
    return None


def hidden_because() -> str:
    """A sentence about PoCL's cache where it hides PoCL's device from this process; empty where it does not."""
    from gpuopt import _core  # the doctor reads this file where it cannot be loaded

    if not is_hidden(_core.discovery()["platforms"]):
        return ""
    cache = unwritable_cache()
    return advice(cache) if cache else ""


def advice(cache: Mapping[str, str]) -> str:
    """What to do about it."""
    return (
        f"PoCL is installed, but shows no device, for it cannot write its cache {cache['path']} ({cache['reason']}): "
        "set POCL_CACHE_DIR to a folder that this user may write"
    )
