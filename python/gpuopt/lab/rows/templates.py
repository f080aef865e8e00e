"""Template lines of a compact results file: each says once what many rows have in common, and rows name the one that
they extend.

    {"schema":2,"shared":"9f2c41d07b","like":"51aa0e93cd","fields":{"variant":"basic","dtype":"float32", ...}}
    {"like":"9f2c41d07b","block":3,"order":2,"median_ms":0.330496,"ratio":1.0021}

A row has the fields of its template and its own, which win; null takes a field away. A template may extend one of an
earlier line in the same way. Its name is the start of the SHA-256 of what it says: files may be joined, and a line that
was lost or edited is found instead of lending its rows other fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = 2  # of template lines; a gpuopt that knows none refuses the file instead of passing over its rows
MOST_FIELDS = 512  # of a template, several times what a row can have

Fields = dict[str, Any]


@dataclass(frozen=True)
class Template:
    """Fields of rows, and those that follow from them: ``derived`` holds wherever a row changes no key field."""

    fields: Fields
    derived: Fields


def name_of(like: str | None, fields: Mapping[str, Any]) -> str:
    """What a template is called that extends ``like`` (or nothing) by ``fields``."""
    text = json.dumps([like, fields], separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


class Templates:
    """The templates of a file so far. ``derive`` makes the fields that follow from ``key_fields``: hashes, which take
    longer than all the rest of reading a row, and are made once a template."""

    def __init__(self, key_fields: Collection[str], derive: Callable[[Fields], Fields]) -> None:
        self._key_fields, self._derive = frozenset(key_fields), derive
        self._known: dict[str, Template] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def define(self, line: Fields) -> None:
        """Takes up a template line. Raises ValueError that says what is wrong with it."""
        name, like, fields = line["shared"], line.get("like"), line.get("fields")
        if type(line.get("schema")) is not int or line["schema"] != SCHEMA:
            raise ValueError(f"a template is of schema {SCHEMA}")
        if not isinstance(name, str) or not isinstance(fields, dict):
            raise ValueError("a template has a name (shared) and a JSON object (fields)")
        if "like" in fields or "shared" in fields:
            raise ValueError("a template's fields name a template: what it extends stands beside them")
        try:
            if name != name_of(like, fields):
                raise ValueError(f"the template {name[:40]!r} was altered: its name is not that of what it says")
            merged = self._extended(like, fields) if like is not None else fields
            if len(merged) > MOST_FIELDS:
                raise ValueError(f"a template of more than {MOST_FIELDS} fields")
            self._known[name] = Template(merged, self._derive(merged))
        except RecursionError:
            raise ValueError("a template nested too deeply") from None

    def expand(self, row: Fields) -> Fields:
        """The whole of a row that names a template. Raises ValueError where no line above says it."""
        own = {field: value for field, value in row.items() if field != "like"}
        merged = self._extended(row["like"], own)
        if not self._key_fields.isdisjoint(own) or merged.get("kind") == "environment":
            return merged
        return self._known[row["like"]].derived | merged

    def _extended(self, like: object, fields: Fields) -> Fields:
        """The values are those of the template, not copies of them: rows are read, never changed in place."""
        template = self._known.get(like) if isinstance(like, str) else None
        if template is None:
            raise ValueError(f"no line above it is the template {str(like)[:40]!r}, which it extends")
        merged = template.fields | fields
        if None in fields.values():
            return {field: value for field, value in merged.items() if value is not None}
        return merged
