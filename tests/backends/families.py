"""What the tiny models of the tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SENTENCES = [
    "Q: What is the capital of France?\nA: Paris is the capital of France.",
    "Q: Who wrote the letter?\nA: I have no comment.",
    "Proposed answer: Nothing happens if you eat the seeds. Yes or No. yes no YES NO",
    "Is the proposed answer true? Reply Yes or No.\nA: Yes\nA: No",
]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)

# What each family needs to be tiny. The tests' inputs are some 60 tokens: longer than the short windows.
_LLAMA = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
_HEADS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_GEMMA = _LLAMA | {"num_hidden_layers": 3, "head_dim": 8, "layer_types": ["sliding_attention"] * 2 + ["full_attention"]}
FAMILIES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "gpt2": ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    "opt": ("opt", _HEADS | {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "gpt_neox": ("gpt_neox", _HEADS | {"intermediate_size": 64}),
    "gptj": ("gptj", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 8}),
    "llama": ("llama", _LLAMA),
    "qwen2": ("qwen2", _LLAMA),
    "qwen3": ("qwen3", _LLAMA | {"head_dim": 8}),
    "phi": ("phi", _LLAMA),
    "olmo2": ("olmo2", _LLAMA),
    "cohere": ("cohere", _LLAMA | {"logit_scale": 0.5}),
    "granite": ("granite", _LLAMA | {"logits_scaling": 3.0}),
    "falcon": ("falcon", _HEADS | {"new_decoder_architecture": False}),
    "mixtral": ("mixtral", _LLAMA | {"num_local_experts": 4}),
    "gemma2": ("gemma2", _GEMMA | {"sliding_window": 512, "final_logit_softcapping": 5.0}),
    "gemma3": ("gemma3_text", _GEMMA | {"sliding_window": 512}),
    "gemma3-short-window": ("gemma3_text", _GEMMA | {"sliding_window": 16}),
    "mistral": ("mistral", _LLAMA | {"sliding_window": None}),
    "mistral-short-window": ("mistral", _LLAMA | {"sliding_window": 16}),
    "gpt_neo": (
        "gpt_neo",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 16,
        },
    ),
    "bloom": ("bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "mpt": ("mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4}),
    "falcon-alibi": ("falcon", _HEADS | {"alibi": True}),
    "mamba": ("mamba", {"hidden_size": 32, "state_size": 8, "num_hidden_layers": 2}),
}

SaveTokenizer = Callable[..., Any]
MakeModel = Callable[[str], Path]
