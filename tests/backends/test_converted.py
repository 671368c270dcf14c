"""A .gguf is converted once; the copy gives what the file gives, to the last bit, or it is not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import SaveTokenizer
from tests.backends.tiny_gguf import write_gguf
from truthguard.backends import converted as module
from truthguard.backends.huggingface_weights import Weights, load, save
from truthguard.backends.loading import open_backend
from truthguard.backends.protocol import Generate, NextToken, Request, Score, Turn
from truthguard.errors import ModelError
from truthguard.records import ModelSettings
from truthguard.store.answers import AnswerStore
from truthguard.store.weights import WeightsStore, kept_copies

TRICKY = (
    "",
    " ",
    "  two  spaces \n\n\t and tabs ",
    "It's 1234567 tok-en's, ça été 日本語 😀\u200b",
    "<s>special</s> <|im_start|>user\nin words<|im_end|> <|endoftext|>",
)
REQUESTS: tuple[Request, ...] = (
    Score("Q: What is the capital of Peru?\nA:", (" Lima.", " Cusco, of course.", " It's\n😀")),
    NextToken("Is the sky blue? Answer:", (("Y", " Y"), ("N", " N"))),
    Generate("Q: Who are you?\nA:", max_tokens=8),
)


@pytest.fixture
def gguf(tmp_path: Path, save_tokenizer: SaveTokenizer) -> Path:
    """A tiny model in a .gguf file."""
    path = tmp_path / "tiny.gguf"
    write_gguf(path, save_tokenizer(tmp_path / "tokenizer"))
    return path


@pytest.fixture
def store(tmp_path: Path) -> WeightsStore:
    return store_in(tmp_path)


def store_in(folder: Path, **options: int) -> WeightsStore:
    def compute(path: Path, computed: Callable[[Path], str]) -> str:
        return computed(path)

    return WeightsStore(folder / "cache" / "weights", compute, **options)


def place(path: Path, store: WeightsStore | None, dtype: str = "float32") -> Path:
    with module.converted(path, name="tiny", dtype=dtype, store=store) as found:
        return found


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is loaded on the way to a copy."""
    loaded: list[Path] = []

    def counting(path: Path, **options: Any) -> Weights:
        loaded.append(path)
        return load(path, **options)

    monkeypatch.setattr(module, "load", counting)
    return loaded


def texts(weights: Weights) -> list[object]:
    """What the tokenizer makes of tricky texts and turns, and what ends a text."""
    tokenizer = weights.tokenizer
    ids = [list(tokenizer.encode(text, add_special_tokens=special)) for text in TRICKY for special in (True, False)]
    turns = [Turn("system", "Be brief.\n"), Turn("user", TRICKY[-1])]
    back = [tokenizer.decode(each) for each in ids]
    named = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    return [ids, back, tokenizer.render(turns), named, weights.ends, weights.window]


def test_a_copy_gives_what_the_file_gives(gguf: Path, store: WeightsStore) -> None:
    """Weights, generation settings, encodings, special tokens and rendered turns."""
    copy = place(gguf, store)
    assert copy.is_dir()
    first, second = (load(path, name="tiny", device="cpu", dtype="float32") for path in (gguf, copy))
    assert module.differences(first, second) == []
    assert texts(first) == texts(second)
    assert first.model.generation_config.eos_token_id == second.model.generation_config.eos_token_id == 1
    assert store.warnings == []


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_answers_are_equal_to_the_last_bit(dtype: str, gguf: Path, store: WeightsStore, tmp_path: Path) -> None:
    """Log-likelihoods, masses and texts, with the identity of the .gguf."""
    settings = ModelSettings(str(gguf), device="cpu", dtype=dtype)
    found = []
    for kept in (None, store, store):
        backend = open_backend(settings, kept=kept)
        values = {reply.request: reply.value for reply in backend.answer(REQUESTS)}
        found.append((backend.identity(), [values[request] for request in REQUESTS]))
        backend.close()
    assert found[0] == found[1] == found[2]
    assert [copy.origin.dtype for copy in kept_copies(tmp_path / "cache" / "weights") if copy.origin] == [dtype]


