"""What kind of number a question asks for, if any, by its vector.

`asked_kinds.json` holds a multinomial logistic function of the vectors of one embedding model, and names the public
sets that it was fitted on, by tests/bench/finder/kinds.py.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

import numpy as np
from footnote_providers.base import Vectors
from numpy.typing import NDArray

from footnote_generation.extractive.kinds import KINDS


def chances(model: str, question: Vectors) -> tuple[float, ...]:
    """Return the chance of each of KINDS for a question's vector; () for a model that the function does not know."""
    fitted, weights, constants = _probe()
    if model != fitted:
        return ()
    values = weights @ question + constants
    raised = np.exp(values - values.max())
    return tuple(float(one) for one in raised[1:] / raised.sum())


@cache
def _probe() -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Return the model, and for none and each of KINDS the weights and the constant."""
    fitted = json.loads((resources.files(__package__) / "asked_kinds.json").read_text(encoding="utf-8"))
    assert fitted["classes"] == ["none", *KINDS], fitted["classes"]
    return fitted["model"], np.array(fitted["weights"]), np.array(fitted["constants"])
