"""Decides whether a message needs retrieval, and with what text to search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from footnote.types.v1.reasons_pb2 import (
    QUERY_REWRITING_NEW_SUBJECT,
    QUERY_REWRITING_NONE,
    QUERY_REWRITING_TOPIC,
    QUERY_REWRITING_TOPIC_SHORTENED,
    QUERY_REWRITING_UNSPECIFIED,
    QUERY_STRATEGY_FIRST_MESSAGE,
    QUERY_STRATEGY_FOLLOW_UP,
    QueryRewriting,
    QueryStrategy,
)
from footnote_text.answer_locale import is_greeting
from footnote_text.language import detect
from footnote_text.lexical import fold, terms, word_set

_MAX_TOPIC_WORDS = 32
_MAX_SAID = 8  # messages from which a topic is made
_MAX_READ = 2000  # characters of each that are read

# Whole messages that need no documents, folded; an optional name or filler may follow a greeting. The first phrase that
# fits is taken for good: "bye bye" is one or two of them, which would be tried in all combinations.
_SMALL_TALK = re.compile(
    r"""^(?>(?:
      (?:hi|hello|hey|hiya|howdy|greetings|yo|good\ (?:morning|afternoon|evening|day|night))(?:\ (?:there
        |all|everyone|team|again))?
    | bonjour|bonsoir|salut|coucou|bonne\ (?:nuit|journee|soiree)|rebonjour
    | hallo|guten\ (?:tag|morgen|abend)|gute\ nacht|servus|moin|gruss\ gott
    | hola|buenos\ dias|buenas(?:\ (?:tardes|noches))?|ola|bom\ dia|boa\ (?:tarde|noite)
    | ciao|salve|buongiorno|buonasera|hoi|goedemorgen|goedemiddag|goedenavond|hej|hei|czesc|privet|привет
      |здравствуй(?:те)?
    | 你好|您好|早上好|こんにちは|안녕하세요|مرحبا|שלום
    | thanks?(?:\ you)?(?:\ (?:so|very)\ much|\ a\ lot)?|many\ thanks|thx|ty|cheers|much\ appreciated|i\ appreciate\ it
    | merci(?:\ (?:beaucoup|bien|infiniment|a\ (?:toi|vous)|d\ avance))?|je\ (?:te|vous)\ remercie
    | danke(?:\ (?:schon|sehr))?|vielen\ dank|gracias|muchas\ gracias|obrigad[oa]|muito\ obrigad[oa]
      |grazie(?:\ mille)?|dank\ (?:je|u)(?:\ wel)?|bedankt|tack|takk|spasibo|спасибо
    | 谢谢|谢谢你|ありがとう(?:ございます)?|감사합니다
    | bye(?:\ bye)?|goodbye|see\ you(?:\ (?:later|soon|tomorrow))?|au\ revoir|a\ (?:bientot|demain
      |plus(?:\ tard)?)|tschuss|auf\ wiedersehen|adios|hasta\ luego|arrivederci|tchau|tot\ ziens|再见
    | ok(?:ay)?|k|alright|all\ right|got\ it|i\ see|understood|sure|yes|no|yep|nope|cool|great|perfect
      |awesome|nice|excellent|wonderful|good|well\ done|never\ mind|sounds\ good|that\ s\ (?:great|all|perfect
      |fine|helpful)
    | d\ accord|entendu|compris|c\ est\ (?:bon|compris|parfait|note|tout)|parfait|super|genial|tres\ bien
      |oui|non|ca\ marche|bien\ recu
    | alles\ klar|verstanden|ja|nein|vale|de\ acuerdo|si|va\ bene|perfetto|perfecto
    | how\ are\ you(?:\ (?:doing|today))*|how\ s\ it\ going|what\ s\ up|nice\ to\ meet\ you|are\ you\ there
    | (?:comment\ )?(?:ca\ va|vas\ tu|allez\ vous)(?:\ (?:bien|aujourd\ hui))?|tu\ vas\ bien|enchantee?
      |wie\ geht\ (?:es\ dir|s)|como\ estas|como\ esta(?:\ usted)?|come\ stai
    | who\ are\ you|what\ (?:are\ you|can\ you\ do)|what\ is\ your\ name|qui\ es\ tu|qui\ etes\ vous
      |que\ (?:peux\ tu|sais\ tu)\ faire|comment\ (?:tu\ t\ appelles|t\ appelles\ tu)
    | (?:you\ re\ )?welcome|de\ rien|je\ vous\ en\ prie|please|s\ il\ (?:te|vous)\ plait
    | (?:ha){2,}|lol|test|testing
    )(?:\ |$))++$""",
    re.VERBOSE,
)
_ADDRESSED = re.compile(
    r"\b(?:hi|hello|hey|thanks|thank you|bonjour|bonsoir|salut|merci)(?:\s*+,)?\s++(?:footnote|assistant|bot|claude"
    r"|chatgpt|madame|monsieur|sir|madam)\b"
)
_PRONOUNS: dict[str, frozenset[str]] = {
    "en": word_set(
        "it its they them their theirs he him his she her hers this that these those one ones there such "
        "same former latter"),
    "fr": word_set(
        "il elle ils elles lui leur leurs ce cela ca ceci celui celle ceux celles y en son sa ses le la les "
        "cet cette ces"),
    "de": word_set(
        "er sie es ihm ihn ihr ihnen ihre ihrer seine seiner dieser diese dieses das dies davon damit dazu "
        "dafur"),
    "es": word_set("el ella ellos ellas lo la los las le les esto eso este esta ese esa su sus aquello"),
}  # fmt: skip
# Articles that are pronouns only before a verb, which we do not parse: they must not make a question a follow-up.
_AMBIGUOUS = {
    "fr": word_set("le la les en y ce cet cette ces leur leurs son sa ses"),
    "es": word_set("el la los las este esta ese esa"),
    "de": word_set("es sie das dies ihr"),
    "en": word_set("that there this these those one such same"),
}
_CONTINUES = re.compile(
    r"^(?:and|but|also|what about|how about|why|why not|how so|which one|who else|what else|et|mais|aussi|et "
    r"pour|qu en est il|pourquoi|lequel|laquelle|quoi d autre|und|aber|y|pero|e)\b"
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The plan for one message; pass `topic` back with the next one."""

    should_retrieve: bool
    query: str
    strategy: QueryStrategy.ValueType
    rewriting: QueryRewriting.ValueType
    topic: str


