import asyncio

from footnote.stages.v1.stored_document_pb2 import Document
from footnote.types.v1.document_pb2 import Progress
from footnote_edge.jobs.progress import ProgressBus


async def test_a_watch_hears_of_its_document_and_its_collection_only() -> None:
    bus = ProgressBus()
    with bus.watching("d1") as mine, bus.watching("c1") as ours, bus.watching("d2") as other:
        bus.publish("d1", "c1", Progress(blocks_parsed=1))
        assert await mine.wait(1) == {"d1"}
        assert await ours.wait(1) == {"d1"}
        assert await other.wait(0.01) == set()
        assert bus.latest("d1") == Progress(blocks_parsed=1)
        bus.finish("d1", "c1")
        assert bus.latest("d1") is None
        assert await mine.wait(1) == {"d1"}


async def test_news_between_two_looks_is_not_lost() -> None:
    bus = ProgressBus()
    with bus.watching("c") as watcher:
        for number in range(3):
            bus.publish(f"d{number}", "c", Progress())
        assert await watcher.wait(1) == {"d0", "d1", "d2"}
        waiting = asyncio.create_task(watcher.wait(5))
        await asyncio.sleep(0)
        bus.publish("d9", "c", Progress())
        assert await waiting == {"d9"}


def test_nothing_is_kept_of_watches_that_ended() -> None:
    bus = ProgressBus()
    with bus.watching("d"):
        pass
    assert not bus._watchers


def test_progress_is_no_move_but_an_end_that_is_not_known_is() -> None:
    bus = ProgressBus()
    with bus.watching("d") as watcher:
        begun = watcher.moved_at
        bus.publish("d", "c", Progress(blocks_parsed=7))
        assert watcher.moved_at == begun
        bus.finish("d", "c")
        assert watcher.moved_at > begun


async def test_what_is_told_of_is_handed_out_once_as_it_was_told_last_and_is_no_move() -> None:
    bus = ProgressBus()
    with bus.watching("d") as mine, bus.watching("c") as ours, bus.watching("e") as other:
        begun = mine.moved_at
        bus.deliver(Document(id="d", collection_id="c", revision=1))
        bus.deliver(Document(id="d", collection_id="c", revision=2))
        for watcher in (mine, ours):
            assert await watcher.wait(1) == {"d"}
            assert [one.revision for one in watcher.delivered()] == [2]
            assert watcher.delivered() == []
        assert not other.delivered()
        assert mine.moved_at == begun < mine.news_at
        bus.finish("d", "c", Document(id="d", collection_id="c", revision=3))
        assert [one.revision for one in mine.delivered()] == [3]
        assert mine.moved_at == begun
