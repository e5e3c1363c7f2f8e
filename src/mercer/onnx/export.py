"""`to_onnx`: a fitted machine as a graph that other programmes run."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer._files import replacing
from mercer.codegen.onnx.graph import IR_VERSION, OPSET, OnnxGraph
from mercer.codegen.onnx.pairs import GraphPoints
from mercer.codegen.symbols import NotTraceable, Symbol
from mercer.estimators import KernelKMeans, KernelOneClass, KernelPCA, KernelPerceptron
from mercer.estimators.answers import Labelled
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.estimators.inputs import KernelInputs
from mercer.estimators.neighbours import KernelNeighbours
from mercer.estimators.one_class import EDGE
from mercer.losses.several import SeveralLabels
from mercer.online.machine import OnlineMachine
from mercer.onnx import answers
from mercer.onnx.scores import scores, votes
from mercer.tables.model import Columns, Model
from mercer.tables.model.forests import has_forest

_LARGEST = 2_000_000_000
_DTYPES = ("float64", "float32")
# Name → (value, "f" for numbers, "i" for whole numbers or "U" for text, shape).
Outputs = dict[str, tuple[Symbol, str, list[Any]]]


def to_onnx(
    machine: Any, path: str | os.PathLike[str] | None = None, *, name: str = "mercer", dtype: str = "float64"
):
    """A fitted machine as an ONNX model, equal to its `predict` to 1e-5 and better.

    Input: ``X``, (n, features). Outputs of classifiers: ``label`` (whole numbers or text), ``scores`` (as
    `decision_function`) and, where the machine has them, ``probabilities``; of regressions ``prediction``;
    of `KernelOneClass` ``label`` and ``scores``; of `KernelPCA` ``embedding``; of `KernelKMeans` ``label``.
    All is computed in double precision inside.

    Parameters
    ----------
    machine : a fitted machine on vectors
        Also a Model, or a Pipeline of mercer's columns and a machine: then X is what the columns become,
        numbers in the order of the metadata ``columns``.
    path : str or Path, optional
        Where to write it, in one step.
    name : str
        Of the graph.
    dtype : "float64" or "float32"
        Of X and of the outputs that are numbers.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    TypeError
        If something in the machine has no ONNX version: a kernel that is no formula in vectors (a Python
        function, a matrix, a forest), or a feature map of another library.

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> from mercer import KernelLogistic
    >>> machine = KernelLogistic(lam=0.01).fit([[0.0], [1.0], [2.0]], ["no", "yes", "no"])
    >>> session = onnxruntime.InferenceSession(to_onnx(machine).SerializeToString())
    >>> session.run(["label"], {"X": np.array([[1.1]])})[0].tolist()
    ['yes']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError(f"to_onnx needs onnx ({error}): pip install 'mercer[export]'") from error
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    decision = machine.decision if isinstance(machine, Model) else None
    weights = getattr(machine.machine, "class_weight", None) if isinstance(machine, Model) else None
    machine, columns, calibration = _parts(machine)
    if isinstance(machine, KernelNeighbours):
        raise TypeError(
            f"{machine!r} has no ONNX version: its answers come from a search among examples, not from one "
            "function; a KernelClassifier or KernelRegressor fitted to the same examples has one"
        )
    if isinstance(machine, OnlineMachine) and len(getattr(machine, "classes_", [0, 1])) < 2:
        raise TypeError("the machine has met one class only, so there is nothing to tell apart yet")
    check_is_fitted(machine, type(machine).fitted_by)
    if isinstance(getattr(machine, "coding_", None), SeveralLabels):
        raise TypeError("several labels an example have no ONNX version: fit and export a machine for each")
    if not machine.kernel_.vectors:
        raise TypeError(f"{machine.kernel_!r} is not a kernel on vectors, so the machine has no ONNX version")
    if has_forest(machine.kernel_):
        raise TypeError(
            "a forest is a term of the kernel, and forests have no ONNX version: use the model itself "
            "(mercer predict, mercer serve), or export a machine with the other terms only, fitted to the "
            "same points"
        )
    graph = OnnxGraph()
    points = GraphPoints(graph, graph.cast(Symbol(graph, "X"), np.float64), machine.n_features_in_)
    try:
        outputs = _outputs(points, machine, calibration)
        if decision is not None or weights is not None:
            (P, kind, shape), (label, of, n) = outputs["probabilities"], outputs["label"]
            P = answers.unweighted(graph, P, machine.classes_, weights or {})
            if decision is not None:
                label = answers.decided(graph, P, decision, machine.classes_)
            outputs |= {"probabilities": (P, kind, shape), "label": (label, of, n)}
    except NotTraceable as reason:
        raise TypeError(f"{machine!r} has no ONNX version: {reason}") from reason
    model = onnx.helper.make_model(
        _finished(graph, points.width, outputs, name, dtype),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="mercer",
        producer_version=mercer.__version__,
        doc_string=f"{type(machine).__name__} with {machine.kernel_!r}"[:2000],
    )
    if columns is not None:
        onnx.helper.set_model_props(model, {"columns": json.dumps(columns)})
    onnx.checker.check_model(model)
    if path is not None:
        with replacing(path) as file:
            file.write(model.SerializeToString())
    return model