def test_a_file_is_converted_once_for_each_dtype(gguf: Path, store: WeightsStore, conversions: list[Path]) -> None:
    """The second time nothing but the copy is looked at."""
    first = place(gguf, store)
    assert place(gguf, store) == first
    assert conversions.count(gguf) == 1
    assert place(gguf, store, "bfloat16") != first
    assert conversions.count(gguf) == 2


def test_a_changed_file_has_a_copy_of_its_own(gguf: Path, store: WeightsStore) -> None:
    """By its content, not its name."""
    first = place(gguf, store)
    gguf.write_bytes(gguf.read_bytes()[:-4] + b"\0\0\0\0")
    assert place(gguf, store) != first


def test_what_differs_is_not_kept(
    gguf: Path, store: WeightsStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A copy that would give other numbers never takes its place: the file itself is loaded."""

    def corrupt(weights: Weights, folder: Path) -> None:
        saved = weights.model.model.norm.weight
        saved.data += 1.0
        save(weights, folder)
        saved.data -= 1.0

    monkeypatch.setattr(module, "save", corrupt)
    assert place(gguf, store) == gguf
    assert "read again, they differ in weights" in store.warnings[0]
    assert kept_copies(tmp_path / "cache" / "weights") == []


def test_a_changed_tokenizer_is_seen(gguf: Path, store: WeightsStore) -> None:
    """Every rule of it is compared, and what ends a text."""
    copy = place(gguf, store)
    first = load(copy, name="tiny", device="cpu", dtype="float32")
    file = copy / "tokenizer.json"
    file.write_text(file.read_text().replace('"ignore_merges": false', '"ignore_merges": true'))
    second = load(copy, name="tiny", device="cpu", dtype="float32")
    assert module.differences(first, second) == ["tokenizer"]


def test_nothing_is_converted_to_be_thrown_away(gguf: Path, conversions: list[Path], tmp_path: Path) -> None:
    """A copy beyond the limit is foreseen; without a store, or with a limit of 0, none is made."""
    small = store_in(tmp_path, limit=1000)
    assert place(gguf, small) == place(gguf, store_in(tmp_path, limit=0)) == place(gguf, None) == gguf
    assert conversions == []
    assert "at most 1,000 B are kept" in small.warnings[0]


def test_a_folder_is_loaded_as_it_is(store: WeightsStore, tmp_path: Path) -> None:
    """It is in safetensors already."""
    assert place(tmp_path, store) == tmp_path
    assert not (tmp_path / "cache").exists()


def test_a_damaged_gguf_is_told_by_its_own_name(tmp_path: Path, store: WeightsStore) -> None:
    """As without a store."""
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and nothing more")
    settings = ModelSettings(str(tmp_path / "broken.gguf"), device="cpu")
    with pytest.raises(ModelError, match=r"cannot be loaded from .*broken\.gguf"):
        list(open_backend(settings, kept=store).answer(REQUESTS))


@pytest.mark.slow
def test_the_real_model_scores_alike(small_model: str, tmp_path: Path) -> None:
    """From the .gguf, from a copy just made, and from one that was there; the check is remembered."""
    answers = AnswerStore(tmp_path / "answers.sqlite3")
    settings = ModelSettings(small_model, device="cpu", dtype="float32")
    found = []
    for kept in (None, *(WeightsStore(tmp_path / "weights", answers.digest) for _ in range(2))):
        backend = open_backend(settings, memo=answers, kept=kept)
        values = {reply.request: reply.value for reply in backend.answer(REQUESTS)}
        found.append((backend.identity(), [values[request] for request in REQUESTS]))
        backend.close()
        assert kept is None or kept.warnings == []
    answers.close()
    assert found[0] == found[1] == found[2]
