"""The synonyms that a check of statements allows: what takes another thing for the same is never borne out by it.

The wrong statements were written from the list as it stood before it was reviewed, one or more for each doubtful group.
"""

import pytest
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote_generation.verification.support import judge, prepare

# What a source says, and the same sentence with a word put in its place that means something else.
WRONG = (
    ("Fifty of the members signed the letter.", "Half of the members signed the letter."),
    ("The director signed the lease in Porto.", "The chief signed the lease in Porto."),
    ("The director signed the lease in Porto.", "The executive signed the lease in Porto."),
    ("The organisation runs four clinics in Peru.", "The company runs four clinics in Peru."),
    ("The rate of the loan fell sharply in May.", "The price of the loan fell sharply in May."),
    ("The court fixed the compensation after the accident.", "The court fixed the salary after the accident."),
    ("The coverage of the network reaches the valley.", "The warranty of the network reaches the valley."),
    ("The parcel was sent from Hamburg on Monday.", "The parcel was delivered from Hamburg on Monday."),
    ("The firm has a site in Grenoble.", "The firm has a seat in Grenoble."),
    ("The kit includes a cable for the battery.", "The kit consists of a cable for the battery."),
    ("The guideline allows two guests at the hotel.", "The regulation allows two guests at the hotel."),
    ("The supervisor approved the new budget.", "The boss approved the new budget."),
    ("The leader of the expedition wrote the diary.", "The manager of the expedition wrote the diary."),
    ("The threshold of the alarm is 40 decibels.", "The maximum of the alarm is 40 decibels."),
    ("The board accepted the report on the mine.", "The board endorsed the report on the mine."),
    ("The vehicle hit the fence near the bridge.", "The car hit the fence near the bridge."),
    ("The appointment with the dentist was moved.", "The session with the dentist was moved."),
    ("The paper in the drawer was torn.", "The file in the drawer was torn."),
    ("The income of the club was 3 million euros.", "The turnover of the club was 3 million euros."),
    ("The income of the club was 3 million euros.", "The sales of the club were 3 million euros."),
    ("The gain of the fund was 3 million euros.", "The earnings of the fund were 3 million euros."),
    ("The machine in the cellar leaks oil.", "The instrument in the cellar leaks oil."),
    ("The members voted in Geneva in May.", "The members were elected in Geneva in May."),
    ("Clara attended the school in Bonn.", "Clara attended the university in Bonn."),
    ("The teacher published a book on moss.", "The professor published a book on moss."),
    ("The city awarded the prize for the park.", "The city received the prize for the park."),
    ("The state levies the tax on salt.", "The nation levies the tax on salt."),
    ("The pupils visited the town in spring.", "The pupils visited the city in spring."),
    ("The court reviewed the risk of the dam.", "The court reviewed the danger of the dam."),
    ("The team applied for the permit.", "The team demanded the permit."),
    ("The experiment on mice ended in June.", "The test on mice ended in June."),
    ("The troops left the island in winter.", "The army left the island in winter."),
    ("The war in the north cost many lives.", "The conflict in the north cost many lives."),
    ("The date of the fair is unknown.", "The day of the fair is unknown."),
    ("The phone of the guard was stolen.", "The mobile of the guard was stolen."),
    ("The client of the bank lives in Malta.", "The shopper of the bank lives in Malta."),
    ("The office in Turin is closed.", "The headquarters in Turin is closed."),
    ("The team lost Ravenna in the final.", "The team defeated Ravenna in the final."),
    ("The prisoner is free since Monday.", "The prisoner is complimentary since Monday."),
    ("The lender asked for a guarantee in writing.", "The lender asked for a warranty in writing."),
    ("The turnover of nurses was 12% in 2020.", "The revenue of nurses was 12% in 2020."),
    ("The heat of the oven is constant.", "The temperature of the oven is constant."),
    ("The direction of the company met on Tuesday.", "The manager of the company met on Tuesday."),
    ("Le chef du chantier a signé le plan.", "Le manager du chantier a signé le plan."),
    ("Le chiffre du rapport est faux.", "Le revenu du rapport est faux."),
    ("Les enfants visitent le musée le mardi.", "Les mineurs visitent le musée le mardi."),
    ("Le portable du gardien a été volé.", "L'ordinateur du gardien a été volé."),
    ("Le collaborateur du ministre a démissionné.", "Le salarié du ministre a démissionné."),
    ("La machine de la cave perd de l'huile.", "L'outil de la cave perd de l'huile."),
    ("La consigne interdit les visites.", "La politique interdit les visites."),
    ("Les frais du dossier sont de 40 euros.", "Le tarif du dossier est de 40 euros."),
)

# Right ones; those marked False lost their support with the review, which is its price.
RIGHT = (
    ("The firm purchased two trucks in 2019.", "The firm bought two trucks in 2019.", True),
    ("The course commences on Monday.", "The course begins on Monday.", True),
    ("The refund is paid within ten days.", "The reimbursement is paid within ten days.", True),
    ("Smoking is prohibited in the hall.", "Smoking is forbidden in the hall.", True),
    ("About 40 guests came to the fair.", "Approximately 40 guests came to the fair.", True),
    ("The doctor treated the child.", "The physician treated the child.", False),
    ("The film was shown in Cannes.", "The movie was shown in Cannes.", False),
    ("The lawyer answered the letter.", "The lawyer replied to the letter.", True),
    ("The fee is paid annually.", "The fee is paid yearly.", True),
    ("The clerk erased the tape.", "The clerk deleted the tape.", True),
    ("The drink is free of charge.", "The drink is complimentary.", False),
    ("L'achat du terrain date de 2019.", "L'acquisition du terrain date de 2019.", True),
    ("La réunion commence à 9 heures.", "La réunion débute à 9 heures.", True),
    ("Le médecin habite à Lille.", "Le docteur habite à Lille.", False),
    ("Le courriel a été effacé.", "Le mail a été supprimé.", False),
    ("The parcel was shipped on Friday.", "The parcel was dispatched on Friday.", False),
    ("Employees get 25 days of holiday a year.", "Staff get 25 days of vacation a year.", False),
    ("The head office is located in Turin.", "The headquarters are located in Turin.", False),
    ("The supervisor of the shift signs the sheet.", "The leader of the shift signs the sheet.", False),
    ("Revenue rose by 4% in 2021.", "Turnover rose by 4% in 2021.", False),
)


def supported(source: str, statement: str) -> bool:
    return judge(statement, prepare(source)).support == VERDICT_SUPPORTED


@pytest.mark.parametrize(("source", "statement"), WRONG)
def test_another_thing_is_not_the_same(source: str, statement: str) -> None:
    assert not supported(source, statement)


@pytest.mark.parametrize(("source", "statement", "kept"), RIGHT)
def test_right_paraphrases_that_keep_their_support(source: str, statement: str, kept: bool) -> None:
    assert supported(source, statement) is kept
