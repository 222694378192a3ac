"""Function words of eight languages: prepositions, pronouns, the calendar, words that link or correct questions.

Closed classes, as grammars list them, folded (`footnote_text.lexical.fold`); no set of questions chose them.
"""

from __future__ import annotations

import re

from footnote_text.lexical import word_set

CORRECTING = word_set(
    "meant mean actually rather sorry instead pardon excusez excuse voulais parlais plutot dire desole meinte meine "
    "gemeint sondern entschuldigung vielmehr eigentlich perdon perdona queria quise decir referia refiero sino "
    "intendevo dicevo scusa scusi volevo bensi falava desculpa referir bedoelde bedoel имел имела виду имею "
    "извините простите точнее вернее"
)
"""Words that correct what was said before."""

DENYING = word_set("not no non nein nee nao nicht pas niet не нет")
CONTRASTING = word_set("but mais sondern sino bensi ma mas maar а но")

STANDING: dict[str, frozenset[str]] = {
    "en": word_set("one ones that those"),
    "fr": word_set("celui celle ceux celles"),
}
"""Words that stand for an omitted noun: "the red one"."""

ARTICLES: dict[str, frozenset[str]] = {
    "en": word_set("the a an"),
    "fr": word_set("le la les l un une des du au aux"),
    "de": word_set("der die das den dem des ein eine einen einem einer eines im am ins ans zum zur vom beim"),
    "es": word_set("el la lo los las un una unos unas del al"),
    "it": word_set("il lo la i gli le l un uno una"),
    "pt": word_set("o a os as um uma uns umas"),
    "nl": word_set("de het een"),
}
"""Articles, including those that a German preposition contains; some are spelled like pronouns."""

_OF = {
    "en": "of", "fr": "de d du des", "de": "von vom", "es": "de del", "nl": "van",
    "it": "di d del dello della dei degli delle dell", "pt": "de do da dos das",
}  # fmt: skip
_PREPOSITIONS = {
    "en": ["at", "by", "for", "with", "without", "about", "in", "into", "on", "onto", "from", "to", "after", "before",
           "during", "under", "over", "between", "until", "since", "through", "near", "per", "via"],
    "fr": ["a au aux", "en", "dans", "par", "pour", "sur", "sous", "avec", "sans", "chez", "vers", "entre", "depuis",
           "pendant", "avant", "apres", "contre", "des", "jusque jusqu"],
    "de": ["in im ins", "an am ans", "auf", "aus", "bei beim", "mit", "nach", "zu zum zur", "uber", "unter", "vor",
           "zwischen", "durch", "fur", "gegen", "ohne", "um", "bis", "seit", "wahrend", "wegen", "ab", "pro"],
    "es": ["a al", "ante", "bajo", "con", "contra", "desde", "durante", "en", "entre", "hacia", "hasta", "para", "por",
           "segun", "sin", "sobre", "tras"],
    "it": ["a ad al allo alla ai agli alle all", "da dal dallo dalla dai dagli dalle dall", "con col", "per", "tra fra",
           "in nel nello nella nei negli nelle nell", "su sul sullo sulla sui sugli sulle sull", "senza", "fino",
           "dopo", "prima", "durante", "sotto", "sopra", "presso"],
    "pt": ["a ao aos", "em no na nos nas", "por pelo pela pelos pelas", "para", "com", "sem", "sob", "sobre", "entre",
           "ate", "desde", "apos", "contra", "durante"],
    "nl": ["in", "op", "aan", "met", "bij", "uit", "naar", "door", "over", "onder", "tussen", "tegen", "zonder", "om",
           "tot", "sinds", "tijdens", "voor", "na", "vanaf", "per"],
    "ru": ["в во", "на", "с со", "по", "из", "к ко", "от", "до", "для", "без", "при", "через", "после", "перед",
           "между", "под", "над", "за", "о об"],
}  # fmt: skip
PREPOSITIONS: dict[str, dict[str, str]] = {
    language: {form: forms.split()[0] for forms in listed for form in forms.split()}
    for language, listed in _PREPOSITIONS.items()
}
"""Prepositions by each of their forms, also contracted with an article; possessive ones are left out."""
POSSESSING: dict[str, frozenset[str]] = {language: word_set(forms) for language, forms in _OF.items()}

