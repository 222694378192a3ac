"""Scores how much a passage looks like an attempt to instruct the model."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from footnote.types.v1 import reasons_pb2 as reasons
from footnote.types.v1.reasons_pb2 import SuspicionReason
from footnote_kit.memoise import memoised

from footnote_augmentation import neutralise
from footnote_augmentation.neutralise import INVISIBLE, is_invisible


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A score from 0 (ordinary text) to 1, and the signs found."""

    score: float
    reasons: tuple[SuspicionReason.ValueType, ...]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# Each sign has a weight, a name, required words and a pattern. Eleven unanchored patterns take half a millisecond per
# passage. A search for the required words is cheap, and few passages have one.
_SIGNS: tuple[tuple[float, SuspicionReason.ValueType, tuple[str, ...], re.Pattern[str]], ...] = (
    (0.7, reasons.SUSPICION_REASON_IGNORE_INSTRUCTIONS,
     ("ignor", "disregard", "forget", "override", "bypass", "oubli", "pas compte", "vergiss", "olvida"), _pattern(
        r"\b(?:ignor\w*|disregard|forget|override|bypass|oubli\w*|ignore[zr]?|ne tiens? pas compte|ignorier\w*"
        r"|vergiss|ignora\w*|olvida\w*)\b"
        r"[^.!?\n]{0,50}\b(?:previous|prior|above|earlier|all|any|every|system|these|your|pr[ée]c[ée]dent\w*"
        r"|ci-dessus|toutes?|syst[eè]me|vorherig\w*|obig\w*|anterior\w*|tod[ao]s)\b"
        r"[^.!?\n]{0,40}\b(?:instruct\w*|rules?|prompts?|guidelines?|context|sources?|directives?|consignes?"
        r"|r[eè]gles?|anweisung\w*|regeln|instruc\w*|reglas)\b")),
    (0.5, reasons.SUSPICION_REASON_IGNORE_ALL_BEFORE,
     ("ignore", "disregard", "forget", "oublie", "忽略", "игнорируй", "забудь"), _pattern(
        r"\b(?:ignore|disregard|forget|oublie[zr]?)\b[^.!?\n]{0,15}\b(?:everything|all"
        r"|tout)\b[^.!?\n]{0,25}\b(?:above|before|previous\w*|pr[ée]c[eè]de|avant)\b|忽略.{0,8}(?:指令|指示|规则)"
        r"|(?:игнорируй|забудь).{0,30}инструкц")),
    (0.6, reasons.SUSPICION_REASON_IGNORE_RULES,
     ("ignore", "disregard", "forget", "override", "bypass", "oublie"), _pattern(
        r"\b(?:ignore|disregard|forget|override|bypass|oublie[zr]?|ignorez)\b[^.!?\n]{0,20}\b(?:rules?"
        r"|instructions?|prompts?|guidelines?|consignes?|r[eè]gles?)\b[^.!?\n]{0,15}\b(?:above|before|given"
        r"|earlier|ci-dessus|pr[ée]c[ée]dent\w*)\b")),
    (0.6, reasons.SUSPICION_REASON_FORGED_TURN, (
        "system", "système", "assistant", "user", "human", "developer", "utilisateur", "<|", "inst]",
        "sys>", "###",
    ), _pattern(
        r"(?m)^[ \t>#*\-]*(?:system|assistant|user|human|developer|syst[eè]me|utilisateur)[ \t*]*[:：]"
        r"|<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|user)>|###\s*(?:system|instruction"
        r"|assistant|user)\b")),
    (0.7, reasons.SUSPICION_REASON_FORGED_DELIMITER, ("<<<", ">>>", "source", "context"), _pattern(
        r"<{3,}|>{3,}|end(?:ing)?[ _-]of[ _-](?:the )?sources?\b|</?(?:sources?|context)>|fin des sources"
        r"|(?:end|fin)[ _](?:sources|context)\b")),
    (0.5, reasons.SUSPICION_REASON_NEW_ROLE, (
        "you are now", "from now on", "act as", "pretend ", "your new ", "new system ", "new instruction", "new prompt",
        "tu es ", "partir de maintenant", "agis comme", "nouvelle", "developer mode", "jailbreak", "dan mode",
    ), _pattern(
        r"\b(?:you are now|from now on,? you|act as (?:if|an? )|pretend (?:to be|that)|your new (?:role|task"
        r"|instructions?)|new (?:system )?(?:instructions?|prompt)\s*:|tu es (?:maintenant|d[ée]sormais)|[àa] "
        r"partir de maintenant,? (?:tu|vous)|agis comme|nouvelles? (?:instructions?|consignes?)\s*:|developer "
        r"mode|jailbreak|DAN mode)\b")),
    (0.5, reasons.SUSPICION_REASON_ASKS_FOR_SECRETS, (
        "prompt", "hidden instructions", "your instructions", "your rules", "api", "password", "secret", "de passe",
        "tes instructions", "tes consignes", "vos instructions", "credential",
    ), _pattern(
        r"(?<!not )(?<!never )(?<!jamais )\b(?:reveal|print|repeat|output|show|leak|r[ée]v[eè]le[rz]?"
        r"|affiche[rz]?|r[ée]p[eè]te[rz]?|donne[rz]?|give|send|envoie)\b[^.!?\n]{0,40}\b(?:system prompt"
        r"|hidden (?:prompt|instructions)|your (?:instructions|prompt|rules)|api[ _-]?keys?|passwords?"
        r"|secrets?|prompt syst[eè]me|mots? de passe|tes (?:instructions|consignes)|vos instructions"
        r"|credentials?)\b")),
    (0.5, reasons.SUSPICION_REASON_DICTATES_ANSWER, (
        "answer", "reply", "respond", "say", "output", "do not cite", "do not mention", "ponds ", "pond ", "ne cite",
        "dis seulement", "dis uniquement", "must", "should", "doit", "has to", "reading this",
    ), _pattern(
        r"\b(?:(?:always|only|must|simply|instead,?) (?:answer|reply|respond|say|output)|(?:answer|reply"
        r"|respond) (?:only )?with|do not (?:cite|mention)|say (?:exactly|only)|r[ée]ponds? (?:toujours"
        r"|uniquement|seulement|par|que)|ne cite[sz]? pas|dis (?:seulement|uniquement))\b|\b(?:AI|language "
        r"model|assistant|chatbot|LLM|IA|mod[eè]le)\b[^.!?\n]{0,30}\b(?:must|should|doit|has to|reading "
        r"this)\b")),
    (0.5, reasons.SUSPICION_REASON_FORGED_CITATION, ("[",), _pattern(
        r"\[\s*+sources?\s*+\d++[^\]\n]{0,80}+\]|\bcite\b[^.!?\n]{0,30}\[\s*+\d++\s*+\]")),
    (0.6, reasons.SUSPICION_REASON_SENDS_DATA, ("![", "http", "mailto:", "webhook", "www."), _pattern(
        r"!\[[^\]\n]{0,1000}+\]\(\s{0,100}+https?://[^)\s?={]{0,1000}+[?={]"
        r"|\b(?:send|post|upload|exfiltrat\w*|forward|transmit"
        r"|envoie[rz]?|transmets?|append|embed|include|ajoute[rz]?|fetch|visit|click"
        r"|call)\b[^.!?\n]{0,80}\b(?:https?://|mailto:|webhook|www\.)")),
    (0.3, reasons.SUSPICION_REASON_HIDDEN_MARKUP, ("display", "visibility", "font-size", "color", "<!--"), _pattern(
        r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|color\s*:\s*(?:white|#fff)\b|<!--)")),
)  # fmt: skip
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{120,}+")


def lowered(text: str) -> str:
    """Return a text in lower case, as case-insensitive patterns compare it, including both Turkish i."""
    return text.lower() if text.isascii() else text.lower().replace("i\u0307", "i").replace("ı", "i")


@memoised(2 * 2**20, lambda _: 200)
def assess(text: str) -> Suspicion:
    """Judge a passage as it is in the document, before it is neutralised."""
    # Cached: the same passages occur in question after question.
    noticed: list[SuspicionReason.ValueType] = []
    innocence = 1.0
    hidden = sum(1 for match in INVISIBLE.finditer(text) if is_invisible(text, match.start()))
    # Search the text as a model would read it: compatibility forms unified, invisible characters removed.
    plain = text
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", INVISIBLE.sub("", text))
    folded = lowered(plain)
    for weight, reason, words, pattern in _SIGNS:
        marked = reason == reasons.SUSPICION_REASON_FORGED_TURN and neutralise.found(plain)
        if marked or (any(word in folded for word in words) and pattern.search(plain)):
            innocence *= 1 - weight
            noticed.append(reason)
    if hidden >= 3 and hidden >= len(text) / 2000:
        innocence *= 0.5
        noticed.append(reasons.SUSPICION_REASON_INVISIBLE_CHARACTERS)
    if any(char in "\u202d\u202e" for char in text):
        innocence *= 0.5
        noticed.append(reasons.SUSPICION_REASON_TURNED_DIRECTION)
    if _BASE64.search(plain):
        innocence *= 0.8
        noticed.append(reasons.SUSPICION_REASON_ENCODED_TEXT)
    return Suspicion(round(1 - innocence, 3), tuple(noticed))
