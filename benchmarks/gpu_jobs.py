"""The jobs of the GPU benchmark: each is a function of the options that returns a record.

Only torch, triton, scikit-learn and numba are needed beside Mercer, so all this runs from a source tree. With
``device="cpu"`` everything runs on the CPU engine, which is how it is tested where there is no GPU.

The SVMs read mnist.npz and covtype.npz, and the tables of `gpu_dense` uci/*.npz: from the data folder beside
the checkout, or from the one given as ``--data`` where only those files were brought along.
"""

from __future__ import annotations

import gc
import math
import time
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np


@dataclass
class Options:
    """Sizes and settings, all of them arguments on the command line."""

    device: str = "cuda"
    product_n: int = 200_000
    product_d: tuple[int, ...] = (3, 10, 28, 100)
    exact_n: tuple[int, ...] = (200_000, 1_000_000)
    exact_d: int = 9
    pca_n: tuple[int, ...] = (100_000, 1_000_000)
    sigma: float = 3.0
    lam: float = 1e-6
    tol: float = 1e-4
    rank: int = 0
    max_iter: int = 0
    nystrom_n: int = 10_000_000
    nystrom_m: int = 100_000
    nystrom_lam: float = 1e-7
    nystrom_tol: float = 1e-3
    logistic_n: int = 1_000_000
    logistic_m: int = 20_000
    logistic_lam: float = 1e-7
    logistic_tol: float = 1e-4
    scaling_n: tuple[int, ...] = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
    scaling_d: int = 10
    scaling_m: int = 10_000
    svm_mnist_n: int = 60_000
    svm_covtype_n: int = 500_000
    svm_tol: float = 1e-3
    dense_n: tuple[int, ...] = (16_000, 36_000, 100_000)
    dense_lam: tuple[float, ...] = (1e-4, 1e-7, 1e-10)
    table_n: int = 20_000
    path_n: int = 20_000
    data: str = ""


def jobs(o: Options) -> dict:
    """Name → function; the order is the order of running, the cheap and telling ones first."""
    found = {"limits": partial(limits, o)}
    for d in o.product_d:
        found[f"products-d{d}"] = partial(product, o, o.product_n, d)
        found[f"torch-d{d}"] = partial(torch_product, o, o.product_n, d)
    for d in o.product_d:
        found[f"products-t8-d{d}"] = partial(product, o, o.product_n, d, t=8)
        for name in ("matern", "laplacian"):
            found[f"products-{name}-d{d}"] = partial(product, o, o.product_n, d, kernel=name)
    found["symmetric-d3"] = partial(product, o, o.product_n, 3, symmetric=True)
    for n in o.exact_n:
        found[f"exact-{n}"] = partial(exact, o, n)
    for n in o.pca_n:
        found[f"pca-{n}"] = partial(pca, o, n)
    found["logistic"] = partial(logistic, o)
    # The usual setting of the benchmarks, and the one that is known to do well on these digits.
    found["svm_mnist-C1"] = partial(svm, o, "MNIST", o.svm_mnist_n, 10_000, C=1.0)
    found["svm_mnist-C10"] = partial(svm, o, "MNIST", o.svm_mnist_n, 10_000, C=10.0, gamma=1 / 32)
    found["svm_covtype"] = partial(svm, o, "covtype", o.svm_covtype_n, 50_000, C=1.0)
    for n in o.scaling_n:
        found[f"scaling-product-{n}"] = partial(product, o, n, o.scaling_d, repeat=1)
        found[f"scaling-nystrom-{n}"] = partial(nystrom, o, n, o.scaling_m)
    found["nystrom"] = partial(nystrom, o, o.nystrom_n, o.nystrom_m)
    from benchmarks import gpu_dense  # which shares the rest of this file

    return found | gpu_dense.jobs(o)


# -- jobs -----------------------------------------------------------------------------------------------


