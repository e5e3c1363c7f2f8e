"""Results on disk: a JSON line each, written when it is known and never changed; the last of a key counts.

Predictions lie beside it, so that two methods can be compared row by row afterwards.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
Key = tuple


class Store:
    """A folder with results.jsonl; `fields` are what a result is known by."""

    def __init__(self, folder: str | Path, fields: tuple[str, ...]) -> None:
        self.folder, self.fields = Path(folder), fields
        self.file = self.folder / "results.jsonl"

    def key(self, record: dict) -> Key:
        return tuple(record.get(field) for field in self.fields)

    def read(self) -> dict[Key, dict]:
        """The last record of every key, in the order in which they were written."""
        found: dict[Key, dict] = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                if record := _parsed(line):
                    found.pop(self.key(record), None)
                    found[self.key(record)] = record
        return found

    def add(self, record: dict, prediction: np.ndarray | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if prediction is not None:
            path = self._predictions(record)
            path.parent.mkdir(exist_ok=True)
            np.save(path, _narrow(prediction))
        # One write of one line at the end of the file: two runs at once don't tear each other's lines, and
        # half a line that a killed run left doesn't swallow the next.
        line = json.dumps(record, ensure_ascii=False) + "\n"
        with self.file.open("ab+") as file:
            if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                line = "\n" + line
            file.write(line.encode())

    def prediction(self, record: dict) -> np.ndarray | None:
        path = self._predictions(record)
        return np.load(path, allow_pickle=False) if path.exists() else None

    def _predictions(self, record: dict) -> Path:
        name = "-".join(str(part) for part in self.key(record) if part is not None)
        return self.folder / "predictions" / f"{name.replace('/', '_')}.npy"


def _parsed(line: str) -> dict | None:
    """A run that was killed may leave half a line."""
    try:
        return json.loads(line) or None
    except json.JSONDecodeError:
        return None


def _narrow(prediction: np.ndarray) -> np.ndarray:
    return prediction.astype(np.float64 if prediction.dtype.kind == "f" else np.int16)
