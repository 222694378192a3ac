"""An NLI model of a few words, written by hand in the ONNX format, so that tests need neither weights nor a converter.

Each word of passage and statement adds its row of a table to the logits of entailment, neutral and contradiction.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_FLOAT, _INT64, _ATTRIBUTE_INT, _ATTRIBUTE_INTS = 1, 7, 2, 7


def write_model(folder: Path, words: Mapping[str, str]) -> Path:
    """Write a model whose `words` each speak for one of LABELS; all others say nothing."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{word: index for index, word in enumerate(words, start=2)}}
    table = np.zeros((len(vocabulary), len(LABELS)), dtype=np.float32)
    for word, label in words.items():
        table[vocabulary[word], LABELS.index(label)] = 1000.0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model(table))
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"id2label": {str(index): label for index, label in enumerate(LABELS)}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def _model(table: "np.ndarray[tuple[int, int], np.dtype[np.float32]]") -> bytes:
    axes = _field(1, b"axes") + _number(8, 1) + _number(20, _ATTRIBUTE_INTS)
    keep = _field(1, b"keepdims") + _number(3, 0) + _number(20, _ATTRIBUTE_INT)
    mean = _node("ReduceMean", ["rows"], "logits", [axes, keep])
    return _of_nodes(table, [mean], _value("logits", _FLOAT, ["batch", "classes"]))


def lookup_model(table: "np.ndarray[tuple[int, int], np.dtype[np.float32]]") -> bytes:
    """Return a model that gives each token its row of a table: shape (batch, length, columns)."""
    return _of_nodes(table, [], _value("rows", _FLOAT, ["batch", "length", "columns"]))


def _of_nodes(
    table: "np.ndarray[tuple[int, int], np.dtype[np.float32]]", more: Sequence[bytes], output: bytes
) -> bytes:
    initializer = (
        b"".join(_number(1, size) for size in table.shape)
        + _number(2, _FLOAT)
        + _field(8, b"table")
        + _field(9, table.tobytes())
    )
    graph = (
        _field(1, _node("Gather", ["table", "input_ids"], "rows"))
        + b"".join(_field(1, node) for node in more)
        + _field(2, b"tiny")
        + _field(5, initializer)
        + _field(11, _value("input_ids", _INT64, ["batch", "length"]))
        + _field(12, output)
    )
    return _number(1, 8) + _field(7, graph) + _field(8, _number(2, 13))


def _node(kind: str, inputs: Sequence[str], output: str, attributes: Sequence[bytes] = ()) -> bytes:
    ends = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode())
    return ends + _field(4, kind.encode()) + b"".join(_field(5, one) for one in attributes)


def _value(name: str, element: int, sizes: Sequence[str]) -> bytes:
    shape = b"".join(_field(1, _field(2, size.encode())) for size in sizes)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, element) + _field(2, shape)))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
