"""How many tokens a pass takes: said by the user, or found on the passes that are made anyway."""

from __future__ import annotations

import pytest

from truthguard.backends.pass_size import PassSize

MANY = 100


def tried(rates: dict[int, float], device: str = "cpu") -> PassSize:
    """A size after every trial, each pass at the given tokens a second."""
    size = PassSize(None, device)
    while (trial := size.next_trial(MANY)) is not None:
        size.tried(trial, trial, trial / rates[trial])
        size.end_trial(trial)
    return size


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps", "xpu"])
def test_the_largest_is_tried_first(device: str) -> None:
    """What may go wrong with any size shows in the first passes; an unknown accelerator is tried like the CPU."""
    size = PassSize(None, device)
    trials = []
    while (trial := size.next_trial(MANY)) is not None:
        trials.append(trial)
        size.tried(trial, trial, 1.0)
        size.end_trial(trial)
    assert trials == sorted(trials, reverse=True)
    assert len(trials) == 3
    assert PassSize(None, device).tokens in trials


def test_only_what_is_clearly_faster_displaces_the_usual_size() -> None:
    """Machines are noisy: within a tenth the usual size stays."""
    assert tried({512: 1050.0, 256: 1000.0, 128: 1090.0}).tokens == 256
    assert tried({512: 1050.0, 256: 1000.0, 128: 1200.0}).tokens == 128
    assert tried({512: 1300.0, 256: 1000.0, 128: 1200.0}).tokens == 512


def test_the_best_pass_of_a_size_counts() -> None:
    """The first pass of all has to warm the machine up."""
    size = PassSize(None, "cpu")
    for trial in (512, 256, 128):
        size.tried(trial, trial, 5.0)
        size.tried(trial, trial, 0.5 if trial == 128 else 4.0)
        size.end_trial(trial)
    assert size.tokens == 128


def test_a_size_that_was_asked_for_is_not_tried() -> None:
    """batch_tokens is the user's word."""
    size = PassSize(77, "cpu")
    assert size.next_trial(MANY) is None
    assert size.tokens == 77


def test_a_few_passes_are_not_worth_a_trial() -> None:
    """With little to do there is little to save."""
    assert PassSize(None, "cpu").next_trial(3) is None


def test_running_out_of_memory_ends_the_trials() -> None:
    """Half of the size that was tried, which a trial of the usual one would be no smaller than."""
    size = PassSize(None, "cpu")
    assert size.next_trial(MANY) == 512
    size.cut()
    assert (size.tokens, size.next_trial(MANY)) == (256, None)
    size.cut()
    assert size.tokens == 128
