"""Regression over a network of nodes that keep their rows and speak to their neighbours only."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from mercer import _resolve
from mercer._params import require_count, require_flag, require_nonnegative
from mercer._state import require
from mercer._warnings import frames_inside
from mercer.engines import Engine
from mercer.estimators.answers import Coefficients, Numbered
from mercer.estimators.inputs import GAUSSIAN, KernelInputs, finite_scores, like, require_numbers
from mercer.estimators.lam import OtherWords, check_lam
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import follows_data, on_host
from mercer.features.base import generator
from mercer.functions import KernelFunction
from mercer.graphs import Graph
from mercer.kernels import Kernel, Precomputed
from mercer.losses import Squared
from mercer.losses.coding import TargetCoding
from mercer.network.combined import Agreed, Gathered
from mercer.network.faults import Faults
from mercer.network.fitting import Network, agree, gather
from mercer.network.members import Members, members_of
from mercer.network.preparation import prepare
from mercer.network.terms import EXCHANGES
from mercer.network.traffic import Traffic
from mercer.representations import Full, Nystrom
from mercer.solvers import ConvergenceWarning


@dataclass(eq=False, repr=False)
class NetworkKernelRegressor(OtherWords, Coefficients, Numbered, KernelInputs):
    """Kernel ridge regression over a network: every node keeps its rows and speaks to its neighbours only.

    What it is after is f + b minimising (1/n) Σ (y_i − f(x_i) − b)² + λ‖f‖² over the rows of all nodes,
    f = Σ_j c_j k(z_j,·) at centres z_j that all nodes know. Three ways lead to something of the kind:

    * ``combine="consensus"``: rounds of messages between neighbours, after which every node has that very f;
    * ``combine="average"``: each node fits its own rows, with the λ of all n, and the mean is taken, by
      numbers of rows: one flood of functions. Good where all nodes see the same distribution, and only there;
    * ``combine="glue"``: each node fits its own rows, and at every point those who know most count most (a
      partition of unity): one flood of functions, for nodes that each see their own surroundings.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
        Parameters that are left to the data are found from the rows that nodes propose as centres.
    lam : "auto", float > 0, FromC(C) or FromAlpha(alpha)
        "auto": nodes that have agreed on sums over all rows take the λ under which the targets are most
        likely (the largest evidence). Others, which must know it before, take a vote: every node with five
        different rows or more leaves one out to find its own λ_i, and the median of λ_i n_i, divided by n,
        is taken; without such nodes, λn is a tenth of k(z,z).
    graph : edges, networkx graph, adjacency matrix, mercer.graphs.Graph, or None
        Who can hear whom; it must be connected. None: every node and the three whose rows lie nearest to its.
    combine : "consensus", "average" or "glue"
    n_nodes : int, optional
        Where `fit` is not told whose rows are whose: so many nodes with a cell of the data each. None: as
        many as the graph has or, without a graph, one for ten rows, at most sixteen.
    n_centres : int
        For consensus, how many centres the nodes propose together, each the same number of its rows.
    centres : "mixed", "uniform", "k-means++", "leverage", "pivoted_cholesky", a Centres object, or points
        How a node chooses among its rows, or the centres themselves, if all nodes know them beforehand.
    exchange : "statistics", "coefficients" or "tree"
        What is sent in a round of consensus: about m²/2 sums over rows, for few rounds; or m coefficients,
        for many, the more the smaller λ is. "tree": those sums go once up and down a tree, by far the fewest
        bytes, and nothing may fail.
    weights : "precision" or "closeness"
        For gluing: by how much a node's rows tell at a point, or by how near its rows are in the mean.
    faults : Faults, optional
        Nodes that are silent for some rounds, messages that are lost or late.
    offset : bool
    tol : float
        Rounds end when no message brings news of this relative size to anybody. 0: all `max_rounds` are run.
    max_rounds : int
    record : bool
        Keep what every node knew after every round, for ``predict(X, rounds=…)``.
    engine : "auto" or an Engine, what computes kernel values
    random_state : int, RandomState or None

    Attributes
    ----------
    nodes_ : names of the nodes, in the order of the graph
    graph_ : Graph
    traffic_ : Traffic, who sent what to whom
    n_rounds_ : rounds it took
    agreed_ : whether all nodes knew in the end that they agree (or, of functions that are flooded, know all)
    combined_ : what the nodes hold
    function_, dual_coef_, intercept_ : f and b of all nodes together; absent where functions are glued, as
        that is no element of the kernel's space
    kernel_, lam_, centres_, plan_ : what was agreed on before

    Notes
    -----
    Nodes that fall silent during consensus take their rows with them: the others arrive at what their own
    rows say. When they come back, their rows count again. Messages are 64-bit numbers, two bytes for
    each node, and a header of 24 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, NetworkKernelRegressor
    >>> from mercer.network import ring
    >>> rng = np.random.default_rng(0)
    >>> nodes = np.repeat(np.arange(6), 20)                       # six nodes with 20 rows each,
    >>> X = nodes[:, None] + rng.uniform(0, 1, (120, 1))          # each in its own part of the line
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(120)
    >>> machine = NetworkKernelRegressor("gaussian", lam=1e-3, graph=ring(6), n_centres=30, random_state=0)
    >>> machine = machine.fit(X, y, nodes=nodes)
    >>> from mercer.representations import Nystrom
    >>> form = Nystrom(centres=machine.centres_)
    >>> pooled = KernelRidge(machine.kernel_, lam=1e-3, representation=form).fit(X, y)
    >>> bool(np.abs(machine.predict(X, node=4) - pooled.predict(X)).max() < 1e-6)
    True
    >>> machine.n_rounds_ < 60 and machine.agreed_
    True
    """

    kernel: Any = GAUSSIAN
    lam: Any = "auto"
    graph: Any = None
    combine: str = "consensus"
    n_nodes: int | None = None
    n_centres: int = 100
    centres: Any = "k-means++"
    exchange: str = "statistics"
    weights: str = "precision"
    faults: Any = None
    offset: bool = True
    tol: float = 1e-10
    max_rounds: int = 5000
    record: bool = False
    engine: Any = "auto"
    random_state: Any = None

    # -- what was asked for --------------------------------------------------------------------------

    def _validate(self) -> None:
        choices = {
            "combine": ("consensus", "average", "glue"),
            "exchange": tuple(EXCHANGES),
            "weights": ("precision", "closeness"),
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                words = ", ".join(map(repr, known))
                raise ValueError(f"{name} must be one of {words}, got {value!r}")
        check_lam(self.lam)
        if self.n_nodes is not None:
            require_count(self.n_nodes, "n_nodes")
        require_count(self.n_centres, "n_centres")
        require_count(self.max_rounds, "max_rounds")
        require_nonnegative(self.tol, "tol")
        require_flag(self.offset, "offset")
        require_flag(self.record, "record")
        if self.faults is not None and not isinstance(self.faults, Faults):
            raise TypeError(f"faults must be a mercer.network.Faults or None, got {self.faults!r:.60}")
        faults = self.faults or Faults()
        faults.validate()
        if self.combine == "consensus" and self.exchange == "tree" and not faults.harmless:
            raise ValueError(
                "sums that go up and down a tree are lost with the first message that is: with faults take "
                "exchange='statistics', which survives them"
            )
        if isinstance(self.centres, str) or not hasattr(self.centres, "__len__"):
            Nystrom(centres=self.centres).validate()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.pairwise = False
        return tags

    # -- fit -----------------------------------------------------------------------------------------

    def fit(self, X, y, nodes=None, *, client=None):
        """Fit to the rows of all nodes.

        Parameters
        ----------
        X : (n, d) array
        y : (n,) or (n, outputs) array
        nodes : (n,) array, optional
            Whose row each of them is: the number of a node or, with a networkx graph, its name, if names are
            numbers or text; without a graph, any labels. Not given: nodes have cells of the data, see
            `n_nodes`.
        client : distributed.Client, optional
            Then every node is an actor on a worker of that cluster, and messages go from worker to worker.
        """
        self._validate()
        y = self.require_y(y)
        kernel, engine = clone(_resolve.kernel_of(self.kernel)), _resolve.engine_of(self.engine)
        X, targets, coding = self._door_of_nodes(X, y, kernel, engine)
        rng = generator(self.random_state)
        members = members_of(self.graph, nodes, self.n_nodes, X, kernel, rng)
        faults = (self.faults or Faults()).with_numbers(members.number)
        prepared = prepare(self, members, X, targets, kernel, engine, rng)
        self.kernel_ = prepared.kernel
        if not self.admit_points(prepared.sample):
            raise ValueError(f"{self.kernel_!r} is no kernel on these rows, and nodes need one")
        network = Network(members, faults, prepared, engine, client)
        way = agree if self.combine == "consensus" else gather
        self.combined_: Any
        self.combined_, course, self.lam_ = way(self, network, X, targets)
        self.coding_, self.centres_ = coding, prepared.centres
        self.nodes_, self.graph_ = np.array(members.names), members.graph
        self.n_rounds_, self.agreed_ = course.rounds, bool(course.agreed)
        self.traffic_ = Traffic.of(members.graph.n_nodes, [*prepared.log, *course.log])
        self.plan_ = self._planned(members, engine, len(X))
        if not self.agreed_ and self.tol > 0:
            self._warn()
        return self

    def _door_of_nodes(
        self, X: Any, y: Any, kernel: Kernel, engine: Engine
    ) -> tuple[np.ndarray, np.ndarray, TargetCoding]:
        """X, targets (n, outputs) and the coding of y, checked."""
        for part in (kernel, engine):
            part.validate()
        if not kernel.vectors or isinstance(kernel, Precomputed):
            raise ValueError(
                f"nodes send each other rows of numbers, and {kernel!r} does not compare vectors: take a "
                "kernel that does, such as Gaussian()"
            )
        X = on_host(X)
        require_numbers(X, "X")
        require_numbers(y, "y")
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        y = check_array(y, ensure_2d=False, allow_nd=False, dtype=None, input_name="y", ensure_min_samples=0)
        check_consistent_length(X, y)
        targets, coding = Squared().encode_targets(y)
        return X, np.asarray(targets, np.float64), coding

    def _planned(self, members: Members, engine: Engine, n: int) -> Plan:
        consensus = self.combine == "consensus"
        form = Nystrom(n_centres=len(self.centres_)) if consensus else Full()
        traffic = self.traffic_
        reasons = (
            f"{members.graph.n_nodes} nodes, {len(members.graph.edges)} edges; {self.combine}",
            f"λ = {self.lam_:.3g}",
            f"{self.n_rounds_} rounds, {traffic.messages:,} messages, {traffic.bytes:,} bytes",
        )
        return Plan(form, None, engine, n, len(self.centres_) if consensus else n, reasons=reasons)

    def _warn(self) -> None:
        what = "do not agree yet" if self.combine == "consensus" else "have not heard of all others"
        warnings.warn(
            f"NetworkKernelRegressor: the nodes {what} after {self.n_rounds_} rounds. Let them have more "
            "(max_rounds), ask for less (tol), or look at the faults; tol=0 runs max_rounds without a word",
            ConvergenceWarning,
            stacklevel=frames_inside(),
        )

    # -- predict -------------------------------------------------------------------------------------

    @follows_data
    def predict(self, X, node=None, rounds=None):
        """Predictions for X, shaped as y was at fit.

        Parameters
        ----------
        node : the name of a node, as in `nodes_`: what that one would say. None: all together
        rounds : int, optional
            As it was after so many rounds; of consensus only where `record` was True.
        """
        scores = self.scores(X, node, rounds)
        return self.coding_.decode(scores)

    def scores(self, X: Any, node: Any = None, rounds: int | None = None) -> np.ndarray:
        """f(x) + b, shape (n, outputs)."""
        check_is_fitted(self, "combined_")
        X = validate_data(self, on_host(X), reset=False, dtype=[np.float64, np.float32])
        if rounds is not None:
            rounds = require_count(rounds, "rounds", 0)
        scores = self.combined_.scores(X, self._number_of(node), rounds)
        return finite_scores(like(scores, X))

    def _number_of(self, node: Any) -> int | None:
        if node is None:
            return None
        found = np.flatnonzero(self.nodes_ == node)
        if not len(found):
            few = ", ".join(repr(name) for name in self.nodes_[:5].tolist())
            raise ValueError(f"there is no node {node!r}: nodes_ has {few}" + ", …" * (len(self.nodes_) > 5))
        return int(found[0])

    def gluing_weights(self, X, node=None) -> np.ndarray:
        """(n, nodes) how much each node counts at each point, for functions that are glued or averaged."""
        check_is_fitted(self, "combined_")
        if not isinstance(self.combined_, Gathered):
            raise ValueError(
                "nodes that agree have no weights: they are those of combine='glue' or 'average'"
            )
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        there, weights = self.combined_.weights(X, self._number_of(node))
        out = np.zeros((len(X), len(self.nodes_)))
        out[:, there] = weights.T
        return out

    # -- the function ----------------------------------------------------------------------------------

    @property
    def function_(self) -> KernelFunction:
        """f of all nodes together."""
        return self._whole()[0]

    @property
    def intercept_(self) -> Any:
        """b of all nodes together."""
        b = self._whole()[1]
        return float(b[0]) if self.coding_.one_dimensional else b

    def _whole(self) -> tuple[KernelFunction, np.ndarray]:
        combined = vars(self).get("combined_")
        if isinstance(combined, Agreed):
            f, b = combined.function()
        elif isinstance(combined, Gathered) and combined.how == "average":
            f, b = combined.mean()
        else:
            raise AttributeError("glued functions are no element of the kernel's space: `predict` is all")
        return (f.with_coef(f.coef[:, 0]) if self.coding_.one_dimensional else f), b

    holds = {
        "combined_": (Agreed, Gathered),
        "coding_": TargetCoding,
        "graph_": Graph,
        "traffic_": Traffic,
        "nodes_": np.ndarray,
    }
    fitted_by = "combined_"

    def check_state(self) -> None:
        super().check_state()
        count = self.graph_.n_nodes
        sizes = {count, len(self.nodes_), self.combined_.n_nodes, self.traffic_.n_nodes}
        require(len(sizes) == 1, "nodes and graph differ in number")
        self._check_outputs()

    def _check_outputs(self) -> None:
        require(self.combined_.outputs == self.coding_.n_outputs, "functions and outputs differ in number")
