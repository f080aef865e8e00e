"""PQR files: the spellings that programs write, and broken files."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from gpuopt import Error, io
from gpuopt.io import FormatError
from surface_files import written

PDB_LIKE = "ATOM      1  N   ASY     1      46.331  15.935  -4.837 -0.470 1.850"


@pytest.mark.parametrize(
    "line",
    [
        PDB_LIKE,
        PDB_LIKE + "   N",
        PDB_LIKE + "  PROT N1+",
        PDB_LIKE.replace("ATOM  ", "HETATM"),
        PDB_LIKE.replace("   1  ", "  36A "),
        PDB_LIKE.replace("ASY     1", "ASY A1000"),
        "ATOM 1 0 ### 0 46.331 15.935 -4.837 -.47 1.85",
        "ATOM\t1\tN\tASY\t46.331\t15.935\t-4.837\t-0.47\t1.85",  # no residue number
        "HETATM12345 N ASY A 1 46.331 1.5935e1 -4.837 -4.7E-1 +1.85",
        "  atom 1 N ASY 1 46.331 15.935 -4.837 -0.470 1.850\r",
    ],
)
def test_spellings_of_an_atom(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, "a.pqr", f"REMARK Åsa's atom 1\nCRYST1\n\nMODEL 1\n{line}\nTER\nEND\nENDMDL\n")
    made = io.read_pqr(path)
    assert made.radius is not None
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made.xyz, np.float32([[46.331, 15.935, -4.837]]))
    np.testing.assert_array_equal([made.charge[0], made.radius[0]], np.float32([-0.47, 1.85]))


@pytest.mark.parametrize(
    ("line", "xyz"),
    [
        ("ATOM   5346  O   ASN A 664     -34.085 -67.825-100.826 -0.582 1.661", (-34.085, -67.825, -100.826)),
        (
            "ATOM   5346  O   ASN A 664    -134.085-167.825-100.826 -0.582 1.661           O",
            (-134.085, -167.825, -100.826),
        ),
        ("ATOM   5346  O   ASN A 664    1134.0852167.8253100.826 -0.582 1.661", (1134.085, 2167.825, 3100.826)),
        ("ATOM   5346  O   ASN A 664    1134.0852167.8253100.826-0.582 1.661", (1134.085, 2167.825, 3100.826)),
    ],
)
def test_columns_that_grew_together(tmp_path: Path, line: str, xyz: tuple[float, ...]) -> None:
    path = written(tmp_path, "a.pqr", line)
    made = io.read_pqr(path, dtype=np.float64)
    np.testing.assert_array_equal(made.xyz[0], xyz)
    np.testing.assert_array_equal(made.charge, [-0.582])


@pytest.mark.parametrize("end", ["      1    N", "      0001", "      2", " 1 2", "      PROT 1"])
def test_a_segment_that_is_a_number(tmp_path: Path, end: str) -> None:
    """It took the radius's place, and each number moved by one."""
    glued = "ATOM   5346  O   ASN A 664    -134.085-167.825 -10.826 -0.582 1.661"
    made = io.read_pqr(written(tmp_path, "a.pqr", f"{PDB_LIKE}{end}\n{glued}{end}\n"), np.float64)
    np.testing.assert_array_equal(made.xyz, [[46.331, 15.935, -4.837], [-134.085, -167.825, -10.826]])
    assert made.radius is not None
    assert (made.charge.tolist(), made.radius.tolist()) == ([-0.47, -0.582], [1.85, 1.661])


@pytest.mark.parametrize("end", ["", "   N", "   N  PROT"])
@pytest.mark.parametrize("form", ["{:8.3f}" * 5, "{:12.3f}" * 5, "{:16.3f}" * 5, " {:.4f}" * 5, "{:10.5f}" * 5])
@pytest.mark.parametrize("width", range(14, 40))
def test_wide_fields_in_any_columns(tmp_path: Path, width: int, form: str, end: str) -> None:
    numbers = (46.331, 15.935, -4.837, -0.47, 1.85)
    made = io.read_pqr(written(tmp_path, "a.pqr", f"{'ATOM 1 N ASY 1':<{width}} {form.format(*numbers)}{end}"), float)
    assert made.radius is not None
    assert (*made.xyz[0], made.charge[0], made.radius[0]) == numbers


def test_hand_written_whole_numbers(tmp_path: Path) -> None:
    made = io.read_pqr(written(tmp_path, "a.pqr", "ATOM 1 I ION 1 0 0 0.5 1 2\nATOM 2 I ION 2 0 3 0 -1 2"), np.float64)
    np.testing.assert_array_equal(made.xyz, [[0, 0, 0.5], [0, 3, 0]])
    assert made.charge.tolist() == [1, -1]


