"""A tiny random llama in a .gguf file, with a byte-level tokenizer and a chat template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.backends.families import TEMPLATE

HIDDEN, HEADS, LAYERS, INNER = 32, 2, 2, 64


def write_gguf(path: Path, tokenizer: Any) -> None:
    """Write the model with the vocabulary of a tokenizer that `save_tokenizer` trained."""
    import gguf
    import numpy as np

    vocabulary = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(vocabulary["vocab"], key=vocabulary["vocab"].get)
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([control if token in ("<s>", "</s>") else normal for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in vocabulary["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(1)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, random.normal(0.0, 0.25, shape).astype(np.float32))

    add("token_embd.weight", len(tokens), HIDDEN)
    add("output.weight", len(tokens), HIDDEN)
    add("output_norm.weight", HIDDEN)
    for layer in range(LAYERS):
        add(f"blk.{layer}.attn_norm.weight", HIDDEN)
        add(f"blk.{layer}.ffn_norm.weight", HIDDEN)
        for part in ("q", "k", "v", "output"):
            add(f"blk.{layer}.attn_{part}.weight", HIDDEN, HIDDEN)
        for part in ("gate", "up"):
            add(f"blk.{layer}.ffn_{part}.weight", INNER, HIDDEN)
        add(f"blk.{layer}.ffn_down.weight", HIDDEN, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
