"""Loading a causal language model and its tokenizer with transformers: quietly, without remote code or pickles."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truthguard.backends.adapter import has_tokenizer
from truthguard.backends.huggingface_linear import use_fast_linear
from truthguard.backends.protocol import Turn
from truthguard.errors import ModelError

# Where the architectures keep the longest input that they were built for. None of them: no limit is known.
_WINDOWS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length")
# The largest file of a saved model: one after the other is a block of bytes in memory before it is written.
_SHARD = "512MB"
_UNLIMITED = frozenset({"bloom", "mpt"})  # ALiBi: their number is the training length, no limit


@dataclass(frozen=True, slots=True)
class Weights:
    """A loaded model with its tokenizer, the longest input that it takes (None: no limit) and what ends its texts."""

    model: Any
    tokenizer: ModelTokenizer
    window: int | None
    ends: frozenset[int]


class ModelTokenizer:
    """A transformers tokenizer as the splitting rules see it."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name
        self.bos_token_id: int | None = tokenizer.bos_token_id
        self.eos_token_id: int | None = tokenizer.eos_token_id
        self.unk_token_id: int | None = tokenizer.unk_token_id

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]:
        # One text at a time: the batch form starts threads, of which a later fork in the user's tests would warn.
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=add_special_tokens, verbose=False)
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, special ones left out and every space left in."""
        text = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text)

    def rules(self) -> tuple[object, ...]:
        """All that decides how texts become tokens and turns become texts, to compare."""
        raw = self._tokenizer
        backend = getattr(raw, "backend_tokenizer", None)
        splitting = raw.get_vocab() if backend is None else backend.to_str()
        return type(raw), splitting, raw.special_tokens_map, raw.chat_template

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files into a folder."""
        self._tokenizer.save_pretrained(folder)

    def render(self, turns: Sequence[Turn]) -> str:
        if not self._tokenizer.chat_template:
            raise ModelError(
                f"{self._name}: chat_template = true, but the tokenizer has no chat template (a base model?); "
                "remove the key, or use the instruction-tuned model"
            )
        messages = [{"role": turn.role, "content": turn.content} for turn in turns]
        try:
            text = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        except Exception as error:  # the template is a program of the model's authors and may refuse in any way
            raise ModelError(
                f"{self._name}: its chat template refuses these turns ({', '.join(turn.role for turn in turns)}): "
                f"{error}; without a system_prompt, or with chat_template = false, it may do"
            ) from error
        return str(text)


def load(
    path: Path,
    *,
    name: str,
    device: str,
    dtype: str,
    room: Mapping[int, int] | None = None,
    adapter: Path | None = None,
) -> Weights:
    """Load the folder of safetensors, or the .gguf file, at `path`, with the adapter in that folder merged into it.

    With `room` the weights are spread over several GPUs, so many bytes to each at most.
    """
    import torch

    try:
        with _silence():
            tokenizer = _tokenizer(path, adapter)
            model = _causal_model(path, dtype, room or {})
            if not room:
                model = model.to(device)
            if adapter is not None:
                from truthguard.backends.huggingface_adapter import merge

                model = merge(model, adapter, name=name, tokens=len(tokenizer))
            model.eval()
            use_fast_linear(model)
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f'{name}: the weights do not fit into the memory of {device}; try dtype = "bfloat16", device = "cpu" '
            "or a smaller model"
        ) from error
    except ModelError:
        raise
    except Exception as error:  # transformers raises nearly everything, from OSError to KeyError
        raise ModelError(f"{name}: cannot be loaded from {path}: {type(error).__name__}: {error}") from error
    ends = end_tokens(model.generation_config, tokenizer.eos_token_id)
    return Weights(model, ModelTokenizer(tokenizer, name), window_of(model.config), ends)


def _place_of(path: Path) -> tuple[Path, dict[str, Any]]:
    """How transformers is told where something lies: the folder, and the .gguf file within it."""
    return (path, {}) if path.is_dir() else (path.parent, {"gguf_file": path.name})


