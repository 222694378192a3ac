"""For each locale of ours: a question that no document answers, a greeting, and words of thanks."""

TONGUES: dict[str, tuple[str, str, str]] = {
    "ar": ("كم تزن المرساة المصنوعة من الجرانيت؟", "مرحبًا!", "شكرًا جزيلاً"),
    "de": ("Wie schwer ist der Anker aus Granit?", "Guten Tag!", "Vielen Dank!"),
    "en": ("How heavy is the granite anchor?", "Hello!", "Thank you very much"),
    "es": ("¿Cuánto pesa el ancla de granito?", "¡Buenos días!", "Muchas gracias."),
    "fr": ("Combien pèse l'ancre en granit ?", "Bonjour !", "Merci beaucoup !"),
    "it": ("Quanto pesa l'ancora di granito?", "Buongiorno!", "Grazie mille!"),
    "ja": ("花崗岩の錨の重さはどれくらいですか。", "こんにちは", "ありがとうございます。"),
    "nl": ("Hoe zwaar is het anker van graniet?", "Goedemorgen!", "Dank u wel"),
    "pl": ("Ile waży granitowa kotwica?", "Dzień dobry!", "Dziękuję bardzo"),
    "pt": ("Quanto pesa a âncora de granito?", "Bom dia!", "Muito obrigada!"),
    "ru": ("Сколько весит гранитный якорь?", "Здравствуйте!", "Большое спасибо!"),
    "zh": ("花岗岩锚有多重？", "您好！", "谢谢您！"),
}
