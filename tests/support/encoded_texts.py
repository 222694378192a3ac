"""Short texts of everyday kinds in twelve encodings, written for the tests: letters, notes, notices, minutes."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, ...]] = {
    "fr": (
        "Le café du théâtre ferme à dix-huit heures.",
        "Merci de rapporter la clé à l'accueil avant samedi.",
        "L'été dernier, nous avons logé près de la forêt.",
        "La réunion a été déplacée au 3 février, salle n° 12.",
        "Il reste à vérifier le prix : 45 € par personne.",
        "Où sont passés les procès-verbaux de décembre ?",
        "Ça va coûter plus cher que prévu, hélas.",
        "Le maître d'œuvre répondra dès qu'il aura reçu les plans.",
        "Trois élèves ont oublié leur goûter.",
    ),
    "de": (
        "Die Straße zum Bahnhof ist bis Mittwoch gesperrt.",
        "Bitte schließen Sie nachts die Türen.",
        "Für die Übernachtung fallen 80 € an.",
        "Der Schlüssel hängt neben dem großen Spiegel.",
        "Im März wählt der Verein einen neuen Vorstand.",
        "Die Prüfung dauert ungefähr zwei Stunden.",
        "Das Geschäft öffnet erst um zehn.",
        "Müllers Garten liegt hinter der Mühle.",
        "Wir grüßen Sie herzlich aus Köln.",
    ),
    "es": (
        "El niño perdió la mochila en la estación.",
        "¿A qué hora sale el último autobús?",
        "La reunión será mañana por la tarde.",
        "Según el técnico, la calefacción está averiada.",
        "¡Qué frío hace este año en León!",
        "La señora Muñoz pagará con tarjeta.",
        "El jardín está detrás del almacén.",
        "También habrá música y un pequeño almuerzo.",
        "Todavía no llegó el camión de la panadería.",
    ),
    "pl": (
        "Zebranie wspólnoty odbędzie się w środę o osiemnastej.",
        "Proszę zamykać drzwi na klucz po każdym wyjściu.",
        "Książki należy oddać do końca miesiąca.",
        "Pociąg do Łodzi jest opóźniony o dwadzieścia minut.",
        "Żółta łódź leży przy moście.",
        "Dziękujemy za szybką odpowiedź i życzliwość.",
        "Ślusarz przyjdzie dopiero w przyszłym tygodniu.",
        "Cena biletu wzrosła o pięć złotych.",
        "W piątek sklep będzie nieczynny z powodu remontu.",
    ),
    "cs": (
        "Schůze se koná v úterý večer v malém sále.",
        "Prosíme, vraťte klíče na vrátnici.",
        "Vlak z Brna má zpoždění dvacet minut.",
        "Příští týden začne oprava střechy.",
        "Děkujeme za rychlou odpověď.",
        "Žáci sedmé třídy pojedou na výlet ke hradu.",
        "Účet za elektřinu přišel včera.",
        "Knihovna je v létě zavřená.",
        "Obědy se vydávají od jedenácti hodin.",
    ),
    "hu": (
        "A gyűlés szerdán este hatkor kezdődik.",
        "Kérjük, hogy a kulcsot adja le a portán.",
        "A könyveket a hónap végéig kell visszahozni.",
        "Köszönjük a gyors választ és a türelmet.",
        "A tető javítása jövő héten indul.",
        "Tegnap óta nincs meleg víz az épületben.",
        "A vonat húsz percet késik az időjárás miatt.",
        "Az őszi szünet után új tanár érkezik.",
        "A bejárat a kőfal mögött található.",
    ),
    "ru": (
        "Собрание жильцов состоится в среду вечером.",
        "Просим сдать книги до конца месяца.",
        "Поезд из Твери опаздывает на двадцать минут.",
        "Ключ висит рядом с большим зеркалом.",
        "Спасибо за быстрый ответ и терпение.",
        "Магазин закрыт на ремонт до пятницы.",
        "Дети забыли зонтики в школе.",
        "Стоимость билета выросла на десять рублей.",
        "Мастер придёт только на следующей неделе.",
    ),
    "el": (
        "Η συνέλευση θα γίνει την Τετάρτη το βράδυ.",
        "Παρακαλούμε κλείνετε την πόρτα όταν φεύγετε.",
        "Το τρένο έχει καθυστέρηση είκοσι λεπτών.",
        "Ευχαριστούμε για τη γρήγορη απάντηση.",
        "Τα βιβλία επιστρέφονται ως το τέλος του μήνα.",
        "Ο τεχνικός θα έρθει την άλλη εβδομάδα.",
        "Το μαγαζί μένει κλειστό τον Αύγουστο.",
        "Τα παιδιά ξέχασαν τις ομπρέλες τους.",
        "Η τιμή του εισιτηρίου ανέβηκε πάλι.",
    ),
    "tr": (
        "Toplantı çarşamba akşamı küçük salonda yapılacak.",
        "Lütfen çıkarken kapıyı kilitleyiniz.",
        "Kitapların ay sonuna kadar geri verilmesi gerekiyor.",
        "Tren yirmi dakika gecikmeli geliyor.",
        "Hızlı cevabınız için teşekkür ederiz.",
        "Dükkân tadilat nedeniyle cumaya kadar kapalıdır.",
        "Çocuklar şemsiyelerini okulda unutmuş.",
        "Bilet ücreti beş lira arttı.",
        "Usta ancak gelecek hafta gelebilecekmiş.",
    ),
    "ja": (
        "会議は水曜日の夜に小さいホールで行います。",
        "お出かけの際は必ず鍵をかけてください。",
        "電車は二十分ほど遅れています。",
        "本は月末までに返却してください。",
        "早速のお返事ありがとうございます。",
        "店は改装のため金曜日まで休みです。",
        "子どもたちは学校に傘を忘れました。",
        "切符の値段が十円上がりました。",
        "職人は来週まで来られないそうです。",
    ),
    "zh": (
        "会议将于星期三晚上在小礼堂举行。",
        "外出时请务必锁好门窗。",
        "火车大约晚点二十分钟。",
        "图书请在月底之前归还。",
        "感谢您的及时答复与耐心。",
        "商店因装修停业到星期五。",
        "孩子们把雨伞忘在学校了。",
        "车票的价格又涨了两元。",
        "师傅要到下个星期才能来。",
    ),
    "zh-hant": (
        "會議將於星期三晚上在小禮堂舉行。",
        "外出時請務必鎖好門窗。",
        "火車大約誤點二十分鐘。",
        "圖書請在月底之前歸還。",
        "感謝您的及時答覆與耐心。",
        "商店因裝修停業到星期五。",
        "孩子們把雨傘忘在學校了。",
        "車票的價格又漲了兩元。",
        "師傅要到下個星期才能來。",
    ),
    "ko": (
        "회의는 수요일 저녁 작은 강당에서 열립니다.",
        "외출하실 때는 문을 꼭 잠가 주세요.",
        "기차가 이십 분쯤 늦게 도착합니다.",
        "책은 월말까지 돌려주시기 바랍니다.",
        "빠른 답장에 진심으로 감사드립니다.",
        "가게는 공사 때문에 금요일까지 쉽니다.",
        "아이들이 학교에 우산을 두고 왔어요.",
        "표 값이 또 오백 원 올랐습니다.",
        "기술자는 다음 주에나 올 수 있답니다.",
    ),
}
LANGUAGES: dict[str, tuple[str, ...]] = {
    "cp1252": ("fr", "de", "es"),
    "cp1250": ("pl", "cs", "hu"),
    "iso-8859-2": ("pl", "cs", "hu"),
    "cp1251": ("ru",),
    "koi8-r": ("ru",),
    "cp1253": ("el",),
    "cp1254": ("tr",),
    "shift_jis": ("ja",),
    "euc-jp": ("ja",),
    "gb18030": ("zh",),
    "big5": ("zh-hant",),
    "euc-kr": ("ko",),
}
"""Encoding to the languages that are written in it."""


def texts(language: str) -> list[str]:
    """Each sentence alone, with the next, with the next two."""
    lines = SENTENCES[language]
    several = [lines[start : start + length] for length in (1, 2, 3) for start in range(len(lines) - length + 1)]
    return [" ".join(one) if language != "ja" else "".join(one) for one in several]


def cases() -> list[tuple[str, str]]:
    """Encoding and text; at least 24 texts an encoding, more where there are several languages."""
    found = [(codec, text) for codec, languages in LANGUAGES.items() for one in languages for text in texts(one)]
    return [(codec, text) for codec, text in found if not text.isascii()]
