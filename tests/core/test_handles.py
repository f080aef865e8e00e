"""Objects of the core are made by its functions: a class's own ``__new__`` makes none that holds garbage."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import gpuopt
from gpuopt import _core
from made_up import run_python

CLASSES = [thing for _, thing in inspect.getmembers(_core, inspect.isclass) if not issubclass(thing, BaseException)]
# What a new object is asked for; before, several of these ended the process.
ASK_ALL = """
import sys
from gpuopt import _core
cls = getattr(_core, sys.argv[1])
try:
    made = cls.__new__(cls)
except TypeError as error:
    print("refused", error)
else:
    for name in dir(made):
        if not name.startswith("__") or name in ("__repr__", "__len__"):
            try:
                found = getattr(made, name)
                found() if callable(found) else repr(found)
            except Exception:
                pass
    print("made")
"""


@pytest.mark.parametrize("name", [thing.__name__ for thing in CLASSES])
def test_no_object_is_made_bare(name: str) -> None:
    run = subprocess.run([sys.executable, "-c", ASK_ALL, name], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, f"the process ended with {run.returncode}"
    assert run.stdout.startswith("refused")


@pytest.mark.parametrize("name", ["Device", "DeviceArray", "Prepared", "ProjectorPlan", "Parameter", "Variant"])
def test_what_only_functions_return(name: str) -> None:
    with pytest.raises(_core.HandleError, match=f"{name}: it cannot be made like this") as raised:
        getattr(_core, name)()
    assert isinstance(raised.value, TypeError)
    assert isinstance(raised.value, gpuopt.Error)


@pytest.mark.parametrize("cls", CLASSES)
def test_new_of_the_base_that_all_classes_share(cls: type) -> None:
    with pytest.raises(TypeError):
        cls.__mro__[1].__new__(cls)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        object.__new__(cls)


def test_constructors_make_whole_objects(any_device: gpuopt.Device) -> None:
    given = np.ones((1, 3), np.float32), np.zeros(1, np.int64), (3, 3), any_device
    matrix = _core.DiaMatrix(*given)
    matrix.__init__(*given)  # type: ignore[misc]
    assert matrix.stored_entries == 3
    with pytest.raises(gpuopt.ArrayError, match="negative"):
        _core.DiaMatrix(given[0], given[1], (-1, 3), any_device)


def test_copies_are_refused(any_device: gpuopt.Device) -> None:
    array = gpuopt.to_device(np.zeros(3, np.float32), any_device)
    protocols = [partial(pickle.dumps, protocol=each) for each in range(pickle.HIGHEST_PROTOCOL + 1)]
    for thing in (any_device, array, gpuopt.variants("spmv")[0]):
        for duplicate in (copy.copy, copy.deepcopy, *protocols, lambda one: one.__reduce__()):
            with pytest.raises(_core.HandleError, match=f"{type(thing).__name__}: .* neither copied nor pickled"):
                duplicate(thing)


def test_no_class_is_a_base() -> None:
    for cls in CLASSES:
        with pytest.raises(TypeError, match="acceptable base"):
            type("Sub", (cls,), {})


OBJECTS = """
import threading, numpy as np
from gpuopt import _core
device = _core.devices()[{index}]
float32 = np.dtype(np.float32)
scratch, arithmetic = lambda: _core.JosephScratch(device), lambda: _core.DeviceArithmetic(device)
made = [scratch, arithmetic, lambda: _core.empty((4,), float32, device)]
threads = [threading.Thread(target=lambda f=f: [f() for _ in range(1000)]) for f in made * 2]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("whole")
"""


def test_objects_that_threads_make_at_a_time(any_device: gpuopt.Device) -> None:
    """They were entered in the map of instances without Python's lock, and the process ended soon."""
    done = run_python(OBJECTS.format(index=any_device.index))
    assert done.stdout.strip() == "whole", done.stderr
