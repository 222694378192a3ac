"""Small public NLI models for `footnote models pull`: files, commits and checksums.

A checksum is given if it was read from the hub's page of the file. For other files, the first pull records their
checksums, and later pulls are checked against those. The commit is fixed for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a model: its path in the repository, its local name, its SHA-256, "" if unknown."""

    path: str
    name: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its files in a repository at one commit."""

    name: str
    about: str
    repository: str
    revision: str
    files: tuple[File, ...]


MODELS: tuple[Model, ...] = (
    Model(
        "nli-en",
        "English, 172 MB, Apache-2.0: nli-deberta-v3-small, quantised",
        "Xenova/nli-deberta-v3-small",
        "f7b4fbad3c620e8fe369165f02cdb429fb7a9e5e",
        (
            File(
                "onnx/model_quantized.onnx",
                "model.onnx",
                "4edae6adf6ef735d3983a052113e8a235da2e9ac6a6cadf33f3fc088117e6051",
            ),
            File("tokenizer.json", "tokenizer.json"),
            File("config.json", "config.json"),
        ),
    ),
    Model(
        "nli-multilingual",
        "100 languages, 428 MB, MIT: multilingual-MiniLMv2-L6-mnli-xnli; its checksums are taken on the first pull",
        "MoritzLaurer/multilingual-MiniLMv2-L6-mnli-xnli",
        "0a71e92a985b6e1ad1828cf67ce9c459639c1dca",
        (
            File("onnx/model.onnx", "model.onnx"),
            File("onnx/tokenizer.json", "tokenizer.json"),
            File("onnx/config.json", "config.json"),
        ),
    ),
)
