"""Writes texts with a loaded model: many at once where that is checked, one at a time where it is not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from truthguard.backends import selfcheck
from truthguard.backends.generation import Decode, Draft, Family, TextRow, families, queues, rows_at_once
from truthguard.backends.huggingface_attention import can_share
from truthguard.backends.huggingface_cache import Cached, Openings, lacks
from truthguard.backends.huggingface_plain import PlainScorer, most_logits, quiet_inference, vocabulary
from truthguard.backends.huggingface_sampling import Sampler, extend
from truthguard.backends.huggingface_together import Seat, WritingBatch
from truthguard.backends.huggingface_weights import free_memory
from truthguard.backends.packing import Row
from truthguard.errors import ModelError

# Keys and values of the texts at hand, where main memory is to hold them; an accelerator gives half of what is free.
_MOST_BYTES = 2**29
# A pass of more is no faster there, and its attention scores are all held at once.
_MOST_TOKENS = {"cpu": 512}
# What a pass costs for itself, in tokens: reading the weights (30 ms to 1.1 ms a token, for 135M parameters on one
# core), or on an accelerator starting its kernels.
_PASS_TOKENS = {"cpu": 32}
_LAUNCHED_PASS_TOKENS = 1024


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
        self._pass_tokens = _PASS_TOKENS.get(model.device.type, _LAUNCHED_PASS_TOKENS)
        most_tokens = min(most_tokens, _MOST_TOKENS.get(model.device.type, most_tokens))
        self._openings = Openings(model, most_tokens)
        self._most_tokens = most_tokens
        self._most_bytes = _room(model)
        self._most_rows = max(1, min(most_tokens, most_logits(model) // vocabulary(model)))
        self._apart = lacks(model)
        self._holds_once = can_share(model)
        # The widest pass of a text that was checked, the widest of one with padding behind it, and the most padding.
        self._checked_width = self._checked_padded_width = self._checked_padding = self._probes = 0
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
            why += f"{self._checked_width} tokens"
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
            if isinstance(error, _Apart) and self._holds_once:
                self._holds_once = False  # what fails with one opening for all may do with copies of it
            elif isinstance(error, _Apart):
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
        drafts = [Draft(row, self._decode, self._ends) for row in rows]
        place = {id(draft): number for number, draft in enumerate(drafts)}
        apart = [Family(0, tuple(range(len(rows))))]
        groups = families(rows, pass_tokens=self._pass_tokens) if self._share else apart
        seats = (seat for group in groups for seat in self._together([drafts[i] for i in group.numbers], group.opening))
        for draft in self._checked(seats):
            # What a batch cannot write may be the batch's fault.
            yield place[id(draft)], draft if draft.missing is None else self._alone(draft.row)

    def _together(self, drafts: Sequence[Draft], opening: int) -> Iterator[Seat]:
        """The drafts' seats as they end."""
        import torch

        rows = [draft.row for draft in drafts]
        self._size = 1
        try:
            # Without an opening the first token tells what a token takes.
            begun = self._openings.behind(rows[0].tokens[: opening or 1])
            shared = opening if self._holds_once else 0
            limits = {"most_slots": self._most_bytes // begun.bytes_per_token, "most_rows": self._most_rows}
            for queue in queues(rows, shared=shared, **limits):
                longest = rows[queue[0]].slots
                self._size = min(len(queue), rows_at_once(longest - shared, **limits))
                cached = Cached(self._model, self._size, longest, shared)
                cached.begin(begun, opening)
                waiting = [drafts[number] for number in queue]
                batch = WritingBatch(cached, waiting, opening=opening, most_tokens=self._most_tokens)
                while batch.writing:
                    yield from batch.step()
                del cached, batch  # the next one's memory is taken when this one's is free
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # an architecture whose cache is another may fail in any way
            raise _Apart(f"the model refuses a batch ({type(error).__name__}: {error})") from error

    def _checked(self, seats: Iterator[Seat]) -> Iterator[Draft]:
        """The drafts; those that went beyond what was checked are held back until some of them are checked.

        The first check is made when as many are held as are written at once. Each waits for twice as many as the one
        before: what they vouch for grows more and more slowly.
        """
        held: list[Seat] = []
        checks = 0
        for seat in seats:
            if self._is_beyond(seat):
                held.append(seat)
            else:
                yield seat.draft
            if len(held) >= self._size << checks:
                self._check(held)
                yield from (seat.draft for seat in held)
                held, checks = [], checks + 1
        self._check(held)
        yield from (seat.draft for seat in held)

    def _is_beyond(self, seat: Seat) -> bool:
        checked = self._checked_padded_width if seat.padding else self._checked_width
        return seat.width > checked or seat.padding > self._checked_padding

    def _check(self, held: Sequence[Seat]) -> None:
        """Hold the text of the widest pass, and the one in front of most padding, against plain scoring."""
        sound = [seat for seat in held if seat.draft.missing is None]
        if not sound:
            return
        started = time.perf_counter()
        widest = max(sound, key=lambda seat: (seat.padding > 0, seat.width, len(seat.draft.tokens)))
        padded = max(sound, key=lambda seat: (seat.padding, seat.width))
        for seat in (widest,) if padded is widest else (widest, padded):
            self._probe(seat.draft)
            self._checked_width = max(self._checked_width, seat.width)
            self._checked_padded_width = max(self._checked_padded_width, seat.width if seat.padding else 0)
            self._checked_padding = max(self._checked_padding, seat.padding)
        self.seconds_checking += time.perf_counter() - started

    def _probe(self, draft: Draft) -> None:
        row = Row((*draft.row.tokens, *draft.tokens[:-1]), tuple((token,) for token in draft.tokens))
        ((_, plain),) = self._plain.run([row], self._plain.alone(0))
        apart = selfcheck.difference(tuple((value,) for value in draft.log_probabilities), plain)
        self.difference = max(apart, self.difference or 0.0)
        self._probes += 1
        if apart > (bound := selfcheck.bound(self._dtype, row)):
            raise _Apart(
                f"the probabilities of a text of {len(draft.tokens)} tokens differ by {apart:.2g} when it is "
                f"written beside others (at most {bound:.2g} in {self._dtype})"
            )

    def _alone(self, row: TextRow) -> Draft:
        """By the library's own loop, which knows the cache of every architecture; the tokens are chosen here."""
        import torch

        draft, sampler = Draft(row, self._decode, self._ends), Sampler(row)

        def choose(_: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            extend([draft], [sampler], logits)
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


def _room(model: Any) -> int:
    """How many bytes of keys and values may be held at once."""
    import torch

    if model.device.type == "cuda":
        return int(torch.cuda.mem_get_info(model.device)[0]) // 2
    return _MOST_BYTES


def _settings(**options: Any) -> Any:
    """The library's generation settings: its defaults but for these."""
    from transformers import GenerationConfig

    untyped: Any = GenerationConfig
    return untyped(**options)
