"""P(yes) from the masses of two sides, and those masses from a server's top-k list."""

from __future__ import annotations

import math

import pytest

from truthguard.metrics.choice import NO_FORMS, YES_FORMS, Bounds, listed_masses, yes_probability
from truthguard.records import Missing

NAN, INF = math.nan, math.inf


def missing(value: object) -> Missing:
    assert isinstance(value, Missing)
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
