"""Numbers with their intervals, and a sheet of them as plain text or HTML.

A cell is a tuple of forms, the most telling first, the shortest last. A column says per layout level which form it
shows (or `-`: none), so that one sheet fits a wide notebook and a narrow terminal without a second table.
"""

from __future__ import annotations

import html
import math
import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuopt.checked import methods_checked
from gpuopt.lab.rows.short_names import has_levels

Forms = tuple[str, ...]

ABSENT: Forms = ("-",)
SEPARATOR = "  "
UNFOLDED = 10_000  # characters of a line that is not folded
NARROWEST, WIDEST, FALLBACK_WIDTH = 60, 120, 110
ASYMMETRIC = 1.5  # of sides of an interval that differ by more, the wider does not stand for both
TERA = 10_000  # GFLOP/s from which on rates are told in TFLOP/s


# ---------------------------------------------------------------- numbers


def percent_text(part: float) -> str:
    """`1.2 %`, `34 %`, `150 %`, of a fraction."""
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.0f} %"


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with at least `digits` significant digits and never an exponent, `-` for None.

    >>> significant(1996.2), significant(12.04), significant(0.5)
    ('1996', '12.0', '0.500')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - _magnitude(value))}f}"


def spread(
    mid: float | None,
    lo: float | None = None,
    hi: float | None = None,
    unit: str = "",
    digits: int = 3,
    limits: Sequence[float] = (),
) -> Forms:
    """`mid` and its interval as (`mid [lo, hi]`, `mid ± half`, `mid`), with the digits that the interval supports.

    At most `digits` significant digits, one more where the interval would read as zero, and some more where an end
    would read as on the other side of one of the `limits` that it is held against. The second form is the first
    where one `±` would hide something: sides of which one is over 1.5 times the other, or as wide as the value.
    """
    if mid is None or not math.isfinite(mid):
        return ABSENT
    if lo is None or hi is None or not (math.isfinite(lo) and math.isfinite(hi)):
        return (f"{significant(mid)}{unit}",)
    sides = sorted((abs(hi - mid), abs(mid - lo)))
    places = places_apart((lo, hi), limits, _places(mid, sides[1], digits))
    bare = f"{_at(mid, places)}{unit}"
    whole = f"{bare} [{_at(lo, places)}, {_at(hi, places)}]"
    if sides[1] > ASYMMETRIC * sides[0] + 0.5 * 10.0**-places or sides[1] >= abs(mid):
        return (whole, whole, bare)
    return (whole, f"{bare} ± {sides[1]:.{places}f}", bare)


def places_apart(ends: Sequence[float], limits: Sequence[float], places: int) -> int:
    """So many decimals, or up to three more, as leave each end on its side of each limit when they are rounded."""

    def keeps(more: int) -> bool:
        pairs = [(end, round(end, places + more), limit) for end in ends for limit in limits if end != limit]
        return all(shown != limit and (shown > limit) == (end > limit) for end, shown, limit in pairs)

    return next((places + more for more in range(4) if keeps(more)), places)


def _at(value: float, places: int) -> str:
    """The number with so many decimals, more where none but zeros would be left of it."""
    least = -_magnitude(value) if value else 0
    return f"{value:.{max(places, least)}f}"


def byte_count(count: float) -> str:
    """`count` bytes with a decimal prefix: `85.9 MB`."""
    return f"{_scaled(count)}B"


def flop_rate(gflop_s: float) -> str:
    """`24.5 GFLOP/s`, `51.0 TFLOP/s` from ten of them on."""
    return f"{significant(gflop_s / 1e3)} TFLOP/s" if gflop_s >= TERA else f"{significant(gflop_s)} GFLOP/s"


def quantity(count: float, unit: str) -> str:
    """`count` with a decimal prefix: `42.5 Mflop`."""
    return f"{_scaled(count)}{unit}"


def small_quantity(amount: float, unit: str) -> str:
    """`amount` with a prefix for parts: `12.0 mJ`."""
    scale, prefix = next((each for each in ((1.0, ""), (1e-3, "m")) if abs(amount) >= each[0]), (1e-6, "u"))
    return f"{significant(amount / scale)} {prefix}{unit}"


# Controls but tab and line feed, marks that turn the direction of writing, and halves of characters.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """``text`` as any terminal, page and encoding takes it: rows may come from anyone, and their words must not move a
    cursor or break off the output."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def wrapped(texts: Sequence[str], width: int | None = None, bullet: str = "- ") -> str:
    """The texts as a list of lines of at most ``width`` characters (the terminal's when None); a number keeps its `%`
    beside it."""
    most = max(NARROWEST, terminal_width() if width is None else width)
    return "\n".join(line for text in texts for line in folded(text, most, bullet, " " * len(bullet)))


def folded(text: str, width: int, first: str = "", rest: str = "    ") -> list[str]:
    """The text in lines of at most ``width`` characters that begin with ``first`` and ``rest``; what belongs to a sign
    stays beside it."""
    glue = "\N{NO-BREAK SPACE}"
    for apart in (" %", "± ", "* ", "~ ", "? ", "= ", " @ "):
        text = text.replace(apart, apart.replace(" ", glue))
    lines = textwrap.wrap(printable(text), width, initial_indent=first, subsequent_indent=rest)
    return [line.replace(glue, " ") for line in lines]


