"""What the e5 provider costs, in turns with the same model called without a process and with bare all-MiniLM.

Passages of 840 characters a second, a question's milliseconds, the making of its files, its process's memory. Both
models run by onnxruntime with as many threads as there are cores; what a service does beside embedding is left out.
And through the public API, with real stages, how long files take to searchable with e5 and with the built-in embedder.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime
import psutil
import pytest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, GetCollectionRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote_providers.e5 import files
from footnote_providers.e5.pieces import Pieces
from footnote_providers.e5.provider import E5Embeddings
from footnote_providers.onnx_files import find_files
from footnote_providers.onnx_local import OnnxEmbeddings
from footnote_providers.onnx_local import Settings as OnnxSettings
from footnote_providers.settings import OnnxSettings as OnnxDeployment
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.scale.real_texts import texts
from support.shared import shared_dir

pytestmark = [
    pytest.mark.bench,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]
ROUNDS, PASSAGES, CHARACTERS, QUESTIONS, BATCH = 3, 96, 840, 40, 8


def data() -> tuple[list[str], list[str], Path]:
    """Passages of one length, questions, and the other model's folder."""
    shared = shared_dir()
    other = shared / "models" / "all-MiniLM-L6-v2-onnx" if shared else None
    if shared is None or other is None or not other.is_dir():
        pytest.skip("the shared ONNX model is not beside the checkout (FOOTNOTE_SHARED names its folder)")
    corpus = shared / "data" / "squad-13"
    text = " ".join(json.loads(line)["text"] for line in (corpus / "corpus.jsonl").read_text().splitlines())
    asked = [json.loads(line)["text"] for line in (corpus / "queries.jsonl").read_text().splitlines()]
    count = ROUNDS * PASSAGES
    return [text[at * CHARACTERS : (at + 1) * CHARACTERS] for at in range(count)], asked[:QUESTIONS], other


def bare(model: Path, tokenizer: Path) -> Callable[[list[str]], None]:
    """Return the same graph run in this process, as a script would."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    tokens = Pieces(tokenizer, 512)
    wanted = {one.name for one in session.get_inputs()}

    def embed(texts: list[str]) -> None:
        for start in range(0, len(texts), BATCH):
            encoded = [one[0] for one in tokens.windows([f"passage: {text}" for text in texts[start : start + BATCH]])]
            width = max(map(len, encoded))
            fed = {
                "input_ids": np.asarray([one + [1] * (width - len(one)) for one in encoded], np.int64),
                "attention_mask": np.asarray([[1] * len(one) + [0] * (width - len(one)) for one in encoded], np.int64),
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


FILES, TURNS = 8, 3


async def take_in(client: EdgeClient, collection: str, files: list[str]) -> float:
    """Return the seconds until all files are searchable; what follows them is waited for, and not counted."""

    async def put(number: int, text: str) -> None:
        accepted = await client.upload(text.encode(), f"{time.time_ns()}-{number}.txt", collection)
        assert (await client.settle(accepted.document.id)).state == DOCUMENT_STATE_INDEXED

    began = time.perf_counter()
    await asyncio.gather(*(put(number, text) for number, text in enumerate(files)))
    took = time.perf_counter() - began
    wanted = GetCollectionRequest(collection=collection)
    while (await client.stub.GetCollection(wanted)).collection.chunks_without_vector:  # noqa: ASYNC110
        await asyncio.sleep(0.5)  # another service makes them: there is no event to wait for
    return took


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment with the settings it starts with."""
    with deployment(tmp_path) as started:
        yield started


async def test_time_to_searchable_beside_the_builtin(running: Deployment) -> None:
    made = texts(FILES * (TURNS + 1))
    seconds: dict[str, list[float]] = {"builtin": [], "e5": []}
    async with edge_client(running.address()) as client:
        for provider in seconds:
            collection = Collection(name=provider)
            collection.settings.embedding.provider = provider
            await client.stub.CreateCollection(CreateCollectionRequest(collection=collection))
        for turn in range(TURNS + 1):
            for provider in seconds:
                part = [f"{provider} {text}" for text in made[turn * FILES : (turn + 1) * FILES]]
                seconds[provider].append(await take_in(client, provider, part))
    builtin, e5 = (median(took[1:]) for took in seconds.values())
    print(f"\n{FILES} files of 33 kB to searchable: built-in {builtin:.2f} s, e5 {e5:.2f} s: {e5 / builtin:.2f} times")
