# ruff: noqa: E501 - tables read better in rows
"""What words mean to a check of statements: synonyms, opposites, sets of which only one can be, and words that say little."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

from footnote_text.lexical import fold, terms
from footnote_text.wordlists import word_set

# Positive words against their opposites; the sign of a statement is the product of its negation and its polar words.
OPPOSITES: tuple[tuple[str, str], ...] = (
    (
        "allow allowed permit permitted authorise authorize eligible entitled possible may can pouvoir "
        "autorisé autoriser permis permettre éligible",
     "forbid forbidden prohibit prohibited ban banned disallowed ineligible impossible interdit interdire "
     "interdiction défendu prohibé"),
    (
        "increase increased rise rose risen grow grew growth gain climb climbed higher more augmenter "
        "augmenté augmentation hausse croître progresser progression supérieur",
     "decrease decreased fall fell fallen drop dropped decline declined reduce reduced lower less fewer "
     "shrink shrank diminuer diminué diminution baisse baisser réduire réduit réduction reculer recul chuter "
     "chute inférieur moins"),
    ("mandatory required compulsory obligatory obligatoire requis exigé", "optional voluntary facultatif optionnel"),
    ("before prior earlier avant auparavant", "after later following afterwards après ensuite"),
    ("maximum most maximal highest largest biggest plafond", "minimum least minimal lowest smallest plancher"),
    ("include included including cover covered inclure comprendre couvrir couvert", "exclude excluded excluding exclure exclu"),
    ("accept accepted approve approved grant granted accepter accepté approuver approuvé accordé", "reject rejected refuse refused deny denied rejeter rejeté refuser refusé"),
    ("open opened ouvert ouvrir", "closed close fermé fermer"),
    ("succeed succeeded success successful pass passed réussir réussi succès", "fail failed failure échouer échoué échec"),
    ("enable enabled activate activated activer activé", "disable disabled deactivate deactivated désactiver désactivé"),
    ("start started begin began commence commencer commencé débuter début", "end ended finish finished stop stopped terminer terminé finir cesser fin"),
    ("buy bought purchase purchased acquire acquired acheter acheté", "sell sold vendre vendu"),
    ("above exceed exceeds exceeded dessus dépasser dépasse", "below under beneath dessous"),
    ("paid payé payant rémunéré", "unpaid free gratuit"),
    ("public", "private confidential privé confidentiel"),
    ("internal interne", "external externe"),
    ("same identical identique", "different différent"),
    ("win won victory gagner gagné victoire", "lose lost perdre perdu défaite"),
    ("profit bénéfice", "loss perte déficit"),
    ("import importer", "export exporter"),
    ("positive positif", "negative négatif"),
    ("true vrai", "false faux"),
    ("hot warm chaud", "cold froid"),
    ("fast quick rapid rapide", "slow lent"),
    ("strong fort", "weak faible"),
    ("early tôt", "late tard"),
    ("left gauche", "right droite"),
    ("first premier première", "last final dernier dernière"),
    ("full entire whole entier", "partial partiel half moitié"),
    ("permanent", "temporary temporaire"),
    ("add added ajouter ajouté", "remove removed delete deleted supprimer supprimé retirer"),
    ("arrive arrived arrival arriver arrivée", "leave left depart departed departure partir départ"),
    ("long longer", "short shorter court"),
    ("safe sûr", "dangerous dangereux unsafe"),
    ("online", "offline"),
    ("better meilleur best", "worse worst pire"),
    ("easy facile", "difficult hard difficile"),
    ("inside indoors intérieur", "outside outdoors extérieur"),
    ("rich riche", "poor pauvre"),
    ("alive vivant", "dead mort"),
    ("guilty coupable", "innocent"),
)  # fmt: skip

# Verbs and nouns that carry hardly any of a statement's meaning: missing in the source they prove little. Of what
# chose them nothing is kept. What a statement can get wrong (a company, a user) is none of them.
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


# What a sentence may begin with that only ties it to the one before; alternatives of a regular expression.
LEADS = (
    "however|moreover|furthermore|in addition|additionally|also|thus|therefore|consequently|nevertheless|meanwhile"
    "|for example|for instance|as a result|cependant|toutefois|de plus|en outre|par ailleurs|ainsi|par conséquent"
    "|néanmoins|par exemple|en effet|or|donc"
)

# What a quantity of a kind is called: "a temperature between 18 and 24 °C" needs no source that says "temperature".
DIMENSION_WORDS: dict[str, str] = {
    "temperature": "temperature température",
    "mass": "weight weigh mass poids peser masse",
    "length": "length height width distance size depth longueur hauteur largeur distance taille profondeur mesurer "
    "measure",
    "time": "duration time last period long durée durer délai temps période",
    "months": "duration time last period long durée durer délai temps période age âge",
    "money": "price cost amount pay prix coût montant payer dollar euro",
    "percent": "percentage share rate pourcentage part taux",
    "year": "year année an",
    "date": "date day year année jour",
    "clock": "time hour o'clock heure",
    "speed": "speed vitesse",
    "volume": "volume capacity capacité",
    "data": "size capacity storage taille capacité",
}


@cache
def dimension_stems(dimension: str) -> frozenset[str]:
    """Return the stems of words that only name what a quantity of this dimension is."""
    return _stems(DIMENSION_WORDS.get(dimension.split(":")[0], ""))


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
    """Return the synonym groups that a stem is in."""
    found = _synonyms()
    if stem in found or len(stem) < 4:
        return found.get(stem, frozenset())
    # Stemmers leave "publi" of one form and "publ" of another.
    return next((found[other] for other in (stem + "i", stem + "e", stem[:-1]) if other in found), frozenset())


@cache
def _polar() -> dict[str, tuple[tuple[int, int], ...]]:
    signs: dict[str, list[tuple[int, int]]] = {}
    for number, (positive, negative) in enumerate(OPPOSITES):
        for words, sign in ((positive, 1), (negative, -1)):
            for stem in _stems(words):
                signs.setdefault(stem, []).append((number, sign))
    # A stem on both sides of a pair ("left") says nothing about it.
    return {
        stem: tuple(pair for pair in set(pairs) if (pair[0], -pair[1]) not in pairs) for stem, pairs in signs.items()
    }


def polarity(stem: str) -> tuple[tuple[int, int], ...]:
    """Return (pair, sign) for each pair of opposites that a stem belongs to."""
    return _polar().get(stem, ())


@cache
def light_stems() -> frozenset[str]:
    """Return the stems of words that carry little meaning."""
    return _stems(" ".join(LIGHT))