def terminal_width() -> int:
    """Characters a line may have: the terminal's (or COLUMNS), at most 120, 110 where there is no terminal."""
    return min(WIDEST, shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns)


def shortened(text: str, width: int) -> str:
    """`text` cut to `width` characters, the last an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def name_lines(text: str, width: int) -> list[str]:
    """A row's name in lines of at most ``width`` characters, broken between its levels; what has none between words."""
    if len(text) <= width:
        return [text]
    if not has_levels(text.strip()):
        inset = " " * (len(text) - len(text.lstrip()))
        return [shortened(line, width) for line in folded(text.strip(), width, inset, f"{inset}  ")]
    inset = " " * (len(text) - len(text.lstrip()) + 2)
    out = [""]
    for part in (f"{part}, " for part in text.split(", ")):
        if out[-1] and len((out[-1] + part).rstrip(" ")) > width:
            out.append(inset)
        out[-1] += part
    out[-1] = out[-1].removesuffix(", ")
    return [shortened(line.rstrip(), width) for line in out]


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _scaled(count: float) -> str:
    for prefix in ("", "k", "M", "G", "T", "P"):
        if abs(count) < 999.5 or prefix == "P":
            return f"{count:.0f} {prefix}" if prefix == "" else f"{significant(count)} {prefix}"
        count /= 1000
    raise AssertionError("unreachable")


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _places(mid: float, half: float, digits: int) -> int:
    """Decimals that show two digits of the half-width within `digits` significant digits of the value."""
    by_value = digits - 1 - _magnitude(mid) if mid else digits
    by_half = 1 - _magnitude(half) if half > 0 else by_value
    places = max(0, min(by_half, by_value))
    return places + 1 if half > 0 and round(half, places) == 0 and by_half > places else places


# ---------------------------------------------------------------- the sheet


@dataclass(frozen=True)
class Column:
    """One column: `units` are the forms of its second heading, `layout` a character a level (a form's index or `-`).
    Of the first one, `folds` says how many characters a line of each form may have."""

    key: str
    title: str
    units: Forms
    layout: str
    right: bool = True
    folds: tuple[int, ...] = ()

    def fold(self, level: int) -> int:
        """Characters of a line of its cells at `level`."""
        return self.folds[int(self.layout[level])] if self.folds else UNFOLDED

    def form(self, forms: Forms, level: int) -> str:
        """The form of a cell at `level`: the last one where the cell has fewer."""
        return " ".join(printable(forms[min(int(self.layout[level]), len(forms) - 1)]).split("\n"))


@dataclass(frozen=True)
class Line:
    """One table row: cells by column key, the share of its bound (0 to 1) that HTML draws as a bar, and a sentence that
    stands below the row."""

    cells: Mapping[str, Forms]
    share: float | None = None
    below: str = ""


