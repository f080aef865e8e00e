"""Sphinx's settings: `./dev docs` builds the site, from this folder, README.md, ARCHITECTURE.md, CONTRIBUTING.md,
CHANGELOG.md and the notebooks, without network."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "gpuopt"
author = "The gpuopt authors"
copyright = author
version = release = importlib.metadata.version("gpuopt")

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns = ["_top"]
html_theme = "pydata_sphinx_theme"
html_title = "gpuopt"
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
}
html_sidebars = {"quick-start": [], "gallery": []}  # sections of one page
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
suppress_warnings = ["myst.header"]  # pages that tables of rows are written into begin sections at their own depth

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks have the outputs that they are committed with
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "DTypeLike": "DTypeLike"}
numpydoc_show_class_members = False
default_role = "code"


PAGES = {
    "README": "quick-start",
    "ARCHITECTURE": "architecture",
    "CONTRIBUTING": "contributing",
    "CHANGELOG": "changes",
}


def with_links_of_the_site(text: str) -> str:
    """A page of the tree whose links lead to pages of the site."""
    text = re.sub(r"\]\((?:\.\./)*(?:docs/|(?=notebooks/))", "](/", text)
    text = text.replace("](../README.md#bring-your-own-kernel)", "](/how-to/own-kernel.md)")
    for file, page in PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)*{file}\.md", f"](/{page}.md", text)
    return text


def copied_pages() -> None:
    """Notebooks and the pages at the top of the tree: Sphinx reads what lies below this folder alone."""
    notebooks, top = HERE / "notebooks", HERE / "_top"
    for folder in (notebooks, top):
        folder.mkdir(exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copyfile(path, notebooks / path.name)
    for file in PAGES:
        text = (ROOT / f"{file}.md").read_text(encoding="utf-8")
        (top / f"{file}.md").write_text(with_links_of_the_site(text), encoding="utf-8")


def pages_of_the_site(app: Any, name: str, source: list[str]) -> None:
    """Links as the site has them; below a section's first page, which the tree has too, all of its folder."""
    source[0] = with_links_of_the_site(source[0])
    if name.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def with_plain_bars(app: Any, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Absolute values in docstrings are no substitutions of reStructuredText, and properties have no signature."""
    if what in ("property", "attribute"):
        lines[:] = [line for line in lines if not re.match(r"\(.*\) -> ", line)]
    for i, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
        lines[i] = "``".join(parts)


def setup(app: Any) -> None:
    """Sphinx's call before it reads."""
    copied_pages()
    app.connect("autodoc-process-docstring", with_plain_bars, priority=900)
    app.connect("source-read", pages_of_the_site)
