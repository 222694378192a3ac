"""Everything that can be asked for of an answer, for tests that look at all of it."""

from footnote.edge.v1.answers_pb2 import AnswerPart

EVERY_PART = [number for number in AnswerPart.values() if number]