@dataclass
class Sheet:
    """Header lines, titled sections of lines, and labelled footers (label, text) that are wrapped under the table.
    ``legend`` says what short names in the first column stand for, in the forms of its cells."""

    columns: Sequence[Column]
    header: list[str] = field(default_factory=list)
    sections: list[tuple[str, list[Line]]] = field(default_factory=list)
    footers: list[tuple[str, str]] = field(default_factory=list)
    legend: Forms = ()

    def text(self, width: int | None = None) -> str:
        """The sheet in `width` characters (the terminal's when None, 60 to 120), in the widest layout that fits."""
        width = max(NARROWEST, terminal_width() if width is None else width)
        table: list[str] = []
        level = 0
        for level in range(len(self.columns[0].layout)) if self.columns else ():
            table = self._table(level)
            if max(map(len, table)) <= width:
                break
        table = self._table(level, max(map(len, table)) - width, width) if table else []
        out = [part for line in self.header for part in folded(line, width)]
        out += [*([""] if out else []), *table] if self.sections else []
        told = self.columns[0].form(self.legend, level) if self.columns and self.legend else ""
        for label, text in [*([("", told)] if told else []), *self.footers]:
            out += folded(f"{label}: {text}" if label else text, width)
        return "\n".join(out)

    def _table(self, level: int, excess: int = 0, width: int | None = None) -> list[str]:
        """The table at `level`; `excess` is taken from the first column, which holds names, or given to it where it is
        negative. Titles, and sentences below rows, are wrapped to `width`, and left out where that is None."""
        columns = [column for column in self.columns if column.layout[level] != "-"]
        heading = [[c.title for c in columns], [c.form(c.units, level) for c in columns]]
        body: list[tuple[str, list[list[str]]]] = [
            (title, [[c.form(line.cells.get(c.key, ABSENT), level) for c in columns] for line in lines])
            for title, lines in self.sections
            if lines
        ]
        indent = "  " if any(title for title, _ in body) else ""
        for _, lines in body:
            for cells in lines:
                cells[0] = indent + cells[0]
        everything = heading + [cells for _, lines in body for cells in lines]
        widths = [max(map(len, column)) for column in zip(*everything, strict=True)]
        fold = len(indent) + columns[0].fold(level)
        for taken in (0, excess):
            fold = max(8, fold - taken)
            widths[0] = fold = max(len(line) for cells in everything for line in name_lines(cells[0], fold))

        def layout(cells: Sequence[str]) -> list[str]:
            first, *more = name_lines(cells[0], widths[0])
            parts = [
                cell.rjust(width) if column.right else cell.ljust(width)
                for column, cell, width in zip(columns, [first, *cells[1:]], widths, strict=True)
            ]
            return [SEPARATOR.join(parts).rstrip(), *more]

        rule = "-" * (sum(widths) + len(SEPARATOR) * (len(widths) - 1))
        out = [line for titles in heading if any(titles) for line in layout(titles)] + [rule]
        sentences = [[line.below for line in lines] for _, lines in self.sections if lines]
        for (title, lines), below in zip(body, sentences, strict=True):
            out += folded(printable(title), width) if title and width else []
            for cells, sentence in zip(lines, below, strict=True):
                out += layout(cells)
                if sentence and width:
                    inset = indent + "  "
                    out += folded(sentence, width, inset, inset)
        return [*out, rule]

    def html(self) -> str:
        """The sheet as one HTML element; colours are inherited or translucent, so it reads on light and dark pages."""
        out = [f'<div class="gpuopt-study"><style>{_CSS}</style>']
        for number, text in enumerate(self.header):
            out.append(f'<div class="gpuopt-{"facts" if number else "title"}">{_esc(text)}</div>')
        out += self._html_table() if self.sections else []
        for label, text in [*([("", self.legend[0])] if self.legend and self.legend[0] else []), *self.footers]:
            named = f"<b>{_esc(label)}</b>: " if label else ""
            out.append(f'<div class="gpuopt-facts">{named}{_esc(text)}</div>')
        out.append("</div>")
        return "".join(out)

    def _html_table(self) -> list[str]:
        out = ["<table><thead><tr>"]
        for column in self.columns:
            unit = f"<br><small>{_esc(column.units[0])}</small>" if column.units[0] else ""
            out.append(f"<th{_align(column)}>{_esc(column.title)}{unit}</th>")
        out.append("</tr></thead><tbody>")
        for title, lines in self.sections:
            if lines and title:
                out.append(f'<tr class="gpuopt-section"><td colspan="{len(self.columns)}">{_esc(title)}</td></tr>')
            for line in lines:
                out.append("<tr>")
                out += [self._html_cell(column, line) for column in self.columns]
                out.append("</tr>")
                if line.below:
                    span = f'<td class="gpuopt-left" colspan="{len(self.columns)}">'
                    out.append(f'<tr class="gpuopt-below">{span}{_esc(line.below)}</td></tr>')
        return [*out, "</tbody></table>"]

    @staticmethod
    def _html_cell(column: Column, line: Line) -> str:
        style = ""
        if column.key == "bound" and line.share is not None:
            percent = f"{100 * min(max(line.share, 0.0), 1.0):.1f}%"
            shade = f"linear-gradient(to right, rgba(60,140,210,.32) {percent}, transparent {percent})"
            style = f' style="background:{shade}"'
        return f"<td{_align(column)}{style}>{_esc(line.cells.get(column.key, ABSENT)[0])}</td>"


def _align(column: Column) -> str:
    return "" if column.right else ' class="gpuopt-left"'


def _esc(text: str) -> str:
    return html.escape(printable(text), quote=True)


_CSS = (
    ".gpuopt-study{color:inherit;margin:.4em 0}"
    ".gpuopt-study table{border-collapse:collapse;color:inherit;margin:.5em 0;font-variant-numeric:tabular-nums}"
    ".gpuopt-study th,.gpuopt-study td{padding:.2em .8em;text-align:right;white-space:nowrap;color:inherit;"
    "border:none}"
    ".gpuopt-study th{vertical-align:bottom;border-bottom:1px solid rgba(128,128,128,.6)}"
    ".gpuopt-study th small{font-weight:normal;opacity:.75}"
    ".gpuopt-study tbody tr{background:transparent!important;border-bottom:1px solid rgba(128,128,128,.2)}"
    ".gpuopt-study .gpuopt-left{text-align:left}"
    ".gpuopt-study .gpuopt-section td{text-align:left;font-style:italic;opacity:.8;padding-top:.6em}"
    ".gpuopt-study .gpuopt-below td{white-space:normal;font-size:.9em;opacity:.85;padding-left:2em;max-width:60em}"
    ".gpuopt-study .gpuopt-title{font-weight:600}"
    ".gpuopt-study .gpuopt-facts{font-size:.9em;opacity:.85;max-width:75em;white-space:normal}"
)


@methods_checked
class Shown:
    """What prints as its sheet, and shows it in Jupyter."""

    def _sheet(self) -> Sheet:
        raise NotImplementedError

    def to_text(self, width: int | None = None) -> str:
        """The table in ``width`` characters, or in those of the terminal."""
        return self._sheet().text(width)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self._sheet().html()
