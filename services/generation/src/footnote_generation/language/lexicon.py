"""Word meanings for the built-in answerer: synonyms, irregular forms, and words of little meaning."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

from footnote_text.lexical import fold, terms, word_set

# Verbs and nouns of little meaning: their absence from the source proves little. No data that chose them is kept. Words
# that a statement can get wrong (a company, a user) are not among them.
LIGHT = word_set("""be have do make get go give take come become seem amount reach equal stand total set
    state indicate show say mention note
    specify include contain provide use used apply concern relate refer describe list
    present follow currently
    document source text report section page table according information data value figure number level type kind
    also only about approximately around roughly exactly just per each every currently overall namely respectively
    thing way part case example order time may can will shall should would could might must need one two
    rate keep stay remain
    go put happen without except unless everybody someone anyone person back still already
    normally usually generally people
    être avoir faire atteindre élever s'élever égaler valoir indiquer préciser mentionner montrer dire
    comprendre contenir
    comporter concerner utiliser appliquer situer document source texte rapport section page tableau
    information donnée valeur
    chiffre nombre niveau type environ exactement seulement aussi chaque actuellement notamment
    respectivement fois part cas
    devoir pouvoir falloir selon total montant taux prendre donner tenir personne moyen moyenne
    droit rester aller
    venir mettre sans sauf hormis normalement généralement toujours déjà""")


# Openings that only link a sentence to the one before; alternatives of a regular expression.
LEADS = (
    "however|moreover|furthermore|in addition|additionally|also|thus|therefore|consequently|nevertheless|meanwhile"
    "|for example|for instance|as a result|cependant|toutefois|de plus|en outre|par ailleurs|ainsi|par conséquent"
    "|néanmoins|par exemple|en effet|or|donc"
)


@cache
def irregular() -> dict[str, str]:
    """Return the base of each irregular form, forms folded."""
    text = (resources.files(__package__) / "data" / "irregular.txt").read_text(encoding="utf-8")
    forms: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            base, *others = line.split()
            for form in others:
                forms.setdefault(fold(form), base)
    return forms


@cache
def _stems(words: str) -> frozenset[str]:
    return frozenset(
        stem
        for word in words.split()
        for form in {word, irregular().get(fold(word), word)}
        for language in ("en", "fr")
        for stem in (*terms(form, language), fold(form))
    )


@cache
def _synonyms() -> dict[str, frozenset[int]]:
    groups: dict[str, set[int]] = {}
    text = (resources.files(__package__) / "data" / "synonyms.txt").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines()):
        if line.strip() and not line.startswith("#"):
            for stem in _stems(line):
                groups.setdefault(stem, set()).add(number)
    return {stem: frozenset(numbers) for stem, numbers in groups.items()}


@lru_cache(maxsize=10_000)
def groups(stem: str) -> frozenset[int]:
    """Return the synonym groups of a stem."""
    found = _synonyms()
    if stem in found or len(stem) < 4:
        return found.get(stem, frozenset())
    # Stemmers leave "publi" of one form and "publ" of another.
    return next((found[other] for other in (stem + "i", stem + "e", stem[:-1]) if other in found), frozenset())


@cache
def light_stems() -> frozenset[str]:
    """Return the stems of words that carry little meaning."""
    return _stems(" ".join(LIGHT))
