from importlib import import_module

from footnote_kit import deployment_settings
from footnote_kit.settings import STAGES, KitSettings
from pydantic import AliasChoices
from pydantic_settings import BaseSettings


def variables(settings: type[BaseSettings]) -> set[str]:
    """The names of the environment variables that set a field of these settings."""
    prefix = settings.model_config.get("env_prefix", "")
    names = set()
    for name, field in settings.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias or f"{prefix}{name}".upper()]
        names |= {str(choice) for choice in choices}
    return names


def known_variables() -> set[str]:
    """Every variable that one of the services reads."""
    known = variables(KitSettings)
    for stage in STAGES:
        known |= variables(import_module(f"footnote_{stage}.settings").Settings)
    providers = import_module("footnote_providers.settings")
    policy = import_module("footnote_providers.egress.policy")
    for settings in (providers.DefaultSettings, providers.E5Settings, providers.OnnxSettings, policy.PolicySettings):
        known |= variables(settings)
    endpoints = import_module("footnote_providers.endpoints")
    for service in endpoints.SERVICES:
        known |= variables(endpoints.settings_of(service))
    return known | variables(deployment_settings.variables())
