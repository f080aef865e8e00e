"""A reconstruction by iteration: its result, what callbacks see, and its state while it runs."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError, DeviceArray, ParameterError
from gpuopt.checked import ParameterTypeError, checked, real
from gpuopt.progress import Bar
from gpuopt.signals import let_through
from gpuopt.tomo import checks
from gpuopt.tomo.analytic import view_major
from gpuopt.tomo.kinds import Given
from gpuopt.tomo.operators import Array, Operator

_WITHIN = 0.8  # of the exponents that a dtype has: algorithms divide, square and add up
_SQUARED = 1e150  # a norm whose square float64 holds


@checked
@dataclass(frozen=True, eq=False)
class Reconstruction(Generic[Given]):
    """The image of a reconstruction with the history of its iterations, arrays (iterations,) of float64;
    ``seconds`` are in s. ``np.asarray`` of it is the image.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(6, 8), gt.Volume((8, 8)))
    >>> found = gt.sirt(A, A(np.ones((8, 8))), iterations=3)
    >>> found.ended, found.iterations, found.image.shape
    ('finished', 3, (8, 8))
    >>> bool(found.residuals[2] < found.residuals[0])
    True
    """

    image: Given
    """(z, y, x) or (y, x) in 1/mm, of the projections' kind and dtype."""
    residuals: np.ndarray
    """|b - A x| in each iteration, before its update; with blocks of views each block counts before its own update."""
    weighted: np.ndarray
    """The same in the norm of R^-1, in which SIRT never rises; for CGLS it is |A^T (b - A x)|, for MLEM and OS-EM the
    root of sum (b - A x)^2 / A x."""
    seconds: np.ndarray
    """How long each iteration took."""
    ended: str
    """"finished", "stopped" by the callback, "converged" or "interrupted"."""

    @property
    def iterations(self) -> int:
        """How many iterations were finished."""
        return len(self.residuals)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        image = self.image
        if not isinstance(image, np.ndarray):
            return image.__array__(dtype, copy)
        found = np.asarray(image, dtype=dtype)
        if found is image:
            return found.copy() if copy else found
        if copy is not None and not copy:
            raise ParameterError(f"copy: the image is {image.dtype}, so that {found.dtype} is a copy; leave it out")
        return found

    def __repr__(self) -> str:
        last = f", residual {self.residuals[0]:.4g} -> {self.residuals[-1]:.4g}" if self.iterations else ""
        return f"<Reconstruction: {self.ended} after {self.iterations} iterations{last}>"


@checked
@dataclass(frozen=True, eq=False)
class State(Generic[Given]):
    """What a callback sees after an iteration. Its ``image`` has the shape ``A.image_shape``, in 1/mm, and the dtype of
    the projections.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(6, 8), gt.Volume((8, 8)))
    >>> found = gt.sirt(A, A(np.ones((8, 8))), callback=lambda state: state.iteration == 2)
    >>> found.ended, found.iterations
    ('stopped', 2)
    """

    iteration: int
    """How many iterations are finished, from 1."""
    iterations: int
    """How many there are to be."""
    residual: float
    """As in :class:`Reconstruction`."""
    weighted: float
    _image: Callable[[], Given] = field(repr=False)

    @property
    def image(self) -> Given:
        """A copy of the image so far, made when this is read, in the callback: later its memory goes to further
        iterations, and ParameterError is raised. Raises ArrayError where it is beyond the dtype."""
        return self._image()


def ends(answer: object) -> bool:
    """Whether a callback's answer ends the run. Raises ParameterTypeError for arrays, and for what is neither true nor
    false."""
    told = "give True to end the run, False or None to go on"
    if isinstance(answer, DeviceArray) or getattr(answer, "shape", ()) != ():
        raise ParameterTypeError(f"callback: it returned an array, which does not say whether to end; {told}")
    try:
        return bool(answer)
    except Exception as error:  # of the caller's own object
        let_through(error)
        raise ParameterTypeError(f"callback: it returned a {type(answer).__name__} ({error}); {told}") from error


Callback: TypeAlias = Callable[[State[Given]], object]


