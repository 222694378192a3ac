"""The values in a clause that have the sort a Chinese question asks for."""

from __future__ import annotations

import re
from functools import cache

from footnote_generation.adapters.extractive.chinese.question import Asked
from footnote_generation.adapters.extractive.chinese.words import HAN, YEAR, listed, pairs

_NUMERAL = "〇零一二两三四五六七八九十百千"
_DATE = re.compile(
    r"(?:\d{4}\s?年\s?)?\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{4}\s?年(?:\s?\d{1,2}\s?月)?|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    rf"|[〇零一二三四五六七八九]{{4}}年|[{_NUMERAL}]{{1,3}}月[{_NUMERAL}]{{1,3}}[日号]"
    rf"|(?<!\d)\d{{1,2}}[:：]\d\d(?!\d)|[\d{_NUMERAL}]{{1,3}}(?:点|小时|分钟|个月)|(?:星期|周)[一二三四五六日天]"
)
_LIFE = re.compile(rf"(?P<first>{_DATE.pattern})\s?[-\u2010-\u2015－~～至]+\s?(?P<last>{_DATE.pattern})")
_DAY = re.compile(r"[月/.\-][^\n月/.\-日号\d]*+[日号\d]|年[^\n年月]*+月")
_CLOCK = re.compile(r"[:：]|点$")
_DURATION = re.compile("小时|分钟|个月")
_NUMBER = re.compile(
    r"(?<![\d.A-Za-z-])\d++(?:[.,]\d++)*+\s?[万亿]?(?![\s年月日号时点:：-]*[年月日号时点:：-])(?:[%％‰]|[\u4e00-\u9fff]|[a-zA-Z]+)?"
    rf"|[{_NUMERAL}万亿]{{1,12}}(?:分之[{_NUMERAL}]{{1,8}}|[个人名位次元米里天周台件家所座级])"
)
_ROLE = re.compile(rf"[{HAN}]{{0,4}}(?:经理|主管|总监|负责人|主任|部长|院长|校长|董事长|总裁|委员会|部门)")
_SITE = re.compile(rf"[{HAN}\d]{{1,6}}?(?:室|楼|层|厅|仓库|工厂|学院|大学|路|街|园区|区|县|镇|村|岛)")
_MARKED = re.compile(rf"[A-Z][A-Za-z]+(?:\s?\d+)?|[{HAN}]{{2}}\d{{3}}")
_UNITS = (("率", "%％‰"), ("增长", "%％"), ("级", "级"), ("多少人", "人"), ("多少个", "个"))
# What no name of a person, place or team holds, and what a thing's name does not begin with.
_NO_NAME = re.compile(
    "包括|高达|庞大|强大|特别|基本|马上|达到|加盟|城市|球队|战胜|击败|打败|淘汰|监制|主演|领衔|方案"
    "|[奖票杯]|法$|.[的了是]"
)
_NO_THING = re.compile("[的了是为在和与及其上中将已仍也都还兼版以而等并]|什么|哪")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    surnames, sounds, places = "".join(listed("surnames")), "".join(listed("sounds")), "|".join(listed("places"))
    part = f"[{sounds}{surnames}]{{1,6}}"
    dotted = rf"{part}(?:\s?[·•・]\s?{part})+"
    sounded = rf"[{sounds}]{{2,8}}(?![{HAN}]?匹克|市|州|省|国|人|语|奖)"
    native = (
        rf"(?:(?<![{HAN}])|(?<=[由是为為被与和演者剧官命任]))[{surnames}][{HAN}]{{1,3}}?"
        rf"(?=[^{HAN}]|$|执导|导演|编剧|创作|任|当选|饰|获|獲|为|為|先生|女士|在|担|自|出|等|说|表|监制|主演)"
    )
    where = rf"{places}|(?<![{HAN}])[{HAN}]{{2,3}}[省市州]"
    abroad = (
        rf"(?<=[在于是为都到])(?:{dotted}|[{sounds}]{{2,8}})|[{sounds}]{{2,8}}(?=市|州|举办|主办|承办|申办|举行|[（(])"
    )
    score = r"以?\s?\d+\s?[-:：比]\s?\d+"
    team = rf"(?:(?<![{HAN}])|(?<=战胜|击败|打败|淘汰))[{HAN}]{{2,6}}队|(?<![{HAN}])[{HAN}]{{2,6}}?(?={score})"
    return {
        "person": re.compile(f"{dotted}|{sounded}|{native}|(?<=[由是为向找经]){_ROLE.pattern}"),
        "place": re.compile(f"{where}|{abroad}|{dotted}|(?<=[在于到]){_SITE.pattern}"),
        "party": re.compile(f"{team}|{where}|{dotted}|{sounded}"),
        "country": re.compile(where),
    }


def candidates(asked: Asked, clause: str) -> list[re.Match[str]]:
    """Return the values of the sort asked for that the question does not hold itself."""
    if asked.sort == "time":
        found = list(_DATE.finditer(clause))
    elif asked.sort == "amount":
        found = list(_NUMBER.finditer(clause))
    elif asked.sort == "thing":
        after = (
            re.finditer(
                rf"(?<={word})(?:是|为|叫做?|：|:|采用)?\s?[“「]?(?P<own>[{HAN}A-Za-z][{HAN}\w]{{1,7}})", clause
            )
            for word in asked.attribute
        )
        found = [match for matches in after for match in matches if not _NO_THING.match(match["own"])]
        found += _MARKED.finditer(clause)
    else:
        own = pairs(asked.text)
        found = [m for m in _patterns()[asked.sort].finditer(clause) if not own & pairs(m.group())]
        found = [m for m in found if not _NO_NAME.search(m.group())]
        if asked.sort == "party":
            found = [m for m in found if clause[m.start() - 1 : m.start()] not in {"在", "于"}]
        if asked.sort == "person":
            found = [m for m in found if not _patterns()["country"].fullmatch(m.group())]
    return [match for match in found if match.group() not in asked.text]


def lived(asked: Asked, clause: str) -> list[tuple[int, int]]:
    """Return where a life's dates join, "1819年5月24日—1901年1月22日", beside the one that is asked for."""
    if asked.sort != "time":
        return []
    found = []
    for match in _LIFE.finditer(clause):
        if asked.attribute & {"去世", "逝世"}:
            found.append((match.start("last") - 1, match.start("last")))
        elif asked.attribute & {"出生", "诞生"}:
            found.append((match.start("first"), match.start("first") + 1))
    return found


def fits(asked: Asked, value: str) -> float:
    """How well a value has the form asked for: a day for a date, the unit for a number, a name for a person."""
    if asked.sort == "time":
        return _fits_time(asked, value)
    if asked.sort == "amount" and any(key in asked.text and value[-1] not in units for key, units in _UNITS):
        return 0.6 if value[-1].isdigit() else 0.2
    return 0.6 if _ROLE.fullmatch(value) or _SITE.fullmatch(value) else 1.0


def _fits_time(asked: Asked, value: str) -> float:
    if _DURATION.search(value):
        return 0.2
    if _CLOCK.search(value):
        return 1.0 if "几点" in asked.text else 0.6 if "时间" in asked.text else 0.2
    if _DAY.search(value) or re.search("哪一?年", asked.text):
        return 1.0 if asked.years or YEAR.search(value) else 0.7  # "on 3 May" of which year?
    return 0.4 if value.endswith("年") else 0.6
