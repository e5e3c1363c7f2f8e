"""Categories of many levels by the target: formulas, rows that must not know themselves, and whole fits."""

import numpy as np
import pytest
from sklearn.preprocessing import TargetEncoder

import mercer
from hasty import in_haste
from mercer.io import load, save
from mercer.tables.model import Columns
from mercer.tables.model.encoders import Category
from mercer.tables.model.learn import Question, learn, refit
from mercer.tables.model.level_codes import CodedCategory, cross_fitted, fold_of, in_spreads, shrinkage
from mercer.tables.model.together import Together
from mercer.tables.reading import Table
from mercer.tables.report.model.columns import along

RNG = np.random.default_rng(0)
N, LEVELS = 600, 90
PLACE = RNG.integers(0, LEVELS, N)
WORDS = np.array([f"w{i}" for i in PLACE], dtype=object)
EFFECT = RNG.standard_normal(LEVELS)
Y = EFFECT[PLACE] + 0.5 * RNG.standard_normal(N) + 7.0


def m_by_hand(words, z):
    """σ²/τ² by one-way analysis of variance, level by level."""
    groups = [z[words == w] for w in sorted(set(words))]
    n, k = len(z), len(groups)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (n - k)
    between = sum(len(g) * (g.mean() - z.mean()) ** 2 for g in groups) / (k - 1)
    rows = (n - sum(len(g) ** 2 for g in groups) / n) / (k - 1)
    return within / ((between - within) / rows)


def of_rows_by_hand(words, z, fold, m):
    """Each row's code from the rows of other folds, row by row."""
    out = np.zeros(len(z))
    for i in range(len(z)):
        others = fold != fold[i]
        level = z[others & (words == words[i])]
        if len(level):
            out[i] = len(level) / (len(level) + m) * (level.mean() - z[others].mean())
    return out


# -- codes -------------------------------------------------------------------------------------------


def test_codes_of_new_rows_are_those_of_scikit_learn():
    """Which draws a level of n rows to the mean of all by n/(n + smooth), too, and adds that mean."""
    columns = Columns().fit({"w": WORDS}, Y)
    assert columns.coded == ("w",) and columns.get_feature_names_out().tolist()[-1] == "w by target"
    smooth = m_by_hand(WORDS, Y)
    expected = TargetEncoder(smooth=smooth, target_type="continuous").fit(WORDS[:, None], Y)
    new = np.array([*sorted(set(WORDS)), "never seen"], dtype=object)
    found = columns.transform({"w": new})[:, -1]
    np.testing.assert_allclose(found * Y.std() + Y.mean(), expected.transform(new[:, None])[:, 0], rtol=1e-10)
    assert found[-1] == 0


def test_codes_agree_with_scikit_learns_own_choice_where_levels_are_large():
    """Its "auto" estimates the noise level by level: with many rows each, both hardly draw at all."""
    place = np.arange(8000) % 40
    y = EFFECT[place] + 0.5 * RNG.standard_normal(8000)
    words = np.array([f"w{i}" for i in place], dtype=object)
    found = Columns(max_categories=3).fit({"w": words}, y).transform({"w": words[:40]})[:, -1]
    auto = TargetEncoder(smooth="auto").fit(words[:, None], y).transform(words[:40, None])[:, 0]
    np.testing.assert_allclose(found * y.std() + y.mean(), auto, atol=0.01)


def test_two_labels_are_one_column_and_three_are_three():
    three = np.array(["a", "b", "c"])[np.digitize(Y, [6.5, 7.5])]
    columns = Columns().fit({"w": WORDS}, three)
    names = [n for n in columns.get_feature_names_out() if "by target" in n]
    assert names == ["w by target 1", "w by target 2", "w by target 3"]
    words = np.array(sorted(set(WORDS)), dtype=object)
    Z, size = columns.transform({"w": words})[:, -3:], None
    for j, label in enumerate("abc"):
        is_it = (three == label).astype(float)
        encoder = TargetEncoder(smooth=m_by_hand(WORDS, is_it), target_type="continuous")
        expected = encoder.fit(WORDS[:, None], is_it).transform(words[:, None])[:, 0] - is_it.mean()
        size = size or expected[0] / Z[0, j]  # one unit for all three
        np.testing.assert_allclose(Z[:, j] * size, expected, atol=1e-12)
    indicators = np.stack([three == label for label in "abc"], axis=1)
    assert size == pytest.approx(np.sqrt(indicators.var(axis=0).sum()))
    two = np.where(three == "a", "no", "yes")
    assert Columns().fit({"w": WORDS}, two).get_feature_names_out().tolist()[-1] == "w by target"
    # Labels, numbers of labels and truth values say the same.
    codes = Columns().fit({"w": WORDS}, two).transform({"w": words})
    for same in (two == "yes", (two == "yes").astype(int), two.astype(object)):
        np.testing.assert_array_equal(Columns().fit({"w": WORDS}, same).transform({"w": words}), codes)


