"""xRFM with its documented defaults, by an interpreter of its own: torch needn't be where Mercer is.

MERCER_XRFM_PYTHON names the interpreter of an environment with `pip install xrfm`; this one without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.accuracy.other_machines import Missing
from benchmarks.accuracy.score import Answer
from benchmarks.accuracy.sets import Split

SCRIPT = Path(__file__).with_name("xrfm_script.py")


def xrfm(task: str, split: Split) -> Answer:
    python = os.environ.get("MERCER_XRFM_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, X=split.X, y=split.y, X_test=split.X_test)
        done = subprocess.run([python, SCRIPT, task, given, found], capture_output=True, text=True)
        if done.returncode == 3:
            raise Missing(f"xrfm can't be imported by {python}")
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        with np.load(found, allow_pickle=False) as file:
            chosen = json.loads(str(file["chosen"]))
            if task == "regression":
                return Answer(file["prediction"], chosen=chosen)
            return Answer(file["prediction"], file["proba"], file["classes"], chosen=chosen)
