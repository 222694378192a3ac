import pytest
from footnote_text.sentences import split, starts_from
from hypothesis import given
from hypothesis import strategies as st


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("See Fig. 3 for J. R. Tolkien, e.g. the map. Next.", ["See Fig. 3 for J. R. Tolkien, e.g. the map.", "Next."]),
        ("Il a dit « non. » Puis il partit.", ["Il a dit « non. »", "Puis il partit."]),
        ('He said "Stop." Then he ran.', ['He said "Stop."', "Then he ran."]),
        ("今日は晴れです。明日は雨です。", ["今日は晴れです。", "明日は雨です。"]),
        ("ما هي الرسوم؟ الرسوم هي 5 دنانير.", ["ما هي الرسوم؟", "الرسوم هي 5 دنانير."]),
        ("یہ ایک ہے۔ یہ دو ہے۔", ["یہ ایک ہے۔", "یہ دو ہے۔"]),
        ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
        ("First\n\nSecond", ["First", "Second"]),
        ("Yahoo! announced results. Fine.", ["Yahoo! announced results.", "Fine."]),
        ("- one item\n- two items", ["- one item", "- two items"]),
        ("1. First step\n2. Second step", ["1. First step", "2. Second step"]),
        ("no end", ["no end"]),
        ("", []),
    ],
)
def test_split(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@given(st.text(alphabet="aA. !?\n。”)1,é", max_size=80))
def test_spans_are_ordered_and_cover_everything_but_space(text: str) -> None:
    spans = split(text)
    covered = set()
    last = 0
    for start, end in spans:
        assert last <= start < end
        last = end
        covered.update(range(start, end))
    assert all(char.isspace() for index, char in enumerate(text) if index not in covered)


@pytest.mark.parametrize(
    "text",
    [
        "It takes place at 11 a.m. PDT on Wednesday, Aug. 2.| The shop opens at 9 a.m.| Guests come in then.",
        "The U.S. Navy and J.W. Wild met E.H. Schulz.| He left the U.S.| The war was over.",
        "He left the U.S.| “The company did well,” he said in the U.S. “Navy Times”.",
        "Founded in Washington, D.C.| Revenue was 5, said Jones, J.W. Wild and others.",
        "Open until 5 P.M.| Entry is free.",
        "No.| The fee is 5 EUR.| No. 5 is older than Order No. AB-12.",
        "Is it free?| No.| It costs 5 EUR.",
        "Art. No. AB-12 and Ref. No. X cost 5 EUR.| No. A12 is old.",
        "Мы продаём столы, стулья и т.д.| Компания основана в 2010 году.",
        "Es gilt u.Ä.| Die Firma wächst.",
        "Πουλάμε τραπέζια κ.ά.| Η εταιρεία ιδρύθηκε το 2010.",
        "See figure B.1.| Sales rose.",
        "Die Klinik wurde am 12. Mai 1931 eröffnet.| Der Neubau kostete 4,5 Mio. Euro.| Danach kam Fr. Dr. Lindner.",
        "Das Zimmer liegt im 3. Stock.| Es ist hell.",
        "Am 1. Januar beginnt die 2. Phase.| Bis zum 15. ist Zeit.",
        "Die Frist endet am 30. 6. 2024.| Danach verfällt der Anspruch.",
        "Bringen Sie z. B. Obst, Gemüse usw. mit.| Getränke gibt es dort.",
        "Согласно ст. 5 п. 3 договора срок равен 30 дням.| Это всё.",
        "См. гл. 2 абз. 4 ч. 1 закона.| Дом построен в XIX ст.| Он цел.",
        "Ustawa określa art. 5 ust. 2 pkt 3 umowy.| To jest 10 pkt.| Wynik jest dobry.",
        "Die 7. Auflage erschien im Okt. 2011.| Die 8. Auflage folgte 2014.",
        "Er wurde 5. im Rennen.| Sie wurde 3.| Beide freuten sich.",
        "Es waren insgesamt 12.| Mehr kamen nicht.",
        "Bis zum 15. Danach ist es zu spät.",
        "Der Umsatz betrug ca. 3 Mrd. Euro, d. h. mehr als 2019.| Kaiser Wilhelm II. regierte bis 1918.",
        "Das Treffen ist um 9 Uhr in der Hauptstr. 5.| Kommen Sie pünktlich.",
        "Il mesure 1,80 m.| Elle mesure 1,60 m.| Il connaît M. Garnier, cf. p. 12.",
        "Он живёт на ул. Ленина, д. 5.| Цена 5 тыс. руб. за шт.| Это дорого.",
        "Spotkanie o godz. 9 na ul. Długiej 5.| Prosimy o punktualność.",
    ],
)
def test_ordinals_and_abbreviations_end_no_sentence(text: str) -> None:
    """What follows "Bis zum 15." reads as an ordinal: a known fault, which joins two sentences and cuts none apart."""
    assert cut(text.replace("|", "")) == [part.strip() for part in text.split("|")]


@given(st.text(alphabet='aB1 .!?…)"\n-*•。」', max_size=40))
def test_the_last_sentences_begin_where_those_of_the_whole_text_do(text: str) -> None:
    starts = [start for start, _ in split(text)]
    for index in range(len(text) + 1):
        assert starts_from(text, index) == [start for start in starts if start >= index]