def test_a_row_is_coded_by_other_rows():
    columns = Columns().fit({"w": WORDS}, Y)
    z, fold = (Y - Y.mean()) / Y.std(), fold_of(None, N)
    assert np.bincount(fold).tolist() == [120] * 5
    expected = of_rows_by_hand(WORDS, z, fold, m_by_hand(WORDS, z))
    points = columns.training_points({"w": WORDS}, Y)
    np.testing.assert_allclose(points[:, -1], expected, atol=1e-12)
    np.testing.assert_array_equal(Columns().fit_transform({"w": WORDS}, Y), points)
    # Its own target does not move its code, but for the one number that says how far codes are drawn.
    index = np.unique(WORDS, return_inverse=True)[1]
    others = np.sum((index == index[17]) & (fold != fold[17]))
    means = []
    for own in (z[17], z[17] + 10):
        moved = np.where(np.arange(N) == 17, own, z)[:, None]
        m = shrinkage(index, moved, LEVELS)[0]
        means.append(cross_fitted(index, moved, LEVELS, fold)[17, 0] * (others + m) / others)
    assert means[0] == pytest.approx(means[1], rel=1e-10)


def test_units_are_coded_by_other_units():
    units = np.arange(N) // 3
    fold = fold_of(units, N)
    assert (fold.reshape(-1, 3) == fold.reshape(-1, 3)[:, :1]).all() and len(set(fold)) == 5
    z = (Y - Y.mean()) / Y.std()
    points = Columns().fit_transform({"w": WORDS}, Y, units)
    np.testing.assert_allclose(
        points[:, -1], of_rows_by_hand(WORDS, z, fold, m_by_hand(WORDS, z)), atol=1e-12
    )
    # A level that only one unit has is known from nowhere.
    alone = np.array([f"w{i}" for i in units], dtype=object)
    assert (Columns().fit_transform({"w": alone}, Y, units) == 0).all()


def test_squashed_codes():
    kept, squashed = (Columns(o).fit_transform({"w": WORDS}, Y)[:, -1] for o in ("keep", "squash"))
    np.testing.assert_allclose(squashed, kept / np.sqrt(1 + (kept / 3) ** 2))


def test_means_of_noise_are_drawn_far():
    noise = RNG.standard_normal(N)
    index = np.unique(WORDS, return_inverse=True)[1]
    assert shrinkage(index, noise[:, None], LEVELS)[0] > 20 > 1 > shrinkage(index, Y[:, None], LEVELS)[0]
    assert Columns().fit_transform({"w": WORDS}, noise)[:, -1].std() < 0.2
    # Where every level has one row, and where there is one level, nothing can be told.
    assert shrinkage(np.arange(N), noise[:, None], N) == shrinkage(np.zeros(N, int), noise[:, None], 1) == 100


def test_levels_without_any_noise():
    z = in_spreads(EFFECT[PLACE][:, None])
    index = np.unique(WORDS, return_inverse=True)[1]
    found = cross_fitted(index, z, LEVELS, fold_of(None, N))
    assert shrinkage(index, z, LEVELS)[0] < 1e-12
    assert np.isfinite(found).all() and np.corrcoef(found[:, 0], z[:, 0])[0, 1] > 0.98


@pytest.mark.parametrize("unit", [1e-100, 1e-8, 1e100])
def test_the_unit_of_the_target_does_not_matter(unit):
    expected = Columns().fit_transform({"w": WORDS}, Y - 7)
    np.testing.assert_allclose(Columns().fit_transform({"w": WORDS}, (Y - 7) * unit), expected, atol=1e-9)


# -- levels ------------------------------------------------------------------------------------------


