"""Both parts learn, and together they predict better than each alone."""

from __future__ import annotations

import numpy as np

import millstream as tf
from examples import wide_and_deep


def test_a_short_training_of_both_parts_beats_each_alone() -> None:
    tf.reset_default_graph()
    areas = wide_and_deep.main(["--short"])
    assert min(areas["wide"], areas["deep"]) > 0.65
    assert areas["wide & deep"] > max(areas["wide"], areas["deep"]) + 0.003
    assert areas["rule"] > areas["wide & deep"]


def test_the_parts_of_a_model_do_not_share_variables() -> None:
    tf.reset_default_graph()
    ids = tf.placeholder(tf.int64, [None])
    chosen = tf.placeholder(tf.float32, [None])
    for name in wide_and_deep.PARTS:
        wide_and_deep.Model(name, ids, ids, chosen)
    # Three tables in a wide part; two tables and three dense layers in a deep part.
    assert len(tf.trainable_variables()) == 2 * 3 + 2 * (2 + 3 * 2)


def test_the_area_is_the_part_of_pairs_in_the_right_order() -> None:
    chosen = np.array([1, 0, 1, 0, 0], np.float32)
    scores = np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    assert wide_and_deep.area_under_curve(chosen, scores) == 5 / 6
    assert wide_and_deep.area_under_curve(chosen, -scores) == 1 / 6


def test_choices_follow_the_rule() -> None:
    rule = wide_and_deep.Rule(np.random.RandomState(0))
    choices = rule.sample(100_000)
    likely = 1.0 / (1.0 + np.exp(-rule.logits[choices.people, choices.items]))
    # The mean of n choices differs from the mean of their likelihoods by at most 0.5 / sqrt(n).
    for rows in (likely < 0.2, likely > 0.8):
        assert abs(choices.chosen[rows].mean() - likely[rows].mean()) < 4 * 0.5 / rows.sum() ** 0.5
