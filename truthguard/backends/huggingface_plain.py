"""Plain scoring: one row of the batch for each distinct continuation, through the model's own forward."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truthguard.backends.assembly import Values
from truthguard.backends.huggingface_weights import input_device
from truthguard.backends.packing import Row
from truthguard.backends.work import Work

if TYPE_CHECKING:
    import torch

# Logits of one forward pass: 128 MiB of main memory in float32, 1 GiB of an accelerator's, which is idle with less to
# do at a time. A vocabulary may have 260,000 entries.
_MOST_LOGITS, _MOST_LOGITS_ACCELERATED = 2**25, 2**28
_CHUNK = 2**23


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """Rows that are padded to one length."""

    rows: tuple[int, ...]


class PlainScorer:
    """Right-padded batches, longest rows first.

    Padding stands behind a row's end, where a causal model lets no scored token see it, so its id, the tokenizer's
    padding side and its end-of-text token do not matter; positions start at the row's first token by themselves.
    """

    name = "plain"

    def __init__(self, model: Any, work: Work | None = None) -> None:
        self._model = model
        self._vocabulary = vocabulary(model)
        self._most_logits = most_logits(model)
        self._keeps = "logits_to_keep" in forward_parameters(model)
        self._work = work or Work()

    def plan(self, rows: Sequence[Row], groups: Sequence[int], most_tokens: int) -> list[PlainBatch]:
        """Batches of at most `most_tokens` padded tokens; one row alone may exceed it."""
        batches: list[PlainBatch] = []
        batch: list[int] = []
        for number in sorted(range(len(rows)), key=lambda number: (-len(rows[number].tokens), number)):
            wider = [*batch, number]
            length = len(rows[wider[0]].tokens)
            logits = len(wider) * len(self._kept([rows[i] for i in wider])) * self._vocabulary
            if batch and (len(wider) * length > most_tokens or logits > self._most_logits):
                batches.append(PlainBatch(tuple(batch)))
                wider = [number]
            batch = wider
        return [*batches, PlainBatch(tuple(batch))] if batch else batches

    @staticmethod
    def alone(number: int) -> PlainBatch:
        """One row by itself, without padding: what everything else is held against."""
        return PlainBatch((number,))

    def run(self, rows: Sequence[Row], batch: PlainBatch) -> list[tuple[int, Values]]:
        """The values of each row of the batch."""
        import torch

        chosen = [rows[number] for number in batch.rows]
        length = max(len(row.tokens) for row in chosen)
        ids = torch.zeros((len(chosen), length), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, row in enumerate(chosen):
            ids[i, : len(row.tokens)] = torch.tensor(row.tokens)
            mask[i, : len(row.tokens)] = 1
        kept = self._kept(chosen)
        device = input_device(self._model)
        options: dict[str, Any] = {"attention_mask": mask.to(device), "use_cache": False}
        if self._keeps:
            options["logits_to_keep"] = list(kept)
        with quiet_inference():
            logits = self._model(input_ids=ids.to(device), **options).logits
            found = []
            for i, (number, row) in enumerate(zip(batch.rows, chosen, strict=True)):
                steps = range(row.first_read - kept.start, len(row.tokens) - kept.start)
                found.append((number, values_of(logits[i], [(row, steps)])[0]))
        self._work.add(tokens=ids.numel(), places=len(chosen) * len(kept))
        return found

    def _kept(self, rows: Sequence[Row]) -> range:
        """The places of the padded batch whose logits are needed."""
        if not self._keeps:
            return range(max(len(row.tokens) for row in rows))
        return range(min(row.first_read for row in rows), max(len(row.tokens) for row in rows))


def values_of(logits: torch.Tensor, reads: Sequence[tuple[Row, Sequence[int]]]) -> list[Values]:
    """Natural-log probabilities of what each row wants, from logits `[places, vocabulary]` and the row's places.

    The normaliser is computed in float32 whatever the logits are, a few places at a time.
    """
    import torch

    step = max(1, _CHUNK // logits.shape[-1])
    normaliser = torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, step)])
    places = [place for row, steps in reads for place, ids in zip(steps, row.wanted, strict=True) for _ in ids]
    wanted = [token for row, _ in reads for ids in row.wanted for token in ids]
    flat = iter((logits[places, wanted].float() - normaliser[places]).tolist())
    return [tuple(tuple(next(flat) for _ in ids) for ids in row.wanted) for row, _ in reads]


def vocabulary(model: Any) -> int:
    """How many entries the model's output has."""
    return int(model.config.get_text_config().vocab_size)


def most_logits(model: Any) -> int:
    """How many logits a forward pass may have."""
    return _MOST_LOGITS if input_device(model).type == "cpu" else _MOST_LOGITS_ACCELERATED


def forward_parameters(model: Any) -> frozenset[str]:
    """What the model's forward can be told by name."""
    return frozenset(inspect.signature(model.forward).parameters)


@contextmanager
def quiet_inference() -> Iterator[None]:
    """No gradients; a library's warning is no failure of the user's test, even under `-W error`."""
    import torch

    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
