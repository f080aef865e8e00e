"""What the tests of this room share."""

from __future__ import annotations

import pytest

import study_rows
from gpuopt.lab.report import Study


@pytest.fixture
def study() -> Study:
    return Study(study_rows.rows(), study_rows.INFO, ["shrunk to half of what is free"])


@pytest.fixture
def full() -> Study:
    return Study(study_rows.full_rows(), study_rows.INFO)
