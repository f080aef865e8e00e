"""The text of a kernel: read from its file, with quoted includes of its own folder put in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from gpuopt._core import ParameterError
from gpuopt.files import ELSEWHERE, NO_WORKING_DIRECTORY, leads_nowhere, refuse_irregular
from gpuopt.signals import is_file, let_through, real_path

MOST_DEEP = 50
MOST_BYTES = 4_000_000  # of a text with its includes
# A comment, or a text in quotes, within which none begins.
_COMMENT = re.compile(r"""/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*)$")
_QUOTED = re.compile(r'"([^"\n]+)"[ \t]*(?://.*|/\*.*\*/[ \t]*)?$')
_READS_FILES = re.compile(r"(?:#|%:|\?\?=)\s*(?:include\w*|import|embed)\b")
_SPLICE = re.compile(r"\\[ \t]*\r?\n|\?\?/\r?\n")  # a line that goes on in the next one


@dataclass(frozen=True)
class Source:
    """A kernel's whole text, as compilers get it, what messages call it, and the files that it was read from."""

    text: str
    name: str
    files: tuple[Path, ...] = field(default=(), compare=False)


def source_of(given: str | Path) -> Source:
    """The text itself, where ``given`` is one, or that of a file: a Path, or a text that ends in ".cl".

    Files that are included must lie in the folder of the file, or below it; they are looked for beside the file that
    includes them, then in that folder. A text includes none. Raises ParameterError, which names file and line.
    """
    if isinstance(given, str) and "\n" not in given and not given.rstrip().endswith(".cl") and "(" not in given:
        raise ParameterError(f"source: {given[:80]!r} is neither a kernel's text nor the path of a .cl file")
    if isinstance(given, str) and ("\n" in given or ("(" in given and not given.endswith(".cl"))):
        return _without_includes(Source(_expanded(_plain(given, "kernel.cl"), "kernel.cl", None, (), []), "kernel.cl"))
    path = Path(given)
    real = _real(path)
    read = [real]
    text = _expanded(_read(path), path.name, real.parent, (real,), read)
    return _without_includes(Source(text, path.name, tuple(dict.fromkeys(read))))


def _without_includes(source: Source) -> Source:
    """Raises ParameterError where a compiler would still read a file, however the directive is spelt."""
    if found := _READS_FILES.search(bare(source.text)):
        raise ParameterError(
            f"source: {source.name} has {' '.join(found[0].split())!r}, which is no plain #include of a quoted file on "
            "a line of its own; write it so"
        )
    return source


def _read(path: Path) -> str:
    try:
        refuse_irregular("source", path)
        if path.stat().st_size > MOST_BYTES:
            raise ParameterError(f"source: {path} is larger than {MOST_BYTES:,} bytes; give the kernel's own file")
        return _plain(path.read_text(encoding="utf-8-sig"), path.name)
    except (OSError, ValueError) as error:
        let_through(error)
        if isinstance(error, ParameterError):
            raise
        raise _unread(path, error) from error


def _real(path: Path) -> Path:
    """Where links of a path lead; those in a circle are left for :func:`_read`."""
    try:
        return Path(real_path(path))
    except (OSError, ValueError) as error:
        let_through(error)
        raise _unread(path, error) from error


def _unread(path: Path, error: Exception) -> ParameterError:
    why, way_out = str(error), "give a .cl file, or the text itself"
    if leads_nowhere(path):
        why, way_out = NO_WORKING_DIRECTORY, ELSEWHERE
    return ParameterError(f"source: {path} cannot be read ({why}); {way_out}")