@dataclass(frozen=True)
class Steps:
    """The relaxation of updates, and the bounds of the image."""

    relaxation: float
    decay: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, relaxation: Any, decay: Any, bounds: Any, A: Operator) -> Steps:
        step = checks.number("relaxation", relaxation, "a factor above 0 and below 2")
        fall = checks.number("decay", decay, "a factor above 0, at most 1")
        if not 0 < step < 2:
            raise ParameterError(f"relaxation: {relaxation!r} does not converge; give a factor above 0 and below 2")
        if not 0 < fall <= 1:
            raise ParameterError(f"decay: {decay!r} cannot be; give a factor above 0, at most 1")
        if bounds is None:
            return cls(step, fall, None, None)
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
            raise ParameterError(
                f"bounds: {reprlib.repr(bounds)} is not a pair; give (low, high), with None for no bound"
            )
        low, high = (None if b is None else checks.number("bounds", b, "(low, high) in 1/mm") for b in bounds)
        if low is not None and high is not None and low > high:
            raise ParameterError(f"bounds: {low} is above {high}; give (low, high)")
        most = float(np.finfo(A.backend.dtype).max) ** _WITHIN
        for bound in (low, high):
            if bound is not None and abs(bound) > most:
                raise ParameterError(
                    f"bounds: {bound:g} is beyond the numbers that {np.dtype(A.backend.dtype)} computes with, up to "
                    f"{most:.3g}; give None for no bound"
                )
        return cls(step, fall, low, high)

    def at(self, iteration: int) -> float:
        return self.relaxation * self.decay**iteration


def to_one(norm: float) -> float:
    """The power of two that brings a norm to between 1/2 and 1; 1 for 0."""
    return math.ldexp(1.0, -math.frexp(norm)[1])


