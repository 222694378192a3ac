"""python -m support.verdict_cases FILE…: what the service says of cases, without a reader and with ones that err."""

import asyncio
import sys
from pathlib import Path

from support.verdict_cases.running import load, run

for name in sys.argv[1:]:
    cases = load(Path(name))
    for errs in (None, 0.0, 0.05, 0.1):
        found = asyncio.run(run(cases, errs))
        reader = "no reader" if errs is None else f"a reader that errs in {errs:.0%}"
        print(f"{name}, {reader}")
        for (label, verdict), count in sorted(found.verdicts.items()):
            print(f"  {label:10}{verdict:16}{count:>5} of {found.expected[label]}")
        for id, span, wanted, got in found.failed if errs is None else ():
            print(f"  {id}: {wanted} wanted, {', '.join(got) or 'no claim'}: {span}")
