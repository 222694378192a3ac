"""The wording of prompts: one TOML file per locale in `locales/`; a new file is a new locale."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

DEFAULT_LOCALE = "en"


@dataclass(frozen=True, slots=True)
class Template:
    """The sentences a prompt is made of, in one language; fields are named after the keys of the locale's file."""

    locale: str
    version: int
    intro: str
    source: str
    content: str
    separator: str
    rules: tuple[str, ...]
    data_rule: str
    not_found_rule: str
    not_found: str
    no_sources: str
    no_sources_reply: str
    conversation: str
    memory: str

    @property
    def id(self) -> str:
        """Name and version as recorded with each answer: "grounded/en/1"."""
        return f"grounded/{self.locale}/{self.version}"


@cache
def locales() -> tuple[str, ...]:
    """Return the locales that have a file, the default first."""
    folder = resources.files(__package__) / "locales"
    found = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return (DEFAULT_LOCALE, *(name for name in found if name != DEFAULT_LOCALE))


@cache
def load(locale: str) -> Template:
    """Return the template of a locale; raises KeyError for one that has no file."""
    if locale not in locales():
        raise KeyError(locale)
    text = (resources.files(__package__) / "locales" / f"{locale}.toml").read_text(encoding="utf-8")
    values = tomllib.loads(text)
    return Template(locale=locale, **{**values, "rules": tuple(values["rules"])})


def choose(requested: str, language: str) -> Template:
    """Return the template asked for ("fr", "fr-CA"), else that of the question's language, else the default."""
    for code in (requested, language):
        short = code.lower().replace("_", "-").split("-")[0]
        if short in locales():
            return load(short)
    return load(DEFAULT_LOCALE)
