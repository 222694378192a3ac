# ruff: noqa: E501 - a pair stands on one line
"""Statements and sources with what a careful reader says of each pair; written by us, English and French.

Kinds: "true" (a paraphrase that the source bears out), and five ways of not being borne out: "number", "unit",
"entity", "negation" (denied or turned into its opposite) and "unrelated".
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    kind: str
    language: str
    statement: str
    source: str


_EN = {
    "Employees receive 25 days of paid leave per year. Interns receive 10 days. Leave must be requested two weeks in advance in the HR portal.": [
        ("true", "Staff get 25 days of paid holiday each year."),
        ("true", "Interns are given 10 days."),
        ("true", "Leave requests have to be made two weeks ahead in the HR portal."),
        ("number", "Employees receive 28 days of paid leave per year."),
        ("number", "Interns receive 25 days of leave."),
        ("unit", "Employees receive 25 weeks of paid leave per year."),
        ("entity", "Contractors receive 25 days of paid leave per year."),
        ("negation", "Leave does not have to be requested in advance."),
        ("unrelated", "The cafeteria opens at eight."),
    ],
    "The X200 pump delivers 450 litres per minute at a pressure of 6 bar. It weighs 38 kg and is made of stainless steel.": [
        ("true", "At 6 bar the X200 pump moves 450 litres each minute."),
        ("true", "The X200 weighs 38 kilograms."),
        ("true", "The pump is built from stainless steel."),
        ("number", "The X200 pump delivers 540 litres per minute."),
        ("number", "The X200 weighs 83 kg."),
        ("unit", "The X200 weighs 38 g."),
        ("unit", "The X200 pump delivers 450 millilitres per minute."),
        ("entity", "The X300 pump delivers 450 litres per minute."),
        ("entity", "The pump is made of aluminium."),
        ("unrelated", "The invoice must be paid within 30 days."),
    ],
    "Google acquired YouTube in November 2006 for $1.65 billion in stock.": [
        ("true", "YouTube was bought by Google in 2006."),
        ("true", "Google paid 1.65 billion dollars for YouTube."),
        ("number", "Google acquired YouTube in 2008."),
        ("number", "Google acquired YouTube for $1.95 billion."),
        ("unit", "Google acquired YouTube for 1.65 billion euros."),
        ("unit", "Google acquired YouTube for $1.65 million."),
        ("entity", "Google acquired Twitter in November 2006."),
        ("entity", "Microsoft acquired YouTube in November 2006."),
        ("negation", "Google did not acquire YouTube."),
        ("negation", "Google sold YouTube in November 2006."),
    ],
    "Passwords must be changed every 90 days and may not be reused. Accounts are locked after five failed attempts.": [
        ("true", "Users have to change their passwords every 90 days."),
        ("true", "After five failed attempts an account gets locked."),
        ("true", "Reusing passwords is not allowed."),
        ("number", "Passwords must be changed every 60 days."),
        ("unit", "Passwords must be changed every 90 hours."),
        ("negation", "Passwords may be reused."),
        ("negation", "Accounts are not locked after five failed attempts."),
        ("entity", "Badges must be changed every 90 days."),
        ("unrelated", "Parking is available behind the building."),
    ],
    "In the third quarter revenue rose 12% to $4.2 billion, while operating profit fell 3% to $610 million.": [
        ("true", "Third-quarter revenue grew by 12 percent to 4.2 billion dollars."),
        ("true", "Operating profit decreased by 3% to $610 million."),
        ("number", "Revenue rose 3% to $4.2 billion."),
        ("number", "Operating profit fell to $601 million."),
        ("number", "Operating profit fell 12% in the third quarter."),
        ("unit", "Revenue rose 12% to $4.2 million."),
        ("negation", "Revenue fell 12% in the third quarter."),
        ("negation", "Operating profit rose 3% to $610 million."),
        ("entity", "In the second quarter revenue rose 12%."),
        ("unrelated", "The board has nine members."),
    ],
    "Visitors must wear a badge at all times. Photography is prohibited in the laboratory, except with written permission from the site manager.": [
        ("true", "Visitors have to wear a badge at all times."),
        ("true", "Taking photographs in the laboratory is forbidden without written permission."),
        ("negation", "Photography is permitted in the laboratory."),
        ("negation", "Visitors need not wear a badge."),
        ("entity", "Photography is prohibited in the canteen."),
        ("unrelated", "Deliveries arrive on Tuesday."),
    ],
    "Marie Curie was born in Warsaw in 1867 and moved to Paris in 1891. She won the Nobel Prize in Physics in 1903 and in Chemistry in 1911.": [
        ("true", "Marie Curie was born in 1867 in Warsaw."),
        ("true", "She went to live in Paris in 1891."),
        ("true", "Marie Curie received the Nobel Prize in Physics in 1903."),
        ("number", "Marie Curie was born in 1876."),
        ("number", "She won the Nobel Prize in Chemistry in 1903."),
        ("entity", "Marie Curie was born in Vienna."),
        ("entity", "Pierre Curie was born in Warsaw in 1867."),
        ("negation", "Marie Curie never won the Nobel Prize in Physics."),
        ("unrelated", "The Eiffel Tower is 330 metres tall."),
    ],
    "The server room must be kept between 18 and 24 degrees Celsius. Backups run daily at 02:00 and are stored for 30 days.": [
        ("true", "Backups run every day at 2 am."),
        ("true", "Backups are kept for 30 days."),
        ("true", "The temperature of the server room must stay between 18 and 24 °C."),
        ("number", "Backups are stored for 90 days."),
        ("number", "Backups run daily at 03:00."),
        ("unit", "Backups are stored for 30 months."),
        ("unit", "The server room must be kept between 18 and 24 degrees Fahrenheit."),
        ("entity", "Backups run weekly at 02:00."),
        ("negation", "Backups are not stored."),
    ],
    "Refunds are granted within 14 days of purchase if the product is unused. Shipping costs are not refunded.": [
        ("true", "An unused product can be refunded within two weeks of purchase."),
        ("true", "Customers do not get shipping costs back as a refund."),
        ("number", "Refunds are granted within 30 days of purchase."),
        ("unit", "Refunds are granted within 14 months of purchase."),
        ("negation", "Shipping costs are refunded."),
        ("negation", "Refunds are refused within 14 days of purchase if the product is unused."),
        ("unrelated", "Our offices are closed on public holidays."),
    ],
    "BERT is pre-trained with two objectives: masked language modelling and next sentence prediction. BERT-base has 110 million parameters.": [
        ("true", "BERT's pre-training objectives are masked language modelling and next sentence prediction."),
        ("true", "BERT-base contains 110 million parameters."),
        ("number", "BERT-base has 340 million parameters."),
        ("number", "BERT is pre-trained with three objectives."),
        ("unit", "BERT-base has 110 billion parameters."),
        ("entity", "RoBERTa is pre-trained with masked language modelling and next sentence prediction."),
        ("negation", "BERT is not pre-trained with next sentence prediction."),
        ("unrelated", "Convolutional networks are used in image recognition."),
    ],
    "The meeting with Acme Corporation was moved from Monday to Thursday at the request of Ms Lopez.": [
        ("true", "At Ms Lopez's request the meeting with Acme was moved to Thursday."),
        ("entity", "The meeting with Acme Corporation was moved to Friday."),
        ("entity", "The meeting was moved at the request of Ms Martin."),
        ("negation", "The meeting with Acme Corporation was not moved."),
    ],
    "Remote work is allowed up to three days a week with the approval of the line manager. New hires may not work remotely during their first month.": [
        ("true", "With their manager's approval, people may work remotely up to three days per week."),
        ("true", "During the first month new hires are not allowed to work remotely."),
        ("number", "Remote work is allowed up to four days a week."),
        ("negation", "New hires may work remotely during their first month."),
        ("entity", "Remote work requires the approval of the chief executive."),
        ("unit", "Remote work is allowed up to three weeks a year."),
        ("unrelated", "The fire drill takes place in spring."),
    ],
}
_FR = {
    "Le stock de sécurité recommandé est de 200 unités pour ce produit. Le délai de livraison moyen est de 12 jours.": [
        ("true", "On recommande un stock de sécurité de 200 unités."),
        ("true", "En moyenne, la livraison prend 12 jours."),
        ("number", "Le stock de sécurité recommandé est de 250 unités."),
        ("number", "Le délai de livraison moyen est de 21 jours."),
        ("unit", "Le délai de livraison moyen est de 12 semaines."),
        ("negation", "Le stock de sécurité recommandé n'est pas de 200 unités."),
        ("unrelated", "Le directeur commercial parle trois langues."),
    ],
    "Les salariés bénéficient de 30 jours de congés payés par an. Toute absence doit être signalée avant 10 heures au responsable.": [
        ("true", "Les employés ont droit à 30 jours de congés payés chaque année."),
        ("true", "Une absence doit être signalée au responsable avant 10 h."),
        ("number", "Les salariés bénéficient de 25 jours de congés payés par an."),
        ("unit", "Les salariés bénéficient de 30 semaines de congés payés par an."),
        ("entity", "Les stagiaires bénéficient de 30 jours de congés payés par an."),
        ("negation", "Une absence ne doit pas être signalée au responsable."),
        ("negation", "Toute absence doit être signalée après 10 heures."),
        ("unrelated", "La cantine propose un menu végétarien."),
    ],
    "L'usine de Lyon produit 1 500 tonnes d'acier par mois et emploie 320 personnes.": [
        ("true", "L'usine lyonnaise fabrique 1500 tonnes d'acier chaque mois."),
        ("true", "320 personnes travaillent dans l'usine de Lyon."),
        ("number", "L'usine de Lyon produit 1 800 tonnes d'acier par mois."),
        ("number", "L'usine de Lyon emploie 1 500 personnes."),
        ("unit", "L'usine de Lyon produit 1 500 kilogrammes d'acier par mois."),
        ("entity", "L'usine de Lille produit 1 500 tonnes d'acier par mois."),
        ("entity", "L'usine de Lyon produit 1 500 tonnes d'aluminium par mois."),
        ("negation", "L'usine de Lyon ne produit pas d'acier."),
        ("unrelated", "Le train arrive à Marseille à midi."),
    ],
    "Le télétravail est autorisé deux jours par semaine. Il est interdit pendant la période d'essai.": [
        ("true", "On peut télétravailler deux jours par semaine."),
        ("true", "Pendant la période d'essai, le télétravail n'est pas autorisé."),
        ("number", "Le télétravail est autorisé trois jours par semaine."),
        ("unit", "Le télétravail est autorisé deux jours par mois."),
        ("negation", "Le télétravail est autorisé pendant la période d'essai."),
        ("negation", "Le télétravail n'est pas autorisé deux jours par semaine."),
        ("unrelated", "Les factures sont archivées au sous-sol."),
    ],
    "Victor Hugo est né à Besançon en 1802 et mort à Paris en 1885. Il publie Les Misérables en 1862.": [
        ("true", "Victor Hugo naît en 1802 à Besançon."),
        ("true", "Les Misérables paraît en 1862."),
        ("true", "Victor Hugo meurt à Paris en 1885."),
        ("number", "Victor Hugo est né en 1820."),
        ("number", "Il publie Les Misérables en 1885."),
        ("entity", "Victor Hugo est né à Paris en 1802."),
        ("entity", "Émile Zola publie Les Misérables en 1862."),
        ("negation", "Victor Hugo n'a jamais publié Les Misérables."),
        ("unrelated", "La Loire est le plus long fleuve de France."),
    ],
    "Le chiffre d'affaires a augmenté de 8 % en 2023 pour atteindre 45 millions d'euros, tandis que les charges ont baissé de 2 %.": [
        ("true", "En 2023, le chiffre d'affaires a progressé de 8 % et atteint 45 millions d'euros."),
        ("true", "Les charges ont diminué de 2 %."),
        ("number", "Le chiffre d'affaires a augmenté de 18 % en 2023."),
        ("number", "Le chiffre d'affaires a augmenté de 2 % en 2023."),
        ("unit", "Le chiffre d'affaires atteint 45 milliards d'euros."),
        ("unit", "Le chiffre d'affaires atteint 45 millions de dollars."),
        ("negation", "Le chiffre d'affaires a baissé de 8 % en 2023."),
        ("negation", "Les charges ont augmenté de 2 %."),
        ("unrelated", "Le logo de la société est bleu."),
    ],
    "Le contrat est conclu pour une durée de deux ans. Il peut être résilié avec un préavis de trois mois par lettre recommandée.": [
        ("true", "La durée du contrat est de deux ans."),
        ("true", "La résiliation demande un préavis de trois mois par lettre recommandée."),
        ("number", "La durée du contrat est de cinq ans."),
        ("unit", "Le contrat peut être résilié avec un préavis de trois semaines."),
        ("negation", "Le contrat ne peut pas être résilié."),
        ("entity", "Le contrat peut être résilié par téléphone."),
        ("unrelated", "Les visiteurs sont accueillis à la réception."),
    ],
    "La garantie couvre les pièces et la main-d'œuvre pendant 24 mois. Les batteries sont exclues de la garantie.": [
        ("true", "Pendant deux ans, les pièces et la main-d'œuvre sont couvertes par la garantie."),
        ("true", "La garantie ne couvre pas les batteries."),
        ("number", "La garantie couvre les pièces pendant 36 mois."),
        ("unit", "La garantie couvre les pièces pendant 24 jours."),
        ("negation", "Les batteries sont couvertes par la garantie."),
        ("entity", "Les écrans sont exclus de la garantie."),
        ("unrelated", "Le magasin ferme le dimanche."),
    ],
    "La réunion du comité se tient chaque mardi à 14h30 dans la salle Vauban. Madame Petit en rédige le compte rendu.": [
        ("true", "Le comité se réunit tous les mardis à 14 h 30 en salle Vauban."),
        ("true", "C'est Madame Petit qui rédige le compte rendu de la réunion du comité."),
        ("number", "La réunion du comité se tient chaque mardi à 15h30."),
        ("entity", "La réunion du comité se tient chaque jeudi à 14h30."),
        ("entity", "Monsieur Durand rédige le compte rendu."),
        ("negation", "Madame Petit ne rédige pas le compte rendu."),
    ],
}
_HELD_EN = {
    "The Amber Bridge opened on 12 May 1998. It is 1,240 metres long and carries about 60,000 vehicles a day.": [
        ("true", "The Amber Bridge was opened in May 1998."),
        ("true", "Roughly 60,000 vehicles cross the bridge every day."),
        ("true", "The Amber Bridge has a length of 1.24 km."),
        ("number", "The Amber Bridge opened in 1989."),
        ("number", "The bridge is 1,420 metres long."),
        ("unit", "The bridge is 1,240 feet long."),
        ("entity", "The Amber Tunnel opened on 12 May 1998."),
        ("negation", "The Amber Bridge closed on 12 May 1998."),
        ("unrelated", "The museum displays Roman coins."),
    ],
    "Travel expenses are reimbursed within 10 working days once the receipts have been submitted. Alcohol is not reimbursed. Hotel costs are capped at 150 euros a night.": [
        ("true", "Once receipts are submitted, travel expenses are paid back within 10 working days."),
        ("true", "The maximum for hotel costs is 150 euros per night."),
        ("true", "Alcohol will not be reimbursed."),
        ("number", "Hotel costs are capped at 180 euros a night."),
        ("unit", "Hotel costs are capped at 150 euros a week."),
        ("unit", "Hotel costs are capped at 150 dollars a night."),
        ("entity", "Restaurant costs are capped at 150 euros a night."),
        ("negation", "Alcohol is reimbursed."),
        ("negation", "Travel expenses are not reimbursed."),
        ("unrelated", "The newsletter appears every quarter."),
    ],
    "In the trial, 62% of patients given drug A improved, compared with 41% of those given placebo. No serious side effects were observed.": [
        ("true", "62 percent of the patients who received drug A got better."),
        ("true", "With placebo, 41% of patients improved."),
        ("true", "Serious side effects were not observed."),
        ("number", "41% of patients given drug A improved."),
        ("number", "72% of patients given drug A improved."),
        ("entity", "62% of patients given drug B improved."),
        ("negation", "Serious side effects were observed."),
        ("negation", "62% of patients given drug A worsened."),
        ("unrelated", "The hospital was renovated last year."),
    ],
    "Oslo is the capital of Norway. The city had 709,000 inhabitants in 2023 and was founded by King Harald Hardrada around 1049.": [
        ("true", "Norway's capital is Oslo."),
        ("true", "Harald Hardrada founded Oslo around 1049."),
        ("true", "In 2023 Oslo had 709 thousand inhabitants."),
        ("number", "Oslo had 790,000 inhabitants in 2023."),
        ("entity", "Bergen is the capital of Norway."),
        ("entity", "Oslo is the capital of Sweden."),
        ("entity", "Oslo was founded by King Olaf Tryggvason."),
        ("negation", "Oslo is not the capital of Norway."),
        ("unrelated", "The recipe calls for two eggs."),
    ],
    "The library lends books for 21 days. Loans can be renewed twice unless another reader has reserved the book. DVDs are lent for one week.": [
        ("true", "Books are lent for three weeks."),
        ("true", "A loan may be renewed twice if nobody has reserved the book."),
        ("number", "The library lends books for 28 days."),
        ("unit", "The library lends books for 21 hours."),
        ("entity", "The library lends magazines for 21 days."),
        ("negation", "Loans cannot be renewed."),
        ("unrelated", "The chairman resigned in March."),
    ],
}
_HELD_FR = {
    "Le pont de Normandie a été inauguré le 20 janvier 1995. Il mesure 2 141 mètres et relie Le Havre à Honfleur.": [
        ("true", "L'inauguration du pont de Normandie a eu lieu en janvier 1995."),
        ("true", "La longueur du pont de Normandie est de 2141 m."),
        ("true", "Le pont relie Le Havre et Honfleur."),
        ("number", "Le pont de Normandie a été inauguré en 1996."),
        ("unit", "Le pont mesure 2 141 kilomètres."),
        ("entity", "Le pont de Normandie relie Le Havre à Deauville."),
        ("entity", "Le pont de Tancarville a été inauguré le 20 janvier 1995."),
        ("negation", "Le pont de Normandie ne relie pas Le Havre à Honfleur."),
        ("unrelated", "Les abonnements sont résiliables en ligne."),
    ],
    "Les frais de déplacement sont remboursés sous 15 jours sur présentation des justificatifs. Les amendes ne sont pas remboursées.": [
        ("true", "Le remboursement des frais de déplacement se fait sous 15 jours, sur justificatifs."),
        ("true", "L'entreprise ne rembourse pas les amendes."),
        ("number", "Les frais de déplacement sont remboursés sous 45 jours."),
        ("unit", "Les frais de déplacement sont remboursés sous 15 mois."),
        ("entity", "Les frais de garde sont remboursés sous 15 jours."),
        ("negation", "Les amendes sont remboursées."),
        ("negation", "Les frais de déplacement ne sont pas remboursés."),
        ("unrelated", "Le jardin est ouvert au public."),
    ],
    "La piscine municipale ouvre à 9 heures en semaine. L'entrée coûte 4,50 euros et elle est gratuite pour les enfants de moins de six ans.": [
        ("true", "En semaine, la piscine municipale est ouverte dès 9 h."),
        ("true", "Le prix d'entrée est de 4,50 €."),
        ("true", "Les enfants de moins de six ans entrent gratuitement."),
        ("number", "L'entrée coûte 5,50 euros."),
        ("unit", "L'entrée coûte 4,50 dollars."),
        ("entity", "La bibliothèque municipale ouvre à 9 heures en semaine."),
        ("negation", "L'entrée est payante pour les enfants de moins de six ans."),
        ("unrelated", "Le serveur redémarre chaque nuit."),
    ],
}


_FRESH_EN = {
    "The Delta ferry leaves Harwich at 22:15 and arrives in Hook of Holland at 08:00. Dogs travel free but must stay in the kennel area.": [
        ("true", "The ferry departs from Harwich at 10:15 pm."),
        ("true", "It arrives in Hook of Holland at 8 am."),
        ("true", "Dogs travel free of charge."),
        ("number", "The Delta ferry leaves Harwich at 21:15."),
        ("entity", "The Delta ferry leaves Dover at 22:15."),
        ("entity", "Cats travel free but must stay in the kennel area."),
        ("negation", "Dogs do not travel free."),
        ("unrelated", "The warranty covers spare parts."),
    ],
    "Model T3 consumes 18 kWh per 100 km and has a range of 420 km. Charging from 10 to 80 percent takes 28 minutes at a fast charger.": [
        ("true", "The T3 has a range of 420 kilometres."),
        ("true", "At a fast charger, charging from 10% to 80% takes 28 minutes."),
        ("true", "Model T3 uses 18 kWh per 100 km."),
        ("number", "Model T3 has a range of 240 km."),
        ("number", "Charging from 10 to 80 percent takes 18 minutes."),
        ("unit", "Model T3 has a range of 420 miles."),
        ("unit", "Charging from 10 to 80 percent takes 28 hours."),
        ("entity", "Model T5 has a range of 420 km."),
        ("unrelated", "Meeting rooms are booked at the reception."),
    ],
    "Complaints must be answered in writing within five working days. The quality manager keeps a register of all complaints and reports on it every quarter.": [
        ("true", "Written answers to complaints must be given within five working days."),
        ("true", "A register of all complaints is kept by the quality manager."),
        ("number", "Complaints must be answered within ten working days."),
        ("entity", "The sales manager keeps a register of all complaints."),
        ("negation", "Complaints need not be answered in writing."),
        ("negation", "The quality manager does not keep a register of complaints."),
        ("unrelated", "Snow is expected in the mountains."),
    ],
    "Exports to Brazil grew by 7% in 2022 but shrank by 4% in 2023, mainly because of higher freight rates.": [
        ("true", "In 2022 exports to Brazil increased by 7 percent."),
        ("true", "Exports to Brazil fell 4% in 2023."),
        ("number", "Exports to Brazil grew by 4% in 2022."),
        ("negation", "Exports to Brazil grew by 4% in 2023."),
        ("entity", "Exports to Chile grew by 7% in 2022."),
        ("negation", "Imports from Brazil grew by 7% in 2022."),
    ],
}
_FRESH_FR = {
    "Le ferry quitte Calais à 6h40 et la traversée dure 90 minutes. Les vélos voyagent gratuitement hors saison.": [
        ("true", "Le ferry part de Calais à 6 h 40."),
        ("true", "La traversée dure une heure et demie, soit 90 minutes."),
        ("true", "Hors saison, les vélos voyagent gratuitement."),
        ("number", "La traversée dure 60 minutes."),
        ("unit", "La traversée dure 90 heures."),
        ("entity", "Le ferry quitte Dunkerque à 6h40."),
        ("negation", "Les vélos ne voyagent pas gratuitement hors saison."),
        ("unrelated", "Le conseil se réunit en mairie."),
    ],
    "Chaque machine est révisée tous les six mois par un technicien agréé. Le rapport de révision est conservé pendant dix ans.": [
        ("true", "Un technicien agréé révise chaque machine tous les six mois."),
        ("true", "On conserve le rapport de révision dix ans."),
        ("number", "Chaque machine est révisée tous les trois mois."),
        ("unit", "Le rapport de révision est conservé pendant dix mois."),
        ("entity", "Chaque véhicule est révisé tous les six mois."),
        ("negation", "Le rapport de révision n'est pas conservé."),
        ("unrelated", "Les billets sont en vente au guichet."),
    ],
}


def _pairs(*tables: tuple[str, dict[str, list[tuple[str, str]]]]) -> tuple[Pair, ...]:
    return tuple(
        Pair(kind, language, statement, source)
        for language, table in tables
        for source, statements in table.items()
        for kind, statement in statements
    )


# The checks were made with the first set in view. The second and third were written afterwards, each measured once
# before anything was mended: precision 0.88 and recall 0.68 on the second, 1.00 and 0.73 on the third.
PAIRS = _pairs(("en", _EN), ("fr", _FR))
HELD_OUT = _pairs(("en", _HELD_EN), ("fr", _HELD_FR))
FRESH = _pairs(("en", _FRESH_EN), ("fr", _FRESH_FR))