GOOD = PDB_LIKE + "\n"
PDB = "".join(
    f"ATOM  {k:5d}  CA  ALA A{k:4d}    {k:8.3f}   1.000   2.000  1.00 20.00           C  \n" for k in range(20)
)


def pdb(count: int = 199, occupancy: str = "  1.00", b: str = " 20.00", end: str = "", record: str = "ATOM  ") -> str:
    """Lines in PDB's columns, one in two of an alternate location."""
    head = "HEADER    HYDROLASE                               01-JAN-00   1ABC\nCRYST1   52.000   58.600   61.900\n"
    places = ((k, f"{k * 1.5 - 100:8.3f}{-k * 4.25:8.3f}{k:8.3f}") for k in range(1, count + 1))
    return head + "".join(
        f"{record}{k:5d}  CA {' A'[k % 2]}ALA A{k:4d}    {place}{occupancy}{b}{end}\n" for k, place in places
    )


ELEMENT = "           C  "


@pytest.mark.parametrize(
    "content",
    [
        pdb(),
        pdb(record="HETATM"),
        pdb(end=ELEMENT),
        pdb(end=ELEMENT) + pdb(1, record="HETATM"),
        pdb(end=ELEMENT, occupancy="  0.00"),
        pdb(end=ELEMENT, occupancy="  0.00", b="  0.00"),
        pdb(occupancy="  0.50"),
        pdb(b="  0.00"),
        pdb(b="  0.93"),
        pdb(b="100.00"),
        pdb(b="120.50", end="      PROT"),
        pdb(b="  7.00", end="      1ABC 123"),
        pdb(end="    -0.346 C "),  # PDBQT, whose last two numbers are a B factor and a charge
        pdb(150) + pdb(20).replace("ATOM  ", "ATOM      "),  # longer numbers may have moved the columns
        pdb(11),
        pdb(2),
        pdb(5, end=ELEMENT),
    ],
)
def test_pdb_files_are_refused(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, "a.pqr", content)
    with pytest.raises(FormatError, match="look like a PDB file's occupancies and B factors; make a PQR file of it"):
        io.read_pqr(path)


