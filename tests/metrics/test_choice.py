"""Multiple-choice metrics on literal numbers: the cases, the ties, and everything that is missing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from truthguard.metrics.choice import (
    chance,
    degenerate,
    letter_bias,
    mc1,
    mc2,
    mc2_mass,
    mc3,
    mc_binary,
    normalised,
    tied_best,
)
from truthguard.metrics.statistics import mean
from truthguard.records import Missing

NAN, INF = math.nan, math.inf


def missing(value: object) -> Missing:
    assert isinstance(value, Missing)
    return value


def number(value: float | Missing) -> float:
    assert isinstance(value, float)
    return value


class TestMc1:
    @pytest.mark.parametrize(
        ("best", "others", "value"),
        [
            (-1.0, [-1.0000001, -5.0], 1.0),
            (-1.0, [-0.9999999, -5.0], 0.0),
            (-1.0, [-5.0, -1.0], 0.0),
            (-1.0, [-INF], 1.0),
            (-INF, [-1.0], 0.0),
        ],
    )
    def test_strictly_above_every_other(self, best: float, others: list[float], value: float) -> None:
        """1 only when the best answer is strictly above all others."""
        assert mc1(best, others) == value

    def test_nan_is_not_right(self) -> None:
        """C04: a NaN anywhere makes the question missing, and the cause is named; argmax would give 3/4."""
        questions = [[NAN] * 4, [-4.0, -5.5, -9.0], [-7.0, -6.2, -8.1], [NAN, -5.1, -4.9, -6.0]]
        values = [mc1(choices[0], choices[1:]) for choices in questions]
        scored = [value for value in values if not isinstance(value, Missing)]
        assert mean(scored) == 0.5
        assert [missing(values[at]).kind for at in (0, 3)] == ["nan", "nan"]
        assert missing(values[0]).detail == "4 of 4 log-likelihoods are NaN"
        assert missing(values[3]).detail == "1 of 4 log-likelihoods is NaN"

    def test_infinite(self) -> None:
        """+inf is no log-probability: missing, counted."""
        assert str(mc1(-1.0, [INF, -2.0, INF])) == "infinite: 2 of 4 log-likelihoods are +inf"

    def test_nan_is_named_before_infinity(self) -> None:
        """A row with both says NaN, the graver sign."""
        assert missing(mc1(INF, [NAN])).kind == "nan"

    def test_all_of_no_probability(self) -> None:
        """With every choice at -inf there is no best one."""
        assert missing(mc1(-INF, [-INF, -INF])).kind == "zero_probability"

    def test_no_other_choice(self) -> None:
        """A best answer that nothing stands against is not right by default."""
        assert missing(mc1(-1.0, [])).kind == "no_false"


class TestSumsAndVariants:
    GOLD, WRONG = (-13.5, "gold", 9), (-8.4, "wrong", 2)

    def test_sums_decide(self) -> None:
        """C02: scores are summed over tokens, so the short wrong answer wins."""
        gold, wrong = (normalised(value, "none", text, tokens) for value, text, tokens in (self.GOLD, self.WRONG))
        assert mc1(gold, [wrong]) == 0.0
        assert mc2_mass([gold], [wrong]) == pytest.approx(0.00605980, abs=1e-8)

    def test_means_are_another_variant(self) -> None:
        """C02: per token the same answers give other values (under another name)."""
        gold, wrong = (normalised(value, "per_token", text, tokens) for value, text, tokens in (self.GOLD, self.WRONG))
        assert mc1(gold, [wrong]) == 1.0
        assert mc2_mass([gold], [wrong]) == pytest.approx(0.93702664, abs=1e-8)

    def test_per_byte_counts_utf8(self) -> None:
        """Bytes are those of UTF-8, not characters."""
        assert normalised(-12.0, "per_byte", "né", 1) == -4.0

    @pytest.mark.parametrize(("normalization", "text", "tokens"), [("per_token", "a", 0), ("per_byte", "", 1)])
    def test_nothing_to_divide_by(self, normalization: str, text: str, tokens: int) -> None:
        """A choice without length in the unit is an error, not a division by zero."""
        with pytest.raises(ValueError, match="nothing to be normalised"):
            normalised(-1.0, normalization, text, tokens)

    def test_one_token_suffices(self) -> None:
        """A choice of a single token is its own mean."""
        assert normalised(-3.0, "per_token", "a", 1) == -3.0

    def test_unknown_normalization(self) -> None:
        """A mistyped word is answered with the nearest valid one."""
        with pytest.raises(ValueError, match="did you mean 'per_token'"):
            normalised(-1.0, "per_tokens", "a", 1)


class TestMc2:
    def test_difference_of_means(self) -> None:
        """The mean over true answers minus the mean over false ones."""
        assert mc2([0.9, 0.7], [0.1, 0.2, 0.6]) == pytest.approx(0.5)

    @pytest.mark.parametrize(("true", "false", "value"), [([1.0], [0.0], 1.0), ([0.0, 0.0], [1.0], -1.0)])
    def test_ends(self, true: list[float], false: list[float], value: float) -> None:
        """The ends of the range are reached exactly."""
        assert mc2(true, false) == value

    def test_missing_probability(self) -> None:
        """One missing P(yes) makes the item missing by the same kind, with the count and the first reason."""
        value = missing(mc2([0.9, Missing("unlisted", "not shown")], [Missing("nan", "NaN"), 0.1, 0.2]))
        assert value == Missing("unlisted", "2 of 5 P(yes) missing; first: not shown")

    @pytest.mark.parametrize(
        ("true", "false", "kind"), [([], [0.5], "no_true"), ([0.5], [], "no_false"), ([], [], "no_true")]
    )
    def test_empty_side(self, true: list[float], false: list[float], kind: str) -> None:
        """Without true or without false answers there is nothing to contrast."""
        assert missing(mc2(true, false)).kind == kind

    def test_infinite(self) -> None:
        """+inf is missing, like NaN, under its own name."""
        assert missing(mc2([0.5], [INF, 0.5])).kind == "infinite"

    @pytest.mark.parametrize("wrong", [-0.1, 1.1, -INF])
    def test_no_probability(self, wrong: float) -> None:
        """A number that is no probability is the caller's mistake (a log passed for a probability)."""
        with pytest.raises(ValueError, match=r"P\(yes\) must lie between 0 and 1"):
            mc2([0.5], [0.5, wrong])


