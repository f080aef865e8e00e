"""Errors of matrix products by precision, distribution and K: rows go to gemm-accuracy.jsonl beside this file.

A is 256 x K and B K x 256; errors are against fp64: the Frobenius norm of the difference over that of the result, and
the largest difference over the sum of an element's magnitudes. The vendor's products are PyTorch's.
"""

import json
from pathlib import Path

import numpy as np
import torch

import gpuopt
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.precision import FORMS, refusal

SIZE = 256
device = gpuopt.devices()[0]
path = Path(__file__).with_name("gemm-accuracy.jsonl")


def ours(precision):
    def product(a, b):
        return gpuopt.gemm(a, b, precision=precision, device=device)

    return product


def vendors(tf32):
    def product(a, b):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return (torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()).cpu().numpy()

    return product


def split(dtype, parts, scaled):
    """The same splits by the vendor's own products of short numbers, sums over the whole of K left to the unit."""

    def product(a, b):
        def short(x):
            x, found = torch.from_numpy(x).cuda(), []
            for i in range(parts):
                part = (x * (2.0 ** (11 * i) if scaled else 1.0)).to(dtype)
                found.append(part)
                x = x - part.float() / (2.0 ** (11 * i) if scaled else 1.0)
            return found

        left, right, total = short(a), short(b), 0
        for i in range(parts):
            for j in range(parts - i):
                scale = 2.0 ** (11 * (i + j)) if scaled else 1.0
                total = total + torch.mm(left[i], right[j], out_dtype=torch.float32) / scale
        return total.cpu().numpy()

    return product


PRODUCTS = {
    "fp32": ours(None),
    **{name: ours(name) for name in FORMS if refusal(device, name) is None},
    "vendor: SGEMM": vendors(False),
    "vendor: TF32": vendors(True),
    "vendor: 3 fp16": split(torch.float16, 2, True),
    "vendor: 6 bf16": split(torch.bfloat16, 3, False),
}

rows = []
for distribution in oracle.DISTRIBUTIONS:
    for k in (2**n for n in range(6, 16)):
        a, b = oracle.operands(distribution, SIZE, SIZE, k, seed=k)
        exact, magnitude = oracle.product(a, b), oracle.magnitude(a, b)
        for name, product in PRODUCTS.items():
            row = {
                "device": device.name,
                "driver": device.driver,
                "precision": name,
                "distribution": distribution,
                "K": k,
            }
            try:
                result = product(a, b)
            except gpuopt.Error as error:
                rows.append(row | {"status": "refused", "reason": str(error)})
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                fine = np.isfinite(exact) & (magnitude > 0)
                wrong = ~np.isfinite(result) & fine
                same = np.array_equal(np.isnan(exact), np.isnan(result)) and np.array_equal(
                    exact[np.isinf(exact)], result[np.isinf(exact)]
                )
                worst = np.max(np.abs(result[fine] - exact[fine]) / magnitude[fine]) if fine.any() else None
            rows.append(
                row
                | {
                    "status": "ok",
                    "frobenius": oracle.frobenius_error(result[fine], exact[fine])
                    if fine.any() and not wrong.any()
                    else None,
                    "worst": None if worst is None or not np.isfinite(worst) else float(worst),
                    "special_values_kept": bool(same and not wrong.any()),
                    "elements": int(fine.sum()),
                }
            )
path.write_text("".join(json.dumps(row) + "\n" for row in rows))
table = {(r["distribution"], r["precision"]): {} for r in rows}
for r in rows:
    table[r["distribution"], r["precision"]][r["K"]] = r.get("frobenius")
for (distribution, name), by_k in table.items():
    print(f"{distribution:10s} {name:16s}", *(f"{e:8.1e}" if e is not None else "       -" for e in by_k.values()))
