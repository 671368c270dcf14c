"""The keys and values of rows that grow apart: room for all is taken once, and nothing is moved when one grows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from truthguard.backends.huggingface_attention import pin, shared_opening_attention
from truthguard.backends.huggingface_plain import forward_parameters, quiet_inference

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
    """A model with a key-value cache of `rows` rows of up to `columns` tokens each.

    A row's tokens stand in its first columns, without a gap. Memory is taken at the first pass. The first `shared`
    columns, which are the same in every row, are held once.
    """

    def __init__(self, model: Any, rows: int, columns: int, shared: int = 0) -> None:
        from transformers.cache_utils import Cache

        self._model = model
        self.rows, self.columns, self._shared = rows, columns, shared
        parameters = forward_parameters(model)
        # transformers renamed the argument within its fifth version.
        self._name = "cache" if "cache" in parameters else "past_key_values"
        self._positions = "position_ids" in parameters
        self._keeps = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        self._place = _Place(rows, columns - shared, shared)
        untyped: Any = Cache
        self._cache: Any = untyped(layer_class_to_replicate=self._new_layer)

    def _new_layer(self) -> Any:
        return _layer_class()(self._place)

    @property
    def bytes_per_token(self) -> int:
        """What the keys and values of one token take."""
        parts = [part for layer in self._cache.layers for part in (layer.keys, layer.values)]
        return sum(int(part.nbytes) for part in parts) // (self.rows * self.columns)

    def fill(self, ids: torch.Tensor, rows: Sequence[int], columns: Sequence[int]) -> torch.Tensor:
        """Put tokens `[n, q]` into n rows, each from its own column on; the logits behind the last one.

        Each token sees all that stands before it in its row.
        """
        import torch

        device, size = self._model.device, ids.shape[1]
        starts = torch.tensor(columns)[:, None]
        width = max(columns) + size
        self._place.rows, self._place.before, self._place.width = _chosen(rows), width - size, width
        self._place.index = torch.tensor(rows, device=device)[:, None]
        positions = (starts + torch.arange(size)).to(device)
        self._place.columns = positions - self._shared
        options: dict[str, Any] = {"position_ids": positions} if self._positions else {}
        with quiet_inference(), shared_opening_attention(self._model) if self._shared else nullcontext():
            logits: torch.Tensor = self._model(
                input_ids=ids.to(device),
                attention_mask=(torch.arange(width) < starts + size).long().to(device),
                use_cache=True,
                **{self._name: self._cache},
                **self._keeps,
                **options,
            ).logits[:, -1]
        return logits

    def begin(self, other: Cached, length: int) -> None:
        """Let every row begin with the first `length` tokens of the other's first row: all that are shared, or copies.

        Raises ValueError if some are shared and it is not these.
        """
        if self._shared not in (0, length):
            raise ValueError(f"{length} tokens cannot be the {self._shared} that all rows share")
        with quiet_inference():
            for layer in other._cache.layers:
                mine = self._new_layer()
                mine.take_room(layer.keys, layer.values)
                if self._shared:
                    mine.opening = layer.keys[:1, :, :length], layer.values[:1, :, :length]
                else:
                    mine.keys[:, :, :length] = layer.keys[:1, :, :length]
                    mine.values[:, :, :length] = layer.values[:1, :, :length]
                self._cache.layers.append(mine)

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        """Let a row have what another has in columns `start` to `end`, which are not shared."""
        part = slice(start - self._shared, end - self._shared)
        with quiet_inference():
            for layer in self._cache.layers:
                layer.keys[target, :, part] = layer.keys[source, :, part]
                layer.values[target, :, part] = layer.values[source, :, part]

    def clear(self, row: int, start: int) -> None:
        """Leave no number behind that is none: hidden behind a mask it would still spoil the row's next tenant."""
        with quiet_inference():
            for layer in self._cache.layers:
                layer.keys[row, :, start - self._shared :] = 0
                layer.values[row, :, start - self._shared :] = 0


class Openings:
    """The cache of what prompts begin with, computed once for all of them."""

    def __init__(self, model: Any, most_tokens: int) -> None:
        self._model, self._most_tokens = model, most_tokens
        self._kept: tuple[tuple[int, ...], Cached] | None = None

    def behind(self, tokens: tuple[int, ...]) -> Cached:
        """A cache of one row that has seen these tokens, at least one."""
        import torch

        if self._kept is None or self._kept[0] != tokens:
            cached = Cached(self._model, 1, len(tokens))
            for left in range(0, len(tokens), self._most_tokens):
                cached.fill(torch.tensor([tokens[left : left + self._most_tokens]]), [0], [left])
            self._kept = (tokens, cached)
        return self._kept[1]

    def forget(self) -> None:
        self._kept = None


@dataclass(slots=True)
class _Place:
    """The room, and where in it the tokens of the pass at hand go: in every layer the same."""

    room_rows: int
    room_columns: int
    shared: int
    rows: Any = None
    index: Any = None
    columns: Any = None
    before: int = 0
    width: int = 0


def _chosen(rows: Sequence[int]) -> slice | list[int]:
    """The rows as a slice where they are neighbours: a slice of a tensor is no copy."""
    first, last = rows[0], rows[-1] + 1
    return slice(first, last) if list(rows) == list(range(first, last)) else list(rows)


@cache
def _layer_class() -> Any:
    from transformers.cache_utils import DynamicLayer

    untyped: Any = DynamicLayer

    class RowsLayer(untyped):  # type: ignore[misc]
        """One layer's keys and values `[rows, heads, columns, size]`."""

        def __init__(self, place: _Place) -> None:
            super().__init__()
            self._place = place
            self.opening: tuple[torch.Tensor, torch.Tensor] | None = None

        def take_room(self, keys: torch.Tensor, values: torch.Tensor) -> None:
            """Zeros, since what is hidden by a mask is still multiplied by 0, which NaN would survive."""
            room = self._place.room_rows, self._place.room_columns
            self.device = keys.device
            self.keys = keys.new_zeros((room[0], keys.shape[1], room[1], keys.shape[3]))
            self.values = values.new_zeros((room[0], values.shape[1], room[1], values.shape[3]))
            self.is_initialized = True

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            if not self.is_initialized:
                self.take_room(key_states, value_states)
            place = self._place
            index, columns = place.index.to(self.device), place.columns.to(self.device)
            self.keys[index, :, columns] = key_states.transpose(1, 2)
            self.values[index, :, columns] = value_states.transpose(1, 2)
            own = place.width - place.shared
            keys, values = self.keys[place.rows, :, :own], self.values[place.rows, :, :own]
            return (keys if self.opening is None else pin(keys, self.opening)), values

        def get_seq_length(self) -> int:
            return self._place.before

    return RowsLayer
