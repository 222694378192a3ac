"""Combines all quotas of a tenant: rates, storage and daily usage."""

from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Usage
from footnote_text import tokens

from footnote_edge.gateway.allowances import Allowances
from footnote_edge.gateway.limits import RateLimits
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.ports import Spent


@dataclass(frozen=True, slots=True)
class Quotas:
    """Rates per minute (this replica's part), allowances set by operators, and the meter of daily usage."""

    rates: RateLimits
    allowances: Allowances
    meter: Meter

    async def admit(self, tenant: str, text: str = "", user: str = "") -> None:
        """Admit a call that uses tokens, and charge the `text` that it embeds; raises ResourceExhausted."""
        await self.meter.admit(tenant)
        if text:
            self.meter.charge(tenant, Spent(embedding_tokens=tokens.count(text)), user)


class UsageMeter:
    """Charges the cost of one question to its tenant, as it becomes known."""

    def __init__(self, quotas: Quotas, tenant: str, user: str) -> None:
        self._quotas = quotas
        self._tenant = tenant
        self._user = user
        self._charged = Spent()
        self._reported = False

    async def charge_prompt(self, prompt_tokens: int) -> None:
        """Charge a model's prompt tokens; raises ResourceExhausted if the tenant has used up its day."""
        self._charged = Spent(prompt_tokens=prompt_tokens)
        self._quotas.rates.spend(self._tenant, prompt_tokens)
        await self._quotas.meter.take(self._tenant, self._charged, self._user)

    def charge_beside(self, usage: Usage) -> None:
        """Charge the usage of another model call for the same question."""
        spent = Spent.of(usage)
        if spent.tokens:
            self._quotas.rates.spend(self._tenant, spent.tokens)
            self._quotas.meter.charge(self._tenant, spent, self._user)

    def charge_total(self, usage: Usage) -> None:
        """Replace the charge so far by `usage`, the model's total until now."""
        spent, self._reported = Spent.of(usage), True
        self._quotas.rates.spend(self._tenant, spent.tokens - self._charged.tokens)
        self._quotas.meter.charge(self._tenant, spent - self._charged, self._user)
        self._charged = spent

    def take_back(self) -> None:
        """Take the charge back if the call failed before any usage was reported: its model was not called."""
        if not self._reported:
            self.charge_total(Usage())
