"""The forms of GEM on a capsid-sized molecule: rows go to gem-capsid/, a file a form."""

from dataclasses import replace
from pathlib import Path

from gpuopt import Configuration, lab, problems

CALL = "gpuopt.gem(molecule, surface)"
FORMS = {
    "K0": {},
    "K1": {"salt": 0.1},
    "K2": {"salt": 0.1, "projection": 3.0},
    "K3": {"projection": -0.5},
    "K3-salt": {"projection": -0.5, "salt": 0.1},
}
TILED = {"LOCAL": 256, "RSQRT": 2, "TILE": 1024, "UNROLL": 4}
VARIANTS = [
    Configuration("tiled", DISTANCE=0, VERTICES=4, **TILED),
    Configuration("tiled", DISTANCE=2, VERTICES=2, **TILED),
]
OTHERS = {
    "K0": [
        Configuration("tiled", DISTANCE=1, VERTICES=2, **TILED),
        Configuration("tiled", DISTANCE=2, VERTICES=4, **TILED),
        Configuration("tiled", DISTANCE=2, VERTICES=8, **{**TILED, "UNROLL": 8}),
        Configuration("tiled", DISTANCE=2, VERTICES=2, **{**TILED, "RSQRT": 1}),
        Configuration("tiled", DISTANCE=2, VERTICES=8, **{**TILED, "RSQRT": 4, "UNROLL": 8}),
        Configuration("tiled", DISTANCE=2, VERTICES=2, STAGED=0, **TILED),
    ],
    "K1": [Configuration("tiled", DISTANCE=1, VERTICES=4, **TILED)],
    "K2": [Configuration("tiled", DISTANCE=1, VERTICES=4, **TILED)],
}

molecule, surface = problems.capsid()
for form, options in FORMS.items():
    problem = problems.gem(molecule, surface, name=f"capsid_{form}", size=164.262, **options)
    problem = replace(problem, calls={CALL: problem.calls[CALL]})  # those of the paper's steps take seconds
    study = lab.sweep(
        problem,
        [*VARIANTS, *OTHERS.get(form, [])],
        protocol="quick",
        calls=form == "K0",
        peers=(),
        store=Path(__file__).with_name("gem-capsid") / f"{form}.jsonl",
    )
    print(study, flush=True)