def _spoken(message: str) -> str:
    """Return folded words with single spaces, nothing else."""
    return " ".join(re.sub(r"[^\w]+", " ", fold(message)).split())


def should_use_rag(message: str) -> bool:
    """Return false for greetings, thanks and the like, in several languages; true for anything that may ask."""
    plain = _spoken(_ADDRESSED.sub(lambda match: match.group().split()[0].rstrip(","), message.lower()))
    return bool(plain) and _SMALL_TALK.match(plain) is None and not is_greeting(message)


def _content_words(text: str, language: str) -> list[str]:
    """Return the content words of a text, as written."""
    return [match.group() for match in _WORD.finditer(text) if terms(match.group(), language)]


def _depends_on_topic(message: str, language: str) -> bool:
    """Return whether a message needs the earlier ones to be understood."""
    words = _spoken(message).split()
    if _CONTINUES.match(" ".join(words)):
        return True
    content = _content_words(message, language)
    pronouns = _PRONOUNS.get(language, _PRONOUNS["en"])
    clear = pronouns - _AMBIGUOUS.get(language, frozenset())
    if clear & set(words):
        return True
    # A short message with a pronoun, or with hardly a subject of its own, depends on the earlier ones.
    return len(content) <= 2 or (len(content) <= 5 and bool(pronouns & set(words)) and language == "en")


def accumulate(topic: str, message: str, language: str) -> tuple[str, QueryRewriting.ValueType]:
    """Return the topic after a message, and how it was made.

    The message's words are added to a topic that it depends on or shares; otherwise they are a new topic. "" if it has
    no words.
    """
    old = _content_words(topic, language)
    new = _content_words(message, language)
    known = {stem for word in old for stem in terms(word, language)}
    shared = [word for word in new if known & set(terms(word, language))]
    if old and new and not shared and not _depends_on_topic(message, language):
        # A complete question with a new subject: the message itself searches better than its bare words.
        return " ".join(message.split()[: 2 * _MAX_TOPIC_WORDS]), QUERY_REWRITING_NEW_SUBJECT
    merged: list[str] = []
    seen: set[str] = set()
    for word in [*old, *new]:
        stems = "".join(terms(word, language)) or word.lower()
        if stems not in seen:
            seen.add(stems)
            merged.append(word)
    if len(merged) > _MAX_TOPIC_WORDS:
        # Keep the first words, the subject, and the last, the news; a long conversation drops those between.
        head = _MAX_TOPIC_WORDS // 4
        merged = merged[:head] + merged[-(_MAX_TOPIC_WORDS - head) :]
        return " ".join(merged), QUERY_REWRITING_TOPIC_SHORTENED
    return " ".join(merged), QUERY_REWRITING_TOPIC


def topic_of(said: Sequence[str]) -> str:
    """Return the topic that messages leave, oldest first; only the last few count."""
    topic = ""
    for message in said[-_MAX_SAID:]:
        topic = plan(message[:_MAX_READ], topic).topic
    return topic


def plan(message: str, topic: str, said: Sequence[str] = ()) -> QueryPlan:
    """Plan the search for a message, given the topic accumulated before it (empty in a new conversation).

    Without a stored topic, it is made from what the user `said` before, oldest first.

    The first message is searched as it is. A follow-up is searched by the topic with its words added, so that "it"
    keeps its subject. Small talk leaves the topic unchanged.
    """
    topic = " ".join(topic.split()) or topic_of(said)
    strategy = QUERY_STRATEGY_FOLLOW_UP if topic else QUERY_STRATEGY_FIRST_MESSAGE
    if not should_use_rag(message):
        return QueryPlan(False, "", strategy, QUERY_REWRITING_UNSPECIFIED, topic)
    language = detect(f"{topic} {message}" if topic else message, ("en", "fr"))
    accumulated, rewriting = accumulate(topic, message, language)
    if topic and accumulated:
        return QueryPlan(True, accumulated, strategy, rewriting, accumulated)
    return QueryPlan(True, message.strip(), strategy, QUERY_REWRITING_NONE, accumulated)
