"""Which device a call runs on: words for it, `use` as a statement and as a block, and both from several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import gpuopt
from gpuopt import selection
from gpuopt.selection import select


def test_device_selection(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert select("0").index == 0
    assert select(any_device.type).type == any_device.type
    with pytest.raises(gpuopt.ParameterError, match="device: no device fits 'no such thing'; there are 0:"):
        select("no such thing")
    with pytest.raises(gpuopt.ParameterError, match="device: no device fits 99"):
        select(99)
    monkeypatch.setenv("GPUOPT_DEVICE", "no such thing")
    with pytest.raises(gpuopt.ParameterError, match="GPUOPT_DEVICE: no device fits"):
        select()
    last = gpuopt.devices()[-1]
    with gpuopt.use(last) as used:
        assert select().index == used.index == last.index
    monkeypatch.setenv("GPUOPT_DEVICE", str(last.index))
    assert select().index == last.index


class Named:
    """A device as far as its selection goes."""

    def __init__(self, index: int, name: str) -> None:
        self.index, self.key, self.type = index, f"NVIDIA CUDA / {name}", "gpu"
        self.vendor, self.version, self.name = "NVIDIA Corporation", "OpenCL 3.0 CUDA", name


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> list[Named]:
    found = [Named(i, name) for i, name in enumerate(["GeForce RTX 4090", "GeForce RTX 3080", "Tesla V100"])]
    monkeypatch.setattr(selection._core, "devices", lambda: found)
    monkeypatch.setattr(selection, "_statements", [])
    monkeypatch.delenv("GPUOPT_DEVICE", raising=False)
    return found


def test_digits_are_an_index_or_part_of_a_name(named: list[Named]) -> None:
    assert select("2").name == "Tesla V100"
    assert select("4090").index == 0
    for gone in ("3", "12", " 8 "):  # an index that there is no more, though versions and names hold these digits
        with pytest.raises(gpuopt.ParameterError, match="device: no device fits"):
            select(gone)
    assert select(" 3080 ").index == 1
    for nothing in ("5", 5, 4090, "²"):  # a number is an index alone; "5" is in no name
        with pytest.raises(gpuopt.ParameterError, match="no device fits"):
            select(nothing)


def in_thread(task: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(task).result()


def test_use_as_a_statement_is_for_all_threads(named: list[Named]) -> None:
    used = gpuopt.use(1)
    assert (select().index, in_thread(lambda: select().index)) == (1, 1)
    gpuopt.use("v100")
    assert in_thread(lambda: select().index) == 2
    with used:  # made above, entered now
        assert select().index == 1
        assert in_thread(lambda: select().index) == 2
    assert select().index == 2


def test_use_as_a_block_nests_and_is_used_again(named: list[Named]) -> None:
    used = gpuopt.use("3080")
    for _ in range(2):
        with used as device:
            assert device.index == select().index == 1
            with gpuopt.use(2), used, gpuopt.use(2):
                assert select().index == 2
                with used:
                    assert select().index == 1
                assert select().index == 2
                assert in_thread(lambda: select().index) == 0
            assert select().index == 1
        assert select().index == 0
    with pytest.raises(KeyError), used:
        raise KeyError
    assert select().index == 0


def test_blocks_of_use_may_end_in_any_order(named: list[Named]) -> None:
    first, second = gpuopt.use(1), gpuopt.use(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert select().index == 2
    second.__exit__(None, None, None)
    assert select().index == 0


def test_one_use_in_two_threads(named: list[Named]) -> None:
    used, both = gpuopt.use(1), threading.Barrier(2)

    def inside() -> tuple[int, int]:
        with used:
            both.wait(10)
            here = select().index
            both.wait(10)
        return here, select().index

    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(inside), pool.submit(inside)]
        assert [task.result() for task in tasks] == [(1, 0), (1, 0)]


def test_a_block_that_is_about_to_begin_is_no_statement(named: list[Named]) -> None:
    """Between `use(...)` and the beginning of its block other threads took it for the default of the process."""
    made, asked, answers = threading.Event(), threading.Event(), []

    def block() -> None:
        used = gpuopt.use(1)
        made.set()
        asked.wait(0.02)  # the other thread asks meanwhile
        with used:
            answers.append(select().index)

    def other() -> None:
        made.wait(10)
        answers.append(select().index)
        asked.set()

    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(block), pool.submit(other)]:
            task.result()
    assert sorted(answers) == [0, 1]
    kept = gpuopt.use(2)  # a statement whose object is held
    assert in_thread(lambda: select().index) == kept.device.index == 2


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_fits_no_device(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(gpuopt.ParameterError, match=f"device: no device fits '{name}'"):
        select(name)
    with pytest.raises(gpuopt.ParameterError, match="device: no device fits"):
        gpuopt.use(name)


def test_a_statement_outlasts_blocks_that_were_made_before_they_began(named: list[Named]) -> None:
    gpuopt.use(1)
    first, second = gpuopt.use(0), gpuopt.use(0)
    with first, second:
        assert select().index == 0
    assert select().index == in_thread(lambda: select().index) == 1


def test_none_in_a_block_makes_no_device_the_default_of_all(named: list[Named]) -> None:
    gpuopt.use(2)
    with gpuopt.use(1):
        kept = gpuopt.use(None)
        assert select().index == 1
        assert in_thread(lambda: select().index) == 2
        with gpuopt.use(0), kept:
            assert select().index == 1
    assert select().index == in_thread(lambda: select().index) == 2
