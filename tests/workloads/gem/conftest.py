"""Studies of made rows, for pictures and for what they say."""

from __future__ import annotations

import pytest

from gpuopt.lab.report import Study
from workloads.gem.made_rows import design, steps


@pytest.fixture(scope="package")
def study() -> Study:
    return Study(steps())


@pytest.fixture(scope="package")
def whole() -> Study:
    return Study([*steps(), *design()])
