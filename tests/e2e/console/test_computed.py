"""A number computed from a table: its cells in their table, put in order, its query, and a chart of a series."""

import pytest
from support.console import WITHOUT_AXE, Site, ask, barriers

from .test_administering import made

pytestmark = [pytest.mark.full, pytest.mark.slow]

SALES = "City,Year,Units\nLyon,2024,12\nBern,2024,7\nLyon,2025,30\nBern,2025,9\nOslo,2025,21\n"


@WITHOUT_AXE
def test_it_shows_the_cells_that_counted_the_query_and_a_chart(site: Site) -> None:
    page = site.page()
    admin = {"x-api-key": site.keys["admin"]}
    name = made(page, site)
    file = {"name": "sales.csv", "mimeType": "text/csv", "buffer": SALES.encode()}
    page.request.post(f"{site.url}v1/documents", headers=admin, multipart={"collection": name, "file": file})
    page.goto(f"{site.url}#/documents/{name}")
    page.locator(".state.good").wait_for()
    page.goto(f"{site.url}#/ask")
    page.reload()
    page.get_by_role("button", name="What to ask").click()
    page.get_by_role("checkbox", name=name).check()
    ask(page, "What is the sum of Units where City is Lyon?")
    page.get_by_text("How this was computed").click()
    made_of = page.locator(".computed")
    made_of.locator("mark").first.wait_for()
    assert [one for one in made_of.locator("td mark").all_text_contents() if one.isdecimal()] == ["12", "30"]
    assert "SELECT" in made_of.locator(".query").text_content()
    assert made_of.locator("tbody tr").count() == 5
    made_of.get_by_label("Only rows that counted").check()
    assert made_of.locator("tbody tr").count() == 2
    made_of.get_by_label("Only rows that counted").uncheck()
    column = made_of.get_by_role("button", name="Units")
    column.click()
    column.click()
    assert made_of.get_by_role("columnheader", name="Units").get_attribute("aria-sort") == "descending"
    assert made_of.locator("tbody tr td:last-child").all_text_contents() == ["30", "21", "12", "9", "7"]
    barriers(page, "how it was computed")
    assert made_of.locator(".chart").count() == 0, "one number is no series"
    ask(page, "What is the sum of Units per City?")
    page.locator("summary", has_text="How this was computed").last.click()
    chart = page.locator(".turn").last.locator(".computed .chart")
    chart.locator("tbody tr").nth(2).wait_for(state="attached")
    rows = dict(one.locator("th,td").all_text_contents() for one in chart.locator("tbody tr").all())
    assert rows == {"Lyon": "42", "Bern": "16", "Oslo": "21"}
    for language in ("en", "ar"):
        page.locator(".foot select").select_option(language)
        page.locator(f":root[lang={language}]").wait_for(state="attached")
        middles = "all => all.map(one => one.getBoundingClientRect()).map(box => Math.round(box.x + box.width / 2))"
        bars = chart.locator("rect.good").evaluate_all(middles)
        labels = chart.locator(".ends span").evaluate_all(middles)
        assert all(abs(bar - label) <= 2 for bar, label in zip(bars, labels, strict=True)), (language, bars, labels)
        assert (bars == sorted(bars)) is (language == "en"), "the first bar stands where one begins to read"
    assert not page.faults
    page.context.close()
