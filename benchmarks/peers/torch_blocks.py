"""PyTorch in blocks on the CPU (or, for the GPU benchmark, on CUDA), written as well as PyTorch allows.

One reused buffer; x·z by addmm straight into it with the norms of Z as the addend; norms of X, the factor
and exp in place; the product with V adds into the output. The best of a few block sizes is found once.
"""

import time

from benchmarks.harness import trim
from benchmarks.peers import missing

name = "torch blocks"
_SIZES = ((512, 2048), (1024, 2048), (2048, 4096), (4096, 4096))
_SIZES_CUDA = ((4096, 8192), (8192, 16384), (16384, 32768))


def available():
    return missing("torch")


def product(X, Z, V, sigma):
    import torch

    X, Z, V = (torch.from_numpy(a) for a in (X, Z, V))
    run = product_of_tensors(X, Z, V, sigma)
    return lambda: run().numpy()


def product_of_tensors(X, Z, V, sigma):
    """The same for tensors, on whatever device they are."""
    sizes = _SIZES_CUDA if X.is_cuda else _SIZES
    rows, columns = (2 * s for s in sizes[-1])
    trials = {s: _seconds(_blocks(X[:rows], Z[:columns], V[:columns], sigma, s)) for s in sizes}
    trim()  # or the buffer would be made of the trials' pages, and its memory not be seen
    return _blocks(X, Z, V, sigma, min(trials, key=trials.get))


def _blocks(X, Z, V, sigma, size):
    import torch

    rows, columns = (min(s, len(a)) for s, a in zip(size, (X, Z)))
    gamma = 0.5 / sigma**2
    V2 = V[:, None] if V.ndim == 1 else V
    x, z = ((A * A).sum(1) * -gamma for A in (X, Z))
    Zt = Z.T
    out = torch.empty((len(X), V2.shape[1]), dtype=X.dtype, device=X.device)
    buffer = torch.empty(rows * columns, dtype=X.dtype, device=X.device)

    def run():
        with torch.inference_mode():
            for i in range(0, len(X), rows):
                Xi, sums = X[i : i + rows], out[i : i + rows]
                sums.zero_()
                for j in range(0, len(Z), columns):
                    Zj = Zt[:, j : j + columns]
                    K = buffer[: len(Xi) * Zj.shape[1]].view(len(Xi), -1)
                    torch.addmm(z[j : j + columns], Xi, Zj, alpha=2 * gamma, out=K)
                    K.add_(x[i : i + rows, None]).exp_()
                    sums.addmm_(K, V2[j : j + columns])
        return out.view(len(X), *V.shape[1:])

    return run


def _seconds(run):
    """Of the second run: the first pays for fresh memory."""
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    run(), wait()
    start = time.perf_counter()
    run(), wait()
    return time.perf_counter() - start
