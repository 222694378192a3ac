"""The table of docs/contract-rules.md: each sentence about a stage's service and methods, with the checks that test it.

As a program, with the page's path as argument, it writes the table into the page between its two marks.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from footnote_conformance.rules import comments, places_of
from footnote_conformance.stages import STAGES, suite_of
from footnote_conformance.target import contract_of

BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
_NEXT = re.compile(r"(?<=\.)\s++(?=[A-Z`])|(?<!\s)\s++-\s++(?=[A-Z])")


def sentences(stage: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield a sentence's element ("" for the service itself), the sentence, and the names of its checks."""
    service = contract_of(stage)
    checks = _checks(stage)
    said = comments(stage)
    for name, place in (("", service.full_name), *((one.name, one.full_name) for one in service.methods)):
        for sentence in filter(None, (part.strip() for part in _NEXT.split(said.get(place, "")))):
            found = {check for rule, check in checks.get(place, ()) if sentence in rule or rule in sentence}
            yield name, sentence, tuple(sorted(found))


def _checks(stage: str) -> Mapping[str, list[tuple[str, str]]]:
    """Return the rules of each element of the contract, each with the name of its check."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for check in suite_of(stage):
        for rule in check.rules:
            for place in places_of(stage, rule):
                element, _, sentence = rule.partition(": ")
                found[place].append((sentence if place.endswith(f".{element}") else rule, check.name))
    return found


def methods_without_a_check(stage: str) -> set[str]:
    """Return the methods without a checked sentence about them or the fields of their messages."""
    checks = _checks(stage)
    return {
        method.name
        for method in contract_of(stage).methods
        if not any(
            place == method.full_name
            or place.startswith((f"{method.input_type.full_name}.", f"{method.output_type.full_name}."))
            for place in checks
        )
    }


def table() -> str:
    """Return the table of all stages as Markdown."""
    lines = []
    for stage in STAGES:
        service = contract_of(stage)
        here = {service.full_name, *(one.full_name for one in service.methods)}
        elsewhere = sum(len(rules) for place, rules in _checks(stage).items() if place not in here)
        rows = list(sentences(stage))
        tested = sum(bool(checks) for _, _, checks in rows)
        count = (
            f"{tested} of {len(rows)} sentences have a check; checks quote {elsewhere} more beside fields and types."
        )
        lines += [f"## {stage}", "", count, "", "| method | sentence | checks |", "|---|---|---|"]
        for name, sentence, checks in rows:
            named = ", ".join(f"`{check}`" for check in checks) or "none"
            lines.append(f"| {name} | {sentence.replace('|', chr(92) + '|')} | {named} |")
        lines.append("")
    return "\n".join(lines)


def written(page: str) -> str:
    """Return a page with the current table."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
