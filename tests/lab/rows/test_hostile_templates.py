"""Lines of compact files that were altered, or made to do harm."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gpuopt.lab.rows import compact, templates
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store


def template(fields: Row, like: str | None = None, **other: Any) -> Row:
    extends = {"like": like} if like else {}
    return {"schema": 2, "shared": templates.name_of(like, fields), **extends, "fields": fields} | other


GOOD = template({"schema": 1, "kind": "block", "status": "ok", "variant": "basic"})
NAME = GOOD["shared"]
HOSTILE = {
    "a template that is missing": {"like": "0123456789", "block": 1},
    "a template by no name": {"like": None, "block": 1},
    "a template by a list": {"like": [NAME], "block": 1},
    "fields that are a list": {"schema": 2, "shared": NAME, "fields": [1]},
    "no fields": {"schema": 2, "shared": NAME},
    "a name that is a list": {"schema": 2, "shared": [], "fields": {}},
    "no schema": {"shared": NAME, "fields": {}},
    "an older schema": GOOD | {"schema": 1},
    "a schema that is text": GOOD | {"schema": "2"},
    "altered fields": GOOD | {"fields": GOOD["fields"] | {"variant": "fast"}},
    "itself": {"schema": 2, "shared": "aaaaaaaaaa", "like": "aaaaaaaaaa", "fields": {}},
    "one further down": template({"variant": "x"}, "bbbbbbbbbb"),
    "a template in the fields": template({"like": NAME, "schema": 1}),
    "too many fields": template({f"field{i}": 0 for i in range(600)}),
    "a schema taken away": {"like": NAME, "schema": None},
    "a row of the templates' schema": {"schema": 2, "kind": "block", "status": "ok"},
    "an identity that is no text": {"schema": 1, "kind": "search", "row_id": ["x"]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lines_are_damage(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [GOOD, {"like": NAME, "block": 0}, HOSTILE[name], {"like": NAME, "block": 1}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store = Store(path)
    assert [row["block"] for row in store.rows()] == [0, 1]
    assert {row["variant"] for row in store.rows()} == {"basic"}
    assert [(damage.line, bool(damage.reason)) for damage in store.problems] == [(3, True)]


@pytest.mark.parametrize("depth", [300, 700, 5000])
def test_deep_templates_and_rows_are_damage(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    deep = '{"a":' * depth + "0" + "}" * depth
    lines = [
        f'{{"schema":2,"shared":"x","fields":{{"params":{deep}}}}}',
        f'{{"schema":1,"kind":"search","params":{deep}}}',
    ]
    path.write_text("\n".join([*lines, json.dumps(GOOD), json.dumps({"like": NAME, "block": 0})]) + "\n")
    store = Store(path)
    assert store.rows()[-1]["block"] == 0
    assert len(store.rows()) + len(store.problems) == 3
    with suppress(ResultsError):  # the one error that the command line turns into a line
        compact.compact_file(path)


def test_a_newer_template_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(GOOD | {"schema": 3}) + "\n")
    with pytest.raises(ResultsError, match=r"rows\.jsonl has rows of schema 3, newer than 2: upgrade"):
        Store(path)
