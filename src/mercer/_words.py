"""Parameters by the names other libraries give them: what they are called here, and how numbers translate."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from mercer._names import missing_attribute

_TABLE = "docs/howto/from-scikit-learn.md has a table of equivalents"


@dataclass(frozen=True)
class Said:
    """What somebody wrote: the class, what it takes, and the words it doesn't know, with their values."""

    cls: str
    takes: tuple[str, ...]
    words: dict[str, Any]
    known: dict[str, Any]

    @property
    def offset_said(self) -> bool:
        return "offset" in self.known or "fit_intercept" in self.words


@dataclass(frozen=True)
class Instead:
    """The argument to write instead (none: leave it out), and a sentence that says why."""

    argument: str
    sentence: str


def _number(value: Any) -> float | None:
    """The value, if it is an ordinary positive number, with which one can calculate."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if real and 0 < float(value) < math.inf else None


# -- λ -----------------------------------------------------------------------------------


def _price(said: Said, value: Any) -> Instead | None:
    if "lam" not in said.takes:
        return None
    if "step" in said.takes:
        return Instead(
            "step=PassiveAggressiveStep(C)", f"C = {value!r} is the step of a passive-aggressive machine"
        )
    why = f"C: λ = 1/(2·C·n) for n examples; also {said.cls}.from_C({value!r}, …)"
    return Instead(f"lam=FromC({value!r})", why)


def _alpha(said: Said, value: Any) -> Instead | None:
    if "lam" not in said.takes:
        return None
    if "step" in said.takes:
        half = _number(value)
        lam = "alpha/2" if half is None else f"{half / 2:g}"
        return Instead(f"lam={lam}", "alpha: the penalty is λ‖f‖², where SGDClassifier has alpha/2 ‖w‖²")
    why = f"alpha: λ = alpha/n for n examples; also {said.cls}.from_alpha({value!r}, …)"
    if said.cls == "KernelRidge" and not said.offset_said:
        return Instead(
            f"lam=FromAlpha({value!r}), offset=False", f"{why}; scikit-learn's KernelRidge has no offset"
        )
    return Instead(f"lam=FromAlpha({value!r})", why)


# -- the kernel -----------------------------------------------------------------------------------

_OF_SOLVERS = ("tol", "max_iter")
_OF_KERNELS = ("gamma", "degree", "coef0", "length_scale", "kernel_params", "sigma", "bandwidth")


def kernel_argument(name: Any, words: dict[str, Any]) -> str:
    """What these parameters of a kernel, by its name in scikit-learn, are here.

    Examples
    --------
    >>> kernel_argument("rbf", {"gamma": 0.5})
    'Gaussian.from_gamma(0.5)'
    >>> kernel_argument("poly", {"degree": 2, "gamma": 0.5, "coef0": 1.0})
    '0.25 * Polynomial(2, 2)'
    """
    gamma, degree, coef0 = words.get("gamma"), words.get("degree", 3), words.get("coef0", 1.0)
    width = words.get("length_scale", words.get("sigma", words.get("bandwidth")))
    if name in ("poly", "polynomial"):
        g, d, c = _number(gamma), _number(degree), _number(coef0)
        if g is None or d is None or g == 1:
            return f"Polynomial({degree!r}, {coef0!r})"
        return f"{g**d:.6g} * Polynomial({degree!r}, {0.0 if c is None else c / g:.6g})"
    if name == "sigmoid":
        return f"Sigmoid({1.0 if gamma is None else gamma!r}, {coef0!r})"
    if name in ("chi2", "chi_squared"):
        return f"ChiSquared({1.0 if gamma is None else gamma!r})"
    if width is not None:
        return f"{'Laplacian' if name == 'laplacian' else 'Gaussian'}({width!r})"
    if name == "laplacian":
        return "Laplacian()" if _number(gamma) is None else f"Laplacian.from_gamma({gamma!r})"
    return "Gaussian()" if _number(gamma) is None else f"Gaussian.from_gamma({gamma!r})"


def _of_kernel(said: Said) -> Instead | None:
    words = {word: value for word, value in said.words.items() if word in _OF_KERNELS}
    if not words or "kernel" not in said.takes:
        return None
    given = said.known.get("kernel", "rbf")
    if not isinstance(given, str):
        return Instead("", f"{' and '.join(words)}: such numbers belong to the kernel, here {given!r}")
    params = words.pop("kernel_params", None)
    words.update(params if isinstance(params, dict) else {})
    if said.cls in ("KernelSVC", "KernelSVR", "KernelOneClass"):
        words.setdefault("coef0", 0.0)  # as LIBSVM has it; elsewhere it is 1
    sentence = "parameters of a kernel belong to it, and a Gaussian's width is σ = 1/√(2·gamma)"
    gamma = words.get("gamma")
    if gamma in ("scale", "auto"):
        rule = "√(d·X.var()/2)" if gamma == "scale" else "√(d/2)"
        sentence += (
            f"; gamma={gamma!r} is σ = {rule} for d features, and Gaussian() finds a width from the data by "
            "the median distance"
        )
    if given == "laplacian" and gamma is not None:
        sentence = "exp(−gamma·‖x−z‖₁) is Laplacian(1/gamma, norm='l1')"
    return Instead(f"kernel={kernel_argument(given, words)}", sentence)


# -- sizes, solvers, the rest ------------------------------------------------------------------------------


def _components(said: Said, value: Any) -> Instead | None:
    for name in ("n_centres", "n_features"):
        if name in said.takes:
            return Instead(f"{name}={value!r}", f"n_components: they are called {name}")
    if "representation" not in said.takes:
        return None
    return Instead(
        f"representation=Nystrom({value!r})",
        f"n_components: so many centres, or Features(n_features={value!r}) for so many random features",
    )


def _stopping(said: Said) -> Instead | None:
    """Of tol and max_iter, which belong to solvers."""
    words = {word: value for word, value in said.words.items() if word in _OF_SOLVERS}
    if not words or "solver" not in said.takes:
        return None
    limits = [f"{word}={value!r}" for word, value in words.items() if value not in (-1, None)]
    given = said.known.get("solver")
    usual = {"KernelSVC": "Dual", "KernelSVR": "Dual", "KernelOneClass": "Dual", "KernelRidge": "CG"}
    name = type(given).__name__ if hasattr(given, "run") else usual.get(said.cls, "Newton")
    argument = f"solver={name}({', '.join(limits)})" if limits else ""
    return Instead(argument, f"{', '.join(words)}: when to stop is a matter of the solver")


def _verbose(said: Said, value: Any) -> Instead:
    return Instead(
        "", "verbose: with mercer.progress(): machine.fit(X, y) says how far a fit is, of any machine"
    )


def _intercept(said: Said, value: Any) -> Instead | None:
    return (
        Instead(f"offset={value!r}", "fit_intercept: b is called the offset")
        if "offset" in said.takes
        else None
    )


def _jobs(said: Said, value: Any) -> Instead:
    return Instead("", "n_jobs: all cores are used; the environment variable OMP_NUM_THREADS limits them")


def _shape(said: Said, value: Any) -> Instead | None:
    if "multiclass" not in said.takes:
        return None
    return Instead(f"multiclass={value!r}", "multiclass also says how machines are trained")


def _loss(said: Said, value: Any) -> Instead:
    machine = "KernelRegressor" if said.cls in ("KernelRidge", "KernelSVR") else "KernelClassifier"
    return Instead("", f"loss: {said.cls} has one loss; {machine}(loss=…) takes any, see mercer.losses")


def _penalty(said: Said, value: Any) -> Instead | None:
    if value == "elasticnet" and "representation" in said.takes:
        ratio = said.words.get("l1_ratio")
        net = "ElasticNet()" if ratio is None else f"ElasticNet(l1_ratio={ratio!r})"
        return Instead(f"representation={net}", "penalty: ℓ1 and ‖c‖², on the weights of features")
    if value == "l1" and "representation" in said.takes:
        return Instead("representation=Lasso()", "penalty: ℓ1, on the weights of features")
    return Instead("", "penalty: it is always λ‖f‖²")


def _ratio(said: Said, value: Any) -> Instead | None:
    if "penalty" in said.words or "representation" not in said.takes:
        return None
    return Instead(
        f"representation=ElasticNet(l1_ratio={value!r})", "l1_ratio: of the penalty on weights of features"
    )


def _positive(said: Said, value: Any) -> Instead | None:
    if "representation" not in said.takes:
        return None
    net = "ElasticNet(0, positive=True)"
    return Instead(f"representation={net}", "positive: of the weights of features; Lasso(positive=True), too")


def _level(said: Said, value: Any) -> Instead:
    if "q" in said.takes:
        return Instead(f"q={value!r}", "the level is called q")
    return Instead("", f"quantile: KernelRegressor(loss=Quantile({value!r})) predicts it")


def _probability(said: Said, value: Any) -> Instead:
    return Instead("", "probability: KernelLogistic has probabilities, and KernelSVC(probability=True)")


def _threshold(said: Said, value: Any) -> Instead:
    if "delta" in said.takes:
        return Instead(f"delta={value!r}", "the residual from which on the loss is linear is called δ")
    return Instead("", f"epsilon: KernelSVR(epsilon={value!r}), or loss=Huber(…), has such a width")


def _metric(said: Said, value: Any) -> Instead:
    if "metric" in said.takes:  # it is p that was said
        argument = f"metric='minkowski', metric_params={{'p': {value!r}}}"
        return Instead(argument, "p: parameters of a metric are metric_params")
    return Instead(
        "", "metric: kernel=Gaussian() finds Euclidean neighbours, Laplacian(norm='l1') those of ℓ1"
    )


def _radius(said: Said, value: Any) -> Instead | None:
    kinds = {"KernelNeighborsClassifier": "Classifier", "KernelNeighborsRegressor": "Regressor"}
    if said.cls not in kinds:
        return None
    return Instead("", f"radius: KernelRadiusNeighbors{kinds[said.cls]}(radius={value!r}) asks all that near")


def _outside(said: Said, value: Any) -> Instead | None:
    return Instead(f"nu={value!r}", "contamination: it is called ν") if "nu" in said.takes else None


def _affinity(said: Said, value: Any) -> Instead | None:
    if "normalized" not in said.takes:
        return None
    graph = "kernel='precomputed', normalized=True"
    if value in ("precomputed", "nearest_neighbors"):
        return Instead(graph, "fit takes a symmetric matrix of weights then, that of a graph, say")
    return Instead("normalized=True", "the kernel says how alike points are")


def _neighbours(said: Said, value: Any) -> Instead | None:
    if "normalized" not in said.takes or "affinity" in said.words:
        return None
    return Instead(
        "kernel='precomputed', normalized=True", "fit takes the matrix of a graph then, of neighbours, say"
    )


def _order(said: Said, value: Any) -> Instead | None:
    if "passes" not in said.takes:
        return None
    return Instead("", "shuffle: rows are learned in their order; hand them over in another")


def _balance(said: Said, value: Any) -> Instead | None:
    if "passes" not in said.takes:
        return None
    return Instead("", "class_weight: fit and partial_fit take sample_weight")


def _batches(said: Said, value: Any) -> Instead | None:
    if said.cls != "KernelKMeans":
        return None
    return Instead("", "batch_size: partial_fit(batch) learns from batches of any size, one after the other")


# What scikit-learn's SGD says of the lengths of steps, of when to end, and of means of functions.
_OF_STEPS = ("learning_rate", "eta0", "power_t")
_OF_PASSES = ("early_stopping", "n_iter_no_change", "validation_fraction", "tol")
_RATES = {
    "constant": "{0!r}",
    "optimal": "PegasosStep('auto')",
    "invscaling": "PowerStep({0!r}, {1!r})",
    "adaptive": "AdaptiveStep({0!r})",
    "pa1": "PassiveAggressiveStep({0!r}, 1)",
    "pa2": "PassiveAggressiveStep({0!r}, 2)",
}


def _of_descent(said: Said) -> list[Instead]:
    """Of machines that learn one example at a time: scikit-learn's SGDClassifier and SGDRegressor."""
    found: list[Instead] = []
    if "averaging" not in said.takes:
        return found
    words = said.words
    rate = words.get("learning_rate")
    if isinstance(rate, str) and rate in _RATES:
        step = _RATES[rate].format(words.get("eta0", 0.01), words.get("power_t", 0.25))
        found.append(Instead(f"step={step}", "learning_rate: how long steps are is the step's to say"))
    elif any(word in words for word in _OF_STEPS):
        number = words.get("eta0", rate)
        argument = "" if _number(number) is None else f"step={number!r}"
        found.append(
            Instead(
                argument, "eta0: a number is a constant step; PowerStep(η, p), AdaptiveStep(η), … are others"
            )
        )
    if any(word in words for word in _OF_PASSES):
        held = words.get("validation_fraction", 0.1) if words.get("early_stopping") is True else 0.0
        tol, patience = words.get("tol", 1e-3), words.get("n_iter_no_change", 5)
        argument = f"stopping=Stopping({tol!r}, {patience!r}, {held!r})"
        if "passes" not in said.known and "max_iter" not in words:
            argument += ", passes=1000"
        ends = "" if tol is None else argument
        found.append(
            Instead(ends, "when to end passes is said by stopping; held_out is the validation_fraction")
        )
    if "max_iter" in words:
        found.append(
            Instead(f"passes={words['max_iter']!r}", "max_iter: how often fit goes through the rows")
        )
    if "average" in words:
        found.append(Instead(f"averaging={words['average']!r}", "average: it is called averaging"))
    return found


