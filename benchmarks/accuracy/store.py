"""Results on disk: a JSON line each, written when it is known and never changed; the last of a key counts.

Predictions lie beside it, so that two methods can be compared row by row afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
Key = tuple[str, int, str]  # set, fold, method


class Store:
    def __init__(self, name: str = "accuracy") -> None:
        self.file, self.folder = RESULTS / f"{name}.jsonl", RESULTS / name

    def read(self) -> dict[Key, dict]:
        if not self.file.exists():
            return {}
        lines = self.file.read_text().splitlines()
        records = [record for record in map(_parsed, lines) if record]
        return {(r["set"], r["fold"], r["method"]): r for r in records}

    def add(self, record: dict, prediction: np.ndarray | None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if prediction is not None:
            np.save(self._predictions(record), _narrow(prediction))
        # One write of one line at the end of the file: two runs at once don't tear each other's lines.
        with self.file.open("a") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def prediction(self, record: dict) -> np.ndarray | None:
        path = self._predictions(record)
        return np.load(path, allow_pickle=False) if path.exists() else None

    def _predictions(self, record: dict) -> Path:
        return self.folder / f"{record['set']}-{record['fold']}-{record['method']}.npy"


def _parsed(line: str) -> dict | None:
    """A run that was killed may leave half a line."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def _narrow(prediction: np.ndarray) -> np.ndarray:
    return prediction.astype(np.float64 if prediction.dtype.kind == "f" else np.int16)
