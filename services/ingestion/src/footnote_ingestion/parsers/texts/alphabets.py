"""Letters beyond a to z of languages in Latin script; they distinguish encodings that differ in few letters.

Taken from the orthographies, with the letters of loan words that dictionaries list; not from any collection of texts.
"""

from __future__ import annotations

LETTERS: dict[str, frozenset[str]] = {
    language: frozenset(letters + letters.upper())
    for language, letters in {
        "af": "áèéêëîïôöûü",
        "bs": "čćđšž",
        "ca": "àçéèíïóòúü",
        "cs": "áčďéěíňóřšťúůýž",
        "cy": "âêîôûŵŷäëïöẅÿáéíóúàèìòù",
        "da": "æøåéáü",
        "de": "äöüßé",
        "en": "éèêëïôöçñæœ",
        "es": "áéíñóúü",
        "et": "äõöüšž",
        "eu": "ñçü",
        "fi": "äöåšž",
        "fo": "áðíóúýæø",
        "fr": "àâæçéèêëîïôœùûüÿ",
        "ga": "áéíóú",
        "gl": "áéíñóúïü",
        "hr": "čćđšž",
        "hu": "áéíóöőúüű",
        "is": "áðéíóúýþæö",
        "it": "àèéìíîòóùú",
        "lt": "ąčęėįšųūž",
        "lv": "āčēģīķļņšūž",
        "nb": "æøåéèêóòôü",
        "nl": "áéèëêïíóöúü",
        "nn": "æøåéèêóòôü",
        "no": "æøåéèêóòôü",
        "pl": "ąćęłńóśźż",
        "pt": "àáâãçéêíóôõúü",
        "ro": "ăâîșțşţ",
        "sk": "áäčďéíĺľňóôŕšťúýž",
        "sl": "čšž",
        "sq": "ëç",
        "sv": "åäöéàü",
        "tr": "çğıöşüâîûİ",
    }.items()
}