class TestMc2Mass:
    @pytest.mark.parametrize("level", [0.0, -10_000.0, -1e5])
    def test_exact_far_down(self, level: float) -> None:
        """The mass is as exact at l = -10000 as near 0."""
        true, false = [level - 1.0, level - 2.0], [level, level - 3.0]
        expected = (math.exp(-1) + math.exp(-2)) / (1 + math.exp(-1) + math.exp(-2) + math.exp(-3))
        assert mc2_mass(true, false) == pytest.approx(expected, rel=1e-14)

    def test_minus_infinity_is_probability_zero(self) -> None:
        """A choice at -inf has no mass; an item whose true answers all lie there has mass 0."""
        assert mc2_mass([-3.0, -INF], [-3.0, -INF]) == 0.5
        assert mc2_mass([-INF], [-3.0]) == 0.0
        assert mc2_mass([-3.0], [-INF]) == 1.0

    def test_no_overflow(self) -> None:
        """The spread between choices may exceed what exp can hold."""
        assert mc2_mass([-1e308], [-1.0]) == 0.0

    @pytest.mark.parametrize(
        ("true", "false", "kind"),
        [
            ([], [-1.0], "no_true"),
            ([-1.0], [], "no_false"),
            ([-INF, -INF], [-INF], "zero_probability"),
            ([-1.0], [NAN], "nan"),
            ([INF], [-1.0], "infinite"),
        ],
    )
    def test_missing(self, true: list[float], false: list[float], kind: str) -> None:
        """mc2_mass and mc3 are missing for the same reasons."""
        assert missing(mc2_mass(true, false)).kind == kind
        assert missing(mc3(true, false)).kind == kind

    def test_the_batch_does_not_matter(self) -> None:
        """C03 a: the mean of 0.25, 0.5 and 1 is 7/12 on the 0 to 1 scale, in any order."""
        items = [([-1.0], [-1.0] * 3), ([-1.0], [-1.0]), ([-1.0], [-INF])]
        values = [number(mc2_mass(true, false)) for true, false in items]
        assert values == [0.25, 0.5, 1.0]
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            assert mean([values[at] for at in order]) == pytest.approx(7 / 12, abs=1e-12)


class TestMc3:
    @pytest.mark.parametrize(
        ("true", "false", "value"),
        [
            ([-1.0, -2.0], [-3.0, -4.0], 1.0),
            ([-1.0, -3.0], [-3.0, -4.0], 0.5),
            ([-3.0], [-3.0], 0.0),
            ([-2.9999999, -INF], [-3.0], 0.5),
            ([-1.0, -INF], [-INF], 0.5),
        ],
    )
    def test_share_above_the_strongest_false_one(self, true: list[float], false: list[float], value: float) -> None:
        """Each true answer counts when it is strictly above the largest false one."""
        assert mc3(true, false) == value


