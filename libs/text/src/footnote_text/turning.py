"""Words of the closed classes that turn what a sentence says, by ISO 639-1 code, separated by spaces."""

from __future__ import annotations

LIMITING = {
    # A "t" alone is that of "don't" and "can't".
    "en": "not t cannot no nor neither never none nothing nobody nowhere without except excluding only outside apart "
          "aside",
    "fr": "pas ne n ni jamais rien aucun aucune sans sauf hors excepte seulement uniquement dehors",
    "de": "nicht kein keine keinen keiner keinem keines weder nie niemals nichts niemand nirgends ohne ausser nur "
          "ausserhalb abgesehen",
    "es": "no ni nunca jamas nada nadie ningun ninguna ninguno tampoco sin salvo excepto solo solamente fuera aparte",
    "it": "non mai niente nulla nessun nessuno nessuna neanche senza tranne eccetto solo soltanto fuori",
    "pt": "nao nem nunca jamais nada ninguem nenhum nenhuma sem exceto salvo so somente apenas fora",
    "nl": "niet geen nooit niets niemand nergens zonder behalve alleen slechts buiten",
    "pl": "nie bez oprócz poza prócz tylko",
    "ru": "не ни без кроме только вне",
    "ja": "非 未 除",
    "ar": "لا ليس ليست غير بدون سوى باستثناء",
    "zh": "不 没 无 非 未 除 只 仅",
}  # fmt: skip
"""Words by which a sentence denies, leaves out or restricts."""
ORDERING = {
    "en": "before after since until between other than or versus besides but",
    "fr": "avant apres depuis jusqu entre autre autres que ou",
    "de": "vor nach seit bis zwischen andere anderen als oder",
    "es": "antes despues desde hasta entre otro otros otra otras que o menos",
    "it": "ne prima dopo da fino tra altri altro altre che o meno",
    "pt": "antes depois desde ate entre outro outros outras que ou menos",
    "nl": "voor na sinds tot tussen andere dan of",
    "zh": "前 后 比 或 别",
}
"""Words by which it orders in time, adds or compares; many have other meanings beside."""
CONDITIONAL = {
    "en": "if when whenever",
    "fr": "si s'il s'ils lorsque lorsqu'il lorsqu'ils lorsqu'elle lorsqu'elles quand",
    "de": "wenn falls sofern",
    "es": "si cuando",
    "it": "se quando",
    "pt": "se quando",
    "nl": "als indien wanneer",
    "pl": "jesli jezeli gdy",
    "ru": "если когда",
    "ar": "إذا",
    "zh": "如 若",
}
"""Words that begin a condition; what it denies is not what the rest of the sentence says."""
LACKING = frozenset(("without", "sans", "ohne", "sin", "senza", "sem", "zonder", "bez", "без"))
"""Words that say only what is lacking: they narrow what is said, and deny none of it."""