def _plain(text: str, name: str) -> str:
    if "\0" in text:
        raise ParameterError(f"source: {name} holds a byte 0; give a text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:  # a surrogate, as of a name of a file
            raise ParameterError(f"source: {name} is no text of Unicode ({error.reason}); give one") from error
    return text.replace("\r\n", "\n")


def _expanded(text: str, name: str, folder: Path | None, open_files: tuple[Path, ...], read: list[Path]) -> str:
    """The text with its includes, which are appended to ``read``, and #line so that messages name the real file and
    line."""
    lines, starts, commented = [f'#line 1 "{_safe(name)}"'], 0, _comments(text)
    for number, line in enumerate(text.split("\n"), 1):
        found = _INCLUDE.match(line)
        at, starts = starts, starts + len(line) + 1
        if found is None or any(first < at < last for first, last in commented):
            lines.append(line)
            continue
        where = f"{name}:{number}"
        quoted = _QUOTED.match(found[1].strip())
        if quoted is None:
            raise ParameterError(
                f"source: {where}: {line.strip()!r}: only quoted files of the kernel's folder are included"
            )
        if folder is None:
            raise ParameterError(f"source: {where}: a text includes no files; give the path of a .cl file")
        path, shown = _included(quoted[1], name, open_files[-1].parent, folder)
        if not path.is_relative_to(folder):
            raise ParameterError(f"source: {where}: {quoted[1]!r} lies outside of the kernel's folder; copy it there")
        if len(open_files) >= MOST_DEEP:
            raise ParameterError(f"source: {where}: files are included {MOST_DEEP} deep; put them together")
        if path in open_files:
            raise ParameterError(f"source: {where}: {quoted[1]!r} includes itself")
        read.append(path)
        inner = _read(path)
        put_in = _expanded(inner, shown, folder, (*open_files, path), read)
        lines.append(_once(put_in, read.index(path)) if _ONCE.search(bare(inner)) else put_in)
        lines.append(f'#line {number + 1} "{_safe(name)}"')
    whole = "\n".join(lines)
    if len(whole) > MOST_BYTES:
        raise ParameterError(f"source: {name} with its includes is larger than {MOST_BYTES:,} bytes")
    return whole


def _comments(text: str) -> list[tuple[int, int]]:
    """Where comments begin and end."""
    return [found.span() for found in _COMMENT.finditer(text) if found[0][0] == "/"]


def _once(text: str, number: int) -> str:
    """What `#pragma once` asks for, which compilers obey in files alone; branches that are not taken do not count."""
    return f"#ifndef GPUOPT_ONCE_{number}\n#define GPUOPT_ONCE_{number}\n{text}\n#endif"


def _included(quoted: str, by: str, beside: Path, folder: Path) -> tuple[Path, str]:
    """The file, and its name for messages. As C looks for it: beside the file that includes it, whose name is ``by``,
    then in the kernel's folder."""
    near = _real(beside / quoted)
    if near.is_relative_to(folder) and is_file(near):
        return near, os.path.normpath(os.path.join(os.path.dirname(by), quoted))
    return _real(folder / quoted), quoted


def _safe(name: str) -> str:
    return re.sub(r"[^\w./-]", "_", name)


def bare(text: str) -> str:
    """The text as a preprocessor sees it: lines put together, without comments and the contents of strings."""
    return _COMMENT.sub(lambda found: '""' if found[0][0] in "\"'" else " ", _SPLICE.sub("", text))


# What a kernel that is not trusted must not use, with why. A finding refuses the kernel; it is no accusation.
_REFUSED = (
    (re.compile(r"##"), "it pastes words together", True),
    (re.compile(r"\b(?:__asm__|__asm|asm)\b"), "it has inline assembly", False),
    (re.compile(r"\b(?:enqueue_kernel|enqueue_marker|get_default_queue)\b"), "it starts kernels of its own", True),
    (re.compile(r"\b__builtin_(?!assume\b|expect\b|unreachable\b)\w+"), "it uses the compiler's own functions", False),
)
_KEEPS = "it keeps a variable between launches"
_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w*).*$", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*define[ \t]+(\w+)(.*)$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\)")
_CONSTANT = re.compile(r"\b(?:const|constant|__constant|sampler_t)\b")
_GLOBAL = re.compile(r"\b(?:__)?global\b")
_STATIC = re.compile(r"\bstatic\b(?!\s+(?:const|constant|__constant)\b)")
_STANDARD = re.compile(r"-cl-std=(?!CL1\.)\S+")


