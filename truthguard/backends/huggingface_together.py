"""Texts that grow side by side: one row of a key-value cache each, one token each at every step."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truthguard.backends.generation import Draft
from truthguard.backends.huggingface_plain import forward_parameters, quiet_inference
from truthguard.backends.huggingface_sampling import Sampler, extend

if TYPE_CHECKING:
    import torch


def lacks(model: Any) -> str | None:
    """What the model's forward lacks for texts that are written together; None when it lacks nothing to be seen."""
    parameters = forward_parameters(model)
    if not parameters & {"cache", "past_key_values"}:
        return "the model takes no key-value cache"
    if "attention_mask" not in parameters:
        return "the model takes no mask"
    return None


class Cached:
    """A model with a key-value cache, of one or more rows, that is filled by passes through the model."""

    def __init__(self, model: Any) -> None:
        from transformers import DynamicCache

        self._model = model
        parameters = forward_parameters(model)
        # transformers renamed the argument within its fifth version.
        self._name = "cache" if "cache" in parameters else "past_key_values"
        self._positions = "position_ids" in parameters
        self._keeps = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        self._cache: Any = DynamicCache(config=model.config)
        self.rows, self.length = 1, 0

    def fill(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Put in tokens `[rows, n]`, seen with all that `mask` `[rows, length + n]` leaves; the last one's logits."""
        device = self._model.device
        options: dict[str, Any] = {"position_ids": positions.to(device)} if self._positions else {}
        with quiet_inference():
            logits: torch.Tensor = self._model(
                input_ids=ids.to(device),
                attention_mask=mask.long().to(device),
                use_cache=True,
                **{self._name: self._cache},
                **self._keeps,
                **options,
            ).logits[:, -1]
        self.rows = ids.shape[0]
        self.length += ids.shape[1]
        return logits

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order; a row may be kept several times."""
        import torch

        if self.length and list(rows) != list(range(self.rows)):
            with quiet_inference():
                self._cache.batch_select_indices(torch.tensor(rows, device=self._model.device))
        self.rows = len(rows)

    def copied(self) -> Cached:
        """The same, to be filled apart from this one."""
        other = copy.copy(self)
        other._cache = copy.deepcopy(self._cache)
        return other


class Openings:
    """The cache of what prompts begin with, computed once for all of them."""

    def __init__(self, model: Any, most_tokens: int) -> None:
        self.most_tokens = most_tokens
        self._model = model
        self._kept: tuple[tuple[int, ...], Cached] | None = None

    def behind(self, tokens: tuple[int, ...]) -> Cached:
        """A cache of one row that has seen these tokens, for the caller to add to."""
        if self._kept is None or self._kept[0] != tokens:
            cached = Cached(self._model)
            if tokens:
                prefill(cached, [tokens], self.most_tokens)
            self._kept = (tokens, cached)
        return self._kept[1].copied()

    def forget(self) -> None:
        self._kept = None


def prefill(cached: Cached, rows: Sequence[tuple[int, ...]], most_tokens: int) -> None:
    """Put one chain of tokens into each row of the cache, a few columns at a time.

    Shorter rows end in padding. It stands behind all that is real, so a causal model lets nothing real see it here,
    and the masks of later passes leave it out.
    """
    import torch

    width, start = max(map(len, rows)), cached.length
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row, dtype=torch.long)
    step = max(1, most_tokens // len(rows))
    for left in range(0, width, step):
        right = min(left + step, width)
        mask = torch.ones((len(rows), start + right), dtype=torch.bool)
        positions = torch.arange(start + left, start + right).expand(len(rows), -1)
        cached.fill(ids[:, left:right], mask, positions)


class WritingBatch:
    """Drafts that are written together, behind an opening that their prompts share.

    Each prompt is put in once, whatever the number of its samples, and without its last token: that is the first
    token of the first step, so every row reads its logits at the same place. A row sees its own prompt and text only,
    at the positions that it would have alone.
    """

    def __init__(
        self, model: Any, drafts: Sequence[Draft], openings: Openings, opening: tuple[int, ...], *, record: bool
    ) -> None:
        import torch

        self._rows = list(drafts)
        self._samplers = [Sampler(draft.row) for draft in drafts]
        self._record = record
        prompts = {tokens: i for i, tokens in enumerate(dict.fromkeys(draft.row.tokens for draft in drafts))}
        rests = [tokens[len(opening) : -1] for tokens in prompts]
        self._cached = openings.behind(opening)
        self._cached.select([0] * len(rests))
        if any(rests):
            prefill(self._cached, rests, openings.most_tokens)
        self._cached.select([prompts[draft.row.tokens] for draft in drafts])
        self._next = torch.tensor([draft.row.tokens[-1] for draft in drafts])
        self._positions = torch.tensor([len(draft.row.tokens) - 1 for draft in drafts])
        most = max(draft.row.request.max_tokens for draft in drafts)
        self._sees = torch.ones((len(drafts), self._cached.length + most), dtype=torch.bool)
        for i, draft in enumerate(drafts):
            self._sees[i, len(draft.row.tokens) - 1 : self._cached.length] = False

    @property
    def writing(self) -> bool:
        """Is any draft unfinished?"""
        return any(not draft.finished for draft in self._rows)

    def step(self) -> list[Draft]:
        """Add a token to each unfinished draft; those that it finished."""
        import torch

        self._compact()
        mask = self._sees[:, : self._cached.length + 1]
        logits = self._cached.fill(self._next[:, None], mask, self._positions[:, None])
        going = [i for i, draft in enumerate(self._rows) if not draft.finished]
        with quiet_inference():
            part = logits if len(going) == len(self._rows) else logits[going]
            drafts = [self._rows[i] for i in going]
            extend(drafts, [self._samplers[i] for i in going], part, record=self._record)
        going = [i for i in going if not self._rows[i].finished]
        # A finished row stays where it is: farther on there may be no position.
        self._next[going] = torch.tensor([self._rows[i].tokens[-1] for i in going], dtype=torch.long)
        self._positions[going] += 1
        return [draft for draft in drafts if draft.finished]

    def _compact(self) -> None:
        """Let the finished rows go once they are half of all: moving the cache costs about as much as a step."""
        going = [i for i, draft in enumerate(self._rows) if not draft.finished]
        if 2 * len(going) > len(self._rows):
            return
        self._cached.select(going)
        self._rows = [self._rows[i] for i in going]
        self._samplers = [self._samplers[i] for i in going]
        self._next, self._positions, self._sees = self._next[going], self._positions[going], self._sees[going]