def test_missing_words_are_a_level():
    words = WORDS.copy()
    words[:80] = None
    y = Y.copy()
    y[:80] += 5.0
    columns = Columns().fit({"w": words}, y)
    assert columns.transform({"w": [None]})[0, -1] > 1.5 > 0.5
    assert columns.transform({"w": ["None", "nan"]}).shape[0] == 2
    assert columns.transform({"w": ["never seen"]})[0, -1] == 0
    # Where none was missing, a missing one is average.
    assert Columns().fit({"w": WORDS}, Y).transform({"w": [None]})[0, -1] == 0


def test_numbers_may_be_levels():
    """Integers and floats are one word, as in any column that is read as text."""
    made = [
        Columns().fit(Table.of({"w": values}, kinds={"w": "text"}), Y)
        for values in (PLACE, PLACE.astype(float), PLACE.astype(str).astype(object))
    ]
    expected = made[0].transform({"w": PLACE})
    for columns in made:
        assert columns.coded == ("w",)
        for same in (PLACE, PLACE.astype(float), PLACE.astype(str).astype(object)):
            np.testing.assert_array_equal(columns.transform({"w": same}), expected)


def test_frequent_levels_have_a_column_besides():
    words = np.concatenate([np.repeat(["big", "large"], 200), WORDS[:200]]).astype(object)
    columns = Columns().fit({"w": words}, Y)
    assert columns.get_feature_names_out().tolist() == ["w = big", "w = large", "w = other", "w by target"]
    Z = columns.transform({"w": ["big", "large", "w3", None, "never"]})
    assert (Z[:, :3] > 0).tolist() == [
        [True, False, False],
        [False, True, False],
        *[[False, False, True]] * 3,
    ]
    assert columns.origin_.tolist() == [0] * 4
    assert columns.encoders_[0].levels[:2] == ("big", "large") and len(columns.encoders_[0].levels) > 50


def test_few_levels_keep_their_columns():
    """With a target and without: nothing is gained where all levels, or nearly all rows, have one."""
    few = np.array(["a", "b", "c"] * 200, dtype=object)
    nearly = few.copy()
    nearly[:20] = [f"rare {i}" for i in range(20)]
    for words in (few, nearly):
        with_target, without = Columns().fit({"w": words}, Y), Columns().fit({"w": words})
        assert with_target.encoders_ == without.encoders_ and not with_target.coded
        assert type(with_target.encoders_[0]) is Category


def test_what_is_left_out():
    """Levels that come again are learned from, however many there are; words that hardly do are names."""
    twice = np.array([f"w{i // 2}" for i in range(400)], dtype=object)
    hardly = np.array([f"w{max(i - 10, 0)}" for i in range(400)], dtype=object)
    columns = Columns().fit({"twice": twice, "hardly": hardly}, Y[:400])
    assert columns.coded == ("twice",)
    assert columns.dropped_ == {"hardly": "390 different values in 400 rows: names or free text"}
    rare = np.array([f"w{i // 4}" for i in range(8000)], dtype=object)
    assert Columns().fit({"w": rare}, np.arange(8000.0)).dropped_ == {}
    with pytest.raises(ValueError, match="every word is rare"):
        Columns().fit({"w": rare})


def test_targets_that_do_not_fit():
    with pytest.raises(ValueError, match=r"600 rows, and the target is an array of shape \(3,\)"):
        Columns().fit({"w": WORDS}, [1.0, 2.0, 3.0])


def test_what_is_equal_and_what_is_together():
    """Rare levels tell rows apart; where there is nothing else, equal rows are no copies."""
    luck = RNG.standard_normal(N)
    assert Together.of(Table.of({"w": WORDS, "x": np.repeat(luck[:300], 2)}), y=Y).repeated < 40
    alone = Together.of(Table.of({"w": WORDS}), y=Y)
    assert alone.codes and alone.repeated == 0


def test_other_rows_have_the_same_outputs():
    """Levels with a column of their own keep it; codes, and levels that have none, are those of all rows."""
    words = np.concatenate([np.repeat(["big", "large"], [60, 40]), WORDS]).astype(object)
    y = np.concatenate([np.full(100, 3.0), Y])
    table, part = Table.of({"w": words}), np.flatnonzero(words != "w5")[:350]
    half = Columns().fit(table.take(part), y[part])
    whole = Columns().fit(table, y).with_outputs_of(half, table, y)
    assert whole.get_feature_names_out().tolist() == half.get_feature_names_out().tolist()
    fresh = Columns().fit(table, y)
    for word in ("w5", "w7", "big", "never seen"):
        row = {"w": [word]}
        assert whole.transform(row)[0, -1] == pytest.approx(fresh.transform(row)[0, -1])
    assert half.transform({"w": ["w5"]})[0, -1] == 0 != whole.transform({"w": ["w5"]})[0, -1]
    assert half.unseen(table) == {"w": pytest.approx(np.mean(~np.isin(words, words[part])))}
    assert whole.unseen(table) == {"w": 0.0}


