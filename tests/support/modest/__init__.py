"""Documents of a small boatyard, clinic and canteen, and what readers ask of a passage finder.

Written before the code that judges the kinds of questions was looked at, and never adapted
to it: a case that does not hold stays here and counts.
"""

from support.modest.cases import CASES, KINDS, Case
from support.modest.documents import DOCUMENTS

__all__ = ["CASES", "DOCUMENTS", "KINDS", "Case"]
