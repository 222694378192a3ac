"""Builds the `Use` of a registered part, which the policy checks before the part receives texts."""

from footnote_kit.registration import Registration
from pydantic import BaseModel

from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.policy import Kind


def use(kind: Kind, id: str, model: str, registration: Registration[BaseModel, object] | None, egress: Egress) -> Use:
    """Return the use of a part; an unregistered part counts as remote. The part is neither called nor created."""
    if registration is None:
        return Use(kind, id, model, local=False)
    # Cached, because an address may come from the environment.
    place = (registration.kind.value, id)
    local = egress.local.get(place)
    if local is None:
        address = registration.address
        local = registration.local or (address is not None and egress.stays_here(address()))
        egress.local[place] = local
    return Use(kind, id, model, local, builtin=registration.builtin)