_CALENDAR = {
    "en": """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
        saturdays sundays january february march april may june july august september october november december spring
        summer autumn winter today tomorrow yesterday tonight weekend weekends weekdays morning afternoon evening
        night""",
    "fr": """lundi mardi mercredi jeudi vendredi samedi dimanche lundis mardis mercredis jeudis vendredis samedis
        dimanches janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre printemps ete
        automne hiver aujourd hui demain hier week-end matin apres-midi soir nuit""",
    "de": """montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag montags dienstags mittwochs
        donnerstags freitags samstags sonnabends sonntags januar februar marz april mai juni juli august september
        oktober november dezember fruhling sommer herbst winter heute morgen gestern wochenende werktags morgens
        mittags nachmittags abends nachts abend nacht vormittag nachmittag""",
    "es": """lunes martes miercoles jueves viernes sabado domingo sabados domingos enero febrero marzo abril mayo junio
        julio agosto septiembre octubre noviembre diciembre primavera verano otono invierno hoy manana ayer tarde
        noche""",
    "it": """lunedi martedi mercoledi giovedi venerdi sabato domenica gennaio febbraio marzo aprile maggio giugno luglio
        agosto settembre ottobre novembre dicembre primavera estate autunno inverno oggi domani ieri mattina mattino
        pomeriggio sera notte weekend""",
    "pt": """segunda terca quarta quinta sexta segunda-feira terca-feira quarta-feira quinta-feira sexta-feira sabado
        domingo janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro primavera verao
        outono inverno hoje amanha ontem manha tarde noite""",
    "nl": """maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart april mei juni juli
        augustus september oktober november december lente zomer herfst winter vandaag morgen gisteren weekend ochtend
        middag avond nacht""",
    "ru": """понедельник вторник среда среду четверг пятница пятницу суббота субботу воскресенье понедельникам вторникам
        средам четвергам пятницам субботам воскресеньям январь января январе февраль февраля феврале март марта марте
        апрель апреля апреле май мая мае июнь июня июне июль июля июле август августа августе сентябрь сентября сентябре
        октябрь октября октябре ноябрь ноября ноябре декабрь декабря декабре весной летом осенью зимой сегодня завтра
        вчера выходные выходным утром днем вечером ночью""",
}
CALENDAR: dict[str, frozenset[str]] = {language: word_set(words) for language, words in _CALENDAR.items()}
"""Days, months, seasons and parts of the day: they give a time, and name nothing."""

_PARTICLES = {
    "ru": """и а но же ли не что как где когда кто это там тут есть был была было были бы то еще я ты мы вы мне мной нам
        вам меня тебя нас вас себя мой моя мое мои ваш ваша ваше ваши наш наша наше наши""",
}
PARTICLES: dict[str, frozenset[str]] = {language: word_set(words) for language, words in _PARTICLES.items()}
"""Words without a subject of their own, in languages for which `footnote_text.stopwords` has no list."""

_ASKING = {
    "en": "whether", "fr": "que ou", "es": "que cuanto cuanta cuantos cuantas adonde", "it": "che cosa", "pt": "que",
    "ru": "как каков какова каким какими чем чему чьи чья",
}  # fmt: skip
ASKING: dict[str, frozenset[str]] = {language: word_set(words) for language, words in _ASKING.items()}
"""Question words, besides those in a locale's signals."""

OPENING = re.compile(
    r"^(?:(?:and|but|or|so|et|mais|ou|und|aber|oder|y|pero|e|ed|ma|mas|en|maar|а|и|но|no|non|nein|nee|нет)\b ?)*"
    r"(?:(?:what|how) about\b|qu en est il(?: de)?\b|was ist mit\b|wie (?:ist|sieht) es (?:mit|bei)\b|que hay de\b"
    r"|que tal\b|che (?:ne )?dici di\b|per quanto riguarda\b|e quanto a\b|quanto a\b|hoe zit het met\b"
    r"|(?:что|как) насчет\b)?"
)
"""Phrases that link a message to the one before, matched on its folded words with single spaces; may match nothing."""