# -- what learns from them ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_thousand():
    """A category of 2,000 levels, four rows each, that holds the signal; and other rows like these."""
    rng = np.random.default_rng(1)
    effect = rng.standard_normal(2000)

    def made(place):
        words = np.array([f"c{i}" for i in place], dtype=object)
        table = {"shop": words, "luck": rng.standard_normal(len(place))}
        return table, effect[place] + 0.3 * rng.standard_normal(len(place))

    learned, new = made(rng.permutation(np.repeat(np.arange(2000), 4))), made(rng.integers(0, 2000, 2000))
    with in_haste():
        return mercer.fit(*learned, minutes=0.05), learned, new


def test_a_category_of_2000_levels_that_holds_the_signal(two_thousand):
    model, _, (table, y) = two_thousand
    scores = {c.name: c.scores[2].value for c in model.evidence.contenders}
    assert scores["mercer"] > 0.75 and scores["linear model"] > 0.75 and scores["gradient boosting"] > 0.75
    assert model.evidence.dropped == {} and model.evidence.weighty[0].column == "shop"
    assert abs(model.score(table, y) - scores["mercer"]) < 0.06  # as tested
    low, high = model.predict_interval(table, 0.9).T
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.96
    assert along(model, "shop").curves.shape == (12, 1)  # as the page shows it: the first levels
    why = dict(model.evidence.risk.absent)["Bounds from training errors"]
    assert "coded by the target" in why


def test_models_with_codes_are_kept_in_files(two_thousand, tmp_path):
    model, (learned, _), (table, _) = two_thousand
    save(model, tmp_path / "shops.mercer")
    again = load(tmp_path / "shops.mercer")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert isinstance(again.columns.encoders_[0], CodedCategory)
    row = {"shop": [learned["shop"][0], "never seen", None], "luck": [0.0, 0.0, None]}
    np.testing.assert_array_equal(again.predict(row), model.predict(row))


def test_a_category_of_noise_explains_nothing():
    """Were a row's own target in its code, leave-one-out errors and tests would praise the category."""
    rng = np.random.default_rng(2)
    n = 900
    x, place = rng.standard_normal(n), rng.integers(0, 300, n)
    y = 0.6 * x + rng.standard_normal(n)
    table = {"x": x, **{name: np.array([f"{name}{i}" for i in place], dtype=object) for name in ("c", "d")}}
    with in_haste():
        model, without = mercer.fit(table, y, minutes=0.05), mercer.fit({"x": x}, y, minutes=0.05)
    r2, known = (m.evidence.scores[2].value for m in (model, without))
    assert abs(r2 - known) < 0.05
    assert model.evidence.loo.min() > 0.9 * without.evidence.loo.min()
    x, place = rng.standard_normal(2000), rng.integers(0, 300, 2000)
    new = {"x": x, **{name: np.array([f"{name}{i}" for i in place], dtype=object) for name in ("c", "d")}}
    y = 0.6 * x + rng.standard_normal(2000)
    assert model.score(new, y) == pytest.approx(without.score({"x": x}, y), abs=0.05)
    low, high = model.predict_interval(new, 0.9).T
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.94


def test_refit_learns_codes_of_all_rows():
    def asked(rows):
        return Question(Table.of({"w": WORDS[rows]}), Y[rows], "regression", None)

    part, whole = asked(np.arange(400)), asked(np.arange(N))
    with in_haste():
        learned = learn(part, 0.1, 0, lambda text: None)
    again = refit(whole, learned, 1.0, 0, lambda text: None)
    assert again.machine.plan_.examples == N
    expected = Columns(learned.columns.outliers).fit(whole.table, whole.y).transform(whole.table)
    found = again.columns.transform(whole.table)
    np.testing.assert_allclose(found[:, -1], expected[:, -1])
    error = np.mean((again.predict(whole.table) - Y) ** 2)
    assert error < 0.5 * Y.var()