def _steps(said: Said, value: Any) -> Instead | None:
    if "step" not in said.takes or "averaging" in said.takes:
        return None
    argument = "" if _number(value) is None else f"step={value!r}"
    return Instead(argument, "step: a number is η/√t; ConstantStep(η), PegasosStep(), … are others")


def _noise(said: Said, value: Any) -> Instead:
    return Instead(
        "", "the noise's variance s² is lam=FromAlpha(s²), and parameters are found by mercer.selection"
    )


def _needless(what: str) -> Callable[[Said, Any], Instead]:
    return lambda said, value: Instead("", what)


_SIMPLE: dict[str, Callable[[Said, Any], Instead | None]] = {
    "C": _price,
    "alpha": _alpha,
    "alphas": _needless("alphas: lam='auto', the default, chooses λ; mercer.selection.path tries many"),
    "n_components": _components,
    "verbose": _verbose,
    "verbosity": _verbose,
    "n_iter": lambda said, value: Instead(f"passes={value!r}", "") if "passes" in said.takes else None,
    "fit_intercept": _intercept,
    "n_jobs": _jobs,
    "decision_function_shape": _shape,
    "multi_class": _shape,
    "loss": _loss,
    "penalty": _penalty,
    "l1_ratio": _ratio,
    "positive": _positive,
    "quantile": _level,
    "probability": _probability,
    "contamination": _outside,
    "affinity": _affinity,
    "n_neighbors": _neighbours,
    "assign_labels": _needless("assign_labels: leave it out; normalized=True ends with k-means"),
    "shuffle": _order,
    "class_weight": _balance,
    "epsilon": _threshold,
    "metric": _metric,
    "radius": _radius,
    "batch_size": _batches,
    "reassignment_ratio": _needless("reassignment_ratio: empty='teleport' moves clusters without points"),
    "p": _metric,
    "metric_params": _metric,
    "learning_rate": _steps,
    "eta0": _steps,
    "optimizer": _noise,
    "n_restarts_optimizer": _noise,
    "normalize_y": _needless("normalize_y: the offset and λ look after the scale of y"),
    "cache_size": _needless("cache_size: solver=Dual(cache=bytes) says how much may be kept"),
    "shrinking": _needless("shrinking: leave it out; the solver decides"),
    "break_ties": _needless("break_ties: leave it out; ties are always settled by the sum of scores"),
    "eigen_solver": _needless("eigen_solver: leave it out; plan_ says which is taken"),
    "algorithm": _needless("algorithm: leave it out; plan_ says how things are computed"),
    "leaf_size": _needless("leaf_size: leave it out"),
    "copy_X": _needless("copy_X: leave it out; what is given is never changed"),
    "fit_inverse_transform": _needless("fit_inverse_transform: leave it out; inverse_transform is there"),
    "remove_zero_eig": _needless("remove_zero_eig: leave it out"),
    "precompute": _needless("precompute: kernel='precomputed' takes matrices"),
}


