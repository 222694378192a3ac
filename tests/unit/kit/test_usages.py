import pytest
from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.usages import add_usage

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
