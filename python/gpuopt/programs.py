"""Programs of the user: Python files that define kernels of their own, for the command line."""

from __future__ import annotations

import math
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.files import ELSEWHERE, NO_WORKING_DIRECTORY, leads_nowhere
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.signals import exists, is_file, is_folder, let_through, suppressing

FOLDERS = ("GPUOPT_CACHE_DIR", "GPUOPT_KERNEL_DIR")  # variables; relative paths start where the command does
RUN_NAME = "gpuopt_program"  # its __name__, so that what stands below `if __name__ == "__main__"` is left out
Sizes = dict[str, Any]  # whole numbers, and floats where the kernel takes them
_ONE_AT_A_TIME = threading.RLock()  # what a file may change is the process's


@contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, Kernel], Path]]:
    """The kernels of a Python file by the names that it gives them, and the folder that relative paths of the command
    line start from: the file, or a function of it that is called later, may change the working directory. The folders
    of gpuopt's variables become whole paths. It is run as `python FILE` would run it, with its folder first on
    sys.path; that, the modules of that folder, the directory and the variables end with the context, also where the
    file set them: another file has another `helper.py`. Raises ParameterError where there is no such file, it raises,
    or it has no kernel."""
    if leads_nowhere(path):
        raise ParameterError(f"{path}: {NO_WORKING_DIRECTORY}; {ELSEWHERE}")
    if not is_file(path):
        what = "it is a folder" if is_folder(path) else "there is no such file"
        raise ParameterError(f"{path}: {what}; name a Python file that defines a lab.Kernel")
    with _ONE_AT_A_TIME:
        folder = path.resolve().parent
        searched, words, here = list(sys.path), list(sys.argv), _working_directory()
        modules = set(sys.modules)
        variables = {name: os.environ.get(name) for name in FOLDERS}
        os.environ.update({name: str(here / given) for name, given in variables.items() if given})
        sys.path.insert(0, str(folder))
        sys.argv[1:] = []
        try:
            names = _run(path)
            found = {name: value for name, value in names.items() if isinstance(value, Kernel)}
            if not found:
                raise ParameterError(f"{path}: it has no kernel; write NAME = lab.Kernel(...) at its top level")
            yield found, here
        finally:
            for name, given in variables.items():
                if given is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = given
            with suppressing(OSError):  # it was removed
                os.chdir(here)
            _forget(folder, searched, modules)
            sys.path[:], sys.argv[:] = searched, words


def _forget(folder: Path, searched: Sequence[str], modules: set[str]) -> None:
    """Takes the modules out of sys.modules that FILE.py alone can import: from its folder, or from one below it that it
    put on sys.path itself, and none that was imported before it."""
    added = [one for one in sys.path if isinstance(one, str) and one not in searched]
    own = {str(folder), *(one for one in added if Path(one).is_relative_to(folder))}
    roots = {name for name in {*sys.modules} - modules if "." not in name and _found_in(own, name)}
    for name in {*sys.modules} - modules:
        if name.partition(".")[0] in roots:
            sys.modules.pop(name, None)


def _found_in(folders: set[str], name: str) -> bool:
    """Whether a module was found in one of these folders."""
    with suppressing(Exception):  # an object that took a module's place may tell nothing
        spec = sys.modules[name].__spec__
        if isinstance(spec, ModuleSpec):
            places = [*(spec.submodule_search_locations or [spec.origin or ""])]
            return any(os.path.dirname(place) in folders for place in places)
    return any(exists(os.path.join(one, made)) for one in folders for made in (f"{name}.py", name))


def _working_directory() -> Path:
    """An empty path where it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        let_through(error)
        return Path()


def _run(path: Path) -> dict[str, object]:
    whole = path.absolute()  # as Python names the file that it runs, which may change the working directory
    try:
        return runpy.run_path(str(whole), run_name=RUN_NAME)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        let_through(error)
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise ParameterError(f"{_place(path, whole, error)}: {what} (`gpuopt --traceback` shows the rest)") from error


def _place(path: Path, whole: Path, error: BaseException) -> str:
    """`kernel.py, line 3`: the innermost line in a file of the program's folder that the error comes from. The program
    is called by the path that was given, not by the ``whole`` one."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        file, line = error.filename, error.lineno
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_file()]
        own = [frame for frame in frames if Path(frame.filename).resolve().parent == whole.resolve().parent]
        if not own:
            return str(path)
        file, line = own[-1].filename, own[-1].lineno
    return f"{path if file == str(whole) else file}, line {line}"


def files_of(path: Path, kernels: Mapping[str, Kernel]) -> list[Path]:
    """The files that a program is known to read: itself, the modules of its folder, and the texts of its kernels with
    what they include."""
    return [path, *_modules_of(path), *(file for kernel in kernels.values() for file in kernel.code.source.files)]


def _modules_of(path: Path) -> Iterator[Path]:
    folder = path.resolve().parent
    names = [name for name in sys.modules if name != "__main__"]  # gpuopt's own, which a script starts without a spec
    roots = {name for name in names if "." not in name and _found_in({str(folder)}, name)}
    for name in names:
        if name.partition(".")[0] in roots:
            file = folder / f"{name}.py"
            with suppressing(Exception):
                file = Path(sys.modules[name].__file__ or file)
            if file.is_file():
                yield file


def chosen(kernels: Mapping[str, Kernel], name: str | None = None) -> Kernel:
    """The kernel of this name, the file's or the kernel's own; without a name the only one. Raises ParameterError that
    lists them."""
    listed = ", ".join(held if held == kernel.name else f"{held} ({kernel.name})" for held, kernel in kernels.items())
    if name is None:
        if len(set(map(id, kernels.values()))) > 1:
            raise ParameterError(f"--kernel: the file has several, {listed}; name one")
        return next(iter(kernels.values()))
    named = [kernels[name]] if name in kernels else [one for one in kernels.values() if one.name == name]
    if len(set(map(id, named))) != 1:
        raise ParameterError(f"--kernel: {name!r} is {'none' if not named else 'not one'} of the file's: {listed}")
    return named[0]


def sizes_of(words: Sequence[str], kernel: Kernel) -> Sizes:
    """The sizes and values of words such as `n=1048576`. Raises ParameterError for other words, and names what the
    kernel needs and does not have."""
    found: Sizes = {}
    wanted = " ".join(f"{name}=..." for name in kernel.task.sizes_wanted([*kernel.code.space.levels]))
    for word in words:
        name, _, text = word.partition("=")
        number = _number(text)
        if number is None or not name:
            raise ParameterError(f"{word!r} is no size; write NAME=NUMBER{f', here {wanted}' if wanted else ''}")
        if name in found:
            raise ParameterError(f"{name}: it stands twice; give each size once")
        found[name] = number
    kernel.task.numbers(found, {}, [*kernel.code.space.levels])
    return found


def _number(text: str) -> int | float | None:
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        number = float(text)
        return None if math.isinf(number) and any(letter.isdigit() for letter in text) else number  # beyond float64
    return None
