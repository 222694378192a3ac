"""The same tests against one process with everything, and against one process per service."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.engine import GIVEN, TOKEN

MODES = ["all in one"] if GIVEN else ["all in one", "one process each"]
STORE = {"FOOTNOTE_VECTOR_STORE_URI": GIVEN, "FOOTNOTE_VECTOR_STORE_TOKEN": TOKEN} if GIVEN else {}
SAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "samples" / "handbook"
IN_BOTH_MODES = {"test_path", "test_trace", "test_dialects", "test_collections"}
"""Files that `make test` runs in both modes: the way of a document and of a question, what crosses the services, both
kinds of doors and their management. `make test-all` runs the second mode of all others."""


HERE = Path(__file__).parent
_started: list[Deployment] = []
_sharing: set[Path] = set()
"""The files with tests of the shared deployments."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the second mode to `make test-all`, and run files that share the deployments one after the other.

    The second mode shows little of the services that the first does not.
    """
    for item in items:
        mode = getattr(getattr(item, "callspec", None), "params", {}).get("running")
        if mode == "one process each" and item.path.stem not in IN_BOTH_MODES:
            item.add_marker("full")
    places = [place for place, item in enumerate(items) if HERE in item.path.parents]
    _sharing.update(item.path for item in items if "running" in getattr(item, "fixturenames", ()))
    mine = sorted((items[place] for place in places), key=lambda item: item.path not in _sharing)
    for place, item in zip(places, mine, strict=True):
        items[place] = item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start the shared deployments again where they have been ended."""
    for one in _started:
        if item.path in _sharing and not one.processes:
            one.start()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the shared deployments before a file that goes without them.

    Nobody asks them anything then, and their polls took a tenth of two cores for as long as the other suites ran.
    """
    if nextitem is None or nextitem.path not in _sharing:
        for one in _started:
            one.stop()


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment in one process, started for the first test that wants it and kept for all others."""
    # How `serve all` divides services among processes by default is for the files with deployments of their own.
    with deployment(tmp_path_factory.mktemp("together"), env={"FOOTNOTE_PROCESSES": "1"} | STORE) as started:
        _started.append(started)
        yield started


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment with a process for each service, kept like the other: a start costs as much as a file of tests."""
    env = {"FOOTNOTE_PROCESSES": "1"} | STORE
    with deployment(tmp_path_factory.mktemp("apart"), separate=True, env=env) as started:
        _started.append(started)
        yield started


@pytest.fixture(scope="session", params=MODES)
def running(request: pytest.FixtureRequest) -> Deployment:
    """The deployment in each mode, shared by all tests here."""
    found: Deployment = request.getfixturevalue("together" if request.param == "all in one" else "apart")
    return found


@pytest.fixture
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of the deployment's edge."""
    async with edge_client(running.address()) as client:
        yield client


@pytest.fixture
async def handbook(edge: EdgeClient) -> str:
    """The name of a collection that holds the sample documents, uploaded once per deployment."""
    from footnote.edge.v1 import collections_pb2 as pb
    from footnote.types.v1.collection_pb2 import Collection
    from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
    from footnote_kit.errors import AlreadyExists

    name = "handbook"
    try:
        await edge.stub.CreateCollection(pb.CreateCollectionRequest(collection=Collection(name=name)))
    except AlreadyExists:
        return name
    accepted = [await edge.upload(path, collection=name) for path in sorted(SAMPLES.iterdir())]
    for one in accepted:
        document = await edge.settle(one.document.id)
        assert document.state == DOCUMENT_STATE_INDEXED, document
    return name
