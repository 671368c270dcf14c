"""Multiple-choice metrics on literal numbers: the cases, the ties, and everything that is missing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from truthguard.metrics.choice import (
    NO_FORMS,
    YES_FORMS,
    Bounds,
    chance,
    degenerate,
    letter_bias,
    listed_masses,
    mc1,
    mc2,
    mc2_mass,
    mc3,
    mc_binary,
    normalised,
    tied_best,
    yes_probability,
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


def bounds(value: Bounds | Missing) -> Bounds:
    assert isinstance(value, Bounds)
    return value


class TestYesProbability:
    def test_spellings_are_added_as_probabilities(self) -> None:
        """C01 a: every spelling of yes and of no counts, added up as probabilities."""
        listed = [("Yes", -0.35), (" yes", -2.10), ("YES", -3.00), ("No", -2.40), (" no", -3.90), ("The", -5.00)]
        (yes, no), unlisted = listed_masses(listed, [YES_FORMS, NO_FORMS])
        assert yes is not None
        assert no is not None
        assert math.exp(yes) == pytest.approx(0.87693159, abs=1e-8)
        assert math.exp(no) == pytest.approx(0.11095986, abs=1e-8)
        p_yes = bounds(yes_probability(yes, no, unlisted))
        assert p_yes.exact
        assert p_yes.low == p_yes.high == pytest.approx(0.88768010, abs=1e-8)

    def test_unlisted_side_gives_bounds(self) -> None:
        """C01 b: with no spelling of no listed, P(yes) is bounded by the unlisted mass and never a plain 1."""
        listed = [("Yes", -0.08), (" yes", -3.20), ("YES", -4.60), ("The", -5.10), ("It", -5.60)]
        (yes, no), unlisted = listed_masses(listed, [YES_FORMS, NO_FORMS])
        assert no is None
        assert unlisted == pytest.approx(0.01627500, abs=1e-8)
        p_yes = bounds(yes_probability(yes, no, unlisted))
        assert not p_yes.exact
        assert p_yes.low == pytest.approx(0.98356401, abs=1e-8)
        assert p_yes.high == 1.0

    def test_unlisted_yes_is_bounded_from_above(self) -> None:
        """With no spelling of yes listed, P(yes) lies between 0 and unlisted / (unlisted + p(no))."""
        p_yes = bounds(yes_probability(None, math.log(0.75), 0.25))
        assert p_yes.low == 0.0
        assert p_yes.high == pytest.approx(0.25)

    def test_far_below_what_a_float_can_hold(self) -> None:
        """Masses of exp(-800) neither underflow nor overflow."""
        assert bounds(yes_probability(-800.0, -805.0)).low == pytest.approx(1 / (1 + math.exp(-5)), rel=1e-14)
        assert bounds(yes_probability(-805.0, -800.0)).low == pytest.approx(1 / (1 + math.exp(5)), rel=1e-14)
        assert bounds(yes_probability(0.0, -2000.0)).low == 1.0
        assert bounds(yes_probability(-2000.0, 0.0)).low == 0.0

    def test_equal_sides(self) -> None:
        """Equal masses give exactly one half."""
        assert yes_probability(-1.5, -1.5) == Bounds(0.5, 0.5)

    @pytest.mark.parametrize(("yes", "no", "value"), [(-INF, -2.0, 0.0), (-2.0, -INF, 1.0)])
    def test_one_side_without_probability(self, yes: float, no: float, value: float) -> None:
        """-inf is probability 0: the other side has it all, exactly."""
        assert yes_probability(yes, no) == Bounds(value, value)

    @pytest.mark.parametrize(
        ("yes", "no", "unlisted", "kind"),
        [
            (None, None, 0.5, "unlisted"),
            (None, None, 0.0, "unlisted"),
            (-0.1, None, 0.0, "no_form"),
            (None, -0.1, 0.0, "no_form"),
            (-INF, -INF, 0.0, "zero_probability"),
            (-INF, None, 0.3, "zero_probability"),
            (NAN, -1.0, 0.0, "nan"),
            (-1.0, NAN, 0.0, "nan"),
            (NAN, None, 0.1, "nan"),
            (-1.0, -1.0, NAN, "nan"),
            (INF, -1.0, 0.0, "infinite"),
            (-1.0, INF, 0.0, "infinite"),
        ],
    )
    def test_missing(self, yes: float | None, no: float | None, unlisted: float, kind: str) -> None:
        """What has no probability to speak of is missing, under a name of its own."""
        assert missing(yes_probability(yes, no, unlisted)).kind == kind

    def test_unlisted_side_without_any_form_is_named(self) -> None:
        """The side that the tokenizer cannot say in one token stands in the reason."""
        assert "form of no is" in missing(yes_probability(-0.1, None)).detail
        assert "form of yes is" in missing(yes_probability(None, -0.1)).detail

    @pytest.mark.parametrize("unlisted", [-0.001, 1.001, INF])
    def test_unlisted_is_a_probability(self, unlisted: float) -> None:
        """An unlisted mass that is no probability is the caller's mistake, and says so."""
        with pytest.raises(ValueError, match="between 0 and 1"):
            yes_probability(-1.0, None, unlisted)

    def test_everything_may_be_unlisted(self) -> None:
        """An unlisted mass of exactly 1 is still a probability."""
        assert bounds(yes_probability(math.log(0.5), None, 1.0)).low == pytest.approx(1 / 3)


