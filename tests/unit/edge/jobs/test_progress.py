import asyncio

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
