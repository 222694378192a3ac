"""What a question asks for: its kind, the words it is about and the sort of answer that would do."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter

from footnote_kit.memoise import memoised
from footnote_text import intents, locales, question_context
from footnote_text import language as languages
from footnote_text.intents import Intent
from footnote_text.lexical import fold, is_unspaced, word_set
from footnote_text.sentences import ANAPHORIC

from footnote_generation.language.words import Analysed, Word, analyse, bytes_of


class Kind(Enum):
    """The sort of answer asked for."""

    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    COUNT = "count"
    AMOUNT = "amount"
    REASON = "reason"
    MANNER = "manner"
    DEFINITION = "definition"
    LIST = "list"
    YES_NO = "yes or no"
    THING = "thing"


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart; `about` are its words of meaning without those that only say what kind of answer.

    `wish` is what it wants beyond a passage, None for a fact. `subject` are the words of meaning in brackets behind it:
    of what it is asked, which a passage need not repeat in each sentence. `before` are those of what may be meant.
    """

    text: str
    language: str
    kind: Kind
    analysed: Analysed
    about: tuple[Word, ...]
    sought: frozenset[str]
    wish: Intent | None = None
    subject: tuple[Word, ...] = ()
    before: tuple[Word, ...] = ()


def _start(text: str) -> str:
    return rf"(?:^|[,;:(]\s*|\b(?:in|at|on|by|from|to|for|of|with|à|en|de|par|pour|dans|depuis|and|et)\s+)(?:{text})\b"


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (Kind.TIME, _start(
            r"when|(?:what|which) (?:(?:was|is) the )?(?:year|date|day|month|decade|century|time|era|period)s?"
            r"|quand|(?:quelle?s?) (?:est la |était la |fut la )?(?:année|date|jour|mois|siècle|période|époque"
            r"|heure)s?") + r"|多少年|何时|什么时候|哪(?:一)?年|几月|哪天|日期"),
        (Kind.COUNT,
            r"\bhow many\b|\bcombien d(?:e|['’])|\b(?:what|quel) (?:is|was|est|était) (?:the|le) (?:total "
            r")?(?:number|nombre)\b|\b(?:number|nombre) (?:of|de|d['’])|多少个|几个|有多少|几位|几次"),
        (Kind.AMOUNT,
            r"\bhow (?:much|long|far|old|tall|high|big|large|often|fast|wide|deep|heavy|late|early|soon)\b"
            r"|\bcombien\b|\b(?:what|which|quelle?s?) (?:(?:is|was|were|est|était|sont) (?:the |le |la |les "
            r"|l['’])?)?(?:\w+ ){0,3}?(?:percentage|percent|proportion|share|rate|price|cost|amount|budget"
            r"|salary|temperature|distance|length|height|size|duration|weight|speed|revenue|profit|total"
            r"|pourcentage|part|taux|prix|coût|montant|salaire|température|durée|taille|poids|superficie"
            r"|vitesse|population|longueur|hauteur|stock|quantité|quantity|tarif|délai|fee|limit|deadline)\b"
            r"|多少|多长|多大|多高|多远"),
        (Kind.PERSON, _start(
            r"who|whom|whose|(?:what|which) (?:person|man|woman|people|president|king|queen|leader|actor"
            r"|actress|singer|author|artist|player|coach|scientist|philosopher|general|emperor|director"
            r"|producer)s?|qui|à qui|(?:quelle?s?) (?:personne|homme|femme|président|roi|reine|auteur|acteur"
            r"|joueur|chanteur|empereur|réalisateur|architecte|peintre)s?|comment s['’]appelle") + r"|谁|哪位"),
        (Kind.PLACE, _start(
            r"where|(?:what|which) (?:city|country|state|town|place|location|region|area|street|island"
            r"|continent|river|county|province|venue|stadium)|où|(?:quelle?s?) (?:ville|pays|lieu|endroit"
            r"|région|rue|île|continent|département|province|stade|état|quartier)s?")
            + r"|哪里|哪儿|何地|哪个(?:国家|城市|省)|什么地方"),
        (Kind.REASON,
            r"\bwhy\b|\bpourquoi\b|\b(?:what|quelle?) (?:is|was|were|est|était|fut) (?:the |la |le )?(?:reason"
            r"|cause|purpose|raison|but|motif)s?\b|\bwhat caused\b|为什么|为何|原因"),
        (Kind.LIST,
            r"\b(?:list|name|enumerate|cite[zr]?|énum[eè]re[zr]?) (?:the|all|two|three|four|some|les|des|deux"
            r"|trois)\b|\b(?:what|which) (?:are|were) the\b|\bquel(?:le)?s (?:sont|étaient|furent)\b|哪些"),
        (Kind.DEFINITION,
            r"^\s*(?:what(?:['’]s| is| are| was| were)|define|explain|describe|qu['’]est[- ]ce (?:que|qu['’])"
            r"|c['’]est quoi|que signifie|what does \w+ (?:mean|stand for))\b|是什么|什么是"),
        (Kind.MANNER, r"\bhow\b|\bcomment\b|\bde quelle (?:manière|façon)\b|如何|怎么"),
        (Kind.YES_NO,
            r"^\s*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must|est[- ]ce "
            r"(?:que|qu['’])|(?:est|sont|peut|peuvent|doit|faut|a|ont)[- ](?:il|elle|on|ils|elles|t)|y "
            r"a[- ]t)\b|吗"),
    )
)  # fmt: skip
_CATEGORY = re.compile(
    r"(?i)\b(?:what|which|quel(?:le)?s?|how many|combien d(?:e |['’]))\s*(?:type of |kind of |sort of |types? "
    r"de |kinds of )?((?:[^\W\d_]+\s+){0,1}[^\W\d_]+)"
)
# Words that ask rather than state: the answer's sentence need not hold them.
_ASKING = word_set("""what which who whom whose when where why how many much name list year date day month
    person people place city country
    kind type sort number percentage percent amount long far old called known call mean stand happen
    describe define explain tell give
    quel quelle quels quelles qui quand où combien pourquoi comment année date jour mois personne lieu ville
    pays sorte genre nombre
    pourcentage appelle nom type citer décrire expliquer définir donner est-ce""")
