"""An embedding model of a few words in the ONNX format: each word's row of a table; the caller pools them."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from support import tiny_nli

DIMENSIONS = 48


def write_embedder(folder: Path, texts: Iterable[str]) -> Path:
    """Write a model that knows the words of these texts, each by a vector of its own; all others are one."""
    words = dict.fromkeys(word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text))
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{word: index for index, word in enumerate(words, start=2)}}
    table = np.random.default_rng(5).normal(size=(len(vocabulary), DIMENSIONS)).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(tiny_nli.lookup_model(table))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
