"""The two regions that Jang et al. 2009 reconstructed by ten iterations of SART, and a truncated one, with each of the
paper's steps as back projector: times, errors, and how far the images are from those of plain C++ loops.

python tomography_regions.py [VIEWS] [FOLDER]: VIEWS of the paper's (0: all; by default all on a GPU, 35 on a CPU); rows
and the picture go to FOLDER.
"""

import json
import sys
from pathlib import Path

import gpuopt
from gpuopt import papers
from gpuopt.selection import select
from gpuopt.workloads.tomography import pictures, regions

device = select()
given = int(sys.argv[1]) if len(sys.argv) > 1 else None
views = given or (regions.FEW_VIEWS if given is None and device.type == "cpu" else None)
folder = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
folder.mkdir(parents=True, exist_ok=True)
steps = [name for name in papers.steps("tomography") if device.type != "cpu" or not name.endswith("_image")]
steps.sort(key=lambda name: name != "paper:alu")  # which the picture shows
compared = []
with (folder / "tomography-regions.jsonl").open("w") as file:
    for name in regions.REGIONS:
        regions.compare(name, device, steps, 2, 1)  # builds
        compared.append(regions.compare(name, device, steps, views))
        for found in compared[-1].found:
            row = {"device": device.name, "driver": device.driver, "version": gpuopt.__version__, "region": name}
            row |= {"voxels": compared[-1].truth.size, "views": compared[-1].views, "back_projector": found.name}
            row |= {"iterations": len(found.residuals), "seconds": found.seconds, "residuals": found.residuals}
            row |= {"error": compared[-1].error(found), "apart_from_loops": compared[-1].apart(found)}
            file.write(json.dumps(row) + "\n")
            print(
                name,
                {key: value for key, value in row.items() if key not in ("device", "driver", "residuals")},
                flush=True,
            )
pictures.regions(compared, device.name).savefig(folder / "tomography-regions.png", dpi=150)
