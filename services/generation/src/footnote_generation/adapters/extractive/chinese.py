"""Chinese questions: whether a sentence holds the sort of value asked for, close to the attribute it is asked of.

Words alone do not tell here: passages on the same event share all characters of a question but the answer. What tells
is a fresh date, number, name or place beside the attribute ("导演", "上映") in a passage on the same subject.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from footnote_generation.adapters.extractive.passages import Unit

_HAN = "\u4e00-\u9fff"
_SORTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sort, re.compile(pattern))
    for sort, pattern in (
        ("other", "为什么|为何|如何|怎么|怎样|吗[？?]?$|哪些|区别"),
        ("time", "时间|日期|什么时候|何时|哪一?年|哪天|几月|几号"),
        ("amount", "多少|几[个位次届]|[一-鿿]率[？?]?$|震级|多[久长大高远重]"),
        ("place", "在哪|哪里|哪儿|哪个?(?:国家|城市|省)|什么地方|[办席]国|首都|国家[？?]?$"),
        ("party", "冠军|哪支|哪个队|哪家"),
        ("person", "谁|哪位|导演|作者|编剧|主演|[长统官理][？?]?$|主席"),
        ("thing", "[是叫]什么|什么[名类]"),
    )
)
_ASKING = re.compile(
    r"是?什么(?:时候|地方)?|多(?:少|久|长|大|高|远|重)[个人名位天次元年]?|是?谁|[哪几](?:一?年|里|儿|[个位支家点号天名次届月])?"
    r"|何时|[吗呢]|日期|时间|国家|[到的在是了于被有？?：:\s]"
)
_PINNED = re.compile(rf"(?<!\d)(?:19|20)\d\d(?!\d)|[A-Za-z]+|第[一二三四五六七八九十百\d]+[届任次位][{_HAN}]{{0,2}}")
_TITLE = re.compile("《([^》]+)》")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_TURN = re.compile(r"第[一二三四五六七八九十百\d]+[届任次位季部]")
# "该片": the passage speaks of its subject without naming it again.
_BACK = re.compile("[该本此](?:[片剧书届次场机型]|作品|电影|影片|游戏|公司|赛事|组织)")
_CLAUSES = re.compile(r"[。！？?!；;\n]|\.\.\.|…")
_NUMERAL = "〇零一二两三四五六七八九十百千"
_DATE = re.compile(
    r"(?:\d{4}\s?年\s?)?\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{4}\s?年(?:\s?\d{1,2}\s?月)?|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    rf"|[〇零一二三四五六七八九]{{4}}年|[{_NUMERAL}]{{1,3}}月[{_NUMERAL}]{{1,3}}[日号]"
    rf"|(?<!\d)\d{{1,2}}[:：]\d\d(?!\d)|[\d{_NUMERAL}]{{1,3}}(?:点|小时|分钟|个月)|(?:星期|周)[一二三四五六日天]"
)
_DAY = re.compile("[月/.-].*[日号\\d]|年.*月")
_NUMBER = re.compile(
    r"(?<![\d.A-Za-z-])\d++(?:[.,]\d++)*+\s?[万亿]?(?![\s年月日号时点:：-]*[年月日号时点:：-])(?:[%％‰]|[\u4e00-\u9fff]|[a-zA-Z]+)?"
    rf"|[{_NUMERAL}万亿]+(?:分之[{_NUMERAL}]+|[个人名位次元米里天周台件家所座级])"
)
_ROLE = re.compile(rf"[{_HAN}]{{0,4}}(?:经理|主管|总监|负责人|主任|部长|院长|校长|董事长|总裁|委员会|部门)")
_SITE = re.compile(rf"[{_HAN}\d]{{1,6}}?(?:室|楼|层|厅|仓库|工厂|学院|大学|路|街|园区|区|县|镇|村|岛)")
_MARKED = re.compile(rf"[A-Z][A-Za-z]+(?:\s?\d+)?|[{_HAN}]{{2}}\d{{3}}")
# How many characters off a value may stand before it counts for a third: dates lead their sentence, names touch.
_REACH = {"time": 25, "amount": 4, "place": 5, "party": 8, "person": 6, "thing": 3}
# What a value weighs at least in a passage that shares nothing with the question: it was retrieved for it after all.
_FLOOR = 0.4
# What is left of a value beside another year, edition or part than the one asked about.
_OTHER = 0.2
# Chosen on the even lines of a set of answerable and unanswerable questions: nine of ten answerable ones lie above.
_ENOUGH = 0.256
_UNITS = (("率", "%％‰"), ("增长", "%％"), ("级", "级"), ("多少人", "人"), ("多少个", "个"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's sort of value, the words of its attribute, what must be there as it is, and pairs of the rest."""

    text: str
    sort: str
    attribute: frozenset[str]
    pinned: frozenset[str]
    titles: frozenset[str]
    subject: frozenset[str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The strongest value of each sentence, 0 to 1, and how strong the sources are together for one value, up to 2."""

    strengths: tuple[float, ...]
    agreed: float


@cache
def _words(key: str) -> tuple[str, ...]:
    text = (resources.files("footnote_generation") / "data" / "chinese.txt").read_text(encoding="utf-8")
    return tuple(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith(f"{key}:"))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    surnames, sounds, places = "".join(_words("surnames")), "".join(_words("sounds")), "|".join(_words("places"))
    part = f"[{sounds}{surnames}]{{1,6}}"
    foreign = rf"{part}(?:\s?[·•・]\s?{part})+|[{sounds}]{{2,8}}(?![{_HAN}]?匹克)"
    native = (
        rf"(?:(?<![{_HAN}])|(?<=[由是为為被与和演者剧官命任]))[{surnames}][{_HAN}]{{1,3}}?"
        rf"(?=[^{_HAN}]|$|执导|导演|编剧|创作|任|当选|饰|获|先生|女士|在|担|自|出|等|说|表)"
    )
    where = rf"{places}|(?<![{_HAN}])[{_HAN}]{{2,3}}[省市州]"
    team = rf"(?<![{_HAN}])[{_HAN}]{{2,6}}队"
    return {
        "person": re.compile(f"{foreign}|{native}|(?<=[由是为向找经]){_ROLE.pattern}"),
        "place": re.compile(f"{where}|{foreign}|(?<=[在于到]){_SITE.pattern}"),
        "party": re.compile(f"{team}|{where}|{foreign}"),
    }


def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[i : i + 2] for i in range(len(text) - 1)) or frozenset([text])


@lru_cache(maxsize=256)
def read(text: str) -> Asked | None:
    """Take a Chinese question apart; None when it is none, or asks for no single value."""
    sort = next((sort for sort, pattern in _SORTS if pattern.search(text)), "other")
    if sort == "other" or re.search("[\u3040-\u30ff\uac00-\ud7a3]", text):
        return None
    titles = frozenset(_TITLE.findall(text))
    plain = _ASKING.sub("|", re.sub(r"[A-Za-z0-9\-–]+年?", "|", _TITLE.sub("|", text)))
    pieces = [part for part in re.split(rf"[^{_HAN}]+", plain) if part]
    single = {word for line in _words("same") for word in line.split() if len(word) == 1}
    parts = [part for part in pieces if len(part) > 1 or part in single] or pieces
    attribute = _attribute(parts)
    subject = frozenset(
        pair
        for part in (*parts, *titles)
        for pair in _pairs(part)
        if not any(pair in word or word in pair for word in attribute)
    )
    pinned = frozenset(item.lower() for item in _PINNED.findall(text))
    return Asked(text, sort, attribute, pinned, titles, subject)


def mostly(units: Sequence[Unit]) -> bool:
    """Whether the sentences are written in Chinese for a good part: of others these signs know nothing."""
    return sum(len(re.findall(f"[{_HAN}]", unit.text)) for unit in units) > 0.3 * sum(len(unit.text) for unit in units)


def _attribute(parts: Sequence[str]) -> frozenset[str]:
    """Return the words that the asked value stands beside: known ones of the last two parts, or the last part."""
    for part in reversed(parts[-2:]):
        known = [
            group
            for group in (line.split() for line in _words("same"))
            if any(word in part and (len(word) > 1 or word == part) for word in group)
        ]
        if known:
            return frozenset(word for group in known for word in group)
    return frozenset(parts[-1][-size:] for size in (2, 3, 4)) if parts else frozenset()


def _candidates(asked: Asked, clause: str) -> list[re.Match[str]]:
    if asked.sort == "time":
        found = list(_DATE.finditer(clause))
    elif asked.sort == "amount":
        found = list(_NUMBER.finditer(clause))
    elif asked.sort == "thing":
        after = (
            re.finditer(rf"(?<={word})(?:是|为|叫做?|：|:|采用)?\s?[“「]?[{_HAN}A-Za-z][{_HAN}\w]{{1,7}}", clause)
            for word in asked.attribute
        )
        found = [match for matches in after for match in matches] + list(_MARKED.finditer(clause))
    else:
        own = _pairs(asked.text)
        found = [m for m in _patterns()[asked.sort].finditer(clause) if not own & _pairs(m.group())]
        found = [m for m in found if not re.search("城市|球队|[的了是]", m.group()[1:])]
    return [match for match in found if match.group() not in asked.text]


def _fits(asked: Asked, value: str) -> float:
    """How well a value has the form asked for: a day for a date, the unit for a number, a name for a person."""
    if asked.sort == "time" and not re.search("哪一?年", asked.text) and not _DAY.search(value):
        return 0.4 if value.endswith("年") else 0.6
    if asked.sort == "amount" and any(key in asked.text and value[-1] not in units for key, units in _UNITS):
        return 0.6 if value[-1].isdigit() else 0.2
    return 0.6 if _ROLE.fullmatch(value) or _SITE.fullmatch(value) else 1.0


def values(asked: Asked, text: str, source: str) -> dict[str, float]:
    """Return the values found in a sentence of a source, each with its strength, 0 to 1."""
    pinned = [item in source.lower() for item in asked.pinned] + [title in source for title in asked.titles]
    whole = sum(pinned) / len(pinned) if pinned else 1.0
    found: dict[str, float] = {}
    for clause in _CLAUSES.split(text):
        places = [m.span() for word in asked.attribute for m in re.finditer(re.escape(word), clause)]
        held = whole
        subject = (_share(asked, source) + _share(asked, clause)) / 2
        if _BACK.search(clause):
            subject, held = max(subject, 0.7), max(held, 0.7)
        weight = (_FLOOR + (1 - _FLOOR) * subject) * (0.3 + 0.7 * held) * _clash(asked, clause)
        for match in _candidates(asked, clause):
            if asked.sort == "place" and clause[match.end() : match.end() + 2] in asked.subject:
                gap = 0  # "2012年伦敦奥运会": the place is part of the event's name
            elif places:
                gap = min(max(0, start - match.end(), match.start() - end) for start, end in places)
            else:
                continue
            strength = weight * _fits(asked, match.group()) * math.exp(-max(0, gap - 1) / _REACH[asked.sort])
            found[match.group()] = max(strength, found.get(match.group(), 0.0))
    return found


def _share(asked: Asked, text: str) -> float:
    return sum(pair in text for pair in asked.subject) / len(asked.subject) if asked.subject else 1.0


def _clash(asked: Asked, clause: str) -> float:
    """Return less than 1 for a clause on another year, or on a sequel ("《流浪地球2》" for "《流浪地球》")."""
    years, wanted = set(_YEAR.findall(clause)), asked.pinned & set(_YEAR.findall(asked.text))
    factor = _OTHER if wanted and years and not years & wanted else 1.0
    turns, turn = set(_TURN.findall(clause)), set(_TURN.findall(asked.text))
    if turn and turns and not turns & turn:
        factor *= _OTHER
    for title in asked.titles:
        if re.search(rf"{re.escape(title)}\d", clause) and f"《{title}》" not in clause:
            factor *= _OTHER
    return factor


def evidence(asked: Asked, units: Sequence[Unit]) -> Evidence:
    """Weigh the values in all sentences of the sources; sources that name the same value bear each other out."""
    texts: dict[int, str] = {}
    for unit in units:
        texts[unit.source] = texts.get(unit.source, "") + unit.text
    best: dict[str, dict[int, float]] = {}
    strengths: list[float] = []
    for unit in units:
        found = values(asked, unit.text, texts[unit.source])
        strengths.append(max(found.values(), default=0.0))
        for value, strength in found.items():
            by_source = best.setdefault(re.sub(r"\s", "", value), {})
            by_source[unit.source] = max(strength, by_source.get(unit.source, 0.0))
    agreed = max((sum(by_source.values()) for by_source in best.values()), default=0.0)
    return Evidence(tuple(strengths), min(2.0, agreed))


def support(found: Evidence) -> float:
    """How sure it is that the question is answered, 0 to 1: a half at the agreement that is enough."""
    return 1 / (1 + math.exp(-4 * (found.agreed - _ENOUGH)))
