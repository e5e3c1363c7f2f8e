"""Figures of what carries a decision: letters, nodes of graphs, weights of features; a Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from mercer._resolve import kernel_of
from mercer.functions import feature_weights as largest_weights
from mercer.graphs import Graph
from mercer.plot.plane import features, labels_of, on_white, symmetric, text_on, tinted, window
from mercer.plot.style import BLUE, COLOURS, INK, bare, dressed, legend
from mercer.plot.text import plain

_FOR, _AGAINST = COLOURS[0], COLOURS[1]
# A letter that no example has: what holds it is nothing that a machine has learned of. It is a letter to
# kernels of words, too, so that a blotted word stays one word.
_BLANK = "ǂ"
_MOST_CLASSES = 24


def letters(
    machine: Any, strings: Sequence[Any], ax: Axes | None = None, *, label: Any = None, blank: Any = None
) -> Axes:
    """Strings, a row each, every letter in the colour of what it contributes to the machine's score.

    The contribution of a letter is f(x) − f(x′), where x′ is x with that letter blotted out. With a
    `Spectrum` kernel that is the sum of the weights of all substrings that the letter is part of. Any kernel
    on strings and any machine will do.

    Parameters
    ----------
    machine : fitted on strings
        Of a classifier the score is that of one class, of a regressor the prediction.
    strings : text, bytes or lists of tokens
    label : of which class, optional
        Of two classes by default the second; of more the one predicted for each string.
    blank : what blots a letter out, optional: a letter that no example has
        Kernels with a fixed alphabet need one of it.

    Examples
    --------
    >>> from mercer import KernelSVC, plot
    >>> from mercer.kernels import Spectrum
    >>> words, y = ["banana", "bandana", "kernel", "colonel"], ["fruit", "fruit", "maths", "maths"]
    >>> machine = KernelSVC(Spectrum(2), lam=0.01).fit(words, y)
    >>> ax = plot.letters(machine, ["banana", "kernel"], plot.axes(), label="fruit")
    >>> "".join(text.get_text() for text in ax.texts[:6])
    'banana'
    """
    strings = [strings] if isinstance(strings, (str, bytes)) else list(strings)
    if not strings or not all(len(x) for x in strings):
        raise ValueError("give at least one string, and none that is empty: there are no letters to colour")
    columns, where = _score_of(machine, strings, label)
    gains = [
        _gain(machine, x, _blotted(x, blank), column) for x, column in zip(strings, columns, strict=True)
    ]
    largest = max(float(np.abs(gain).max()) for gain in gains) or 1.0
    ax = bare(ax)
    for i, (x, gain) in enumerate(zip(strings, gains, strict=True)):
        for j, value in enumerate(gain):
            strength = 0.9 * abs(value) / largest
            fill = on_white(tinted(np.array(strength), _FOR if value >= 0 else _AGAINST))
            ax.add_patch(Rectangle((j - 0.5, i - 0.42), 1, 0.84, facecolor=fill, linewidth=0))
            look: Any = {"ha": "center", "va": "center", "fontsize": 10}
            ax.text(j, i, _letter(x, j), color=text_on(fill), **look)
    ax.set_xlim(-0.6, max(map(len, strings)) - 0.4)
    ax.set_ylim(len(strings) - 0.5, -0.5)
    ax.set(xticks=[], yticks=[])
    return _signs(ax, where)


def graph_nodes(
    machine: Any, graph: Any, ax: Axes | None = None, *, positions: Any = None, label: Any = None
) -> Axes:
    """A graph, each node in the colour of what it contributes to the machine's score, with its label.

    The contribution of a node is f(G) − f(G without it and its edges). Any kernel on graphs and any machine
    will do.

    Parameters
    ----------
    machine : fitted on graphs
    graph : Graph, or what `Graph.of` takes, with two nodes or more
    positions : (nodes, 2) where to draw the nodes, optional
        By default so that distances in the plane are like the numbers of steps in the graph.
    label : of which class the score is, as in `letters`

    Examples
    --------
    >>> from mercer import KernelSVC, plot
    >>> from mercer.graphs import Graph
    >>> from mercer.kernels import WeisfeilerLehman
    >>> graphs = [Graph([(0, 1)], node_labels=list(pair)) for pair in ("CO", "CC", "OO", "CN")]
    >>> machine = KernelSVC(WeisfeilerLehman(1), lam=0.01).fit(graphs, ["polar", "not", "polar", "not"])
    >>> ax = plot.graph_nodes(machine, graphs[0], plot.axes())
    >>> [text.get_text() for text in ax.texts]
    ['C', 'O']
    """
    graph = Graph.of(graph)
    if graph.n_nodes < 2:
        raise ValueError("a graph to be drawn has two nodes or more: taking the only one out leaves nothing")
    places = _layout(graph) if positions is None else features(positions, 2, "nodes")
    if len(places) != graph.n_nodes:
        raise ValueError(f"the graph has {graph.n_nodes} nodes, and there are {len(places)} positions")
    columns, where = _score_of(machine, [graph], label)
    gain = _gain(machine, graph, [_without(graph, v) for v in range(graph.n_nodes)], columns[0])
    largest = float(np.abs(gain).max()) or 1.0
    ax = bare(ax)
    ax.set(xticks=[], yticks=[], aspect="equal")
    lines = [places[pair] for pair in graph.edges.tolist()]
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=1.6, alpha=0.7, zorder=1))
    size = float(np.clip(9000 / (graph.n_nodes + 8), 60, 420))
    shades = [on_white(tinted(np.array(0.9 * abs(g) / largest), _FOR if g >= 0 else _AGAINST)) for g in gain]
    ax.scatter(places[:, 0], places[:, 1], s=size, c=shades, edgecolors=INK, linewidths=1.0, zorder=2)
    if graph.node_labels is not None:
        for place, name, shade in zip(places, graph.node_labels, shades, strict=True):
            colour = text_on(shade)
            look: Any = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 4}
            ax.text(place[0], place[1], plain(str(name), 6), color=colour, **look)
    window(ax, places, 0.18, alone=1.0)
    return _signs(ax, where)


def feature_weights(f: Any, X: Any = None, ax: Axes | None = None, *, count: int = 12) -> Axes:
    """The features of a string or graph kernel with the largest weights, as bars: which parts say what.

    Parameters
    ----------
    f, X, count : as in `mercer.functions.feature_weights`, which finds them; a function of one output

    Examples
    --------
    >>> from mercer import KernelSVC, plot
    >>> from mercer.kernels import Spectrum
    >>> words, y = ["banana", "bandana", "kernel", "colonel"], [1, 1, -1, -1]
    >>> machine = KernelSVC(Spectrum(2), lam=0.01).fit(words, y)
    >>> ax = plot.feature_weights(machine, ax=plot.axes(), count=4)
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['an', 'el', 'na', 'ne']
    """
    found = largest_weights(f, X, count)
    if not all(np.ndim(weight) == 0 for _, weight in found):
        raise ValueError(
            "features have a weight for every output here, and bars show one: fit two classes, or give one "
            "function of several, such as machine.function_.output(0)"
        )
    weights = np.array([weight for _, weight in found], dtype=float)
    classes = getattr(f, "classes_", None)
    where = ("", "") if classes is None else (_for(classes[1]), _for(classes[0]))
    ax = dressed(ax, "weight")
    ax.barh(range(len(weights)), weights, 0.65, color=[_FOR if w >= 0 else _AGAINST for w in weights])
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(weights)), [plain(name) for name, _ in found])
    ax.set_ylim(len(weights) - 0.4, -0.6)
    ax.grid(False, axis="y")
    return _signs(ax, where)


def gram(kernel: Any, X: Any = None, y: Any = None, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """A Gram matrix K_ij = k(x_i, x_j) as shades, the examples sorted by their labels.

    Where the kernel suits the labels, blocks along the diagonal are darker than what lies between them.

    Parameters
    ----------
    kernel : a kernel, its name or a function, or the matrix itself, without X
    X : points of any kind
    y : labels, optional; lines divide up to 24 classes, and ticks name them
    colour : of the positive values; negative ones have another

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.gram("linear", [[1.0], [2.0], [3.0]], ["b", "a", "b"], plot.axes())
    >>> [text.get_text() for text in ax.get_xticklabels()], ax.images[0].get_array()[:, :, 3].max()
    (['a', 'b'], np.float64(1.0))
    """
    K = _matrix_of(kernel, X)
    order = np.arange(len(K))
    labels = None if y is None else labels_of(y, len(K))
    if labels is not None:
        if (found := len(np.unique(labels))) > _MOST_CLASSES:
            raise ValueError(f"at most {_MOST_CLASSES} classes have room for their names, got {found}")
        order = np.argsort(labels, kind="stable")
        K = K[np.ix_(order, order)]
    strength = np.abs(K) / (np.abs(K).max() or 1.0)
    image = np.where((K >= 0)[..., None], tinted(strength, colour), tinted(strength, _AGAINST))
    ax = bare(ax)
    ax.imshow(image, origin="upper", interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    if labels is not None:
        _divide(ax, labels[order])
    if (K < 0).any():
        for shade, name in ((colour, "positive"), (_AGAINST, "negative")):
            ax.plot([], [], "s", color=shade, label=name)
        legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _matrix_of(kernel: Any, X: Any) -> np.ndarray:
    if X is None:
        if not isinstance(kernel, (list, tuple)) and not hasattr(kernel, "__array__"):
            raise ValueError("give the points of the kernel, gram(kernel, X), or a matrix")
        K = kernel
    else:
        k = kernel_of(kernel)
        points = k.points(X)
        K = k.resolve(points)(points)
    return symmetric(K, "a Gram matrix")


def _divide(ax: Axes, labels: np.ndarray) -> None:
    """Lines between the classes, and their names at the sides."""
    classes, first, counts = np.unique(labels, return_index=True, return_counts=True)
    for edge in first[1:]:
        ax.axhline(edge - 0.5, color=INK, linewidth=0.7, alpha=0.6)
        ax.axvline(edge - 0.5, color=INK, linewidth=0.7, alpha=0.6)
    middle, names = first + (counts - 1) / 2, [plain(str(name), 12) for name in classes]
    ax.set_xticks(middle, names)
    ax.set_yticks(middle, names)
    if max(map(len, names)) * len(names) > 40:
        ax.tick_params(axis="x", labelrotation=45)


# -- contributions -------------------------------------------------------------------------------------------


def _score_of(machine: Any, things: list[Any], label: Any) -> tuple[list[int | None], tuple[str, str]]:
    """(the output that is the score of each thing, what positive and negative contributions speak for)

    None is the only output there is; −1 the same with its sign turned, for the first of two classes.
    """
    classes = getattr(machine, "classes_", None)
    if classes is None:
        if label is not None:
            raise ValueError("label names a class, and this machine predicts numbers: leave it out")
        return [None] * len(things), ("larger", "smaller")
    classes = np.asarray(classes)
    if label is not None and label not in classes.tolist():
        raise ValueError(f"label must be one of the classes {classes.tolist()}, got {label!r}")
    if len(classes) == 2:
        first = label is not None and label == classes[0]
        names = (classes[0], classes[1]) if first else (classes[1], classes[0])
        return [-1 if first else None] * len(things), (_for(names[0]), _for(names[1]))
    if label is not None:
        return [int(np.flatnonzero(classes == label)[0])] * len(things), (
            _for(label),
            _for(label).replace("for", "against", 1),
        )
    chosen = np.searchsorted(classes, np.asarray(machine.predict(things))).tolist()
    return chosen, ("for what is predicted", "against it")


def _for(name: Any) -> str:
    return f"for {plain(name).strip()}"


def _scores(machine: Any, things: list[Any]) -> np.ndarray:
    """What a machine says of things: scores, probabilities where it has no scores, else predictions."""
    if hasattr(machine, "decision_function"):
        return np.asarray(machine.decision_function(things), dtype=float)
    if not hasattr(machine, "classes_"):
        return np.asarray(machine.predict(things), dtype=float)
    if not hasattr(machine, "predict_proba"):
        raise TypeError(
            f"contributions are those to a score, and {type(machine).__name__} has neither decision_function "
            "nor predict_proba: take another classifier, such as KernelSVC"
        )
    shares = np.asarray(machine.predict_proba(things), dtype=float)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _gain(machine: Any, thing: Any, without: list[Any], column: int | None) -> np.ndarray:
    """f(thing) − f(thing without each of its parts)"""
    found = _scores(machine, [thing, *without])
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if (found.ndim == 2) != (column is not None and column >= 0):
        raise ValueError(
            "contributions are drawn to a score, one for each class or one for all, and this machine gives "
            f"an array of shape {found.shape}"
        )
    scores = found if column is None else -found if found.ndim == 1 else found[:, column]
    return scores[0] - scores[1:]


def _blotted(x: Any, blank: Any) -> list[Any]:
    """x with each of its letters blotted out in turn."""
    if isinstance(x, str):
        mark: Any = _BLANK if blank is None else blank
    elif isinstance(x, bytes):
        mark = b"\x00" if blank is None else blank
    else:
        mark, x = [_BLANK if blank is None else blank], list(x)
    if len(mark) != 1:
        raise ValueError(f"blank must be one letter, got {blank!r}")
    return [x[:i] + mark + x[i + 1 :] for i in range(len(x))]


def _letter(x: Any, place: int) -> str:
    letter = x[place : place + 1].decode("latin-1") if isinstance(x, bytes) else str(x[place])
    return plain("·" if letter == " " else letter, 8)


def _without(graph: Graph, node: int) -> Graph:
    """The graph without a node and its edges."""
    keep = np.flatnonzero(np.arange(graph.n_nodes) != node)
    stays = (graph.edges != node).all(axis=1)
    edges = graph.edges[stays] - (graph.edges[stays] > node)
    names, links = graph.node_labels, graph.edge_labels
    node_labels = None if names is None else [names[i] for i in keep]
    edge_labels = None if links is None else [links[i] for i in np.flatnonzero(stays)]
    return Graph(edges, len(keep), node_labels, edge_labels)


def _layout(graph: Graph) -> np.ndarray:
    """Places whose distances are about the numbers of steps: stress majorisation from the circle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    n, (i, j) = graph.n_nodes, graph.edges.T
    steps = shortest_path(csr_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False, unweighted=True)
    reach = max(steps[np.isfinite(steps)].max(), 1.0)  # without edges there are no steps at all
    steps[~np.isfinite(steps)] = reach + 1.5  # parts that hang together stay apart from others
    np.fill_diagonal(steps, 1.0)
    weights = steps**-2.0
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    angle = 2 * np.pi * np.arange(n) / n
    # Not quite a circle: a graph that is symmetric about one would never leave a saddle.
    places = (
        (1 + 0.1 * np.arange(n) / n)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) * reach / 2
    )
    for _ in range(300):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        np.fill_diagonal(apart, 1.0)
        pull = -weights * steps / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = inverse @ (pull @ places)
    return places


def _signs(ax: Axes, where: tuple[str, str]) -> Axes:
    """A legend of the two colours, below."""
    if not any(where):
        return ax
    for colour, name in zip((_FOR, _AGAINST), where, strict=True):
        ax.plot([], [], "s", color=colour, label=name)
    return legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
