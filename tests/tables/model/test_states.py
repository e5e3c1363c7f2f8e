"""What must hold of loaded models of tables: each condition, broken."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import mercer
from hasty import in_haste
from mercer._state import check, try_out
from mercer.estimators.calibration import Calibration
from mercer.tables.model.columns import Columns
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.encoders import Category, Date, Number
from mercer.tables.model.level_codes import CodedCategory
from mercer.tables.model.schema import Column, Schema

RNG = np.random.default_rng(0)
TABLE = {"size": RNG.standard_normal(60), "colour": np.array(["red", "blue", "green"] * 20, dtype=object)}
Y = TABLE["size"] + (TABLE["colour"] == "red") + 0.3 * RNG.standard_normal(60)


@pytest.fixture(scope="module")
def regression():
    with in_haste():
        return mercer.fit(TABLE, Y, minutes=1e-3)


@pytest.fixture(scope="module")
def classification():
    with in_haste():
        return mercer.fit(TABLE, np.where(Y > 0.3, "high", "low"), minutes=1e-3)


def test_what_fit_made_is_in_order(regression, classification):
    for model in (regression, classification, regression.columns, classification.columns):
        check(model)
        try_out(model)
    check(Columns())


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda m: {"task": "classification"}, "task is not that of its machine"),
        (lambda m: {"task": 3}, "task of a Model is not"),
        (lambda m: {"columns": Columns()}, "not fitted"),
        (lambda m: {"machine": mercer.KernelRidge(offset=False)}, "not fitted"),
        (
            lambda m: {"machine": mercer.KernelRidge(offset=False).fit([[1.0], [2.0]], [1.0, 2.0])},
            "takes other points",
        ),
        (lambda m: {"schema": Schema(())}, "not those of its schema"),
        (lambda m: {"calibration": Calibration((1.0, 2.0))}, "no probabilities"),
        (
            lambda m: {"conformal": replace(m.conformal, spread=mercer.KernelRidge(offset=False))},
            "not fitted",
        ),
        (lambda m: {"evidence": None}, "evidence of a Model is not"),
    ],
)
def test_models(change, match, regression):
    with pytest.raises(ValueError, match=match):
        check(replace(regression, **change(regression)))


def test_classes_without_probabilities(classification):
    """What an altered flag makes of a machine that was calibrated at fit."""
    X = classification.columns.transform(TABLE)
    silent = mercer.KernelSVC(lam=0.1).fit(X, np.where(Y > 0.3, "high", "low"))
    with pytest.raises(ValueError, match="classes have no probabilities"):
        check(replace(classification, machine=silent, calibration=None))


def test_slopes_of_a_model(classification):
    with pytest.raises(ValueError, match="has not 2 slopes"):
        check(replace(classification, calibration=Calibration((1.0,))))


@pytest.mark.parametrize(
    "name, value, match",
    [
        ("schema_", None, "schema_ of a Columns is not Schema"),
        ("encoders_", (), "other columns"),
        ("encoders_", [], "other columns"),
        ("encoders_", (3,), "encoders_ of a Columns is not"),
        ("encoders_", (Number("colour", 0.0, 1.0, None, False),), "other columns"),
        ("encoders_", (Number("weight", 0.0, 1.0, None, False),), "other columns"),
        ("texts", ("colour",), "texts are not the last"),
        ("origin_", np.array([0]), "origin_"),
        ("origin_", np.array([0, 1, 1, 99]), "origin_"),
        ("dropped_", None, "dropped_ of a Columns is not dict"),
    ],
)
def test_columns(name, value, match, regression):
    columns = copy.copy(regression.columns)
    columns.__dict__[name] = value
    with pytest.raises(ValueError, match=match):
        check(columns)


COLUMN = Column("a", "number", None, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    "value, match",
    [
        (Schema((COLUMN, COLUMN)), "two columns have one name"),
        (replace(COLUMN, kind="colour"), "kind of a Column is not"),
        (replace(COLUMN, order="D/M/Y"), "dates of column 'a' are written in an unknown way"),
        (replace(COLUMN, kind="date", order="Y/D/M"), "dates of column 'a' are written in an"),
        (Number("a", np.nan, 1.0, None, False), "centre of a"),
        (Number("a", 0.0, 0.0, None, False), "spread of a"),
        (Number("a", 0.0, 1.0, -1.0, False), "bend of a"),
        (Category("a", (), False), "levels of column 'a'"),
        (Category("a", ("x", "x"), False), "levels of column 'a'"),
        (CodedCategory("a", ("x", "x"), False, 0, np.zeros((3, 1)), None), "levels of column 'a'"),
        (CodedCategory("a", (), False, 0, np.zeros((1, 1)), None), "levels of column 'a'"),
        (CodedCategory("a", ("x", "y"), False, 0, np.zeros((2, 1)), None), "codes of column 'a'"),
        (CodedCategory("a", ("x", "y"), False, 0, np.zeros((3, 0)), None), "codes of column 'a'"),
        (CodedCategory("a", ("x", "y"), True, 3, np.zeros((3, 1)), None), "codes of column 'a'"),
        (CodedCategory("a", ("x", "y"), False, 1, np.zeros((3, 1)), None), "codes of column 'a'"),
        (CodedCategory("a", ("x", "y"), True, -1, np.zeros((3, 1)), None), "own of a CodedCategory"),
        (CodedCategory("a", ("x", "y"), False, 0, np.zeros(3), None), "codes of a CodedCategory"),
        (CodedCategory("a", ("x", "y"), False, 0, np.full((3, 1), np.nan), None), "codes of a CodedCategory"),
        (CodedCategory("a", ("x", "y"), False, 0, np.zeros((3, 1), int), None), "codes of a CodedCategory"),
        (CodedCategory("a", ("x", "y"), False, 0, np.zeros((3, 1)), 0.0), "bend of a CodedCategory"),
        (Date("a", "2024-01-01", 1.0, ("moon",), False), "circles of a Date is not"),
        (Date("a", "NaT", 1.0, (), False), "middle of column 'a'"),
        (Date("a", "yesterday", 1.0, (), False), "yesterday"),
        (Date("a", "2024-01-01", 0.0, (), False), "spread of a"),
        (Conformal(np.zeros(0), None, 0.0, 0.0), "no errors"),
        (Conformal(np.array([2.0, 1.0]), None, 0.0, 0.0), "not in order"),
        (Conformal(np.array([1.0, 2.0]), None, 1.0, 0.0), "not in order"),
    ],
)
def test_parts(value, match):
    with pytest.raises(ValueError, match=match):
        check(value)
