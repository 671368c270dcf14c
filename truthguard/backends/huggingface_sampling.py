"""The next token of each text: the likeliest one, or one drawn with the text's own random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truthguard.backends.generation import Draft, TextRow
from truthguard.records import Missing

if TYPE_CHECKING:
    import torch


class Sampler:
    """Chooses the tokens of one text."""

    def __init__(self, row: TextRow) -> None:
        import torch

        self.temperature = row.request.temperature
        self.top_p = row.request.top_p
        # On the CPU, so that every device draws alike.
        self._generator = torch.Generator().manual_seed(row.seed)

    def draw(self) -> float:
        """A number at least 0 and below 1: one for each token."""
        import torch

        return float(torch.rand((), generator=self._generator, dtype=torch.float64))


def extend(drafts: Sequence[Draft], samplers: Sequence[Sampler], logits: torch.Tensor) -> None:
    """Add one token to each draft, by its row of logits `[drafts, vocabulary]`.

    A row without any finite largest logit ends its draft without a text: nothing can be chosen by it. The token's
    natural-log probability is kept, of the model itself (temperature 1).
    """
    import torch

    logits = logits.float()
    largest, likeliest = logits.max(-1)
    tokens = likeliest.tolist()
    sound = torch.isfinite(largest).tolist()
    drawn = [i for i, sampler in enumerate(samplers) if sampler.temperature > 0 and sound[i]]
    if drawn:
        chosen = _draw(logits[drawn].cpu(), [samplers[i] for i in drawn])
        for i, token in zip(drawn, chosen, strict=True):
            tokens[i] = token
    places = torch.tensor(tokens, device=logits.device)[:, None]
    values = (logits.gather(-1, places)[:, 0] - logits.logsumexp(-1)).tolist()
    for draft, value in zip(drafts, values, strict=True):
        draft.log_probabilities.append(value)
    for draft, token, is_sound in zip(drafts, tokens, sound, strict=True):
        if is_sound:
            draft.add(token)
        else:
            draft.fail(Missing("nan", "the model's next-token probabilities are not numbers"))


def _draw(logits: torch.Tensor, samplers: Sequence[Sampler]) -> list[int]:
    """The first token, in the vocabulary's order, at which the probabilities add up to more than the number drawn.

    In the order of probability two tokens that are nearly equal would change places by a rounding error, and with
    them the text.
    """
    import torch

    temperatures = torch.tensor([sampler.temperature for sampler in samplers], dtype=torch.float64)
    # The largest logit becomes 0 first: a tiny temperature must not lead to infinity minus infinity.
    scaled = (logits - logits.amax(-1, keepdim=True)).double() / temperatures[:, None]
    probabilities = scaled.float().softmax(-1)
    for i, sampler in enumerate(samplers):
        if sampler.top_p < 1:
            probabilities[i] = _nucleus(probabilities[i], sampler.top_p)
    sums = probabilities.cumsum(-1, dtype=torch.float64)
    numbers = torch.tensor([sampler.draw() for sampler in samplers], dtype=torch.float64)
    places = torch.searchsorted(sums, numbers[:, None] * sums[:, -1:], right=True)
    chosen: list[int] = places[:, 0].clamp(max=logits.shape[-1] - 1).tolist()
    return chosen


def _nucleus(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """The fewest of the likeliest tokens that come to `top_p`, at least one; the others get probability 0."""
    descending, order = probabilities.sort(descending=True, stable=True)
    enough_before = descending.cumsum(-1)[:-1] >= top_p
    kept = probabilities.clone()
    kept[order[1:][enough_before]] = 0
    return kept
