"""Labels and numbers in, labels and numbers out."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.losses import Exponential, Hinge, Logistic, Multinomial, Poisson, Squared

LABEL_LOSSES = [Logistic(), Multinomial(), Hinge(), Squared()]
PROBABLE = [Logistic(), Exponential(), Multinomial()]


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y, dtype",
    [
        ([1, 2], np.float64),
        (np.array([1, 0], bool), np.float64),
        (np.array([1, 2], np.float32), np.float32),
        (np.array([1, 2], np.float16), np.float64),
        (np.array([1.5, 2], object), np.float64),
    ],
)
def test_targets_become_floats(y, dtype):
    targets, _ = Squared().encode_targets(y)
    assert targets.dtype == dtype
    np.testing.assert_array_equal(targets[:, 0], np.asarray(y).astype(float))


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 3)])
def test_targets_come_back_in_the_shape_they_had(shape):
    y = np.random.default_rng(0).normal(size=shape)
    targets, coding = Squared().encode_targets(y)
    assert targets.shape == (5, coding.n_outputs)
    assert coding.one_dimensional == (len(shape) == 1)
    np.testing.assert_array_equal(coding.decode(targets), y)
    np.testing.assert_array_equal(coding.encode(y), targets)


def test_decode_applies_the_link():
    targets, coding = Poisson().encode_targets([1, 2, 3])
    np.testing.assert_allclose(coding.decode(np.log(targets)), [1, 2, 3])


@pytest.mark.parametrize(
    "y, says",
    [
        ([1.0, np.nan], "NaN or infinity"),
        ([1.0, np.inf], "NaN or infinity"),
        (["a", "b"], "real numbers"),
        (["1", "2"], "real numbers"),
        (np.array([1, "2"], object), "real numbers"),
        (np.array([1, None, {}], object), "real numbers"),
        ([1j, 2], "real numbers"),
        (np.zeros((2, 2, 2)), "shape"),
        (3.0, "shape"),
        ([], "empty"),
    ],
)
def test_bad_targets_are_refused(y, says):
    with pytest.raises(ValueError, match=says):
        Squared().encode_targets(y)


def test_further_targets_must_fit():
    _, coding = Squared().encode_targets(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        coding.encode(np.zeros(4))


def test_counts_cannot_be_negative():
    with pytest.raises(ValueError, match=r"y ≥ 0.*-1"):
        Poisson().encode_targets([0, -1])
    _, coding = Poisson().encode_targets([0, 1])
    with pytest.raises(ValueError, match="y ≥ 0"):
        coding.encode([-2])


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        ["c", "a", "b"],
        [3, -1],
        [2, 0, 1, 5],
        [True, False],
        [0.5, 1.5],
        np.array(["y", "n"], object),
        np.array([10, 2, 33], object),
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", LABEL_LOSSES, ids=repr)
def test_labels_round_trip(loss, labels):
    labels = np.asarray(labels)
    y = labels[np.random.default_rng(0).integers(len(labels), size=30)]
    y[: len(labels)] = labels
    targets, coding = loss.encode_labels(y)
    np.testing.assert_array_equal(coding.classes, np.sort(labels))
    assert targets.shape == (30, coding.n_outputs)
    back = coding.decode(targets)
    np.testing.assert_array_equal(back, y)
    assert back.dtype == y.dtype
    np.testing.assert_array_equal(coding.encode(y[::-1]), targets[::-1])


def test_two_classes_one_column_second_is_plus():
    targets, coding = Logistic().encode_labels(["x", "a", "x"])
    np.testing.assert_array_equal(targets, [[1.0], [-1.0], [1.0]])
    assert coding.n_outputs == 1


def test_more_classes_one_against_the_rest():
    targets, _ = Hinge().encode_labels([2, 0, 1])
    np.testing.assert_array_equal(targets, [[-1, -1, 1], [1, -1, -1], [-1, 1, -1]])


@pytest.mark.parametrize("k", [2, 3])
def test_joint_loss_is_one_hot_even_for_two(k):
    targets, coding = Multinomial().encode_labels(np.arange(k))
    np.testing.assert_array_equal(targets, np.eye(k))
    assert coding.n_outputs == k


@pytest.mark.parametrize(
    "y, says",
    [
        (["a", "a"], "one class.*'a'.*add examples"),
        ([], "empty"),
        ([[1], [2]], "ravel"),
        ([1.0, np.nan], "NaN"),
        (np.array(["a", np.nan], object), "NaN"),
        (np.array(["a", 1, None], object), "sortable.*NoneType, int, str"),
    ],
)
@pytest.mark.parametrize("loss", LABEL_LOSSES, ids=repr)
def test_bad_labels_are_refused(loss, y, says):
    with pytest.raises(ValueError, match=says):
        loss.encode_labels(y)


def test_unseen_labels_are_named():
    _, coding = Logistic().encode_labels(["a", "b"])
    with pytest.raises(ValueError, match="'c', 'd', not among the known classes 'a', 'b'"):
        coding.encode(["a", "d", "c"])
    with pytest.raises(ValueError, match="1, not among"):
        coding.encode([1])
    _, coding = Logistic().encode_labels(np.arange(100))
    with pytest.raises(ValueError, match=r"'9', not among the known classes 0, 1, .*9, …"):
        coding.encode(["9"])


def test_scores_of_the_wrong_width_are_refused():
    _, coding = Logistic().encode_labels([0, 1, 2])
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        coding.decode(np.zeros((4, 2)))


def test_decision():
    _, two = Logistic().encode_labels([0, 1])
    np.testing.assert_array_equal(two.decision([[0.5], [-2.0]]), [0.5, -2.0])
    np.testing.assert_array_equal(two.decision([0.5, -2.0]), [0.5, -2.0])
    _, joint = Multinomial().encode_labels([0, 1])
    np.testing.assert_array_equal(joint.decision([[1.0, 3.0]]), [2.0])
    _, three = Logistic().encode_labels([0, 1, 2])
    np.testing.assert_array_equal(three.decision([[1.0, 3.0, 2.0]]), [[1.0, 3.0, 2.0]])


@pytest.mark.parametrize("loss", LABEL_LOSSES, ids=repr)
@pytest.mark.parametrize("k", [2, 4])
def test_ties_go_to_the_first_class(loss, k):
    _, coding = loss.encode_labels(np.arange(k))
    np.testing.assert_array_equal(coding.decode(np.zeros((3, coding.n_outputs))), [0, 0, 0])


# -- probabilities ---------------------------------------------------------------------------------

# Close calls, saturation and underflow: where rounding could set predict and predict_proba at odds.
hard = st.one_of(
    st.floats(-5, 5),
    st.sampled_from([0.0, 1e-20, -1e-20, 1e-300, 40.0, 50.0, 1e3, -1e3, 1e4, -1e4, -2e4]),
)


@pytest.mark.parametrize("loss", PROBABLE, ids=repr)
@pytest.mark.parametrize("k", [2, 3, 5])
@settings(deadline=None)
@given(data=st.data())
def test_probabilities_sum_to_one_and_agree_with_decode(loss, k, data):
    _, coding = loss.encode_labels(np.arange(k))
    drawn = data.draw(arrays(np.float64, (6, coding.n_outputs), elements=hard))
    for dtype in (np.float32, np.float64):
        scores = drawn.astype(dtype)
        p = coding.probability(scores)
        assert p.shape == (6, k)
        assert p.dtype == dtype
        assert np.all((p >= 0) & (p <= 1))
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=8 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(p.argmax(axis=1), coding.decode(scores))


def test_binary_probability_is_that_of_the_second_class():
    _, coding = Logistic().encode_labels([0, 1])
    np.testing.assert_allclose(coding.probability([[np.log(3.0)]]), [[0.25, 0.75]])


def test_one_against_the_rest_is_normalised():
    _, coding = Logistic().encode_labels([0, 1, 2])
    p = np.array([[0.5, 0.25, 0.5]])
    np.testing.assert_allclose(coding.probability(np.log(p / (1 - p))), [[0.4, 0.2, 0.4]])


def test_all_classes_ruled_out_leaves_the_best():
    _, coding = Logistic().encode_labels([0, 1, 2])
    np.testing.assert_array_equal(coding.probability([[-3e3, -1e3, -2e3]]), [[0, 1, 0]])


def test_no_probability_is_said():
    _, coding = Hinge().encode_labels([0, 1])
    with pytest.raises(NotImplementedError, match="Hinge has no probabilities"):
        coding.probability([[1.0]])


# -- both ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss, y", [(Squared(), [1.0, 2.0]), (Logistic(), ["a", "b"]), (Multinomial(), [0, 1])]
)
def test_codings_are_picklable(loss, y):
    targets, coding = loss.encode(y)
    again = pickle.loads(pickle.dumps(coding))
    assert again.loss == coding.loss
    np.testing.assert_array_equal(again.decode(targets), coding.decode(targets))
    np.testing.assert_array_equal(again.encode(y), targets)
