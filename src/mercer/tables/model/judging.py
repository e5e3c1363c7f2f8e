"""What a candidate costs on rows that took no part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What a wrong label costs beside the square of its score. Few of them are wrong, so that more would be noise.
_WRONG = 2.0


def classes_of(codes: np.ndarray) -> np.ndarray:
    """Numbers of classes from codes or scores."""
    return codes.argmax(axis=1) if codes.shape[1] > 1 else (codes[:, 0] > 0).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Judge:
    """Errors of scores for targets that were centred and scaled: Y = (codes − middle)/size.

    Of numbers they are squares, or sizes where that is what is asked for. Of labels they are squares of the
    scores and, unless probabilities or ranks are asked for, of their signs, too.
    """

    middle: np.ndarray
    size: float
    labels: bool = False
    metric: str = ""  # what is asked for, by the name in `mercer.fit`

    def errors(self, scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """One for each row."""
        if not self.labels:
            return np.mean(np.abs(Y - scores) if self.metric == "mae" else (Y - scores) ** 2, axis=1)
        squares = np.mean((Y - scores) ** 2, axis=1)
        if self.metric in ("log_loss", "auc", "average_precision"):
            return squares
        guess, truth = (classes_of(self.middle + self.size * values) for values in (scores, Y))
        wrong = _WRONG * (guess != truth)
        if self.metric != "balanced_accuracy":
            return squares + wrong
        counts = np.bincount(truth)
        return squares + wrong * len(truth) / (np.count_nonzero(counts) * counts[truth])
