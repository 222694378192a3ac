import pytest
from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.errors import Unavailable
from footnote_kit.status import from_proto, to_proto
from footnote_kit.usages import add_usage, usage_in, with_usage

PRICED, UNPRICED = Usage(prompt_tokens=10, completion_tokens=5, cost_usd=0.5), Usage(prompt_tokens=3, estimated=True)


@pytest.mark.parametrize(
    ("first", "more", "sum_of_both"),
    [
        (PRICED, PRICED, Usage(prompt_tokens=20, completion_tokens=10, cost_usd=1.0)),
        (Usage(), PRICED, PRICED),
        (PRICED, Usage(), PRICED),
        (PRICED, UNPRICED, Usage(prompt_tokens=13, completion_tokens=5, cost_usd=0.5, estimated=True)),
        (UNPRICED, PRICED, Usage(prompt_tokens=13, completion_tokens=5, cost_usd=0.5, estimated=True)),
        (Usage(), UNPRICED, UNPRICED),
        (Usage(embedding_tokens=2), UNPRICED, Usage(prompt_tokens=3, embedding_tokens=2, estimated=True)),
    ],
)
def test_the_cost_of_two_calls_is_that_of_those_with_a_price(first: Usage, more: Usage, sum_of_both: Usage) -> None:
    together = Usage()
    together.CopyFrom(first)
    add_usage(together, more)
    assert together == sum_of_both


@pytest.mark.parametrize("usage", [PRICED, UNPRICED, Usage()])
def test_an_error_says_what_its_call_cost(usage: Usage) -> None:
    found = usage_in(from_proto(to_proto(with_usage(Unavailable("It broke off"), usage))))
    assert (found.prompt_tokens, found.completion_tokens) == (usage.prompt_tokens, usage.completion_tokens)
    assert (found.HasField("cost_usd"), found.cost_usd) == (usage.HasField("cost_usd"), usage.cost_usd)


@pytest.mark.parametrize("said", ["", "1", "a b", "-1 2", "1 99999999999", "1 2 x", "1 2 nan", "1 2 inf", "1 2 -1"])
def test_an_error_that_says_nonsense_cost_nothing(said: str) -> None:
    assert usage_in(Unavailable("It broke off", metadata={"usage": said})) == Usage()