def _tokenizer(path: Path, adapter: Path | None) -> Any:
    """The model's, or the one saved with the adapter, which has the tuned model's tokens and chat template."""
    from transformers import AutoTokenizer

    folder, options = _place_of(adapter if adapter is not None and has_tokenizer(adapter) else path)
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True, **options)


def _causal_model(path: Path, dtype: str, room: Mapping[int, int]) -> Any:
    import torch
    import transformers

    folder, options = _place_of(path)
    options |= {"dtype": getattr(torch, dtype), "local_files_only": True, "trust_remote_code": False}
    if path.is_dir():
        options["use_safetensors"] = True
    elif hasattr(transformers, "GgufConfig"):  # without it, an earlier version dequantises by itself
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    if room:
        options |= {"device_map": "auto", "max_memory": dict(room)}
    causal: Any = transformers.AutoModelForCausalLM
    # A packed pass brings a 4D mask. torch's own attention takes one and is the fastest that does: FlashAttention knows
    # causal masks only, and flex_attention is compiled anew for passes of another shape. Said here, since a
    # checkpoint's config may name another one.
    try:
        return causal.from_pretrained(folder, attn_implementation="sdpa", **options)
    except ValueError as error:
        # An architecture without it, such as Gemma 2, refuses before any weight is read.
        if "scaled_dot_product_attention" not in str(error):
            raise
        return causal.from_pretrained(folder, attn_implementation="eager", **options)


def save(weights: Weights, folder: Path) -> None:
    """Write a loaded model into a folder from which `load` reads it again. Raises whatever transformers does."""
    with _silence():
        weights.model.save_pretrained(folder, max_shard_size=_SHARD)
        weights.tokenizer.save(folder)


def end_tokens(settings: Any, eos_token_id: int | None) -> frozenset[int]:
    """The ids that end a text: those of the model's generation settings, one or several, and the tokenizer's."""
    own = getattr(settings, "eos_token_id", None)
    ids = own if isinstance(own, (list, tuple)) else [own]
    return frozenset(int(token) for token in [*ids, eos_token_id] if token is not None)


def window_of(config: Any) -> int | None:
    """The longest input that a model was built for, in tokens; None where its architecture sets no limit."""
    text = config.get_text_config()
    if text.model_type in _UNLIMITED or getattr(text, "alibi", False):
        return None
    found = (getattr(text, name, None) for name in _WINDOWS)
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def choose_device(requested: str) -> str:
    """The device to load onto: the preferred one for "auto", otherwise the requested one, which must be there."""
    present = present_devices()
    if requested == "auto":
        return present[0]
    if requested in present or (requested == "cuda" and "cuda:0" in present):
        return requested
    raise ModelError(
        f'device = {requested!r}, but torch finds only {", ".join(present)} here; name one of them or "auto"'
    )


def present_devices() -> list[str]:
    """The devices that torch can use here, the preferred one first."""
    import torch

    cuda = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*cuda, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def input_device(model: Any) -> Any:
    """Where the model takes its tokens, masks and positions: the device of its embeddings.

    Of a model that is spread over several devices each layer has what it needs brought to its own, and the logits
    come back to this one.
    """
    return model.get_input_embeddings().weight.device


def free_memory() -> None:
    """Give back what torch keeps of an accelerator's memory."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


@contextmanager
def _silence() -> Iterator[None]:
    """No progress bars, no notes, no warnings of transformers; afterwards everything is as it was."""
    from transformers.utils import logging as library

    log: Any = library  # untyped
    verbosity = log.get_verbosity()
    bars = log.is_progress_bar_enabled()
    log.set_verbosity(logging.CRITICAL)
    log.disable_progress_bar()
    try:
        # Reading a .gguf file draws a bar of its own, which no switch of transformers reaches.
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()
