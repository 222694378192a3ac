import pytest
from footnote_edge.paging import Page
from footnote_kit.errors import InvalidArgument


def test_tokens_lead_through_a_list_and_end() -> None:
    seen, token = [], ""
    items = list(range(7))
    while True:
        page = Page.of(3, token)
        part = items[page.offset : page.offset + page.size]
        seen += part
        token = page.next_token(len(part), len(items))
        if not token:
            break
    assert seen == items


def test_zero_means_a_hundred() -> None:
    assert Page.of(0, "").size == 100


@pytest.mark.parametrize(("size", "token"), [(-1, ""), (1001, ""), (1, "?"), (1, "LTU="), (1, "é")])
def test_sizes_and_tokens_that_are_not_ours_are_refused(size: int, token: str) -> None:
    with pytest.raises(InvalidArgument):
        Page.of(size, token)