class TestMcBinary:
    @pytest.mark.parametrize(
        ("orders", "value"),
        [
            ([(-0.1, -2.0), (-0.3, -1.0)], 1.0),
            ([(-0.1, -2.0), (-1.0, -0.3)], 0.5),
            ([(-2.0, -0.1), (-1.0, -0.3)], 0.0),
            ([(-0.5, -0.5), (-0.3, -1.0)], 0.5),
            ([(-0.5, -0.5), (-0.7, -0.7)], 0.0),
            ([(-5.0, -INF), (-INF, -5.0)], 0.5),
            ([(-0.1, -2.0)], 1.0),
        ],
    )
    def test_mean_over_orders(self, orders: list[tuple[float, float]], value: float) -> None:
        """The share of orders in which the right letter is strictly above the wrong one."""
        assert mc_binary(orders) == value

    @pytest.mark.parametrize(
        ("order", "kind"),
        [
            ((NAN, -1.0), "nan"),
            ((-1.0, NAN), "nan"),
            ((INF, -1.0), "infinite"),
            ((-INF, -INF), "zero_probability"),
        ],
    )
    def test_missing_in_either_order(self, order: tuple[float, float], kind: str) -> None:
        """One unusable order makes the item missing: half an item is not scored."""
        good = (-0.1, -2.0)
        for orders in ([order, good], [good, order]):
            assert missing(mc_binary(orders)).kind == kind
            assert missing(letter_bias(*orders)).kind == kind

    def test_no_order(self) -> None:
        """Without an order there was nothing to ask."""
        with pytest.raises(ValueError, match="at least one order"):
            mc_binary([])

    @pytest.mark.parametrize(
        ("right_is_a", "right_is_b", "value"),
        [
            ((-0.1, -2.0), (-2.0, -0.1), 1.0),
            ((-2.0, -0.1), (-0.1, -2.0), -1.0),
            ((-0.1, -2.0), (-0.1, -2.0), 0.0),
            ((-0.5, -0.5), (-0.1, -2.0), -1.0),
        ],
    )
    def test_letter_bias(self, right_is_a: tuple[float, float], right_is_b: tuple[float, float], value: float) -> None:
        """A model that always says A has bias 1, one that always says B has -1; a tie is not right."""
        assert letter_bias(right_is_a, right_is_b) == value


class TestDeadBackends:
    @pytest.mark.parametrize(
        ("numbers", "value"),
        [
            ([-1.0, -1.0], True),
            ([-1.0, -1.0, -1.0 - 1e-12], False),
            ([-INF, -INF], True),
            ([NAN, NAN], False),
            ([-1.0], False),
            ([], False),
        ],
    )
    def test_degenerate(self, numbers: list[float], value: bool) -> None:
        """A row is degenerate when at least two numbers are all the same one."""
        assert degenerate(numbers) is value

    @pytest.mark.parametrize(
        ("best", "others", "value"),
        [(-1.0, [-2.0, -1.0], True), (-1.0, [-1.0 - 1e-12], False), (NAN, [NAN], False), (-1.0, [], False)],
    )
    def test_tied_best(self, best: float, others: list[float], value: bool) -> None:
        """The best answer is tied when another choice has exactly its log-likelihood."""
        assert tied_best(best, others) is value

    def test_tied_best_below_the_top(self) -> None:
        """A tie counts also where a third choice is above both."""
        assert tied_best(-3.0, [-1.0, -3.0])


class TestChance:
    @pytest.mark.parametrize(
        ("metric", "counts", "value"),
        [
            ("mc1", (4, 1, 3), 0.25),
            ("mc1", (2, 1, 1), 0.5),
            ("mc1", (1, 1, 0), None),
            ("mc1", (0, 0, 0), None),
            ("mc2", (4, 1, 3), 0.0),
            ("mc2", (4, 0, 3), None),
            ("mc2_mass", (4, 2, 3), 0.4),
            ("mc2_mass", (4, 0, 3), None),
            ("mc2_mass", (4, 2, 0), None),
            ("mc2_mass", (4, 1, 1), 0.5),
            ("mc3", (4, 2, 3), 0.25),
            ("mc3", (4, 2, 0), None),
            ("mc_binary", (0, 0, 0), 0.5),
        ],
    )
    def test_levels(self, metric: str, counts: tuple[int, int, int], value: float | None) -> None:
        """Each metric has its own level, none where the metric itself is missing."""
        assert chance(metric, *counts) == value

    def test_unknown_metric(self) -> None:
        """A name without a level of chance is refused with the nearest one."""
        with pytest.raises(ValueError, match="did you mean 'mc2_mass'"):
            chance("mc2_mas", 4, 2, 3)

    @pytest.mark.parametrize(
        ("version", "mc1_chance", "mc2_mass_chance"),
        [("2021-09", 0.2261, 0.4484), ("2021-10", 0.2225, 0.4641), ("2025-01", 0.2235, 0.4684)],
    )
    def test_whole_published_sets(
        self, real_data: Path, version: str, mc1_chance: float, mc2_mass_chance: float
    ) -> None:
        """Over the published sets the means are those of the contract (empty choices left out)."""
        rows = json.loads((real_data / "truthfulqa" / version / "mc_task.json").read_text("utf-8"))
        levels: dict[str, list[float]] = {"mc1": [], "mc2_mass": []}
        for row in rows:
            single = [choice for choice in row["mc1_targets"] if choice]
            true = [choice for choice, label in row["mc2_targets"].items() if choice and label == 1]
            false = [choice for choice, label in row["mc2_targets"].items() if choice and label == 0]
            for metric, values in levels.items():
                level = chance(metric, len(single), len(true), len(false))
                assert level is not None
                values.append(level)
        assert mean(levels["mc1"]) == pytest.approx(mc1_chance, abs=5e-5)
        assert mean(levels["mc2_mass"]) == pytest.approx(mc2_mass_chance, abs=5e-5)
