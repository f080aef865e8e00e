"""How a search ends: by Ctrl-C, by its budget, and where a strategy comes to nothing."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab
from gpuopt.lab.kernels import strategies
from gpuopt.lab.kernels.strategies import Grid
from gpuopt.lab.run.sweep import SweepRun

FOUR = Grid(("A", "B"), tuple(itertools.product((1, 2), (1, 2))))
Suggest = Callable[[str, list[Any]], Any]


def interrupted_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ctrl-C as the configuration of this number is timed."""
    numbers, cost_alone = itertools.count(1), SweepRun.cost_alone

    def cost(run: SweepRun, *given: Any) -> float | None:
        if next(numbers) == number:
            raise KeyboardInterrupt
        return cost_alone(run, *given)

    monkeypatch.setattr(SweepRun, "cost_alone", cost)


@pytest.mark.parametrize("strategy", ["exhaustive", "restarts"])
@pytest.mark.parametrize("stored", [False, True])
def test_an_interrupted_search_has_what_was_timed(
    any_device: gpuopt.Device,
    brief_quick: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    strategy: str,
    stored: bool,
) -> None:
    interrupted_at(monkeypatch, 3)
    store = tmp_path / "rows.jsonl" if stored else None
    found = lab.search(own_kernels.saxpy(), strategy=strategy, device=any_device, store=store, n=4096)
    assert found.study.interrupted
    assert (found.evaluations, found.configurations, len(found.results.results)) == (2, 6, 2)
    assert (found.best, found.configuration) == (None, None)
    assert str(found).endswith(
        "2 of 6 configurations were tried; it was interrupted before the best were measured again"
    )
    assert "interrupted: what was finished is here" in " ".join(found.study.notes)
    if store is not None:
        assert len([row for row in lab.Store(store).rows() if row["kind"] == "search"]) == 2


def test_an_interrupt_before_anything_is_timed_is_passed_on(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        lab.search(own_kernels.saxpy(), strategy="random", device=any_device, n=4096)


# ---------------------------------------------------------------- Optuna


@pytest.fixture
def suggesting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Suggest], None]:
    """What stands in for Optuna, with suggestions of a function's."""

    def use(suggest: Suggest) -> None:
        trial = SimpleNamespace(suggest_categorical=suggest)
        study = SimpleNamespace(ask=lambda: trial, tell=lambda *told, **more: None)
        stands_in = SimpleNamespace(
            logging=SimpleNamespace(set_verbosity=lambda level: None, WARNING=0),
            samplers=SimpleNamespace(TPESampler=lambda seed: None),
            create_study=lambda sampler: study,
            trial=SimpleNamespace(TrialState=SimpleNamespace(FAIL=0)),
        )
        monkeypatch.setitem(sys.modules, "optuna", stands_in)

    return use


@pytest.mark.parametrize("admitted", [True, False])
def test_seconds_end_suggestions_that_are_of_no_use(
    suggesting: Callable[[Suggest], None], monkeypatch: pytest.MonkeyPatch, admitted: bool
) -> None:
    """A second passes with each look at the clock."""
    seconds = itertools.count()
    monkeypatch.setattr(strategies, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    asked: list[str] = []
    suggesting(lambda name, levels: asked.append(name) or levels[-1])
    grid = FOUR if admitted else Grid(FOUR.names, FOUR.points[:-1])
    made = strategies.run("optuna", grid, lambda levels: 1.0, seconds=20.0)
    assert len(made.times) == admitted
    assert 10 <= len(asked) <= 50


def test_suggestions_of_what_is_known_end(suggesting: Callable[[Suggest], None]) -> None:
    asked: list[str] = []
    suggesting(lambda name, levels: asked.append(name) or levels[-1])
    assert [*strategies.run("optuna", FOUR, lambda levels: 1.0).times] == [3]
    assert len(asked) <= 2 * (strategies.MOST_IN_VAIN + 2)


def test_a_budget_that_is_spent_ends_suggestions(suggesting: Callable[[Suggest], None]) -> None:
    asked: list[str] = []
    suggesting(lambda name, levels: asked.append(name) or levels[-1])
    assert len(strategies.run("optuna", FOUR, lambda levels: 1.0, evaluations=1).times) == 1
    assert len(asked) == 2


def test_suggestions_that_the_constraints_forbid_are_told(
    any_device: gpuopt.Device, suggesting: Callable[[Suggest], None]
) -> None:
    suggesting(lambda name, levels: levels[-1])
    kernel = own_kernels.saxpy(parameters={"WIDTH": [1, 2, 4], "WG": [16, 32]}, constraints=["WIDTH * WG <= 64"])
    with pytest.raises(ParameterError, match=r"^strategy: Optuna suggested nothing that the constraints admit .* use"):
        lab.search(kernel, strategy="optuna", device=any_device, n=4096)
