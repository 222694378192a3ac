"""All that holds a tenant to its share, in one place: rates, what it may keep, what it may use a day."""

from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Usage
from footnote_text import tokens

from footnote_edge.gateway.allowances import Allowance, Allowances
from footnote_edge.gateway.limits import Limits
from footnote_edge.gateway.metering import Meter, Spent


@dataclass(frozen=True, slots=True)
class Limiting:
    """Rates by minute (this replica's part), allowances as operators set them, and the meter of what is used a day."""

    rates: Limits
    allowances: Allowances
    meter: Meter

    async def of(self, tenant: str) -> Allowance:
        """Return what a tenant may keep and use."""
        return await self.allowances.of(tenant)

    async def admit(self, tenant: str, text: str = "", user: str = "") -> None:
        """Let a call in that uses tokens, and charge the `text` that it has embedded; raises ResourceExhausted."""
        await self.meter.admit(tenant)
        if text:
            self.meter.charge(tenant, Spent(embedding_tokens=tokens.count(text)), user)


class UsageMeter:
    """What one question costs its tenant, as it becomes known."""

    def __init__(self, limiting: Limiting, tenant: str, user: str) -> None:
        self._limiting = limiting
        self._tenant = tenant
        self._user = user
        self._charged = Spent()

    async def begin(self, prompt_tokens: int) -> None:
        """Charge what a model reads, as it is asked; raises ResourceExhausted when the tenant has used up its day."""
        self._charged = Spent(prompt_tokens=prompt_tokens)
        self._limiting.rates.spend(self._tenant, prompt_tokens)
        await self._limiting.meter.take(self._tenant, self._charged, self._user)

    def beside(self, usage: Usage) -> None:
        """Charge what another call of a model for the same question has used."""
        spent = Spent.of(usage)
        if spent.tokens:
            self._limiting.rates.spend(self._tenant, spent.tokens)
            self._limiting.meter.charge(self._tenant, spent, self._user)

    def so_far(self, usage: Usage) -> None:
        """Take `usage` for what the model has used until now, in place of what was charged before."""
        spent = Spent.of(usage)
        self._limiting.rates.spend(self._tenant, spent.tokens - self._charged.tokens)
        self._limiting.meter.charge(self._tenant, spent - self._charged, self._user)
        self._charged = spent
