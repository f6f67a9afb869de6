"""Runs pipelines of transformers on small networks that optimum exports: python run_optimum.py MODULE FOLDER, where
MODULE has the session and its classes. Prints the results as JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
warnings.simplefilter("ignore")  # of the exporter
onnxruntime = importlib.import_module("onnxruntime")  # of which optimum also takes helpers
for name in ("InferenceSession", "IOBinding", "OrtValue", "RunOptions", "SessionOptions"):
    setattr(onnxruntime, name, getattr(importlib.import_module(sys.argv[1]), name))

import torch  # noqa: E402
from optimum.onnxruntime import (  # noqa: E402
    ORTModelForCausalLM,
    ORTModelForSequenceClassification,
)
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import (  # noqa: E402
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    pipeline,
)

SPECIAL = ("pad", "unk", "cls", "sep")
WORDS = [f"[{name}]" for name in SPECIAL] + "the a cat dog sat ran on mat it was good bad".split()
SMALL = {
    "vocab_size": len(WORDS),
    "bos_token_id": 2,
    "eos_token_id": 3,
    "initializer_range": 0.5,  # with smaller weights every result is nearly the same
}


def tokenizer() -> PreTrainedTokenizerFast:
    words = {word: index for index, word in enumerate(WORDS)}
    splitter = Tokenizer(models.WordLevel(words, unk_token="[unk]"))
    splitter.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {f"{name}_token": f"[{name}]" for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=splitter, **names)


def exported(net: torch.nn.Module, how: type, folder: str, **options: bool):
    net.eval().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = how.from_pretrained(folder, export=True, **options)
    assert type(model.session).__module__.startswith(sys.argv[1])
    return model


def main(folder: str) -> None:
    torch.manual_seed(0)
    bert = BertForSequenceClassification(
        BertConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            num_labels=3,
            **SMALL,
        )
    )
    gpt = GPT2LMHeadModel(GPT2Config(n_positions=32, n_embd=32, n_layer=2, n_head=4, **SMALL))
    for bound in (False, True):
        classifier = exported(
            bert, ORTModelForSequenceClassification, f"{folder}/bert{bound}", use_io_binding=bound
        )
        classify = pipeline("text-classification", model=classifier, tokenizer=tokenizer())
        print(json.dumps(classify(["the cat sat on the mat", "it was bad"], top_k=None)))
        generator = exported(gpt, ORTModelForCausalLM, f"{folder}/gpt{bound}", use_io_binding=bound)
        generate = pipeline("text-generation", model=generator, tokenizer=tokenizer())
        print(json.dumps(generate("the cat", max_new_tokens=8, min_new_tokens=8, do_sample=False)))


main(sys.argv[2])
