"""Words of the closed classes that turn what a sentence says, by ISO 639-1 code, separated by spaces."""

from __future__ import annotations

DENYING = {
    # A "t" alone is that of "don't" and "can't".
    "en": "not t cannot no nor neither never none nothing nobody nowhere without",
    "fr": "pas ne n ni jamais rien aucun aucune sans",
    "de": "nicht kein keine keinen keiner keinem keines weder nie niemals nichts niemand nirgends ohne",
    "es": "no ni nunca jamas nada nadie ningun ninguna ninguno tampoco sin",
    "it": "non mai niente nulla nessun nessuno nessuna neanche senza",
    "pt": "nao nem nunca jamais nada ninguem nenhum nenhuma sem",
    "nl": "niet geen nooit niets niemand nergens zonder",
    "pl": "nie bez",
    "ru": "не ни без",
    "ar": "لا ليس ليست غير بدون",
    "zh": "不 没 无 非 未",
}
"""Words that deny what follows them."""
LIMITING = {
    "en": f"{DENYING['en']} except excluding only outside apart aside",
    "fr": f"{DENYING['fr']} sauf hors excepte seulement uniquement dehors",
    "de": f"{DENYING['de']} ausser nur ausserhalb abgesehen",
    "es": f"{DENYING['es']} salvo excepto solo solamente fuera aparte",
    "it": f"{DENYING['it']} tranne eccetto solo soltanto fuori",
    "pt": f"{DENYING['pt']} exceto salvo so somente apenas fora",
    "nl": f"{DENYING['nl']} behalve alleen slechts buiten",
    "pl": f"{DENYING['pl']} oprócz poza prócz tylko",
    "ru": f"{DENYING['ru']} кроме только вне",
    "ja": "非 未 除",
    "ar": f"{DENYING['ar']} سوى باستثناء",
    "zh": f"{DENYING['zh']} 除 只 仅",
}
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
