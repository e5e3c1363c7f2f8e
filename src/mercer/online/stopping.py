"""When `fit` has gone through its rows often enough."""

from __future__ import annotations

import numpy as np

from mercer._params import Params, is_number, require_count, require_nonnegative


class Stopping(Params):
    """`fit` ends once `patience` passes in a row have not led further by `tol`.

    What is looked at after a pass is the mean loss of the predictions that were made on the way, each before
    its example was learned. With `held_out` > 0 that part of the rows is not learned (for labels, of each
    class), and what is looked at is the score on them: R², or the share of labels that is right.

    Parameters
    ----------
    tol : float ≥ 0
        A pass leads further if the mean loss is less, or the score more, than the best until then by this.
    patience : int ≥ 1
    held_out : float in [0, 1)
        The split depends on the machine's `random_state`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelClassifier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.online import Stopping
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> rule = Stopping(patience=3, held_out=0.2)
    >>> machine = OnlineKernelClassifier(Gaussian(0.5), stopping=rule, passes=100, random_state=0).fit(X, y)
    >>> machine.n_passes_ < 100, machine.n_seen_ == 240 * machine.n_passes_
    (True, True)
    """

    def __init__(self, tol=1e-3, patience=5, held_out=0.0):
        self.tol = tol
        self.patience = patience
        self.held_out = held_out

    def validate(self) -> None:
        """Refuse what is out of range."""
        require_nonnegative(self.tol, "tol")
        require_count(self.patience, "patience")
        part = self.held_out
        if not is_number(part) or not 0 <= float(part) < 1:
            raise ValueError(f"held_out must be a part of the rows, from 0 to less than 1; got {part!r}")

    def split(self, y: np.ndarray, labels: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows to learn, in their order; rows to judge by)"""
        if not self.held_out:
            return np.arange(len(y)), np.arange(0)
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit  # takes a while to import

        make = StratifiedShuffleSplit if labels else ShuffleSplit
        splitter = make(n_splits=1, test_size=float(self.held_out), random_state=seed)
        try:
            learned, judged = next(splitter.split(np.zeros((len(y), 1)), y))
        except ValueError:  # it would speak of sizes that nobody here has named
            learned = judged = np.arange(0)
        if len(judged) < 2:  # of one number there is no R²
            least = "of every class two, one in each part" if labels else "two"
            raise ValueError(
                f"held_out={self.held_out!r} of {len(y)} rows can't be held out: some must remain to be "
                f"learned, and {least} are needed; take another part, more rows, or held_out=0, which judges "
                "on the way"
            )
        return np.sort(learned), np.sort(judged)
