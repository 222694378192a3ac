"""Chinese questions to the built-in answerer, which knows only its characters, numbers and question words."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.extractive.compose import Draft, draft
from footnote_generation.extractive.question import Kind, read

HANDBOOK = (
    "全职员工每年享有20天带薪年假。休假申请由部门经理批准。工作时间为每天9:00至17:30。"
    "公司成立于2009年，总部位于苏州工业园区星湖街。报销须在出差结束后三十天内提交。会议室在三楼，需通过前台预订。"
)
PLANTS = (
    "北方工厂有480名员工，主要生产钢架。南方仓库的主管是李伟。设备检修日期为2024年3月15日。加班费为平时工资的150%。"
)


def ask(question: str, *texts: str) -> Draft:
    return draft(question, [Source(number=n, text=text, score=1 - 0.1 * n) for n, text in enumerate(texts, start=1)])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("年假有多少天？", "20天"),
        ("谁批准休假申请？", "部门经理"),
        ("工作时间是几点到几点？", "9:00"),
        ("公司是哪一年成立的？", "2009年"),
        ("总部在哪里？", "星湖街"),
        ("报销要在多少天内提交？", "三十天"),
        ("会议室在哪里？", "三楼"),
        ("北方工厂有多少名员工？", "480"),
        ("南方仓库的主管是谁？", "李伟"),
        ("设备检修是什么时候？", "2024年3月15日"),
        ("加班费是多少？", "150%"),
    ],
)
def test_the_sentence_that_shares_the_questions_words_is_an_answer(question: str, answer: str) -> None:
    made = ask(question, HANDBOOK, PLANTS)
    assert made.support >= 0.5
    assert answer in made.sentences[0][0]


@pytest.mark.parametrize(
    "question",
    ["公司的董事长是谁？", "产品的保修期是多久？", "东方分部在哪里？", "午餐价格是多少？", "新产品什么时候发布？"],
)
def test_what_no_passage_speaks_of_is_not_found(question: str) -> None:
    assert ask(question, HANDBOOK, PLANTS).support < 0.5


# Values of other sorts, attributes and trades than any set of questions asks for: no list of words helps here.
OTHERS = (
    "蜂蜜应存放在阴凉干燥处，开封后六个月内食用完毕。养蜂场的巡检由林师傅负责。每箱蜜蜂约有四万只工蜂。"
    "冬季饲喂从十一月开始，因为野外已没有花源。蜂箱用杉木制成。"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("蜂蜜应该存放在哪里？", "阴凉干燥处"),
        ("养蜂场的巡检由谁负责？", "林师傅"),
        ("每箱蜜蜂有多少只工蜂？", "四万"),
        ("为什么冬季饲喂从十一月开始？", "没有花源"),
        ("蜂箱用什么制成？", "杉木"),
        ("蜂蜜开封后要在多久内食用完毕？", "六个月"),
    ],
)
def test_words_that_no_list_knows_are_answered_too(question: str, answer: str) -> None:
    made = ask(question, HANDBOOK, OTHERS)
    assert made.support >= 0.5
    assert answer in made.sentences[0][0]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("谁批准申请？", Kind.PERSON),
        ("什么时候检修？", Kind.TIME),
        ("会议室在哪里？", Kind.PLACE),
        ("有多少名员工？", Kind.COUNT),
        ("为什么要提交报销？", Kind.REASON),
        ("如何预订会议室？", Kind.MANNER),
        ("可以带宠物吗？", Kind.YES_NO),
    ],
)
def test_question_words_tell_the_kind(question: str, kind: Kind) -> None:
    assert read(question).kind is kind


def test_a_question_is_about_its_words_without_those_that_ask() -> None:
    assert [word.text for word in read("年假有多少天？").about] == ["年假"]
    assert [word.text for word in read("公司是哪一年成立的？").about] == ["公司", "成立"]
