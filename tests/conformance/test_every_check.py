"""Every check of every stage passes on the stage itself, and fails when just its promise is falsified on the way.

The falsifier stands before the running stage and sees the wire alone, so what is shown here holds for any stage.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest
from footnote_conformance.stages import STAGES, suite_of
from footnote_conformance.suite import Outcome, Result, run
from footnote_conformance.target import Stage, Target
from support import falsifications
from support.deployment import Deployment, deployment
from support.falsifying import Change, falsified, honest

pytestmark = pytest.mark.full

CHECKS = [(stage, check.name) for stage in STAGES for check in suite_of(stage)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment whose stages are checked and falsified."""
    with deployment(tmp_path_factory.mktemp("falsified")) as running:
        yield running


def mutant_of(stage: str, check: str) -> Change | None:
    return falsifications.STAGES[stage].get(check) or falsifications.COMMON.get(check)


@asynccontextmanager
async def behind(served: Deployment, name: str, mutant: Change) -> AsyncIterator[Target]:
    """Yield a stage of the deployment behind a mutant; the stages that its suite needs are asked as they are."""
    suite = suite_of(name)
    async with AsyncExitStack() as stack:

        async def opened(stage: str) -> Stage:
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(served.address(stage)))
            return Stage(stage, channel, served.credential())

        seen = await stack.enter_async_context(falsified(await opened(name), mutant))
        yield Target.of(seen, [await opened(one) for one in suite.needs], suite.probe)


async def result(served: Deployment, stage: str, check: str, mutant: Change) -> Result:
    (wanted,) = [one for one in suite_of(stage) if one.name == check]
    async with behind(served, stage, mutant) as target:
        (found,) = await run([wanted], target)
    return found


def test_every_check_has_a_mutant_and_every_mutant_a_check() -> None:
    assert {(stage, check) for stage, check in CHECKS if mutant_of(stage, check) is None} == set()
    named = {(stage, check) for stage in STAGES for check in falsifications.STAGES[stage]}
    assert named <= set(CHECKS)
    assert falsifications.COMMON.keys() <= {check for _, check in CHECKS}


@pytest.mark.parametrize(("stage", "check"), CHECKS)
async def test_the_check_fails_when_its_promise_is_falsified_and_passes_when_not(
    served: Deployment, stage: str, check: str
) -> None:
    mutant = mutant_of(stage, check)
    assert mutant is not None
    as_it_is = await result(served, stage, check, honest)
    assert as_it_is.outcome is Outcome.OK, as_it_is.found
    broken = await result(served, stage, check, mutant)
    assert broken.outcome is Outcome.FAILED
    assert broken.found
    assert "could not be read" not in broken.found, broken.found
