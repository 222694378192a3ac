"""Where work on texts is done, and how late the event loop is."""

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest
from footnote_kit.admission import loop_lag
from footnote_kit.app import App
from footnote_kit.testing import serve_app
from footnote_kit.text_work import SHORT, off_loop
from support.doubles.services import SampleService

_word: ContextVar[str] = ContextVar("word", default="")


async def test_short_texts_stay_where_they_are_and_long_ones_go_to_a_thread() -> None:
    assert await off_loop(SHORT, threading.get_ident) == threading.get_ident()
    assert await off_loop(SHORT + 1, threading.get_ident) != threading.get_ident()


@pytest.mark.parametrize("characters", [0, SHORT + 1])
async def test_context_arguments_and_errors_go_along(characters: int) -> None:
    _word.set("here")
    assert await off_loop(characters, lambda first, second: (_word.get(), first, second), 1, second=2) == ("here", 1, 2)
    with pytest.raises(ZeroDivisionError):
        await off_loop(characters, lambda: 1 / 0)


async def test_few_threads_so_that_the_loop_is_not_kept_waiting_by_all() -> None:
    busy = 0
    most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.02)
        with lock:
            busy -= 1

    await asyncio.gather(*(off_loop(SHORT + 1, work) for _ in range(8)))
    assert most == 2


async def test_lag_is_measured_once_for_all_services_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    class Histogram:
        def record(self, value: float) -> None:
            seen.append(value)

    monkeypatch.setattr(loop_lag, "histogram", lambda name: Histogram())
    app: App = SampleService().app("retrieval")
    async with serve_app(app), serve_app(SampleService().app("edge")):
        await asyncio.sleep(0.05)
        time.sleep(0.4)  # noqa: ASYNC251  (what must not happen)
        await asyncio.sleep(0.25)
        held = len(seen)
        assert max(seen) > 0.25
        assert 1 <= held <= 8
    await asyncio.sleep(0.25)
    assert len(seen) <= held + 3, "it continues after its caller has left"