def _answers(said: Said) -> list[Instead]:
    found = [_of_kernel(said), _stopping(said)]
    for word, value in said.words.items():
        if word == "gamma" and said.cls in ("Gaussian", "Laplacian"):
            width = "1/√(2·gamma)" if said.cls == "Gaussian" else "1/gamma, with the norm ℓ1"
            found.append(Instead(f"{said.cls}.from_gamma({value!r})", f"σ = {width}"))
        elif said.cls == "Polynomial" and word in ("gamma", "coef0"):
            words = {**said.known, **said.words}
            words.setdefault("coef0", words.get("c", 1.0))
            sentence = "(gamma·x·z + coef0)^p is gamma^p · (x·z + coef0/gamma)^p"
            found.append(Instead(kernel_argument("poly", words), sentence))
        elif word == "length_scale" and "sigma" in said.takes:
            found.append(Instead(f"sigma={value!r}", "the width is called σ"))
        elif word in _SIMPLE:
            found.append(_SIMPLE[word](said, value))
    found += _of_descent(said)
    once = dict.fromkeys(answer for answer in found if answer is not None)
    return list(once)


def in_our_words(cls: str, takes: tuple[str, ...], words: dict[str, Any], known: dict[str, Any]) -> str:
    """The sentence for somebody who gave `cls` words it doesn't know, beside those it does.

    Examples
    --------
    >>> print(in_our_words("KernelSVC", ("kernel", "lam"), {"C": 10}, {}))
    KernelSVC has no parameter 'C'; write KernelSVC(lam=FromC(10)): C: λ = 1/(2·C·n) for n examples; also
    KernelSVC.from_C(10, …). docs/howto/from-scikit-learn.md has a table of equivalents
    """
    head = f"{cls} has no parameter{'s' * (len(words) > 1)} {', '.join(map(repr, words))}"
    answers = _answers(Said(cls, takes, words, known))
    if not answers:
        near = difflib.get_close_matches(next(iter(words)), takes, 1)
        meant = f", did you mean {near[0]!r}?" if near else ";"
        return f"{head}{meant} its parameters: {', '.join(takes) or 'none'}"
    written = [answer.argument for answer in answers if answer.argument]
    replaced = {argument.partition("=")[0] for argument in written}
    kept = [f"{name}={value!r}" for name, value in known.items() if name not in replaced]
    call = f"; write {_call(cls, [*written, *kept])}" if written else ""
    sentences = ". ".join(answer.sentence for answer in answers if answer.sentence)
    return f"{head}{call}: {sentences}. {_TABLE}"


