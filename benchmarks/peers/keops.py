"""KeOps: LazyTensor on the CPU, compiled with the flags that make it fastest."""

import os

from benchmarks.peers import missing

name = "KeOps"


def available():
    return missing("pykeops", "torch")


def product(X, Z, V, sigma):
    # KeOps compiles for a generic processor unless told otherwise, before it is imported.
    os.environ.setdefault("CXXFLAGS", "-O3 -march=native -ffast-math")
    import torch
    from pykeops.torch import LazyTensor

    gamma = 0.5 / sigma**2
    V2 = torch.from_numpy(V[:, None] if V.ndim == 1 else V)
    Xi, Zj = LazyTensor(torch.from_numpy(X)[:, None, :]), LazyTensor(torch.from_numpy(Z)[None, :, :])
    K = (-((Xi - Zj) ** 2).sum(-1) * gamma).exp()
    shape = (len(X), *V.shape[1:])
    return lambda: K.__matmul__(V2, backend="CPU").view(shape).numpy()
