"""GPyTorch: its lazily evaluated kernel, block by block.

Evaluated whole it would hold all of K. Its own computing in chunks (checkpoint_kernel) is deprecated in
favour of KeOps, which is a peer of its own here.
"""

from benchmarks.peers import missing

name = "GPyTorch"
_BLOCK = 1 << 24  # entries of a block of K, about 64 MB


def available():
    return missing("gpytorch", "torch")


def product(X, Z, V, sigma):
    import torch
    from gpytorch.kernels import RBFKernel

    X, Z, V = (torch.from_numpy(a) for a in (X, Z, V))
    kernel = RBFKernel()
    kernel.lengthscale = float(sigma)
    height = max(_BLOCK // len(Z), 1)
    out = torch.empty((len(X), *V.shape[1:]), dtype=X.dtype)

    def run():
        with torch.no_grad():
            for i in range(0, len(X), height):
                out[i : i + height] = kernel(X[i : i + height], Z) @ V
        return out.numpy()

    return run
