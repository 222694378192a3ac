"""Chinese questions to the built-in answerer: a value of the sort asked for, beside the attribute asked of, or none."""

import pytest
from footnote.types.v1.answer_pb2 import Source
from footnote_generation.adapters.extractive.chinese import evidence
from footnote_generation.adapters.extractive.chinese.question import read
from footnote_generation.adapters.extractive.compose import Draft, draft

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
def test_a_value_beside_its_attribute_is_an_answer(question: str, answer: str) -> None:
    made = ask(question, HANDBOOK, PLANTS)
    assert made.support >= 0.5
    assert answer in made.sentences[0][0]


@pytest.mark.parametrize(
    "question",
    ["公司的董事长是谁？", "产品的保修期是多久？", "东方分部在哪里？", "午餐价格是多少？", "新产品什么时候发布？"],
)
def test_an_attribute_that_no_passage_speaks_of_is_not_found(question: str) -> None:
    assert ask(question, HANDBOOK, PLANTS).support < 0.5


def test_passages_on_the_subject_without_the_asked_value_are_not_enough() -> None:
    question = "电影《雾港》的导演是谁？"
    talk = (
        "《雾港》上映三天票房过亿，观众评价很高。",
        "《雾港》获得了最佳导演奖提名，影片的摄影也备受称赞。",
    )
    assert ask(question, *talk).support < 0.5
    assert ask(question, *talk, "《雾港》是一部悬疑电影，由陈立明执导。").support >= 0.5


def strength(question: str, text: str) -> float:
    asked = read(question)
    assert asked is not None
    return max(evidence.values(asked, text, text).values(), default=0.0)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("2022年全市人口出生率是多少？", "2022年全市人口出生率为6.77‰。", "2021年全市人口出生率为7.52‰。"),
        ("2022年全市人口出生率是多少？", "2022年全市人口出生率为6.77‰。", "2022年全市出生人口95万人，出生率下降。"),
        ("第六届读书节有多少个展位？", "第六届读书节共有70个展位。", "第七届读书节共有90个展位。"),
        ("《雾港》的上映时间？", "《雾港》于2021年2月12日上映。", "《雾港》是一部2021年上映的电影。"),
        ("《雾港》的上映时间？", "《雾港》于2021年2月12日上映。", "《雾港2》于2023年2月12日上映。"),
        ("帆船赛在哪里举办？", "帆船赛在青岛市举办。", "帆船赛的举办工作已经完成。"),
        ("2022年帆船赛的冠军是谁？", "2022年帆船赛，青岛队夺得冠军。", "2022年5月，帆船赛卫冕冠军青岛队到访。"),
        ("2022年帆船赛的冠军是谁？", "2022年帆船赛，青岛队夺得冠军。", "2022年帆船赛，他战胜青岛队夺得冠军。"),
        ("2022年帆船赛的冠军是谁？", "2022年帆船赛，青岛队夺得冠军。", "2022年3月2日，帆船赛上届冠军青岛队到访。"),
        ("《雾港》的导演是谁？", "《雾港》由陈立明执导。", "《雾港》由陈立明监制，导演未定。"),
        ("海风MIX2的芯片是什么？", "海风MIX 2的芯片采用星火835。", "海风Note3的芯片采用星火660。海风MIX 2更快。"),
        ("2022年产值增长了多少？", "2022年产值增长6.1%。", "预计2022年产值增长6.2%。"),
        ("林海什么时候去世的？", "林海（1901年3月5日—1977年8月9日），画家。", "林海1950年出生的儿子也去世了。"),
        ("青岛帆船赛开赛时间？", "青岛帆船赛2023年5月6日开赛。", "青岛帆船赛开赛前用了6小时准备。"),
    ],
)
def test_year_edition_unit_and_sequel_count(question: str, right: str, wrong: str) -> None:
    assert strength(question, right) > 2 * strength(question, wrong)


def test_an_attribute_inside_the_word_for_something_else_is_none() -> None:
    assert strength("东海国的首都在哪？", "东海国首都南京市很热闹。") > 0.5
    assert strength("东海国的首都在哪？", "东海国首都区位于南京市。") < strength(
        "东海国的首都在哪？", "东海国首都位于南京市。"
    )


def test_a_year_counts_fully_only_as_the_year_of_what_is_asked_about() -> None:
    question = "2010年帆船赛在哪里举办？"
    of_event = strength(question, "2010年帆船赛在青岛市举办。")
    assert of_event > strength(question, "2010年4月他说，帆船赛在青岛市举办。")


def test_sources_that_agree_are_surer_than_one() -> None:
    text = "据介绍，帆船赛的开幕式已经筹备了三年，将于2024年5月3日举行。"
    question = "帆船赛什么时候开幕？"
    assert ask(question, text, text).support > ask(question, text).support


@pytest.mark.parametrize(
    "question",
    ["为什么要提交报销？", "如何预订会议室？", "Who directed the film?", "監督は誰ですか", "可以带宠物吗？"],
)
def test_questions_for_no_single_value_and_other_languages_are_left_to_the_general_signs(question: str) -> None:
    assert read(question) is None


def test_a_chinese_question_over_english_passages_is_left_to_the_general_signs() -> None:
    asked = ask("BERT的训练目标是什么？", "BERT is trained with a masked language model objective.")
    assert asked.support != pytest.approx(evidence.support(evidence.Evidence((), 0.0)))
