"""What somebody else says in a source is no fact of the source, in whichever sentence of the quotation it stands."""

import re

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, Source
from footnote_generation.verification.checker import Checker
from footnote_generation.verification.claims import PlacedMarker, segment

DRIVER = 'The driver said: "The light was green. The road was dry. I braked." He was fined.'
CURLY = "The driver said: “The light was green. The road was dry.” He was fined."
LATER = "“The light was green. The road was dry,” said the driver. He was fined."
FAHRER = "Der Fahrer sagte: „Die Ampel war grün. Die Straße war trocken.“\n\nEr zahlte eine Strafe."
CHAUFFEUR = "Le chauffeur a dit : « Le feu était vert. La route était sèche. » Il a payé une amende."
TEACHER = "学生说：“老师同意了。教室改在二楼。”校长没有同意。"
INCHES = 'The screen is 6" wide. The case is black. The lid is 7" wide.'
OPEN = 'He wrote: "The road was dry.\n\nThe fee is due on Friday. The shop said: "We close."'


def supported(source: str, statement: str) -> list[bool]:
    """Return whether each sentence of an answer, with its footnote, is supported."""
    markers = [PlacedMarker(found.start(), found.end(), 1) for found in re.finditer(r"\[1\]", statement)]
    checker = Checker({1: Source(number=1, filename="a.txt", text=source)}, "en")
    return [one.claim.support == VERDICT_SUPPORTED for one in checker.check_by_rules(segment(statement, markers))]


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (DRIVER, "The road was dry [1]."),
        (DRIVER, "I braked [1]."),
        (DRIVER, "It is known: The road was dry. [1]"),
        (CURLY, "The road was dry [1]."),
        (LATER, "The light was green [1]."),
        (FAHRER, "Die Straße war trocken [1]."),
        (CHAUFFEUR, "La route était sèche [1]."),
        (TEACHER, "教室改在二楼 [1]。"),
        ('张老师说："考试推迟了。教室改在二楼。"李老师说考试没有推迟。', "教室改在二楼 [1]。"),
    ],
)
def test_a_later_sentence_of_direct_speech_is_no_statement_of_the_source(source: str, statement: str) -> None:
    assert supported(source, statement) == [False]


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (DRIVER, 'The driver said: "The light was green [1]. The road was dry [1]."'),
        (LATER, "“The light was green [1]. The road was dry,” said the driver [1]."),
        (FAHRER, "Der Fahrer sagte: „Die Ampel war grün [1]. Die Straße war trocken [1].“"),
        (DRIVER, "He was fined [1]."),
        (LATER, "He was fined [1]."),
        (TEACHER, "校长没有同意 [1]。"),
        (INCHES, "The case is black [1]."),
        (OPEN, "The fee is due on Friday [1]."),
        ('The sign says "open". The door is red. A note says "closed".', "The door is red [1]."),
    ],
)
def test_the_speech_as_a_whole_and_what_stands_beside_it_are_quotations(source: str, statement: str) -> None:
    assert all(supported(source, statement))