# What asks or joins in Chinese: question words with the measure word that goes with them, particles, the copula, "there
# is", the commonest prepositions and conjunctions. Closed classes, as a grammar lists them (Li and Thompson, "Mandarin
# Chinese: A Functional Reference Grammar", 1981: questions, classifiers, particles, coverbs): no set of questions chose
# them. A pair of characters that touches one says nothing of the subject.
ASKING_CHINESE = re.compile(
    r"什么(?:时候|地方)?|怎么样?|怎样|如何|为何|何[时地处人]|谁|哪(?:一?[年月日天个位名家支座些种次届]|里|儿)?"
    r"|多少[年月日天个位名人次元种]?|几[年月日天个位名人次元种点号]|多[久长大高远重深宽快]|[吗呢吧的了是在有被于和与及其]"
)


# "Wie hoch", "hoe lang": the adjective of a dimension says what is measured, and the answer rather a number.
_DEGREE = {
    "de": re.compile(
        r"(?i)\bwie\s+(hoch|tief|lang|lange|kurz|breit|weit|nah|groß|klein|dick|schwer|leicht|alt|jung|neu|schnell|langsam"
        r"|früh|spät|oft|häufig|viel|viele|wenig|teuer|billig|warm|heiß|kalt|stark|laut|hell|gut)\b"
    ),
    "nl": re.compile(
        r"(?i)\bhoe\s+(hoog|laag|diep|lang|kort|breed|ver|dichtbij|groot|klein|dik|zwaar|licht|oud|jong|nieuw|snel|langzaam"
        r"|vroeg|laat|vaak|veel|weinig|duur|goedkoop|warm|heet|koud|sterk|luid|goed)\b"
    ),
}


@memoised(2**20, lambda found: 3000 + 2 * bytes_of(found.analysed))
def read(text: str) -> Question:
    """Take a question apart; more than one part of an answer asks about it."""
    language = languages.detect(text, ("en", "fr")) or "en"
    leans = question_context.parted(text)
    text = leans.question
    analysed = analyse(text, language)
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), Kind.THING)
    asking = [match.span() for match in ASKING_CHINESE.finditer(text)]
    locale = locales.known(language)
    wish, said = intents.wish(text, locale) if locale else (None, frozenset[str]())
    verbs = frozenset[str]() if locale is None else intents.single((*locale.signals.yes_no, *locale.signals.asking))
    if leans.subject or leans.before:
        verbs |= ANAPHORIC.get(language, frozenset())
    degrees = [match.span(1) for match in _DEGREE[language].finditer(text)] if language in _DEGREE else []
    meant = [word for word in analysed.words if word.stems and not _asks(word, [*asking, *degrees], verbs)]
    # "Summarise", "total", "steps" say what to do with the passages, and need not stand in them.
    about = tuple(word for word in meant if fold(word.text) not in said) or tuple(meant)
    category = _CATEGORY.search(text)
    sought = analyse(category[1], language).stems if category else frozenset()
    about = about or tuple(word for word in analysed.words if word.stems)
    own = {stem for word in about for stem in word.stems}
    subject, before = (_beside(words, language, own) for words in (leans.subject, leans.before))
    if not about:
        about, subject = subject, ()
    return Question(text, language, kind, analysed, about, sought, wish, subject, before)


def _beside(text: str, language: str, own: Set[str]) -> tuple[Word, ...]:
    """Return the words of meaning in brackets that the question does not have itself."""
    # A capital is a name's there as inside a sentence.
    return tuple(word for word in analyse(f"~ {text}", language).words if word.stems and not own & set(word.stems))


def _asks(word: Word, asking: Sequence[tuple[int, int]], verbs: frozenset[str]) -> bool:
    """Whether a word only asks; `asking` are the stretches of the question that do so where no spaces part words.

    `verbs` are those that a question in its language may begin with, "muss" and "can" among them, and what else asks or
    points in it: they say how it is asked wherever they stand.
    """
    if (word.start, word.end) in asking:
        return True
    if is_unspaced(word.text[0]):
        at = bisect_right(asking, word.start, key=itemgetter(1))  # the first that ends after the word begins
        return at < len(asking) and asking[at][0] < word.end
    return word.text.lower() in _ASKING or (not word.name and fold(word.text) in verbs)
