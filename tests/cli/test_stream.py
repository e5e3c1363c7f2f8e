"""`mercer stream`: what it prints, writes, refuses, and how it goes on."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mercer
from mercer.tables import Streamed
from mercer.tables.reading import read


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1200))
    y = np.sin(a) + b
    rows = "".join(
        f"{p:.4f},{q:.4f},{'u' if q > 0 else 'v'},{t:.4f},{'up' if t > 0 else 'down'}\n"
        for p, q, t in zip(a, b, y)
    )
    path = tmp_path_factory.mktemp("stream") / "t.csv"
    path.write_text("a,b,w,y,label\n" + rows)
    return path


def test_what_it_prints_and_writes(call, file, tmp_path):
    out, said = tmp_path / "m.mercer", tmp_path / "p.csv"
    result = call(
        *("stream", file, "-t", "label", "--ignore", "y", "--budget", "50", "--drift", "report"),
        *("-o", out, "--predictions", said),
    )
    assert result.exit_code == 0, result.output
    for words in (
        "Classification of label: 1,200 rows of",
        "OnlineKernelClassifier: Gaussian(sigma=",
        "Merge(n_terms=50); 50 terms",
        "Each row predicted before it was learned: accuracy 0.",
        "The last 1,000 rows: accuracy 0.",
        "No change found",
        "1,200 rows in",
        f"Model: {out}",
        f"Predictions: {said}",
    ):
        assert words in result.stdout, words
    assert len(said.read_text().splitlines()) == 1201
    state = mercer.load(out)
    assert isinstance(state, Streamed) and state.position == 1200
    assert np.mean(state.predict(read(file)) == read(file)["label"]) > 0.9


def test_json_and_the_task_that_is_guessed(call, file, tmp_path):
    result = call(
        *("stream", file, "-t", "y", "--ignore", "label", "--policy", "oldest", "--json"),
        *("-o", tmp_path / "m.mercer", "--loss", "huber", "--limit", 600, "--step", "0.3"),
    )
    facts = json.loads(result.stdout)
    assert (facts["task"], facts["rows"], facts["drifts"]) == ("regression", 600, [])
    assert 0 < facts["late"]["MAE"] < 0.6 and facts["terms"] == 500
    machine = mercer.load(tmp_path / "m.mercer").machine
    assert repr(machine.budget) == "Oldest()" and repr(machine.loss_) == "Huber()" and machine.step == 0.3
    asked = call("stream", file, "-t", "w", "--task", "regression", "-o", tmp_path / "n.mercer")
    assert asked.exit_code == 1 and "the target 'w' holds words" in asked.stderr


def test_standard_input(file, tmp_path):
    command = [sys.executable, "-m", "mercer", "stream", "-", "-t", "label", "--ignore", "y", "--json"]
    options = ["-o", str(tmp_path / "a.mercer"), "--batch", "100"]
    with open(file, "rb") as table:
        piped = subprocess.run(command + options, stdin=table, capture_output=True, text=True, check=True)
    facts = json.loads(piped.stdout)
    assert facts["rows"] == 1200 and facts["total"]["accuracy"] > 0.8


def test_it_goes_on_where_it_was(call, file, tmp_path):
    def stream(name, *more):
        return call(
            *("stream", file, "-t", "y", "--ignore", "label", "--batch", "50", "--every", "200", "-q"),
            *("-o", tmp_path / f"{name}.mercer", "--checkpoint", tmp_path / f"{name}.check", *more),
        )

    assert stream("whole").exit_code == 0
    assert stream("part", "--resume", "--limit", "500").exit_code == 0  # nothing there yet
    result = stream("part", "--resume")
    assert result.exit_code == 0 and result.output == ""
    assert (tmp_path / "part.mercer").read_bytes() == (tmp_path / "whole.mercer").read_bytes()
    assert stream("part", "--resume", "--budget", "7").exit_code == 1


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_it_goes_on_though_nothing_was_learned(call, file, tmp_path):
    """Ended before the first checkpoint: an empty file of predictions is in nobody's way, a full one is."""
    checkpoint, predictions = tmp_path / "state", tmp_path / "predictions.csv"
    again = ["--checkpoint", str(checkpoint), "--predictions", str(predictions), "--resume"]
    asked = ["stream", str(file), "--target", "y", "-o", str(tmp_path / "model"), *again]
    predictions.touch()
    assert call(*asked).exit_code == 0
    whole = predictions.read_bytes()
    for left in (checkpoint, tmp_path / "model"):
        left.unlink()
    refused = call(*asked)
    assert refused.exit_code == 1 and "is there already" in refused.output
    assert predictions.read_bytes() == whole