def _finished(graph: OnnxGraph, width: int, outputs: Outputs, name: str, dtype: str) -> Any:
    """The graph with its inputs and outputs declared."""
    from onnx import TensorProto, helper

    number = TensorProto.DOUBLE if dtype == "float64" else TensorProto.FLOAT
    kinds = {"f": number, "i": TensorProto.INT64, "U": TensorProto.STRING}
    declared = []
    for title, (value, kind, shape) in outputs.items():
        last = graph.cast(value, np.float32) if kind == "f" and dtype == "float32" else value
        graph.nodes.append(helper.make_node("Identity", [last.place], [title]))
        declared.append(helper.make_tensor_value_info(title, kinds[kind], shape))
    constants = list(graph.constants.values())
    size = sum(c.ByteSize() for c in constants)
    if size > _LARGEST:
        raise ValueError(
            f"the model would take {size / 1e9:.1f} GB, and ONNX files end at 2 GB; fit with fewer centres "
            "(representation=Nystrom(n_centres=…))"
        )
    given = helper.make_tensor_value_info("X", number, ["n", width])
    return helper.make_graph(graph.nodes, name, [given], declared, constants)


def _parts(x: Any) -> tuple[Any, list[str] | None, Calibration | None]:
    """The machine, names of the columns it takes where they are known, and a calibration besides its own."""
    if isinstance(x, Model):
        if x.columns.texts:
            raise TypeError(
                f"the model learns from text ({', '.join(map(repr, x.columns.texts))}), and kernels on "
                "strings have no ONNX version: fit it without, or use the model itself (mercer predict, "
                "mercer serve)"
            )
        return x.machine, x.columns.get_feature_names_out().tolist(), x.calibration
    if isinstance(x, Pipeline):
        if len(x.steps) != 2 or not isinstance(x.steps[0][1], Columns):
            raise TypeError(
                "to_onnx takes a machine, or a pipeline of mercer's columns and a machine, not "
                f"{x!r}; export its last step, and prepare the points as the steps before it do"
            )
        machine, _, _ = _parts(x.steps[1][1])
        return machine, x.steps[0][1].get_feature_names_out().tolist(), None
    if not isinstance(x, KernelInputs):
        raise TypeError(f"to_onnx takes a fitted machine of mercer's, got {x!r}")
    names = getattr(x, "feature_names_in_", None)
    return x, None if names is None else list(map(str, names)), None


def _nearest_mean(points: GraphPoints, machine: KernelKMeans) -> Symbol:
    """The cluster with the least ‖μ_j‖² − 2⟨ψ(x), μ_j⟩; ψ is φ, over the degree of x for normalised cuts."""
    means: Any = machine.means_
    graph, inner = points.graph, scores(points, means)
    filled = machine.masses_ > 0
    if hasattr(machine, "normalized_cut_"):
        degree = graph.op("MatMul", inner, machine.masses_[:, None])
        inner = graph.op("Where", degree > 0.0, inner / degree, 0.0)
    # An empty cluster is nobody's; infinity less infinity would be nothing at all.
    norms = np.where(filled, machine.squared_norms_, np.finfo(np.float64).max)
    return graph.op("ArgMin", norms[None, :] - 2.0 * inner, axis=1, keepdims=0)


def _outputs(points: GraphPoints, machine: Any, calibration: Calibration | None) -> Outputs:
    """What the machine answers."""
    if isinstance(machine, KernelPCA):
        embedding = scores(points, machine.function_) + machine.intercept_[None, :]
        return {"embedding": (embedding, "f", ["n", machine.n_components_])}
    if isinstance(machine, KernelKMeans):
        return {"label": (_nearest_mean(points, machine), "i", ["n"])}
    graph, coding = points.graph, machine.coding_
    if isinstance(machine, KernelPerceptron) and machine.votes_ is not None:
        s = votes(points, machine.function_, *machine.votes_)
    else:
        s = scores(points, machine.function_)
    if isinstance(machine, KernelMachine):
        s = s + np.asarray(machine.solution_.intercept, np.float64)[None, :]
    if isinstance(machine, OnlineMachine):
        s = s + np.atleast_1d(machine.intercept_)[None, :]
    if isinstance(machine, KernelOneClass):
        d = graph.flat(s)
        d = graph.op("Where", np.abs(d) <= EDGE * abs(machine.offset_), 0.0, d)
        label = graph.op("Where", d >= 0.0, np.array(1, np.int64), np.array(-1, np.int64))
        return {"label": (label, "i", ["n"]), "scores": (d, "f", ["n"])}
    if not isinstance(machine, Labelled):
        shape = ["n"] if coding.one_dimensional else ["n", coding.n_outputs]
        return {"prediction": (answers.prediction(graph, s, coding), "f", shape)}
    k = len(coding.classes)
    d = answers.decision(graph, s, coding)
    best = answers.best_class(graph, d, coding)
    labels = answers.labels_of(coding.classes)
    out: Outputs = {
        "label": (graph.op("Gather", labels, best), labels.dtype.kind, ["n"]),
        "scores": (d, "f", ["n"] if k == 2 else ["n", k]),
    }
    if calibration is None:
        calibration = getattr(machine, "calibration_", None)
    if calibration is not None:
        out["probabilities"] = (answers.calibrated(graph, s, coding, calibration, best), "f", ["n", k])
    elif hasattr(machine, "predict_proba"):
        out["probabilities"] = (answers.probabilities(graph, s, coding, best), "f", ["n", k])
    return out
