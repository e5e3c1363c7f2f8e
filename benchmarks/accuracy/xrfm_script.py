"""Run by the interpreter that has xRFM: TASK GIVEN.npz FOUND.npz. It imports nothing of this project.

As in xRFM's README: columns standardised, a fifth of the training rows kept for validation, default model.
"""

from __future__ import annotations

import json
import sys

import numpy as np


def main(task: str, given: str, found: str) -> None:
    try:
        import torch
        from xrfm import xRFM
    except ImportError:
        sys.exit(3)
    from sklearn.model_selection import train_test_split

    torch.set_num_threads(1)
    with np.load(given, allow_pickle=False) as file:
        X, y, X_test = file["X"], file["y"], file["X_test"]
    mean, std = X.mean(axis=0), X.std(axis=0)
    std = np.where(std > 1e-12 * np.abs(X).max(axis=0), std, 1.0)
    X, X_test = (np.asarray((Z - mean) / std, np.float32) for Z in (X, X_test))
    model = xRFM(device=torch.device("cpu"), random_state=0, verbose=False, n_threads=1)
    if task == "regression":
        center, width = y.mean(), y.std()
        y = ((y - center) / width).astype(np.float32)[:, None]
        classes = None
    else:
        classes, y = np.unique(y, return_inverse=True)
    strata = None if classes is None else _strata(y)
    parts = train_test_split(X, y, test_size=0.2, random_state=0, stratify=strata)
    X_train, X_valid, y_train, y_valid = (torch.from_numpy(np.ascontiguousarray(p)) for p in parts)
    # How many rows at a time decides about memory alone; without it, letter takes more than 20 GB.
    outputs = 1 if classes is None else len(classes)
    model.rfm_params["fit"]["M_batch_size"] = int(np.clip(2e8 / (len(X) * outputs), 16, 2000))
    model.fit(X_train, y_train, X_valid, y_valid)
    chosen = json.dumps({"kernel": "l2", "defaults": True})
    if classes is None:
        prediction = _numpy(model.predict(X_test)).reshape(-1) * width + center
        np.savez(found, prediction=prediction.astype(float), chosen=chosen)
    else:
        proba = _numpy(model.predict_proba(X_test)).astype(float)
        prediction = classes[np.argmax(proba, axis=1)]
        np.savez(found, prediction=prediction, proba=proba, classes=classes, chosen=chosen)


def _strata(y: np.ndarray) -> np.ndarray | None:
    """Classes, where each has the two rows that stratifying needs."""
    return y if np.bincount(y).min() >= 2 else None


def _numpy(values) -> np.ndarray:
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


if __name__ == "__main__":
    main(*sys.argv[1:])
