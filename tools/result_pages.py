"""Write the tables of docs/results and docs/from-kernel-tuner.md from the stored rows; `--check` says which differ.

A table stands between `<!-- rows: FILES | table: NAME -->` and `<!-- end -->`. What it shows is an entry of TABLES in
result_tables/PAGE.py; the files are written by this tool, and name all that the table was made from.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import tempfile
from pathlib import Path

from result_tables.tables import Table
from result_tables.values import ROOT, files_read

MARKED = re.compile(r"<!-- rows: ?([^|>]*?) ?\| table: (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)


def tables_of(page: Path) -> dict[str, Table]:
    """The tables that a page has to show."""
    name = "index" if page.stem == "README" else page.stem.replace("-", "_")
    tables: dict[str, Table] = importlib.import_module(f"result_tables.{name}").TABLES
    return tables


def written(page: Path) -> tuple[str, list[str]]:
    """The page's text with its tables made anew, and what was wrong with the old ones."""
    text, tables = page.read_text(encoding="utf-8"), tables_of(page)
    wrong: list[str] = []
    shown: set[str] = set()

    def made(match: re.Match[str]) -> str:
        files, name, old = match.groups()
        shown.add(name)
        if name not in tables:
            raise ValueError(f"{page}: no table is called {name}; result_tables has {', '.join(tables)}")
        try:
            with files_read() as read:
                new = tables[name]() + "\n"
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{page}: table {name}: {error}") from error
        if not read:
            raise ValueError(f"{page}: table {name} is made from no file; write it by hand")
        if files != ", ".join(read):
            wrong.append(f"table {name}: its marker names {files or 'no file'}; it is made from {', '.join(read)}")
        if new != old:
            wrong.append(f"table {name}: {_difference(old, new)}")
        return f"<!-- rows: {', '.join(read)} | table: {name} -->\n{new}<!-- end -->"

    text = MARKED.sub(made, text)
    if missing := sorted(tables.keys() - shown):
        raise ValueError(f"{page}: it has no marker for {', '.join(missing)}")
    return text, wrong


def _difference(old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    for was, now in zip(before, after, strict=False):
        if was != now:
            return f"the page says\n    {was}\n  and its rows\n    {now}"
    return f"the page has {len(before)} lines and its rows make {len(after)}"


def replace(page: Path, text: str) -> None:
    """Writes the page whole or not at all."""
    handle, name = tempfile.mkstemp(dir=page.parent, prefix=f".{page.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, page.stat().st_mode & 0o777)
        os.replace(name, page)
    except BaseException:
        os.unlink(name)
        raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page differs from its rows")
    parser.add_argument(
        "--pages", type=Path, help="the folder of the pages, in place of docs/results and what is beside it"
    )
    arguments = parser.parse_args()
    failed = False
    beside = [] if arguments.pages else [ROOT / "docs" / "from-kernel-tuner.md"]
    for page in [*beside, *sorted((arguments.pages or ROOT / "docs" / "results").glob("*.md"))]:
        text, wrong = written(page)
        if arguments.check:
            for what in wrong:
                print(f"{page.name}: {what}")
            failed |= bool(wrong)
        elif wrong:
            replace(page, text)
            print(f"{page.name}: written, {len(wrong)} differences")
    if failed:
        print("run `.venv/bin/python tools/result_pages.py` to write the tables from their rows")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