def refusals(text: str, on_gpu: bool, options: str = "") -> list[str]:
    """Constructs of a kernel that is not trusted which are refused, each in words. GPUs may have inline assembly: it
    cannot leave the device there.

    Variables that live between launches are looked for in the text, where macros can hide them. Compilers refuse all of
    them in OpenCL C 1.x, where an option names it (``in_first_language``); so a later language is refused whole. Where
    the text does not show where functions begin and end, nothing is said of them.
    """
    plain = bare(text)
    found = [says for pattern, says, everywhere in _REFUSED if (everywhere or not on_gpu) and pattern.search(plain)]
    if later := _STANDARD.search(options):
        found.append(f"it is built with {later[0]}, where variables may live between launches; only CL1.x is judged")
    braced = _braced(plain)
    if any(_keeps_variables(_branches(plain, first), braced) for first in (True, False)):
        found.append(_KEEPS)
    return found


def in_first_language(options: str) -> str:
    """Options that name OpenCL C 1.2 where they named no language: NVIDIA's compiler takes variables that live between
    launches then."""
    return options if "-cl-std=" in options else f"{options} -cl-std=CL1.2".strip()


def _branches(text: str, first: bool) -> str:
    """The text without directives, and of each #if the first branch, or the last, so that braces are in pairs. The last
    of an #if without #else is empty."""
    kept, begin = [], 0
    open_ifs: list[tuple[int, list[str], str]] = []  # where the branch begins in kept, those before it, its word
    for found in _DIRECTIVE.finditer(text):
        kept.append(text[begin : found.start()])
        begin, word = found.end(), found[1]
        if word.startswith("if"):
            open_ifs.append((len(kept), [], word))
        elif open_ifs and (word.startswith("el") or word == "endif"):
            start, branches, branch = open_ifs.pop()
            branches.append("".join(kept[start:]))
            del kept[start:]
            if word == "endif":
                branches += [] if branch == "else" else [""]
                kept.append(branches[0 if first else -1])
            else:
                open_ifs.append((start, branches, word))
    return "".join([*kept, text[begin:]])


def _braced(text: str) -> set[str]:
    """The macros that stand for braces or for a part of a pair of brackets, by themselves or by others."""
    bodies: dict[str, str] = {}
    users: dict[str, list[str]] = {}  # macros by the words in their bodies
    for name, body in _DEFINE.findall(text):
        bodies[name] = bodies.get(name, "") + body
        for word in re.findall(r"\w+", body):
            users.setdefault(word, []).append(name)
    found: set[str] = set()
    left = [name for name, body in bodies.items() if re.search("[{}]", body) or body.count("(") != body.count(")")]
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += users.get(name, [])
    return found


def _keeps_variables(text: str, braced: set[str]) -> bool:
    """Whether a declaration outside of functions is neither a function nor a type, and nothing that is constant; or a
    function has static variables. False where macros or branches hide what is outside."""
    parts = _by_depth(text)
    if parts is None or not braced.isdisjoint(re.findall(r"\w+", parts[0])):
        return False
    outside, inside = parts
    if _STATIC.search(inside):
        return True
    for one in _ATTRIBUTE.sub("", outside).split(";"):
        *before, last = one.split("{}")
        words = "{}".join([part for part in before if "()" not in part or "=" in part] + [last]).strip()
        head = words.partition("=")[0].rstrip()
        is_type = re.match(r"(?:struct|union|enum)\b\s*\w*\s*(?:\{\})?$", words) or words.startswith("typedef")
        is_function = head == words and words.endswith("()") and "," not in words
        is_constant = _CONSTANT.search(head) and not _GLOBAL.search(head)
        if words and not (is_type or is_function or is_constant):
            return True
    return False


def _by_depth(text: str) -> tuple[str, str] | None:
    """What stands outside of all brackets and braces, which are left as () and {}; and what stands inside. None where
    they are not in pairs."""
    depth = 0
    outside: list[str] = []
    inside: list[str] = []
    for letter in text:
        depth -= letter in "})"
        if depth < 0:
            return None
        (inside if depth else outside).append(letter)
        depth += letter in "{("
    return None if depth else ("".join(outside), "".join(inside))