def _call(cls: str, arguments: list[str]) -> str:
    whole = [argument for argument in arguments if re.match(rf"([\d.e-]+ \* )?{cls}[.(]", argument)]
    return whole[0] if whole else f"{cls}({', '.join(arguments)})"


# What people mean who give a number first, where scikit-learn has another first parameter.
_FIRST = {
    "KernelPCA": "n_components={0!r}",
    "KernelKMeans": "n_clusters={0!r}",
    "KernelNeighborsClassifier": "n_neighbors={0!r}",
    "KernelNeighborsRegressor": "n_neighbors={0!r}",
    "KernelNearestNeighbors": "n_neighbors={0!r}",
    "KernelRadiusNeighborsClassifier": "radius={0!r}",
    "KernelRadiusNeighborsRegressor": "radius={0!r}",
    "KernelSVC": "lam=FromC({0!r})",
    "KernelSVR": "lam=FromC({0!r})",
    "KernelLogistic": "lam=FromC({0!r})",
    "KernelRidge": "lam=FromAlpha({0!r})",
    "NystromFeatures": "n_centres={0!r}",
    "RandomFourierFeatures": "n_features={0!r}",
    "PolynomialSketch": "n_features={0!r}",
    "SkewedChiSquaredFeatures": "n_features={0!r}",
    "KernelOneClass": "nu={0!r}",
}


