"""Damage to files, by seed: of any bytes, of numbers in text, of JSON."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

_NUMBER = re.compile(rb"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_NUMBERS = [
    *("0", "-1", "1", "2", "127", "128", "255", "256", "65535", "65536", "2147483647", "2147483648", "4294967295"),
    *("4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "999999999999999999"),
    *("1e38", "3.5e38", "1e308", "1e400", "-1e400", "1e-400", "nan", "inf", "-inf", "NaN", "Infinity", "1_000", "0x10"),
    *("", "-", ".", "1e", "--1", "+5", "1,5", "1.5.2", "9" * 400, "9" * 5000, "0." + "0" * 400 + "1", "١٢"),
]
_TOKENS = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\n\n\n", b"#", b"\\", b"\\\n", b"//", b"\x1b[2J", b"\xc3\x28"),
    *(b"OFF", b"ply", b"ATOM", b"end_header\n", b"facet normal ", b"endsolid", b"element vertex 1000000000\n"),
    *(b"property list uchar int x\n", b"{", b"}", b"[" * 2000, b'"', b"null", b"true", b" " * 5000, b"A" * 70000),
]
_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        2**64,
        10**400,
        1e308,
        -1e308,
        5e-324,
        0.5,
        float("inf"),
        float("nan"),
    ),
    *(
        "",
        "x",
        "ok",
        "\ud800",
        "\0",
        "\x1b[31m",
        "$\\frac{",
        "$$",
        "a" * 10000,
        "../../x",
        "1",
        "ü",
        "basic",
        "__proto__",
    ),
    *([], {}, [[]], [None], [1, 2, 3], {"": None}, {"x": {"y": []}}, [0.1] * 50, {"schema": 1}),
]


def mutated(random_: random.Random, data: bytes, others: list[bytes], *, is_json: bool) -> bytes:
    """``data`` with one to four pieces of damage; ``others`` may lend it pieces."""
    for _ in range(random_.choice((1, 1, 1, 2, 4))):
        kinds = [*_BYTES, *([_json, _json_line] * 6 if is_json else [_number] * 4)]
        chosen = random_.choice([*kinds, None])
        data = chosen(random_, data) if chosen is not None else _spliced(random_, data, random_.choice(others))
    return data


def _place(random_: random.Random, data: bytes) -> int:
    """Headers are hit as often as all the rest."""
    most = len(data) if random_.random() < 0.5 else min(len(data), 200)
    return random_.randrange(most + 1)


def _flip(random_: random.Random, data: bytes) -> bytes:
    at = min(_place(random_, data), len(data) - 1)
    return data[:at] + bytes([data[at] ^ (1 << random_.randrange(8))]) + data[at + 1 :] if data else data


def _byte(random_: random.Random, data: bytes) -> bytes:
    at = _place(random_, data)
    return data[:at] + bytes([random_.choice((0, 255, 128, 10, 32, random_.randrange(256)))]) + data[at + 1 :]


def _word(random_: random.Random, data: bytes) -> bytes:
    """An extreme whole number over those of a binary file."""
    at, width = _place(random_, data), random_.choice((1, 2, 4, 8))
    bits = 8 * width
    number = random_.choice((0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1, 2 ** (bits - 2), 1000 % 2**bits))
    return data[:at] + number.to_bytes(width, random_.choice(("little", "big"))) + data[at + width :]


def _cut(random_: random.Random, data: bytes) -> bytes:
    return data[: _place(random_, data)]


def _out(random_: random.Random, data: bytes) -> bytes:
    at = _place(random_, data)
    return data[:at] + data[at + random_.choice((1, 2, 4, 20, 300)) :]


def _twice(random_: random.Random, data: bytes) -> bytes:
    at, length, times = _place(random_, data), random_.choice((1, 10, 100)), random_.choice((1, 2, 300, 3_000))
    return data[:at] + data[at : at + length] * times + data[at:]


def _many(random_: random.Random, data: bytes) -> bytes:
    """A line, or a token in its own line, so often that whoever takes quadratic time shows it."""
    lines = data.split(b"\n")
    at = random_.randrange(len(lines))
    line = random_.choice((lines[at], lines[at], b"\\", b"1 \\", random_.choice(_TOKENS)))[:100]
    return b"\n".join([*lines[:at], *[line] * (100_000 // (len(line) + 4)), *lines[at:]])


def _token(random_: random.Random, data: bytes) -> bytes:
    at = _place(random_, data)
    return data[:at] + random_.choice(_TOKENS) + data[at:]


def _noise(random_: random.Random, data: bytes) -> bytes:
    at = _place(random_, data)
    return data[:at] + random_.randbytes(random_.choice((1, 8, 100))) + data[at + random_.choice((0, 1, 8, 100)) :]


def _lines(random_: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    one, other = random_.randrange(len(lines)), random_.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _number(random_: random.Random, data: bytes) -> bytes:
    found = list(_NUMBER.finditer(data[: 1 << 16]))
    if not found:
        return _byte(random_, data)
    hit = random_.choice(found[:8] if random_.random() < 0.4 else found)
    return data[: hit.start()] + random_.choice(_NUMBERS).encode() + data[hit.end() :]


def _spliced(random_: random.Random, data: bytes, other: bytes) -> bytes:
    at, place = _place(random_, data), _place(random_, other)
    return data[:at] + other[place : place + random_.choice((4, 100, 10000))] + data[at:]


def _json(random_: random.Random, data: bytes) -> bytes:
    """Another value at some place of a document, or a key less."""
    try:
        held = json.loads(data)
    except (ValueError, RecursionError):
        return _number(random_, data)
    return _dumped(_hit(random_, held))


def _json_line(random_: random.Random, data: bytes) -> bytes:
    """The same in one line of many."""
    lines = data.split(b"\n")
    at = random_.randrange(len(lines))
    try:
        held = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _number(random_, data)
    lines[at] = _dumped(_hit(random_, held))
    return b"\n".join(lines)


def _dumped(held: Any) -> bytes:
    return json.dumps(held).encode()  # with NaN and Infinity, as other writers make them


def _hit(random_: random.Random, held: Any) -> Any:
    if not (isinstance(held, (dict, list)) and held) or random_.random() < 0.1:
        return random_.choice(_VALUES)
    key = random_.choice(list(held) if isinstance(held, dict) else range(len(held)))
    if random_.random() < 0.15:
        del held[key]
    elif isinstance(held, dict) and random_.random() < 0.1:
        held[random_.choice(["", "x", "like", "shared", "schema", "fields", "\ud800"])] = held[key]
    else:
        held[key] = _hit(random_, held[key])
    return held


_BYTES: list[Mutation] = [_flip, _flip, _byte, _word, _word, _cut, _out, _twice, _token, _noise, _lines, _number, _many]