class Run:
    """A running reconstruction: its arguments, the image of the last finished iteration, and the history."""

    def __init__(
        self,
        A: Operator,
        projections: Any,
        iterations: int,
        x0: Any,
        mask: Any,
        axes: str,
        progress: bool,
        callback: Callback | None,
    ) -> None:
        self.A, self.backend, self.like = A, A.backend, projections
        self.iterations = checks.count("iterations", iterations)
        backend = A.backend
        self.from_zeros = x0 is None
        """Whether the first image is 0 everywhere, so that its projections are known."""
        self.b = backend.take(view_major(projections, axes), "projections", A.data_shape, A.data_axes)
        if x0 is None:
            first = backend.full(A.image_shape, 0.0)
        else:
            first = backend.copy(backend.take(x0, "x0", A.image_shape, A.image_axes))
            self._refuse_extremes("x0", first, least=0.0)
        self._refuse_extremes("projections", self.b)
        self.mask: Array | None = None if mask is None else self._take_mask(mask)
        self.ended = "finished"
        # One attribute, set at once, so that after an interruption the image and its history belong together.
        self._finished: tuple[Array, tuple[tuple[float, float, float], ...]] = (first, ())
        self._callback = callback
        self._bar = Bar(progress, self.iterations, "iteration")

    @property
    def image(self) -> Array:
        """The image of the last finished iteration; nothing writes to it."""
        return self._finished[0]

    def start_with(self, value: float) -> None:
        """Fills the first image, within the mask, before any iteration."""
        self.from_zeros = False
        self.backend.fill(self.image, value)
        self.masked(self.image)

    def residual(self, zeros: Array) -> tuple[Array, float]:
        """``scale`` (b - A x) of the first image x, and ``scale``: a power of two, so that no digit changes, which
        brings the norm near 1. ``zeros`` are projections. Raises ArrayError where A x is beyond the dtype."""
        backend = self.backend
        if self.from_zeros:
            r = backend.copy(self.b)
        else:
            r = self.A.forward(self.image)
            backend.axpy(-1.0, r, self.b, out=r)
        norm = math.sqrt(backend.dot(r, r))
        if not math.isfinite(norm):
            raise ArrayError(
                f"x0: its projections are beyond {np.dtype(backend.dtype)}; scale projections and x0 alike"
            )
        scale = to_one(norm)
        backend.axpy(scale, r, zeros, out=r)
        return r, scale

    @contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Turns Ctrl-C into the end of the iterations."""
        try:
            yield
        except KeyboardInterrupt:
            self.ended = "interrupted"
        finally:
            self._bar.close()

    def masked(self, image: Array) -> Array:
        if self.mask is not None:
            self.backend.multiply(image, self.mask)
        return image

    def _take_mask(self, mask: Any) -> Array:
        backend = self.backend
        if isinstance(mask, np.ndarray):
            mask = real("mask", mask, "bool").astype(backend.dtype)
        taken = backend.take(mask, "mask", self.A.image_shape, self.A.image_axes)
        seen = mask if isinstance(mask, np.ndarray) else taken
        if isinstance(seen, np.ndarray):
            wrong = not ((seen == 0) | (seen == 1)).all()
        else:  # m^2 - m, which is 0 of 0 and 1 alone
            apart = backend.copy(taken)
            backend.multiply(apart, taken)
            backend.axpy(-1.0, taken, apart, out=apart)
            wrong = backend.dot(apart, apart) != 0
        if wrong:
            raise ArrayError("mask: it holds other values than 0 and 1; give bool")
        return taken

    def _refuse_extremes(self, name: str, given: Array, least: float | None = None) -> None:
        """Raises ArrayError for numbers whose sums and products a dtype cannot hold, or only with few digits: but for
        zeros, those of a norm below ``least``, by default one over the largest."""
        most = min(float(np.finfo(self.backend.dtype).max) ** _WITHIN, _SQUARED)
        norm, low = math.sqrt(self.backend.dot(given, given)), 1 / most if least is None else least
        if low < norm < most or (norm == 0 and (not low or self._is_zero(given))):
            return
        told = f"{norm:.3g}" if 0 < norm < math.inf else "below 1e-161" if norm == 0 else "above 1e+154"
        raise ArrayError(
            f"{name}: their norm is {told}, and algorithms in {np.dtype(self.backend.dtype)} take {low:.3g} to "
            f"{most:.3g}; scale projections and images alike"
        )

    def _is_zero(self, given: Array) -> bool:
        """Whether each number is 0, and not only its square."""
        turned = self.backend.copy(given)
        self.backend.axpy(-2.0, given, given, out=turned)
        return self.backend.largest(given) <= 0 and self.backend.largest(turned) <= 0

    def _give(self, image: Array) -> Any:
        """An image as the caller gets it. Raises ArrayError where it is beyond the dtype of the projections."""
        if not self.backend.finite(image, like=self.like):
            raise self._beyond(self.like.dtype)
        return self.backend.give(image, like=self.like)

    @staticmethod
    def _beyond(dtype: object) -> ArrayError:
        return ArrayError(f"projections: their image is beyond {dtype}; scale projections and images alike")

    def refuse_negative(self, name: str, given: Array, work: Array) -> None:
        """Raises ArrayError where an array holds a number below 0; ``work`` is of its shape, and overwritten."""
        backend = self.backend
        backend.fill(work, 0.0)
        backend.axpy(-1.0, given, work, out=work)
        least = -backend.largest(work)
        if least < 0:
            raise ArrayError(
                f"{name}: its least element is {least:.6g}, and expectation maximisation takes none below 0; use "
                f"np.maximum({name}, 0), or sirt"
            )

    def level(self, image: Array, data: Array) -> float:
        """The number of which an image, 0 outside the mask, has projections with the sum of b; 0 where no ray meets it.
        Overwrites an image and projections."""
        self.backend.fill(image, 1.0)
        return self._factor(self.masked(image), data) or 0.0

    def rescale(self, zeros: Array, data: Array) -> None:
        """Multiplies the first image, so that its projections have the sum of b; it stays where no ray meets it.
        ``zeros`` is an image; overwrites projections."""
        factor = self._factor(self.image, data)
        if factor is not None:
            for _ in range(2):  # float32 may not hold the factor itself
                self.backend.axpy(math.sqrt(factor), self.image, zeros, out=self.image)

    def _factor(self, image: Array, data: Array) -> float | None:
        """The sum of b over that of the image's projections; None where that is 0."""
        backend = self.backend
        backend.fill(data, 1.0)
        found, there = (backend.dot(p, data) for p in (self.b, self.A.forward(image)))
        return found / there if there > 0 else None

    def finish(self, image: Array, plain: float, weighted: float, seconds: float) -> Array:
        """Records an iteration; returns the array of the previous image, which may now be overwritten. Raises
        ArrayError where the iteration has left the numbers of the dtype."""
        if not math.isfinite(plain):
            raise self._beyond(np.dtype(self.backend.dtype))
        before, history = self._finished
        self._finished = (image, (*history, (plain, weighted, seconds)))
        return before

    def stops(self) -> bool:
        """Updates the bar and calls the callback; returns whether the callback ends the run."""
        image, history = self._finished
        plain, weighted, _ = history[-1]
        self._bar.note(f"residual {plain:.4g}")
        self._bar.step()
        if self._callback is None:
            return False
        count, over = len(history), False

        def copy() -> Any:
            if over:
                raise ParameterError(
                    f"image: the callback of iteration {count} has returned, and the memory of its image goes to "
                    "others; read state.image in the callback, and keep that"
                )
            return self._give(self.backend.copy(image))

        try:
            answer = self._callback(State(count, self.iterations, plain, weighted, copy))
        finally:
            over = True
        if ends(answer):
            self.ended = "stopped"
            return True
        return False

    def result(self) -> Reconstruction:
        last, history = self._finished
        table = np.array(history, dtype=np.float64).reshape(-1, 3)
        return Reconstruction(self._give(last), table[:, 0], table[:, 1], table[:, 2], self.ended)
