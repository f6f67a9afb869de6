"""Architectures of transformers, with two layers and small dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from cases.torch_zoo import Architecture, Inputs

WORDS = 100
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
}
SMALL_IMAGES = {**SMALL, "image_size": 32, "patch_size": 8}
PADDING = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER = {**SMALL, **PADDING, "num_key_value_heads": 2, "head_dim": 16, "use_cache": False}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "use_cache": False}
SEQ2SEQ = {
    **PADDING, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "use_cache": False,
}  # fmt: skip
EXPERTS = {**DECODER, "num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2}

#: What reads words: options of the configuration.
TEXT: dict[str, dict[str, Any]] = {
    "albert": {**SMALL, "embedding_size": 32},
    "bert": SMALL,
    "big_bird": {**SMALL, "attention_type": "original_full"},
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "use_cache": False},
    "camembert": SMALL,
    "convbert": {**SMALL, "embedding_size": 64},
    "data2vec-text": SMALL,
    "deberta": SMALL,
    "deberta-v2": SMALL,
    "distilbert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128},
    "electra": {**SMALL, "embedding_size": 64},
    "ernie": SMALL,
    "falcon": {**SMALL, "use_cache": False},
    "fnet": SMALL,
    "gemma": DECODER,
    "gemma2": DECODER,
    "gpt2": GPT,
    "gpt_bigcode": GPT,
    "gpt_neo": {
        "hidden_size": 64, "num_layers": 2, "num_heads": 4, "use_cache": False,
        "attention_types": [[["global", "local"], 1]],
    },
    "gpt_neox": {**SMALL, "use_cache": False},
    "gptj": {**GPT, "rotary_dim": 8},
    "granite": DECODER,
    "ibert": SMALL,
    "llama": DECODER,
    "mamba": {"hidden_size": 32, "state_size": 8, "num_hidden_layers": 2, "use_cache": False},
    "megatron-bert": SMALL,
    "mistral": DECODER,
    "mixtral": EXPERTS,
    "mobilebert": {**SMALL, "embedding_size": 32, "intra_bottleneck_size": 32},
    "mpnet": SMALL,
    "mpt": {"d_model": 64, "n_layers": 2, "n_heads": 4, "use_cache": False},
    "nystromformer": SMALL,
    "olmo": DECODER,
    "opt": {**SMALL, "ffn_dim": 128, "word_embed_proj_dim": 64, "use_cache": False},
    "phi": {**DECODER, "head_dim": None},
    "phi3": DECODER,
    "qwen2": DECODER,
    "qwen2_moe": {**EXPERTS, "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64},
    "qwen3": DECODER,
    "rembert": {**SMALL, "input_embedding_size": 64, "output_embedding_size": 64},
    "roberta": SMALL,
    "roformer": SMALL,
    "squeezebert": {**SMALL, "embedding_size": 64},
    "stablelm": DECODER,
    "starcoder2": DECODER,
    "xlm-roberta": SMALL,
    "xlnet": {"d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128, "use_mems_eval": False},
}  # fmt: skip

#: What reads a text and continues another.
PAIRS: dict[str, dict[str, Any]] = {
    "bart": SEQ2SEQ,
    "blenderbot": SEQ2SEQ,
    "marian": SEQ2SEQ,
    "pegasus": SEQ2SEQ,
    "t5": {
        "d_model": 64,
        "d_kv": 16,
        "d_ff": 128,
        "num_layers": 2,
        "num_heads": 4,
        "use_cache": False,
    },
}

#: What reads images of 32 x 32 points.
IMAGES: dict[str, dict[str, Any]] = {
    "beit": SMALL_IMAGES,
    "clip_vision_model": SMALL_IMAGES,
    "convnextv2": {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1]},
    "cvt": {"embed_dim": [16, 32, 64], "depth": [1, 1, 2], "num_heads": [1, 2, 4]},
    "deit": SMALL_IMAGES,
    "dinov2": SMALL_IMAGES,
    "mobilevit": {"image_size": 32},
    "poolformer": {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1]},
    "pvt_v2": {"image_size": 32},
    "regnet": {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1], "groups_width": 8},
    "resnet": {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1]},
    "segformer": {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1]},
    "siglip_vision_model": SMALL_IMAGES,
    "swin": {
        "image_size": 32,
        "embed_dim": 16,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 4,
    },
    "vit": SMALL_IMAGES,
    "vit_mae": {**SMALL_IMAGES, "mask_ratio": 0.0},
    "yolos": {**SMALL_IMAGES, "image_size": [32, 32], "num_detection_tokens": 8},
}

#: What reads a second of sound.
SOUND: dict[str, dict[str, Any]] = {
    name: {**SMALL, "conv_dim": (32, 32), "conv_stride": (10, 8), "conv_kernel": (10, 8),
           "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16}
    for name in ("hubert", "wav2vec2", "wavlm")
}  # fmt: skip


def architectures() -> Iterator[Architecture]:
    for name, options in TEXT.items():
        yield Architecture(
            "transformers", name, made(name, {"vocab_size": WORDS, **options}), words
        )
    for name, options in PAIRS.items():
        yield Architecture(
            "transformers", name, made(name, {"vocab_size": WORDS, **options}), pairs
        )
    for name, options in IMAGES.items():
        yield Architecture("transformers", name, made(name, options), pictures)
    for name, options in SOUND.items():
        yield Architecture(
            "transformers", name, made(name, {"vocab_size": WORDS, **options}), sound
        )


def made(name: str, options: dict[str, Any]) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        from transformers import AutoConfig, AutoModel

        return AutoModel.from_config(AutoConfig.for_model(name, **options))

    return make


def words() -> Inputs:
    return {"input_ids": torch.randint(3, WORDS, (2, 16))}


def pairs() -> Inputs:
    return {
        "input_ids": torch.randint(3, WORDS, (2, 16)),
        "decoder_input_ids": torch.randint(3, WORDS, (2, 8)),
    }


def pictures() -> Inputs:
    return {"pixel_values": torch.randn(2, 3, 32, 32)}


def sound() -> Inputs:
    return {"input_values": torch.randn(1, 16000)}