def test_ctrl_c(file, tmp_path):
    command = [sys.executable, "-m", "mercer", "stream", "-", "-t", "y", "--ignore", "label", "--batch", "50"]
    options = ["-o", str(tmp_path / "a.mercer"), "--checkpoint", str(tmp_path / "c.mercer"), "--every", "50"]
    with subprocess.Popen(
        command + options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(b"\n".join(file.read_bytes().splitlines()[:170]) + b"\n")
        process.stdin.flush()
        for _ in range(600):  # until all that is there is learned
            if (tmp_path / "c.mercer").exists() and mercer.load(tmp_path / "c.mercer").position == 150:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(20)
        said = process.stderr.read().decode()
    assert process.returncode == 130 and "150 rows are learned and kept in" in said and "--resume" in said
    assert not (tmp_path / "a.mercer").exists()


def test_predictions_for_new_rows(call, file, tmp_path):
    model = tmp_path / "m.mercer"
    assert call("stream", file, "-t", "label", "--ignore", "y", "-o", model, "-q").exit_code == 0
    result = call("predict", model, file, "--keep", "label", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    out = read(tmp_path / "out.csv")
    assert out.names == ("label", "prediction", "probability")
    assert np.mean(out["label"] == out["prediction"]) > 0.9
    facts = json.loads(call("predict", model, file, "--limit", 2, "--json").stdout)
    assert facts["rows"] == 2 and len(facts["predictions"]) == len(facts["probability"]) == 2
    both = json.loads(call("predict", model, file, "--limit", 2, "--proba", "--json").stdout)
    assert both["classes"] == ["down", "up"] and np.sum(both["probabilities"], axis=1).tolist() == [1.0, 1.0]
    assert call("predict", model, file, "--limit", 2, "--proba").stdout.startswith(
        "prediction,probability down,probability up"
    )
    assert "--interval is for models of mercer fit" in call("predict", model, file, "--interval", 0.9).stderr
    assert "of mercer stream, and good for predict and info" in call("report", model).stderr


def test_info(call, file, tmp_path):
    model = tmp_path / "m.mercer"
    assert call("stream", file, "-t", "label", "--ignore", "y", "-o", model, "-q").exit_code == 0
    said = call("info", model).stdout
    for words in ("Classification of label: 1,200 rows", "Columns: a (number), b (number), w (text)"):
        assert words in said
    assert "Classes: down, up" in said and "accuracy 0." in said
    facts = json.loads(call("info", model, "--json").stdout)
    assert facts["columns"]["w"] == "text" and facts["classes"] == ["down", "up"] and facts["rows"] == 1200
    assert call("stream", file, "-t", "y", "--ignore", "label", "-o", model, "-q", "--force").exit_code == 0
    assert "Regression of y" in call("info", model).stdout


def test_what_is_refused(call, file, tmp_path):
    def said(code, *options):
        result = call("stream", file, *options)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    out = ["-o", tmp_path / "m.mercer"]
    assert "no column 'why'" in said(1, "-t", "why", *out)
    assert "--checkpoint" in said(2, "-t", "y", "--resume", *out)
    assert "--resume" in said(2, "-t", "y", "--no-skip", *out)
    assert said(1, "-t", "label", "--loss", "foo", *out).startswith("mercer: unknown loss 'foo'")  # no row's
    assert said(1, "-t", "label", "--step", "0", *out).startswith("mercer: eta must be")
    assert "standard input" in said(2, "-t", "y", "--format", "csv", *out)
    assert "did you mean" in said(1, "-t", "y", "--kernel", "gausian", *out)
    assert "choose another name" in said(1, "-t", "y", "-o", file)
    assert "choose another name" in said(1, "-t", "y", *out, "--predictions", tmp_path / "m.mercer")
    (tmp_path / "empty.csv").write_text("a,y\n")
    result = call("stream", tmp_path / "empty.csv", "-t", "y", *out)
    assert result.exit_code == 1 and "no rows" in result.output
    (tmp_path / "lacking.csv").write_text("a,y\n1,\n2,\n")
    result = call("stream", tmp_path / "lacking.csv", "-t", "y", *out)
    assert result.exit_code == 1 and "'y' is missing in all 2 rows" in result.output
    (tmp_path / "whole.csv").write_text("a,y\n1,3\n2,4\n")
    options = ("--task", "classification", "--classes", "up,down")
    result = call("stream", tmp_path / "whole.csv", "-t", "y", *options, *out)
    assert result.exit_code == 1 and "labels that come are whole numbers, such as 3" in result.output
    assert not (tmp_path / "m.mercer").exists()
