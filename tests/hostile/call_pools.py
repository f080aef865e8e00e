"""Hostile arguments as Python expressions, by what they are meant for; names are those of call_values."""

from __future__ import annotations


def parted(text: str) -> list[str]:
    """The expressions of a pool, which stand between tildes."""
    return [part.strip() for part in text.split("~")]


NUMBERS = parted(
    r"""
0 ~ -1 ~ 1 ~ 2 ~ 7 ~ True ~ False ~ 2**31 ~ 2**63-1 ~ 2**63 ~ -2**63 ~ 2**64 ~ 10**30 ~ 10**400 ~ -10**400 ~ 0.0 ~
-0.0 ~ 0.5 ~ 1.5 ~ 1e-300 ~ 5e-324 ~ 1e20 ~ 1e39 ~ -1e39 ~ 1e300 ~ 1e308 ~ float('nan') ~ -float('inf') ~
float('inf') ~ 1j ~ np.float16(1) ~ np.float32(3) ~ np.float64('nan') ~ np.int64(-1) ~ np.int8(5) ~
np.uint64(2**64-1) ~ np.bool_(True) ~ np.array(2) ~ np.array(2.5) ~ np.array([2]) ~ np.longdouble('1e4000') ~
complex(1,0) ~ __import__('decimal').Decimal('1.5') ~ __import__('fractions').Fraction(1,3)
"""
)
TEXTS = parted(
    r"""
'' ~ ' ' ~ 'no such' ~ 'float32' ~ 'float64' ~ 'a\0b' ~ '\ud800' ~ 'x' * 5000 ~ '../x' ~ '%s%n{}' ~ 'gpu' ~
'99999999999999999999' ~ '-1' ~ b'bytes' ~ 'tiled(TILE=99999999999999999999)' ~ 'paper:none' ~ 'tiled(TILE=0)' ~
'\n' ~ 'nan' ~ 'full' ~ Path('.') ~ Path('no/such/file') ~ '/dev/full' ~ '/dev/null'
"""
)
ARRAYS = parted(
    r"""
np.zeros(0, np.float32) ~ np.zeros((0, 3)) ~ np.zeros((3, 0), np.float32) ~ np.array(1.0, np.float32) ~
np.ones((2, 3, 4), np.float32) ~ np.ones((2,) * 32)[0] ~ np.ones(12, np.float64) ~ np.ones(12, '>f4') ~
np.ones(12, np.float16) ~ np.ones(12, complex) ~ np.ones(12, int) ~ np.ones(12, bool) ~ np.array(['a', 'b']) ~
np.array([None, {}], object) ~ np.array([1.0, None], object) ~ np.zeros(4, 'datetime64[s]') ~
np.zeros(3, [('a', 'f4')]) ~ np.full(12, np.nan, np.float32) ~ np.full((6, 6), np.inf) ~ np.ones(24)[::2] ~
np.ones(12, np.float32)[::-1] ~ np.broadcast_to(np.float32(1), (12,)) ~ np.asfortranarray(np.ones((6, 6))) ~
np.broadcast_to(np.float32(1), (2**40,)) ~ np.broadcast_to(np.float32(1), (2**31, 2**31)) ~
np.ma.masked_array(np.ones(12, np.float32), np.arange(12) % 2) ~ np.ma.masked_array(np.ones((4, 6, 6)), True) ~
np.ma.masked_array(np.ones((8, 6), np.float32), np.eye(8, 6)) ~ np.matrix(np.ones((6, 6), np.float32)) ~
np.ma.masked_array(np.ones((4, 3)), True) ~ np.ones(12, np.longdouble) ~ np.frombuffer(b'0' * 48, np.float32) ~
lying() ~ device_array() ~ gpuopt.to_device(np.ones((8, 6), np.float32)) ~ np.void(b'123') ~ memoryview(b'1234') ~
np.recarray((3,), [('x', float)]) ~ banded() ~ scipy.sparse.csr_array(np.eye(12)) ~ matrix()
"""
)
OBJECTS = parted(
    r"""
None ~ [] ~ () ~ {} ~ set() ~ object() ~ int ~ lambda *_: None ~ nested() ~ disguised() ~ Ellipsis ~ [None] ~
[1, 'a'] ~ [[1, 2], [3]] ~ {'a': 1} ~ {1: 2} ~ (1, 2, 3, 4, 5) ~ (-1, 2) ~ (0, 0) ~ (2**40, 2**40) ~
iter([1, 2]) ~ (i for i in range(3)) ~ range(3) ~ range(2**62) ~ np ~ NotImplemented ~ slice(None) ~ [10**400] ~
['naive', None] ~ (None, None) ~ (float('nan'), 1.0) ~ (1.0, -1.0) ~ ('a', 'b') ~ [float('nan')] ~ Exception() ~
molecule() ~ surface() ~ scan() ~ volume() ~ projector() ~ problem() ~ study() ~ gpuopt.Configuration('naive') ~
gpuopt.Configuration('tiled', TILE=2**70) ~ gpuopt.devices()[0] ~ gpuopt.Error('x') ~ peer() ~ [(2.0, 1.0)] * 3 ~
{'coulomb': None} ~ {'kappa': 10**400} ~ {'kappa': float('nan')} ~ (2**62, 2**62) ~ np.dtype('V8') ~ np.float16 ~
gt.Volume((4, 6, 6), 1.0, 1e20) ~ raising('object', '__array__', 'shape') ~ raising('object', '__class__') ~
raising('list', '__iter__') ~ raising('array', 'dtype') ~ raising('whole', '__float__') ~ raising('text', '__eq__') ~
raising('path', '__str__') ~ raising('object', '__array_interface__') ~ raising('mapping', 'items') ~
gt.Volume((4, 6, 6), 1e9) ~ gt.parallel3d(8, (6, 18)) ~ gt.circular(6, 60., 120., (6, 10), 1e-9) ~ [(1.0, 2.0)]
"""
)
EVERYTHING = [*NUMBERS, *TEXTS, *ARRAYS, *OBJECTS]
