"""What the e5 provider costs, in turns with the same model called without a process and with bare all-MiniLM.

Passages of 840 characters a second, a question's milliseconds, the making of its files, its process's memory. Both
models run by onnxruntime with as many threads as there are cores; what a service does beside embedding is left out.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime
import psutil
import pytest
from footnote_providers.e5 import files
from footnote_providers.e5.provider import E5Embeddings
from footnote_providers.onnx_files import find_files
from footnote_providers.onnx_local import OnnxEmbeddings
from footnote_providers.onnx_local import Settings as OnnxSettings
from footnote_providers.settings import OnnxSettings as OnnxDeployment
from support.shared import shared_dir
from tokenizers import Tokenizer

pytestmark = [
    pytest.mark.bench,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed"),
]
ROUNDS, PASSAGES, CHARACTERS, QUESTIONS, BATCH = 3, 96, 840, 40, 8


def data() -> tuple[list[str], list[str], Path]:
    """Passages of one length, questions, and the other model's folder."""
    shared = shared_dir()
    other = shared / "models" / "all-MiniLM-L6-v2-onnx" if shared else None
    if shared is None or other is None or not other.is_dir():
        pytest.skip("the shared ONNX model is not beside the checkout")
    corpus = shared / "data" / "squad-13"
    text = " ".join(json.loads(line)["text"] for line in (corpus / "corpus.jsonl").read_text().splitlines())
    asked = [json.loads(line)["text"] for line in (corpus / "queries.jsonl").read_text().splitlines()]
    count = ROUNDS * PASSAGES
    return [text[at * CHARACTERS : (at + 1) * CHARACTERS] for at in range(count)], asked[:QUESTIONS], other


def bare(model: Path, tokenizer: Path) -> Callable[[list[str]], None]:
    """Return the same graph run in this process, as a script would."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    tokens = Tokenizer.from_file(str(tokenizer))
    tokens.enable_padding()
    tokens.enable_truncation(512)
    wanted = {one.name for one in session.get_inputs()}

    def embed(texts: list[str]) -> None:
        for start in range(0, len(texts), BATCH):
            encoded = tokens.encode_batch([f"passage: {text}" for text in texts[start : start + BATCH]])
            fed = {
                "input_ids": np.asarray([one.ids for one in encoded], np.int64),
                "attention_mask": np.asarray([one.attention_mask for one in encoded], np.int64),
            }
            session.run(None, {name: array for name, array in fed.items() if name in wanted})

    return embed


async def test_e5_beside_the_bare_model_and_all_minilm(tmp_path: Path) -> None:
    passages, questions, folder = data()
    began = time.perf_counter()
    model, tokenizer = files.find(tmp_path)
    making = time.perf_counter() - began
    e5, same = E5Embeddings(tmp_path), bare(model, tokenizer)
    minilm = OnnxEmbeddings(find_files(str(folder), OnnxDeployment(), own=True), str(folder), OnnxSettings())
    seconds: dict[str, float] = {"e5": 0.0, "the same model, bare": 0.0, "all-MiniLM, bare": 0.0}
    same(passages[:BATCH])
    minilm.encode(passages[:BATCH])
    await e5.embed_documents(passages[:BATCH])
    for turn in range(ROUNDS):
        part = passages[turn * PASSAGES : (turn + 1) * PASSAGES]
        began = time.perf_counter()
        await e5.embed_documents(part)
        seconds["e5"] += time.perf_counter() - began
        began = time.perf_counter()
        same(part)
        seconds["the same model, bare"] += time.perf_counter() - began
        began = time.perf_counter()
        for start in range(0, PASSAGES, BATCH):
            minilm.encode(part[start : start + BATCH])
        seconds["all-MiniLM, bare"] += time.perf_counter() - began
    took = []
    for question in questions:
        began = time.perf_counter()
        await e5.embed_query(question)
        took.append(time.perf_counter() - began)
    (worker,) = [one for one in psutil.Process().children() if "footnote_providers.e5.worker" in one.cmdline()]
    memory = worker.memory_info().rss / 2**20
    await e5.close()
    await minilm.close()
    print()
    for name, spent in seconds.items():
        print(f"{name}: {len(passages) / spent:.1f} passages/s, e5 is {spent / seconds['e5']:.2f} of it")
    print(f"a question: {median(took) * 1000:.1f} ms, slowest {max(took) * 1000:.1f}")
    print(f"making the files: {making:.1f} s; the process holds {memory:.0f} MiB")
