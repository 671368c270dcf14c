"""Tiny random models of many families, with a tokenizer trained on the spot, saved as any checkpoint is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.backends.families import FAMILIES, SENTENCES, TEMPLATE, MakeModel, SaveTokenizer


@pytest.fixture(scope="session")
def save_tokenizer() -> SaveTokenizer:
    """Trains a byte-level BPE on a few sentences and saves it into a folder, with the options of a real one."""

    def save(folder: Path, *, bos: bool = False, **options: Any) -> Any:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
        from transformers import PreTrainedTokenizerFast

        raw = Tokenizer(models.BPE())
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        raw.train_from_iterator(
            SENTENCES,
            trainers.BpeTrainer(
                vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
            ),
        )
        if bos:
            raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
        options = {"bos_token": "<s>", "eos_token": "</s>"} | options
        fast: Any = PreTrainedTokenizerFast
        tokenizer = fast(tokenizer_object=raw, **options)
        tokenizer.save_pretrained(folder)
        return tokenizer

    return save


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory, save_tokenizer: SaveTokenizer) -> MakeModel:
    """Saves a tiny random model of a family, with large enough weights that a wrong mask shows; once a session."""
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in made:
            import torch
            from transformers import AutoConfig, AutoModelForCausalLM

            folder = tmp_path_factory.mktemp(family)
            tokenizer = save_tokenizer(folder, chat_template=TEMPLATE)
            model_type, options = FAMILIES[family]
            config = AutoConfig.for_model(
                model_type, vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=1, pad_token_id=1, **options
            )
            torch.manual_seed(7)
            causal: Any = AutoModelForCausalLM
            model = causal.from_config(config)
            with torch.no_grad():
                for parameter in model.parameters():
                    if parameter.dim() > 1:
                        parameter.normal_(0.0, 0.25)
            model.save_pretrained(folder)
            made[family] = folder
        return made[family]

    return make