@pytest.mark.parametrize(
    "content",
    [
        pdb(occupancy=" -0.47", b="  1.85"),
        pdb(10, occupancy="  1.00", b="  1.87"),  # ions
        pdb(occupancy="  2.00", b="  1.87"),
        pdb(occupancy="  0.00", b="  1.70"),  # uncharged atoms
        pdb(1, occupancy="  1.00", b=" 20.00"),  # one sphere
        pdb(40) + pdb(1, occupancy=" -1.00", b="  1.81"),
        pdb(occupancy="  1.0000", b="  1.8700"),
        pdb(occupancy="  0.310", b=" 1.000"),
        pdb(occupancy="  0.310", b=" 1.00"),
        pdb(occupancy="   1.00", b="  2.50"),
        pdb(occupancy="  0.47000000", b="   1.850", end="  C"),
        "".join(f"ATOM {k} NA NA {k} {k}.0 0.0 0.0 1.00 20.00\n" for k in range(50)),
    ],
)
def test_charges_and_radii_in_any_columns_are_no_pdb_file(tmp_path: Path, content: str) -> None:
    made = io.read_pqr(written(tmp_path, "a.pqr", content), np.float64)
    charge, radius = content.splitlines()[-1].removesuffix("  C").split()[-2:]
    assert made.radius is not None
    assert (made.charge[-1], made.radius[-1]) == (float(charge), float(radius))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "it is empty"),
        ("\n\n", None, "no ATOM or HETATM record"),
        ("ATOMS 1 2 3 4 5 6 7\nHETATMS 1 2 3 4 5 6 7\n", None, "no ATOM or HETATM record"),
        ("REMARK nothing\nEND\n", None, "no ATOM or HETATM record"),
        (os.urandom(0) + bytes(range(256)) * 50, 1, "it holds a zero byte"),
        (GOOD.encode("utf-16"), 1, "it holds a zero byte"),
        (b"A" * 3_000_000, 1, "it is 1,048,576 bytes or longer"),
        (GOOD * 2 + GOOD[:45], 3, "does not end in x y z charge radius"),
        (GOOD + "ATOM", 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "   nan"), 2, "not finite in float32"),
        (GOOD + GOOD.replace("46.331", "  -inf"), 2, "not finite"),
        (GOOD + GOOD.replace("46.331", "  1e99"), 2, "not finite in float32"),
        (GOOD + GOOD.replace("46.331", "  1e31"), 2, "row holds a coordinate beyond 1e+30 A; correct it"),
        (GOOD + GOOD.replace("1.850", " 1e31"), None, "radius: row 1 holds 1e+31 A"),
        (GOOD + GOOD.replace("46.331", "******"), 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "46,331"), 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "46_331"), 2, "does not end in"),
        (GOOD + GOOD.replace("1.850", "*****"), 2, "behind its residue number"),
        (GOOD + GOOD.replace(" 1.850", ""), 2, "behind its residue number"),
        (GOOD + GOOD.replace("-0.470 1.850", ""), 2, "does not end in"),
        (GOOD + "ATOM      1  N   ASY A   1    -146.331-115.935-104.837 -0.470", 2, "behind its residue number"),
        (GOOD + "ATOM      1  N   ASY A   1    1146.3311115.9351104.837 -0.470", 2, "behind its residue number"),
        (GOOD + GOOD.replace("-0.470 1.850", "1.850 -0.470"), 2, "radius -0.47 is negative; correct it: the charge"),
        (
            GOOD + GOOD[:-1].replace("      46.331", " 46.331") + " 1\n",
            2,
            "ends in more numbers than x y z charge radius",
        ),
        (GOOD + "ATOM 1 N ASY 1 46.331 15.935 -4.837 -0.470 1.850 1 N", 2, "is not clear; leave out the others"),
        (
            GOOD + "ATOM 1 N ASY 1" + " " * 10 + "46.331  15.935  -4.837  -0.470 1.850 1",
            2,
            "more numbers",
        ),
        (GOOD + GOOD.replace("-0.470 1.850", " 1.00  0.00 -0.470 1.850"), 2, "look like a PDB file's occupancies"),
        (GOOD + GOOD.replace("-0.470 1.850", " 1.000  0.000 -0.470 1.850"), 2, "more numbers"),
        (GOOD + "END\n" + GOOD, 3, "a second model"),
        (GOOD + "MODEL 2\n" + GOOD, 3, "a second model"),
        ("MODEL 1\n" + GOOD + "ENDMDL\nMODEL 2\n" + GOOD + "ENDMDL\n", 5, "a second model"),
        (PDB, None, "PDB file's occupancies"),
        ("ATOM   1    N  N   . VAL A 1 1 ? 6.204 16.869 4.854 1.00 49.05 ? 1 VAL A N 1\n", 1, "does not end in"),
    ],
)
def test_broken_pqr_files(tmp_path: Path, content: str | bytes, line: int | None, message: str) -> None:
    path = written(tmp_path, "broken.pqr", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_pqr(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
    assert len(str(caught.value)) < len(str(path)) + 300


def test_an_end_without_atoms_before_it_ends_nothing(tmp_path: Path) -> None:
    assert len(io.read_pqr(written(tmp_path, "a.pqr", f"END\n{GOOD}ATOMS 3\n{GOOD}TER\nEND\nREMARK\nEND\n"))) == 2
    glued = GOOD + GOOD.replace("ATOM      1", "HETATM12345") + GOOD.replace("ATOM      1", "HETATMA0000")
    assert len(io.read_pqr(written(tmp_path, "a.pqr", glued))) == 3


def test_format_errors_are_errors_that_travel() -> None:
    error = FormatError("a.pqr", 3, "what; do")
    assert isinstance(error, Error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.line) == ("a.pqr, line 3: what; do", Path("a.pqr"), 3)


@pytest.mark.parametrize("between", ["", " ", "\f"])
def test_two_atoms_in_a_line_are_refused(tmp_path: Path, between: str) -> None:
    """As `cat` makes of files without an end of their last line."""
    one = "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  0.1000 1.8500"
    (tmp_path / "a.pqr").write_text(f"{one}{between}{one.replace('  N ', '  C ')}\n{one}\n")
    with pytest.raises(FormatError, match=r"line 1: .* holds more than an atom; give each a line of its own"):
        io.read_pqr(tmp_path / "a.pqr")


@pytest.mark.parametrize("behind", ["", "  0.5000", "  0.5000 O", " C"])
@pytest.mark.parametrize("place", ["1  21   ", "9  48   ", "A  21   ", "   21   "])
def test_a_line_that_is_cut_behind_its_columns_is_refused(tmp_path: Path, place: str, behind: str) -> None:
    """Where the chain is a digit, its residue's number would pass for x."""
    whole = "ATOM      1  CA  GLY 1  20      10.123  -4.500   7.250 -0.5000 1.5000\n"
    (tmp_path / "a.pqr").write_text(f"{whole}ATOM      2  CA  GLY {place}   11.000  -3.250   8.125{behind}\n")
    with pytest.raises(FormatError, match="line 2: "):
        io.read_pqr(tmp_path / "a.pqr")
    (tmp_path / "a.pqr").write_text(f"{whole}ATOM      2  CA  GLY {place}   11.000  -3.250   8.125  0.5000 1.2\n")
    assert io.read_pqr(tmp_path / "a.pqr").xyz[1].tolist() == [11.0, -3.25, 8.125]
