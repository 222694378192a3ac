"""Seeded rounds of operations and faults on whole deployments, each followed by an audit of everything acknowledged.

`make test` runs the short round of seed 1 in one mode, `make test-all` in the others; `make faults` goes on for ten
minutes with new seeds, `make faults ROUNDS=1000` for as many rounds; `FOOTNOTE_FAULTS_SEED` replays the round of a seed
that a failure has named. A seed means the same operations and faults each time; how processes interleave is up to the
machine.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.harness.modes import MODES, Mode
from support.harness.plan import SHORT, STEPS, plan, upgrade
from support.harness.rounds import host, report, run
from support.starting import Starter

ROUNDS = int(os.environ.get("FOOTNOTE_FAULTS_ROUNDS", "0"))
MINUTES = float(os.environ.get("FOOTNOTE_FAULTS_MINUTES", "0"))
SEED = int(os.environ.get("FOOTNOTE_FAULTS_SEED", "0"))
ONLY = os.environ.get("FOOTNOTE_FAULTS_MODE", "")
LONG = bool(ROUNDS or MINUTES)
USUAL = [name for name, one in MODES.items() if not one.servers]
"""PostgreSQL and Redis have to be asked for: `FOOTNOTE_FAULTS_MODE=postgres`."""
FULL = pytest.mark.full
TOGETHER = 5
"""Rounds of one deployment: later audits include what earlier rounds acknowledged."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 120 * MINUTES + 600 * ROUNDS)]


@pytest.fixture
def starter() -> Iterator[Starter]:
    """What the processes of all rounds are forked from."""
    with Starter() as made:
        yield made


@pytest.mark.parametrize("mode", [ONLY] if ONLY else [USUAL[0], *(pytest.param(one, marks=FULL) for one in USUAL[1:])])
def test_what_was_acknowledged_holds_under_faults(
    mode: str, starter: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if (reason := MODES[mode].why_not()) is not None:
        pytest.skip(reason)
    first = SEED or (random.randrange(SHORT, 10**6) if LONG else 1)
    ends = time.monotonic() + MINUTES * 60 / (1 if ONLY else len(USUAL))
    total: Counter[str] = Counter()
    done = 0

    def more() -> bool:
        return done < ROUNDS or done < 1 or (MINUTES > 0 and time.monotonic() < ends)

    try:
        while more():
            begins = upgrade(first + done, MODES[mode])
            with host(tmp_path / f"from-{done}", MODES[mode], starter, begins) as one:
                for _ in range(TOGETHER):
                    run(one, first + done, total=total)
                    done += 1
                    if LONG:
                        with capsys.disabled():
                            print(f"{mode}: round {done}, seed {first + done - 1}, as told", flush=True)
                    if not more():
                        break
    finally:
        with capsys.disabled():
            print(f"\n{report(total, mode, done)}")


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_a_seed_means_one_plan(mode: Mode) -> None:
    made = [plan(seed, mode) for seed in (700, 700, 800)]
    assert made[0] == made[1] != made[2]
    many = [plan(SHORT + seed, mode) for seed in range(60)]
    assert {step.kind for one in many for lane in one.lanes for step in lane} == set(STEPS)
    more = {"restart"} if mode.servers else set()
    assert {fault.kind for one in many for fault in one.faults} == {"kill", "term", "stop", "flap", "lock", *more}
    servers = {"postgres", "redis"} if mode.servers else set()
    assert {victim for one in many for fault in one.faults for victim in fault.victims} > {
        "engine",
        "parsers",
        "whole",
        *servers,
    }
