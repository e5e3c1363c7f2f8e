"""Mercer."""

name = "Mercer"


def available():
    return None


def product(X, Z, V, sigma):
    from mercer.engines import Tiled
    from mercer.kernels import Gaussian

    engine, kernel = Tiled(), Gaussian(float(sigma))
    return lambda: engine.operator(kernel, X, Z).product(V)


def exact_ridge(sigma, lam, n):
    from mercer import KernelRidge
    from mercer.kernels import Gaussian

    return KernelRidge(Gaussian(sigma), lam=lam, representation="full", offset=False)


def nystrom_ridge(m, sigma, lam, n):
    """m None: Mercer chooses the representation."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.representations import Nystrom

    representation = "auto" if m is None else Nystrom(n_centres=m)
    return KernelRidge(Gaussian(sigma), lam=lam, representation=representation, random_state=0, offset=False)


def nystrom_logistic(m, sigma, lam, n):
    from mercer import KernelLogistic
    from mercer.kernels import Gaussian
    from mercer.representations import Nystrom

    # An offset, because scikit-learn's LogisticRegression has one: the same objective.
    return KernelLogistic(
        Gaussian(sigma), lam=lam, representation=Nystrom(n_centres=m), offset=True, random_state=0
    )


def svc(C, gamma, tol):
    from mercer import KernelSVC
    from mercer.kernels import Gaussian
    from mercer.solvers import Dual

    return KernelSVC.from_C(C, kernel=Gaussian((0.5 / gamma) ** 0.5), solver=Dual(tol=tol))