class TestListedMasses:
    def test_forms_are_matched_letter_by_letter(self) -> None:
        """A word that begins with a form, or another leading space, is another token."""
        masses, _ = listed_masses([("Yes!", -1.0), ("  yes", -2.0), ("yEs", -3.0)], [YES_FORMS])
        assert masses == (None,)

    def test_the_same_form_twice_in_a_group_counts_once(self) -> None:
        """A group that repeats a form does not double its mass."""
        assert listed_masses([("A", -1.0)], [("A", "A")])[0] == (-1.0,)

    def test_two_tokens_of_one_text_are_two_outcomes(self) -> None:
        """Distinct tokens that read alike are both added."""
        (mass,), _ = listed_masses([("A", math.log(0.25)), ("A", math.log(0.5))], [("A",)])
        assert mass == pytest.approx(math.log(0.75))

    def test_a_full_list_leaves_what_float32_cannot_see(self) -> None:
        """A certain answer of a top-k list still bounds the other side: never a plain 1."""
        masses, unlisted = listed_masses([("Yes", 0.0), ("The", -20.0)], [YES_FORMS, NO_FORMS])
        assert unlisted == 2.0**-24
        p_yes = bounds(yes_probability(masses[0], masses[1], unlisted))
        assert 1.0 - 1e-7 < p_yes.low < 1.0 == p_yes.high

    def test_an_empty_list_lists_nothing(self) -> None:
        """With no token shown, every group is unlisted and so is the whole mass."""
        assert listed_masses([], [YES_FORMS, NO_FORMS]) == ((None, None), 1.0)

    def test_zero_probability_is_listed(self) -> None:
        """-inf is a listed probability of 0, not an unlisted side."""
        masses, unlisted = listed_masses([("Yes", -INF), ("yes", -INF)], [YES_FORMS])
        assert masses == (-INF,)
        assert unlisted == 1.0

    def test_tiny_masses_do_not_underflow(self) -> None:
        """The sum of forms is taken on the logs."""
        (mass,), _ = listed_masses([("Yes", -9999.0), ("yes", -9999.0)], [YES_FORMS])
        assert mass == pytest.approx(-9999.0 + math.log(2.0), abs=1e-12)

    @pytest.mark.parametrize("listed", [[("Yes", NAN), ("yes", -INF)], [("yes", -INF), ("Yes", NAN)]])
    def test_nan_is_kept(self, listed: list[tuple[str, float]]) -> None:
        """A NaN in the list makes its group and the unlisted mass NaN, so that P(yes) is missing."""
        (mass,), unlisted = listed_masses(listed, [YES_FORMS])
        assert mass is not None
        assert math.isnan(mass)
        assert math.isnan(unlisted)

    @pytest.mark.parametrize("log_p", [0.0011, 5.0, 800.0, INF])
    def test_positive_log_probability(self, log_p: float) -> None:
        """A probability above 1 is refused, with the token named."""
        with pytest.raises(ValueError, match=r"'Yes'.*above 0"):
            listed_masses([("Yes", log_p)], [YES_FORMS])

    def test_more_than_one_in_all(self) -> None:
        """A list that adds up to more than 1 is no distribution."""
        with pytest.raises(ValueError, match=r"add up to 1\.2"):
            listed_masses([("Yes", math.log(0.6)), ("No", math.log(0.6))], [YES_FORMS])
        with pytest.raises(ValueError, match=r"add up to 1\.0012"):
            listed_masses([("Yes", math.log(0.6)), ("No", math.log(0.4012))], [YES_FORMS])

    def test_rounding_above_one_is_accepted(self) -> None:
        """The last digits of a server's numbers may lift the sum a little above 1."""
        assert listed_masses([("Yes", 0.0005)], [YES_FORMS])[1] == 2.0**-24

    def test_the_forms_are_six_spellings_a_side(self) -> None:
        """yes, Yes and YES, no, No and NO, each bare and after one space, nothing shared."""
        for forms, word in ((YES_FORMS, "yes"), (NO_FORMS, "no")):
            spellings = {word, word.capitalize(), word.upper()}
            assert set(forms) == spellings | {f" {spelling}" for spelling in spellings}
            assert len(forms) == 6


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
