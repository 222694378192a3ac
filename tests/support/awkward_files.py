# ruff: noqa: E501
"""Ordinary questions among awkward file names: names made of the words of questions.

None of these questions means a file. Each question's answer is one passage; beside it stand files whose names hold the
question's words and whose passages do not answer it. Every other question was kept apart while the rule was worked on.
"""

from __future__ import annotations

from dataclasses import dataclass

# File name, language, passages.
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "travel-policy.md": ("en", (
        "This document is owned by the finance department and reviewed each January. Exceptions are granted by the head of finance in writing.",
        "Claims are handed in within thirty days. Receipts are scanned and attached, and paper originals are kept for one year.",
    )),
    "mobility handbook.docx": ("en", (
        "Policy for trains: journeys of less than four hours are made by train in second class, longer ones may be booked in first class. The travel desk buys the tickets.",
        "Bicycles may be leased through the company. The monthly rate is taken from gross pay, and the lease runs for thirty-six months.",
        "A taxi to the airport is paid for only before six in the morning and after ten at night.",
    )),
    "press-releases.docx": ("en", (
        "House style: headlines have at most ten words, the first paragraph answers who, what and when, and every text closes with the boilerplate.",
        "Texts are approved by legal and by the head of communications before they leave the building.",
    )),
    "lyon.pdf": ("en", (
        "The site was opened in 1998 beside the river and employs two hundred people in three halls. Its canteen serves lunch from half past eleven.",
        "The second hall was rebuilt after the flood of 2003 and holds the spare parts store.",
    )),
    "media contacts.xlsx": ("en", (
        "Press releases about hiring and about the plant are sent to Lyon, to the editors of Le Progrès and of Radio Scoop; financial press releases are sent to Paris only.",
        "Journalists who ask for interviews are called back within two hours by the officer on duty.",
    )),
    "parking places.txt": ("en", (
        "Badges are handed out at reception. Cars left overnight are towed away at the owner's expense.",
    )),
    "site facts.pdf": ("en", (
        "The number of parking places is 212, of which eight have chargers and six are reserved for visitors.",
        "The office has four floors with a total area of 6,300 square metres. The number of meeting rooms is nineteen.",
        "In words: the capacity of the main auditorium is three hundred seats; the unit of measure for rent is the square foot.",
    )),
    "report.pdf": ("en", (
        "Figures are rounded. The auditors had no objections. Charts were drawn by the design team in blue and grey.",
    )),
    "annual report 2023.pdf": ("en", (
        "Dear shareholders, a year of change lies behind us. We thank our people in all countries for their patience.",
        "The supervisory board met six times. Its members and their pay are listed in the notes.",
    )),
    "accident register.csv": ("en", (
        "Whoever sees an accident has to report it to the safety officer within one day, by telephone or on the yellow form.",
        "In 2023 there were eleven accidents, most of them in the warehouse; the annual number has fallen since 2019.",
    )),
    "budget.xlsx": ("en", (
        "Columns: cost centre, owner, planned, spent, remainder. Amounts in thousands. Locked after the third of each month.",
    )),
    "training guide.md": ("en", (
        "Every employee has a training budget of 900 euros a year, which lapses at the end of December and cannot be shared.",
        "Meeting notes are written by the youngest participant and sent out on the same day.",
        "Language lessons take place on Tuesday mornings; the teacher comes to the office.",
    )),
    "notes.txt": ("en", ("Buy milk. Call the plumber about the tap on the third floor. Ask Ines for the key of the cellar.",)),
    "follow-up.docx": ("en", ("Template: date, addressee, subject, three lines of thanks, signature.",)),
    "complaints procedure.pdf": ("en", (
        "A follow-up on a complaint is due after five working days; the customer is told who handles the case.",
        "Refunds above two hundred euros are signed by two people. Vouchers are valid for three years.",
        "Users of LinkedIn who complain in public are answered there once, politely, and then asked to write an e-mail.",
    )),
    "LinkedIn.md": ("en", ("Logo in two sizes, banner, colours: petrol and sand. Profile pictures are taken each spring.",)),
    "covid-19.pdf": ("en", ("Masks are stored in the cellar, shelf four. The stock is counted twice a year.",)),
    "sick leave.html": ("en", (
        "With covid-19 an employee stays at home for five days; a doctor's note is asked for from the fourth day on.",
        "Leave for moving house is one day, for a wedding two days, for the birth of a child ten days.",
    )),
    "A4.pdf": ("en", ("Test page. Cyan, magenta, yellow, black. If lines are missing, clean the print heads.",)),
    "printing.md": ("en", ("Letters are printed on A4, posters on A2; colour prints cost twelve cents a page and are charged to the team.",)),
    "2024-03-12.md": ("en", ("Present: Ada, Bo, Cem. Absent: Dana. Room: Oslo. The minutes were approved without changes.",)),
    "decisions.log": ("en", ("On 2024-03-12 it was decided to close the branch in Porto and to move its nine people to Lisbon.",)),
    "file formats.csv": ("en", ("png, jpg, tif, bmp, gif; last edited by the web team.",)),
    "archive rules.txt": ("en", ("Which file formats are accepted by the archive: PDF/A for texts, TIFF for pictures, FLAC for sound.",)),
    "contract.docx": ("en", ("Between the undersigned. Place, date. Two copies. Each page is initialled.",)),
    "supplier code.pdf": ("en", (
        "A contract with a supplier runs for two years and is renewed once; the notice period of the contract is three months.",
        "Gifts above thirty euros are refused and noted in the list of the purchasing department.",
    )),
    "note-de-frais.pdf": ("fr", ("Le formulaire comporte trois colonnes et une case pour la signature. Il est imprimé en bleu.",)),
    "guide du salarié.docx": ("fr", (
        "Les frais de repas en déplacement sont remboursés jusqu'à 19 euros par personne ; la note est jointe au dossier avant le cinq du mois.",
        "Les congés payés se posent deux mois à l'avance ; il y en a vingt-cinq par an, plus les jours d'ancienneté.",
        "Le rapport d'incident est envoyé au responsable de la sécurité dans les vingt-quatre heures.",
    )),
    "congés payés.xlsx": ("fr", ("Colonnes : nom, service, solde, signature du chef. Mis à jour le vendredi.",)),
    "rapport-annuel.pdf": ("fr", ("Chers actionnaires, l'exercice fut contrasté. Les comités se sont réunis douze fois.",)),
    "sécurité.docx": ("fr", ("Plan du bâtiment avec les issues de secours, en annexe. Version 3, imprimée en couleur.",)),
    "fichier client.csv": ("fr", ("nom; rue; ville; code; téléphone. Export du lundi.",)),
    "protection des données.md": ("fr", (
        "Le fichier client est effacé trois ans après le dernier achat ; le délégué à la protection en tient le registre.",
        "Les mots de passe ont au moins quatorze caractères et changent après chaque incident.",
    )),
    "stock.xlsx": ("fr", ("A12, B7, C3. Rayons à repeindre. Voir avec l'intérim.",)),
    "entrepôt de Lille.txt": ("fr", (
        "Le stock minimal de pièces de rechange à Lille est de quarante unités par référence.",
        "Les camions sont déchargés entre six et neuf heures ; le quai deux est réservé aux palettes froides.",
    )),
    "lille.pdf": ("fr", ("Photo de l'équipe devant la gare, été 2019. Repas de fin d'année au restaurant.",)),
    "urlaub.docx": ("de", ("Vorlage mit Name, Abteilung, Zeitraum und Unterschrift. Bitte in Druckbuchstaben ausfüllen.",)),
    "personalhandbuch.pdf": ("de", (
        "Der Urlaub beträgt dreißig Tage im Jahr; nicht genommener Urlaub verfällt am 31. März des folgenden Jahres.",
        "Die Probezeit dauert sechs Monate, in ihr gilt eine Kündigungsfrist von zwei Wochen.",
        "Die Arbeitszeit wird am Drehkreuz erfasst; Überstunden werden mit Freizeit ausgeglichen.",
    )),
    "arbeitszeit.csv": ("de", ("Kommen; Gehen; Pause; Summe. Wird jede Nacht neu geschrieben.",)),
    "reise-kosten.pdf": ("de", ("Deckblatt mit Logo. Anlage eins bis vier liegen im Schrank der Buchhaltung.",)),
    "spesenordnung.txt": ("de", (
        "Die Kosten einer Reise mit der Bahn werden ganz erstattet, mit dem eigenen Wagen 30 Cent je Kilometer.",
        "Für das Frühstück werden 5,60 Euro vom Tagegeld abgezogen.",
    )),
    "bericht.docx": ("de", ("Erste Fassung. Seitenzahlen fehlen noch, das Inhaltsverzeichnis ebenso.",)),
    "qualität.md": ("de", (
        "Der Bericht über Mängel geht an die Leitung des Werks und wird dort zehn Jahre aufbewahrt.",
        "Das Werk München prüft jede zwanzigste Pumpe, das Werk Ulm jede zehnte.",
    )),
    "werk-münchen.pdf": ("de", ("Anfahrt mit der U-Bahn, Ausgang Ost. Besucher melden sich am Tor zwei.",)),
    "schlüssel_liste.xlsx": ("de", ("Spalten: Raum, Nummer, Datum. Stand Mai.",)),
    "hausordnung.html": ("de", ("Wer einen Schlüssel verliert, meldet es am selben Tag; eine Liste der Verluste führt der Hausmeister.",)),
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question, the file and the passage that answer it."""

    text: str
    language: str
    filename: str
    passage: int


def _asked(language: str, *rows: tuple[str, str, int]) -> list[Asked]:
    return [Asked(text, language, filename, passage) for text, filename, passage in rows]


QUESTIONS: list[Asked] = [
    *_asked(
        "en",
        ("What is the travel policy for trains?", "mobility handbook.docx", 0),
        ("Which press releases are sent to Lyon?", "media contacts.xlsx", 0),
        ("Give the number of parking places.", "site facts.pdf", 0),
        ("Who has to report an accident, and within which time?", "accident register.csv", 0),
        ("How high is the training budget of an employee?", "training guide.md", 0),
        ("When is the follow-up on a complaint due?", "complaints procedure.pdf", 0),
        ("Who writes the meeting notes?", "training guide.md", 1),
        ("How long does an employee with covid-19 stay at home?", "sick leave.html", 0),
        ("Are letters printed on A4?", "printing.md", 0),
        ("What was decided on 2024-03-12?", "decisions.log", 0),
        ("Which file formats are accepted by the archive?", "archive rules.txt", 0),
        ("What is the notice period of a contract with a supplier?", "supplier code.pdf", 0),
        ("State the number of meeting rooms.", "site facts.pdf", 1),
        ("How many accidents were there in the annual report for 2023?", "accident register.csv", 1),
        ("How are users of LinkedIn answered when they complain?", "complaints procedure.pdf", 2),
        ("How many leave days are there for a wedding?", "sick leave.html", 1),
        ("Please give the capacity of the auditorium in words.", "site facts.pdf", 2),
        ("Which gifts must be refused and noted?", "supplier code.pdf", 1),
        ("Do we pay a taxi when we travel to the airport at night?", "mobility handbook.docx", 2),
        ("How many of the parking places have chargers?", "site facts.pdf", 0),
        ("What does a colour print on A4 cost?", "printing.md", 0),
        ("Financial press releases: where are they sent?", "media contacts.xlsx", 0),
        ("When does the budget for training lapse?", "training guide.md", 0),
        ("Who signs refunds above two hundred euros in the contract year?", "complaints procedure.pdf", 1),
    ),
    *_asked(
        "fr",
        ("Jusqu'à quel montant la note de frais de repas est-elle remboursée ?", "guide du salarié.docx", 0),
        ("Combien de congés payés y a-t-il par an ?", "guide du salarié.docx", 1),
        ("À qui est envoyé le rapport d'incident de sécurité ?", "guide du salarié.docx", 2),
        ("Quand le fichier client est-il effacé ?", "protection des données.md", 0),
        ("Quel est le stock minimal à Lille ?", "entrepôt de Lille.txt", 0),
        ("Quand les camions sont-ils déchargés à Lille ?", "entrepôt de Lille.txt", 1),
        ("Combien de caractères ont les mots de passe après un incident de sécurité ?", "protection des données.md", 1),
        ("Combien de mois à l'avance se posent les congés payés ?", "guide du salarié.docx", 1),
        ("Quel quai est réservé aux palettes froides du stock ?", "entrepôt de Lille.txt", 1),
        ("Qui tient le registre de la protection du fichier client ?", "protection des données.md", 0),
        ("Dans quel délai le rapport d'incident est-il envoyé au responsable ?", "guide du salarié.docx", 2),
        ("Avant quelle date la note de repas est-elle jointe au dossier de frais ?", "guide du salarié.docx", 0),
    ),
    *_asked(
        "de",
        ("Wie viele Tage Urlaub gibt es im Jahr?", "personalhandbuch.pdf", 0),
        ("Wie wird die Arbeitszeit erfasst?", "personalhandbuch.pdf", 2),
        ("Welche Kosten einer Reise mit der Bahn werden erstattet?", "spesenordnung.txt", 0),
        ("Wer bekommt den Bericht über Mängel?", "qualität.md", 0),
        ("Welche Pumpe prüft das Werk München?", "qualität.md", 1),
        ("Was geschieht, wenn man einen Schlüssel verliert?", "hausordnung.html", 0),
        ("Wann verfällt nicht genommener Urlaub?", "personalhandbuch.pdf", 0),
        ("Wer führt die Liste der Schlüssel, die man verliert?", "hausordnung.html", 0),
        ("Wie lange wird der Bericht über Mängel aufbewahrt?", "qualität.md", 0),
        ("Wie werden Überstunden der Arbeitszeit ausgeglichen?", "personalhandbuch.pdf", 2),
        ("Wie viel kostet die Reise im eigenen Wagen je Kilometer?", "spesenordnung.txt", 0),
        ("Welche Kündigungsfrist gilt in der Probezeit vor dem Urlaub?", "personalhandbuch.pdf", 1),
    ),
]
WORKED_ON, KEPT_APART = QUESTIONS[::2], QUESTIONS[1::2]
