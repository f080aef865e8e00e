"""What users of other tuners call arguments of ours, for messages about a name that is not known."""

from __future__ import annotations

_REFERENCE = "what is right, lab.Kernel knows by reference=, a function such as lambda x: 2 * x"
_TOLERANCE = "how far results may be from right, lab.Kernel knows by tolerance="
_LAUNCH = "it is said by launch=lab.launch(items=..., local=...) of lab.Kernel"
_BUDGET = "the budget of a search is evaluations= or seconds="

_MEANT = {
    **dict.fromkeys(("answer", "expected", "gold", "ref", "reference", "result", "results"), _REFERENCE),
    **dict.fromkeys(("atol", "rtol", "tol", "tolerance", "verify"), _TOLERANCE),
    **dict.fromkeys(("grid_div_x", "grid_div_y", "grid_div_z", "block_size_names"), _LAUNCH),
    **dict.fromkeys(("global_size", "local_size", "grid", "block"), _LAUNCH),
    **dict.fromkeys(("max_fevals", "time_limit", "strategy_options"), _BUDGET),
    "tune_params": "levels are parameters= of lab.Kernel",
    "restrictions": "conditions are constraints= of lab.Kernel, texts such as 'n % WIDTH == 0'",
    "kernel_source": "the text or the file is the first argument, source",
    "kernel_name": "the kernel function is name",
    "compiler_options": "they are options= of lab.Kernel",
    "defines": "a define is a parameter of one level, in parameters= of lab.Kernel",
    "problem_size": "sizes have names, those in the shapes of arguments, such as n=1000",
    "cache": "rows are kept in store=, a folder",
    "data": "arrays are given by data= of problem(), of check() and of lab.input(...)",
}


def meant(name: str) -> str:
    """`; what is right, lab.Kernel knows by reference=...`: what a name stands for here, or nothing."""
    return f"; {_MEANT[name]}" if name in _MEANT else ""
