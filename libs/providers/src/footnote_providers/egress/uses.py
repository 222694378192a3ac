"""What the policy must know of something registered before it is given texts."""

from footnote_kit.registration import Registration
from pydantic import BaseModel

from footnote_providers.egress.egress import Egress, Use
from footnote_providers.egress.policy import Kind


def use(kind: Kind, id: str, model: str, registration: Registration[BaseModel, object] | None, egress: Egress) -> Use:
    """Return it; what is not registered counts as another machine. Nothing is called or made."""
    if registration is None:
        return Use(kind, id, model, local=False)
    # Kept, for an address may be read from the environment.
    place = (registration.kind.value, id)
    local = egress.local.get(place)
    if local is None:
        address = registration.address
        local = registration.local or (address is not None and egress.stays_here(address()))
        egress.local[place] = local
    return Use(kind, id, model, local, builtin=registration.builtin)
