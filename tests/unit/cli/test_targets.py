"""How a whole deployment is divided among processes."""

import itertools

import pytest
from footnote_cli.targets import LAYOUTS, STATEFUL, how_many, parse, split
from footnote_kit.settings import STAGES, KitSettings


@pytest.mark.parametrize(("processes", "target"), list(itertools.product(LAYOUTS, ["all", ",".join(STAGES)])))
def test_every_service_has_one_process_and_edge_is_in_the_one_that_was_started(processes: int, target: str) -> None:
    whole = parse(target)
    parts = split(whole, processes)
    assert len(parts) == processes
    assert sorted(name for part in parts for name in part.services) == sorted(STAGES)
    assert "edge" in parts[0].services
    assert [part.engine for part in parts] == [whole.engine] + [False] * (processes - 1)
    for part in parts:
        assert part.services == tuple(name for name in STAGES if name in part.services), "in the order of their start"
        assert part.uses_store or not {"indexing", "retrieval"} & set(part.services)


def test_documents_hold_up_no_question_where_it_is_left_to_us() -> None:
    parts = split(parse("all"), how_many("auto", 2))
    (questions,) = [part.services for part in parts if "retrieval" in part.services]
    assert not STATEFUL & set(questions)


def test_a_part_of_a_deployment_is_not_divided() -> None:
    assert split(parse("edge"), 1) == [parse("edge")]
    with pytest.raises(ValueError, match="whole"):
        split(parse("retrieval,indexing"), 2)


def test_numbers_stand_and_auto_goes_by_the_cores() -> None:
    assert [how_many("auto", cores) for cores in (1, 2, 64)] == [1, 3, 3]
    assert how_many("auto", 2, store_is_shared=False) == 1, "a store in memory is nobody else's"
    for processes in LAYOUTS:
        assert how_many(str(processes), 1) == processes
        assert KitSettings(processes=str(processes)).processes == str(processes)  # type: ignore[arg-type]