def limits(o: Options) -> dict:
    """Matrix products of torch, and the rate of the unit that computes exponentials (from the clock)."""
    import torch

    size, found = (8192 if o.device == "cuda" else 512), {}
    for name, dtype, tf32 in (
        ("fp32", torch.float32, False),
        ("tf32", torch.float32, True),
        ("bf16", torch.bfloat16, False),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        A = torch.randn(size, size, device=o.device).to(dtype)
        found[f"{name}_flops"] = 2 * size**3 / _best(o, lambda A=A: A @ A)[1]
    torch.backends.cuda.matmul.allow_tf32 = False
    if o.device == "cuda":
        card = torch.cuda.get_device_properties(0)
        found |= {"card": card.name, "memory_total": card.total_memory}
        if clock := getattr(card, "clock_rate", None):  # kHz; 16 exponentials a clock and multiprocessor
            found["exponentials"] = 16 * card.multi_processor_count * clock * 1e3
    return found


def product(
    o: Options,
    n: int,
    d: int,
    *,
    symmetric: bool = False,
    repeat: int = 3,
    kernel: str = "gaussian",
    t: int = 1,
) -> dict:
    """Mercer's K(X, Z) V with n = m and t columns, X and Z different unless symmetric."""
    from mercer.kernels import Gaussian, Laplacian, Matern

    X, Z, V = _points(o, n, d, symmetric, t)
    sigma = math.sqrt(d)
    kernels = {"gaussian": Gaussian(sigma), "matern": Matern(1.5, sigma=sigma), "laplacian": Laplacian(sigma)}
    engine, profile, kernel = _engine(o), PROFILES[kernel], kernels[kernel]
    small = min(n, 20_000)
    few = X[:small]
    # Compile and tune on little first where the whole is run only once.
    first, _ = _best(
        o, lambda: engine.operator(kernel, few, few if symmetric else Z[:small]).product(V[:small]), 1
    )
    _, best = _best(o, lambda: engine.operator(kernel, X, Z).product(V), repeat, warm=repeat > 1)
    out = (
        engine.operator(kernel, X[:256], Z).product(V)
        if repeat == 1
        else engine.operator(kernel, X, Z).product(V)[:256]
    )
    return _product_record("Mercer", n, d, best, out, X, Z, V, profile) | {
        "first": first,
        "symmetric": symmetric,
        "t": t,
    }


def torch_product(o: Options, n: int, d: int) -> dict:
    from benchmarks.peers.torch_blocks import product_of_tensors

    X, Z, V = (_tensor(a) for a in _points(o, n, d, False))
    run = product_of_tensors(X, Z, V, math.sqrt(d))
    _, best = _best(o, run, 2, warm=False)
    return _product_record("torch blocks", n, d, best, run()[:256], X, Z, V)


def exact(o: Options, n: int) -> dict:
    """Exact ridge by matrix-free conjugate gradients."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.solvers import CG

    X, y, T, u = _smooth(o, n, o.exact_d)
    machine = KernelRidge(
        Gaussian(o.sigma),
        lam=o.lam,
        representation="full",
        solver=CG(tol=o.tol, rank=o.rank or None, max_iter=o.max_iter or None),
        engine=_engine(o),
        random_state=0,
        offset=False,
    )
    record = {"n": n, "d": o.exact_d, "sigma": o.sigma, "lam": o.lam, "tol": o.tol} | _fit(o, machine, X, y)
    # An independent check: rows of (K + λnI)c − y in float64.
    rows = np.random.default_rng(1).choice(n, min(256, n), replace=False)
    c = np.asarray(machine.solution_.coef[:, 0], np.float64)
    Kc = _rows64(_tensor(X, o), _tensor(X, o), _tensor(c, o), o.sigma, rows)
    residual = Kc + o.lam * n * c[rows] - y[rows]
    record["residual"] = float(np.linalg.norm(residual) / np.linalg.norm(y[rows]))
    return record | _test(machine, T, u)


def pca(o: Options, n: int) -> dict:
    """Kernel PCA, ten components, by matrix-free block Krylov."""
    from mercer import KernelPCA
    from mercer.kernels import Gaussian

    X = np.random.default_rng(0).standard_normal((n, 10)).astype(np.float32)
    machine = KernelPCA(Gaussian(math.sqrt(10)), 10, "full", engine=_engine(o), random_state=0)
    few = KernelPCA(Gaussian(math.sqrt(10)), 10, "full", engine=_engine(o), random_state=0)
    few.fit(X[: min(n, 5000)])  # compiles
    reset(o)
    start = time.perf_counter()
    T = machine.fit_transform(X)
    record = {"n": n, "d": 10, "who": "Mercer", "seconds": time.perf_counter() - start}
    record |= {"iterations": machine.decomposition_.passes, "status": machine.decomposition_.status}
    # An independent check: rows of K v − θ v in float64; columns of V add up to 0.
    rows = np.random.default_rng(1).choice(n, min(256, n), replace=False)
    V = np.asarray(T, np.float64) / np.sqrt(machine.eigenvalues_)
    KV = _rows64(_tensor(X, o), _tensor(X, o), _tensor(V, o), math.sqrt(10), rows)
    KV = KV + machine.intercept_ * np.sqrt(machine.eigenvalues_)
    found = np.sum(V[rows] * KV, axis=0) / np.sum(V[rows] ** 2, axis=0)
    record["error"] = float(np.abs(found / machine.eigenvalues_ - 1).max())
    record["values"] = machine.eigenvalues_.tolist()
    return record | {"gpu_memory": _gpu_memory(o)}


def nystrom(o: Options, n: int, m: int) -> dict:
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.representations import Nystrom
    from mercer.solvers import CG

    X, y, T, u = _smooth(o, n, 28)
    machine = KernelRidge(
        Gaussian(7.0),
        lam=o.nystrom_lam,
        representation=Nystrom(n_centres=min(m, n)),
        solver=CG(tol=o.nystrom_tol),
        engine=_engine(o),
        random_state=0,
        offset=False,
    )
    record = {"n": n, "m": m, "d": 28, "sigma": 7.0, "lam": o.nystrom_lam, "tol": o.nystrom_tol}
    return record | _fit(o, machine, X, y) | _test(machine, T, u)


def logistic(o: Options) -> dict:
    from mercer import KernelLogistic
    from mercer.kernels import Gaussian
    from mercer.representations import Nystrom
    from mercer.solvers import Newton

    X, y, T, u = _smooth(o, o.logistic_n, 28)
    y, u = y > 0, u > 0
    machine = KernelLogistic(
        Gaussian(7.0),
        lam=o.logistic_lam,
        representation=Nystrom(n_centres=min(o.logistic_m, o.logistic_n)),
        solver=Newton(tol=o.logistic_tol),
        engine=_engine(o),
        random_state=0,
        offset=False,
    )
    record = {"n": o.logistic_n, "m": o.logistic_m, "d": 28, "sigma": 7.0, "lam": o.logistic_lam}
    record["tol"] = o.logistic_tol
    record |= _fit(o, machine, X, y)
    start = time.perf_counter()
    p = np.clip(np.asarray(machine.predict_proba(T))[:, 1], 1e-7, 1 - 1e-7)
    record["predict_seconds"] = time.perf_counter() - start
    record["loss"] = float(-np.mean(np.where(u, np.log(p), np.log1p(-p))))
    record["accuracy"] = float(np.mean((p > 0.5) == u))
    return record


def svm(o: Options, name: str, n: int, test: int, *, C: float, gamma: float | None = None) -> dict:
    """An exact SVM, one machine a pair of classes; gamma is 1/(d Var X) unless it is given."""
    from benchmarks import real
    from mercer import KernelSVC
    from mercer.kernels import Gaussian
    from mercer.solvers import Dual

    X, y, T, u = real.classes(name, n, test, "float32", o.data)
    sigma = math.sqrt(0.5 / (real.scale(X) if gamma is None else gamma))
    solver = Dual(tol=o.svm_tol)
    machine = KernelSVC.from_C(C, kernel=Gaussian(sigma), solver=solver, engine=_engine(o))
    few = min(n, 12_000)  # so that pairs of ten classes are large enough for every kind of product
    start = time.perf_counter()
    machine.fit(X[:few], y[:few]).predict(T[:few])  # compiles and tunes
    first = time.perf_counter() - start
    seconds, warned = _timed(o, machine, X, y)
    memory = _gpu_memory(o)
    # One solution, or one a pair of classes.
    found = getattr(machine, "solution_", [])
    solutions = found if isinstance(found, list | tuple) else [found]
    gaps = [s.certificate.gap for s in solutions if s.certificate.gap is not None]
    start = time.perf_counter()
    labels = np.asarray(machine.predict(T))
    predict_seconds = time.perf_counter() - start
    return {
        "who": "Mercer",
        "n": len(X),
        "d": X.shape[1],
        "classes": len(machine.classes_),
        "C": C,
        "sigma": sigma,
        "lam": 1 / (2 * C * len(X)),
        "tol": o.svm_tol,
        "seconds": seconds,
        "first": first,
        "iterations": sum(int(s.iterations) for s in solutions),
        "status": ", ".join(sorted({s.status for s in solutions})),
        "gap": float(max(gaps)) if gaps else None,
        "support": len(machine.support_),
        "accuracy": float(np.mean(labels == u)),
        "predict_seconds": predict_seconds,
        "predict_n": len(T),
        "gpu_memory": memory,
        "warnings": warned,
    }


# k as a function of ‖x−z‖²/σ², written down once more to check against.
PROFILES = {
    "gaussian": lambda q: q.mul_(-0.5).exp_(),
    "matern": lambda q: (1 + (3 * q).sqrt()) * (-(3 * q).sqrt()).exp(),
    "laplacian": lambda q: (-q.sqrt()).exp(),
}


# -- what they share ------------------------------------------------------------------------------------


def _engine(o: Options):
    from mercer import engines

    return engines.Cuda() if o.device == "cuda" else engines.Tiled()


def _points(o: Options, n: int, d: int, symmetric: bool, t: int = 1):
    """Standard normal points on the device; the CPU engine gets them as NumPy arrays."""
    import torch

    random = torch.Generator(o.device).manual_seed(0)
    X = torch.randn(n, d, device=o.device, generator=random)
    Z = X if symmetric else torch.randn(n, d, device=o.device, generator=random)
    V = torch.randn(*((n,) if t == 1 else (n, t)), device=o.device, generator=random)
    if o.device == "cuda":
        return X, Z, V
    A = X.numpy()
    return A, (A if symmetric else Z.numpy()), V.numpy()


def _smooth(o: Options, n: int, d: int, test: int = 20_000):
    """X, y, T, u as NumPy float32: a smooth function of three directions, noise 0.5; made on the device."""
    import torch

    random = torch.Generator(o.device).manual_seed(0)
    X = torch.randn(n + test, d, device=o.device, generator=random)
    P = X @ (torch.randn(d, 3, device=o.device, generator=random) * math.sqrt(28 / d))
    f = torch.sin(P[:, 0] / 3) + (P[:, 1] / 5) ** 2 / 4 + torch.tanh(P[:, 2] / 3)
    f = f - f.mean()
    y = (f + 0.5 * torch.randn(n + test, device=o.device, generator=random)).cpu().numpy()
    X = X.cpu().numpy()
    return X[:n], y[:n], X[n:], y[n:]


def _timed(o: Options, machine, X, y) -> tuple[float, list[str]]:
    """Seconds of the fit, and what it warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reset(o)
        start = time.perf_counter()
        machine.fit(X, y)
        _wait(o)
        seconds = time.perf_counter() - start
    return seconds, sorted({str(w.message)[:200] for w in said})


def _fit(o: Options, machine, X, y) -> dict:
    seconds, warned = _timed(o, machine, X, y)
    s = machine.solution_
    return {
        "who": "Mercer",
        "seconds": seconds,
        "iterations": int(s.iterations),
        "status": s.status,
        "relative_gradient": float(s.certificate.relative_gradient),
        "gpu_memory": _gpu_memory(o),
        "plan": list(machine.plan_.reasons),
        "warnings": warned,
    }


def _test(machine, T, u) -> dict:
    start = time.perf_counter()
    rmse = float(np.sqrt(np.mean((np.asarray(machine.predict(T)) - u) ** 2)))
    return {"rmse": rmse, "predict_seconds": time.perf_counter() - start}


def _product_record(who, n, d, seconds, out, X, Z, V, profile=None) -> dict:
    X, Z, V = (_tensor(a) for a in (X, Z, V))
    true = _rows64(X, Z, V, math.sqrt(d), np.arange(min(256, n)), profile)
    found = _tensor(out).double().cpu().numpy()
    error = float(np.linalg.norm(found - true) / np.linalg.norm(true))
    return {"who": who, "n": n, "m": n, "d": d, "seconds": seconds, "rate": n * n / seconds, "error": error}


def _rows64(X, Z, V, sigma, rows, profile=None) -> np.ndarray:
    """K(X[rows], Z) V in float64, a million columns at a time; Gaussian without another profile."""
    import torch

    A = X[torch.as_tensor(rows, device=X.device)].double()
    total = torch.zeros((len(A), *V.shape[1:]), dtype=torch.float64, device=X.device)
    for j in range(0, len(Z), 1 << 20):
        B = Z[j : j + (1 << 20)].double()
        r2 = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2 * A @ B.T
        total += (profile or PROFILES["gaussian"])(r2.clamp_(min=0).div_(sigma**2)) @ V[
            j : j + (1 << 20)
        ].double()
    return total.cpu().numpy()


def _tensor(a, o: Options | None = None):
    import torch

    tensor = a if isinstance(a, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(a))
    return tensor if o is None else tensor.to(o.device)


def _best(o: Options, call, repeat: int = 3, warm: bool = True) -> tuple[float, float]:
    """(first, best) seconds; `warm` runs it once more, before, without counting it for the best."""
    times = []
    for _ in range(repeat + warm):
        _wait(o)
        start = time.perf_counter()
        call()
        _wait(o)
        times.append(time.perf_counter() - start)
    return times[0], min(times[warm:])


def _wait(o: Options) -> None:
    if o.device == "cuda":
        import torch

        torch.cuda.synchronize()


def reset(o: Options) -> None:
    """Free what nobody holds any more and count the peak anew."""
    gc.collect()
    if o.device == "cuda":
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _gpu_memory(o: Options) -> int | None:
    if o.device != "cuda":
        return None
    import torch

    return torch.cuda.max_memory_allocated()