def _plain(value: Any) -> Any:
    """A number of NumPy's, which searches draw, as Python's: it is going to be shown."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


@cache
def _taken(cls: Any) -> tuple[str, ...] | None:
    """What a constructor takes; None where that is anything."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else tuple(p.name for p in parameters)


def refuse_words(cls: Any, positional: tuple, keywords: dict[str, Any]) -> None:
    """TypeError, with the equivalent, if a constructor of `cls` is given what it doesn't take.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> KernelPCA(2)
    Traceback (most recent call last):
    TypeError: the first parameter of KernelPCA is its kernel, got 2; write KernelPCA(n_components=2)
    """
    takes = _taken(cls)
    if takes is None:
        return
    words = {word: _plain(value) for word, value in keywords.items() if word not in takes}
    if words:
        known = {name: value for name, value in keywords.items() if name in takes}
        raise TypeError(in_our_words(cls.__name__, takes, words, {**dict(zip(takes, positional)), **known}))
    if twice := [name for name in takes[: len(positional)] if name in keywords]:
        order = f"{cls.__name__}({', '.join(takes)})"
        raise TypeError(f"{twice[0]!r} is said twice, by its place and by its name: the order is {order}")
    if positional and not takes:
        raise TypeError(f"{cls.__name__} takes no parameters")
    if positional and takes[0] == "kernel" and isinstance(positional[0], numbers.Real):
        meant = _FIRST.get(cls.__name__)
        way = "" if meant is None else f"; write {cls.__name__}({meant.format(positional[0])})"
        raise TypeError(f"the first parameter of {cls.__name__} is its kernel, got {positional[0]!r}{way}")


def translated(cls: Any, words: dict[str, Any]) -> str | None:
    """The sentence for parameters that are set by another library's name; None where there is none."""
    takes = _taken(cls) or ()
    unknown = {word: _plain(value) for word, value in words.items() if word.partition("__")[0] not in takes}
    if not _answers(Said(cls.__name__, takes, unknown, {})):
        return None
    return in_our_words(cls.__name__, takes, unknown, {})


class Worded:
    """A class whose constructor, given the words of another library, says what to write instead.

    `__new__` sees what a constructor is given before it does; signatures stay what they are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(gamma=0.5)
    Traceback (most recent call last):
    TypeError: Gaussian has no parameter 'gamma'; write Gaussian.from_gamma(0.5): σ = 1/√(2·gamma). ...
    """

    def __new__(cls, *positional: Any, **keywords: Any) -> Any:
        if positional or keywords:
            refuse_words(cls, positional, keywords)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # or every attribute would be one, to those who read types

        def __getattr__(self, name: str) -> Any:
            """Asked last, for what there is not: where another library's attribute is here."""
            said = None if hasattr(type(self), name) else missing_attribute(self, name)
            if said is None:
                return object.__getattribute__(self, name)  # which says, once more, why not
            raise AttributeError(said, name=name, obj=self)
