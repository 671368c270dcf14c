"""Writes texts with a loaded model: many at once where that is checked, one at a time where it is not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from truthguard.backends import selfcheck
from truthguard.backends.generation import Decode, Draft, TextRow, batches, shared_opening
from truthguard.backends.huggingface_plain import MOST_LOGITS, PlainScorer, quiet_inference, vocabulary
from truthguard.backends.huggingface_sampling import Sampler, extend
from truthguard.backends.huggingface_together import Openings, WritingBatch, lacks
from truthguard.backends.huggingface_weights import free_memory
from truthguard.backends.packing import Row
from truthguard.errors import ModelError

# Tokens of keys and values that a batch may hold for each token of a scoring pass, whose activations weigh more.
_SLOTS_PER_TOKEN = 8


class _Apart(Exception):
    """Texts that are written together cannot be trusted with this model; the message says why."""


class Writer:
    """Writes the texts of rows, and keeps what was learnt about writing them together.

    The check holds the probability of each token, as it was when the text was written in its batch, against that of
    plain scoring, alone and unpadded. It is made on the first texts, and again on those that end farther on, or behind
    more padding, than any that was checked. What fails it is written again.
    """

    def __init__(
        self, model: Any, decode: Decode, ends: frozenset[int], *, name: str, dtype: str, share: bool, most_tokens: int
    ) -> None:
        self._model, self._decode, self._ends = model, decode, ends
        # The checkpoint's own settings (a repetition penalty, sampling) would come into what is asked for.
        model.generation_config = _settings()
        self._name, self._dtype, self._share = name, dtype, share
        self._plain = PlainScorer(model)
        self._openings = Openings(model, most_tokens)
        self._most_slots = most_tokens * _SLOTS_PER_TOKEN
        self._most_rows = max(1, MOST_LOGITS // vocabulary(model))
        self._apart = lacks(model)
        self._checked_slots = self._checked_padding = self._probes = 0
        self._notes: list[str] = []
        self._size = 1  # texts in the batch at hand
        self.difference: float | None = None
        self.seconds_checking = 0.0

    @property
    def path(self) -> str:
        """How texts are written."""
        return "one by one" if self._apart else "batched"

    @property
    def reason(self) -> str:
        """Why they are written that way, and what else there is to know."""
        if self._apart:
            why = f"texts are written one by one: {self._apart}"
        else:
            why = f"texts are written together: plain scoring agrees on {self._probes} of up to "
            why += f"{self._checked_slots} tokens"
        return "; ".join([why, *self._notes])

    def texts(self, rows: Sequence[TextRow]) -> Iterator[tuple[int, Draft]]:
        """Each row's number and finished draft, in order of completion."""
        import torch

        waiting = list(range(len(rows)))
        while waiting:
            done = set()
            error: Exception | None = None
            try:
                for index, draft in self._write([rows[number] for number in waiting]):
                    done.add(index)
                    yield waiting[index], draft
            except (torch.OutOfMemoryError, _Apart) as caught:
                error = caught.with_traceback(None)  # its frames hold the batch's memory
            if isinstance(error, _Apart):
                self._apart = str(error)
            elif error:
                self._make_smaller(error)
            waiting = [number for index, number in enumerate(waiting) if index not in done]

    def _write(self, rows: Sequence[TextRow]) -> Iterator[tuple[int, Draft]]:
        if self._apart:
            self._size = 1
            for index, row in enumerate(rows):
                yield index, self._alone(row)
            return
        opening = rows[0].tokens[: shared_opening(rows)] if self._share else ()
        for numbers in batches(rows, most_slots=self._most_slots, most_rows=self._most_rows):
            self._size = len(numbers)
            drafts = [Draft(rows[number], self._decode, self._ends) for number in numbers]
            place = {id(draft): number for draft, number in zip(drafts, numbers, strict=True)}
            for draft in self._together(drafts, opening):
                # What a batch cannot write may be the batch's fault.
                yield place[id(draft)], draft if draft.missing is None else self._alone(draft.row)

    def _together(self, drafts: list[Draft], opening: tuple[int, ...]) -> Iterator[Draft]:
        """The drafts as they end; those that go beyond what was checked are held back until they are checked."""
        longest = max(len(draft.row.tokens) for draft in drafts)
        padding = longest - min(len(draft.row.tokens) for draft in drafts)
        slots = longest + max(draft.row.request.max_tokens for draft in drafts)
        record = slots > self._checked_slots or padding > self._checked_padding
        held: list[Draft] = []
        for draft in self._steps(drafts, opening, record=record):
            beyond = longest + len(draft.tokens) > self._checked_slots
            behind = longest - len(draft.row.tokens) > self._checked_padding
            if beyond or behind:
                held.append(draft)
            else:
                yield draft
        self._check(held, longest)
        yield from held

    def _steps(self, drafts: list[Draft], opening: tuple[int, ...], *, record: bool) -> Iterator[Draft]:
        import torch

        try:
            batch = WritingBatch(self._model, drafts, self._openings, opening, record=record)
            while batch.writing:
                yield from batch.step()
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # an architecture whose cache is another may fail in any way
            raise _Apart(f"the model refuses a batch ({type(error).__name__}: {error})") from error

    def _check(self, held: Sequence[Draft], longest: int) -> None:
        """Hold the text that goes farthest, and the one behind most padding, against plain scoring."""
        sound = [draft for draft in held if draft.missing is None]
        if not sound:
            return
        started = time.perf_counter()
        farthest = max(sound, key=lambda draft: (len(draft.tokens), len(draft.row.tokens)))
        shortest = max(sound, key=lambda draft: (-len(draft.row.tokens), len(draft.tokens)))
        for draft in (farthest,) if shortest is farthest else (farthest, shortest):
            seen = (*draft.row.tokens, *draft.tokens[:-1])
            row = Row(seen, tuple((token,) for token in draft.tokens))
            ((_, plain),) = self._plain.run([row], self._plain.alone(0))
            apart = selfcheck.difference(tuple((value,) for value in draft.log_probabilities), plain)
            self.difference = max(apart, self.difference or 0.0)
            self._probes += 1
            if apart > (bound := selfcheck.bound(self._dtype, row)):
                raise _Apart(
                    f"the probabilities of a text of {len(draft.tokens)} tokens differ by {apart:.2g} when it is "
                    f"written beside others (at most {bound:.2g} in {self._dtype})"
                )
        self._checked_slots = max(self._checked_slots, longest + len(farthest.tokens))
        self._checked_padding = max(self._checked_padding, longest - len(shortest.row.tokens))
        self.seconds_checking += time.perf_counter() - started

    def _alone(self, row: TextRow) -> Draft:
        """By the library's own loop, which knows the cache of every architecture; the tokens are chosen here."""
        import torch

        draft, sampler = Draft(row, self._decode, self._ends), Sampler(row)

        def choose(_: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            extend([draft], [sampler], logits, record=False)
            forced = torch.full_like(logits, -torch.inf)
            forced[0, draft.tokens[-1] if draft.tokens else 0] = 0.0
            return forced

        def stop(_: torch.Tensor, __: Any) -> torch.Tensor:
            return torch.tensor([draft.finished], device=self._model.device)

        ids = torch.tensor([row.tokens], device=self._model.device)
        settings = _settings(max_new_tokens=row.request.max_tokens, do_sample=False, pad_token_id=0)
        try:
            with quiet_inference():
                self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    generation_config=settings,
                    logits_processor=[choose],
                    stopping_criteria=[stop],
                )
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # a model's forward may fail in any way
            raise ModelError(
                f"{self._name}: the model failed to write behind a prompt of {len(row.tokens)} tokens: "
                f"{type(error).__name__}: {error}"
            ) from error
        return draft

    def _make_smaller(self, error: Exception) -> None:
        if self._size == 1:
            raise ModelError(
                f"{self._name}: the device has too little memory even for one text at a time; try dtype = "
                '"bfloat16", device = "cpu" or a smaller model'
            ) from error
        self._most_rows = self._size // 2
        self._openings.forget()
        free_memory()
        self._notes = [f"at most {self._most_rows} at once, as the device ran out of memory"]


def _settings(**options: Any) -> Any:
    """The library's generation settings: its defaults but for these."""
    from transformers import GenerationConfig

    untyped: Any = GenerationConfig
    return untyped(**options)
