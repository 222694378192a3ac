"""The words of the sample documents: the handbook of Aurora Instruments, a company that doesn't exist."""

# Each page: heading, then (section heading, paragraphs).
HANDBOOK: list[tuple[str, list[tuple[str, list[str]]]]] = [
    (
        "Aurora Instruments: Employee Handbook",
        [
            (
                "Welcome",
                [
                    "Aurora Instruments builds optical measuring instruments in Uppsala, Lyon and Porto. The company "
                    "was founded in 1987 by Ingrid Solberg and has 412 employees today.",
                    "This handbook holds what everybody at Aurora should know. Where your contract says otherwise, "
                    "your contract counts. The handbook is reviewed every January by the works council.",
                ],
            ),
            (
                "How to use it",
                [
                    "Working time and leave are on page 2, travel and expenses on page 3, health and safety on page 4. "
                    "Questions go to the people team, people@aurora-instruments.example.",
                ],
            ),
        ],
    ),
    (
        "Working time and leave",
        [
            (
                "Working time",
                [
                    "The working week has 37.5 hours. Core time is from 10:00 to 15:00, Monday to Thursday. Overtime "
                    "is agreed with the team lead beforehand and is taken as time off within three months.",
                ],
            ),
            (
                "Annual leave",
                [
                    "Every employee has 27 days of paid leave a year. After ten years of service it is 30 days. "
                    "Leave is requested at least two weeks ahead in the leave calendar.",
                    "Up to 5 unused days may be carried over; they must be taken before 31 March of the next year.",
                ],
            ),
            (
                "Parental leave",
                [
                    "Parents may take up to 16 weeks of parental leave at full pay within a year of the birth or "
                    "adoption of a child. It can be divided into at most three parts.",
                ],
            ),
        ],
    ),
    (
        "Travel and expenses",
        [
            (
                "Travel allowance",
                [
                    "The daily travel allowance is 38 euros within the country and 54 euros abroad. For journeys of "
                    "less than eight hours there is no allowance.",
                ],
            ),
            (
                "Hotels and trains",
                [
                    "Hotel costs are paid up to 145 euros a night, breakfast included. Journeys of less than 600 "
                    "kilometres are made by train; first class is paid for journeys longer than three hours.",
                ],
            ),
            (
                "Claiming expenses",
                [
                    "Expense claims are handed in within 30 days of the journey. Claims above 500 euros need the "
                    "approval of the head of department. Receipts are kept for seven years.",
                ],
            ),
        ],
    ),
    (
        "Health and safety",
        [
            (
                "In an emergency",
                [
                    "The internal emergency number is 7777. It is answered day and night by the gatehouse, which "
                    "calls the fire brigade and meets it at the gate. From a mobile phone, dial 112 first.",
                    "The assembly point is the car park behind building C. Nobody returns into a building before the "
                    "fire warden, Tomas Lindqvist, allows it.",
                ],
            ),
            (
                "Working with lasers",
                [
                    "Class 4 lasers are used in rooms L1 to L3 only, with goggles of optical density 6 or more. The "
                    "laser safety officer is Dr Amara Okafor, extension 7342.",
                ],
            ),
        ],
    ),
]

WARRANTY: list[tuple[str, int, list[str]]] = [
    ("Warranty and returns", 1, ["This policy holds for instruments sold from 1 January 2025 onwards."]),
    (
        "What the warranty covers",
        2,
        [
            "The warranty covers defects in material and workmanship. It does not cover optics scratched in use, nor "
            "batteries after twelve months.",
            "How many months each product has is listed in the sheet Products of products.xlsx.",
        ],
    ),
    (
        "How to make a claim",
        2,
        [
            "Claims are sent to service@aurora-instruments.example with the serial number and a photograph of the type "
            "plate. The service team answers within two working days.",
        ],
    ),
    (
        "Returns",
        2,
        [
            "Instruments may be returned unopened within 21 days of delivery. A restocking fee of 8 percent is charged "
            "for opened boxes.",
        ],
    ),
    (
        "Calibration",
        2,
        [
            "We recommend calibration every 18 months. A calibration certificate costs 220 euros and is issued by the "
            "laboratory in Lyon.",
        ],
    ),
]

PRODUCTS = [
    ("Product", "Article", "Warranty (months)", "Price (EUR)", "Weight (kg)"),
    ("Aurora Spectrometer S2", "AI-1002", 36, 8900, 4.2),
    ("Aurora Spectrometer S4", "AI-1004", 48, 14500, 5.1),
    ("Borealis Photometer", "AI-2001", 24, 2350, 1.4),
    ("Polaris Laser Tracker", "AI-3001", 60, 61200, 12.8),
    ("Zenith Colorimeter", "AI-4001", 18, 990, 0.6),
]
STOCK = [
    ("Warehouse", "Product", "Pieces", "Reorder at"),
    ("Uppsala", "Aurora Spectrometer S2", 41, 15),
    ("Uppsala", "Polaris Laser Tracker", 6, 3),
    ("Lyon", "Borealis Photometer", 128, 40),
    ("Lyon", "Zenith Colorimeter", 305, 100),
    ("Porto", "Aurora Spectrometer S4", 17, 8),
]

SECURITY_MD = """# Information security at Aurora Instruments

Everybody who works with our computers follows these rules.

## Passwords

Passwords have at least 14 characters. They are changed when there is reason to believe that somebody else knows them,
not by the calendar. The password manager is Keyring, provided by the IT desk.

## Working from elsewhere

The network is reached through the VPN only. Screens are locked after 5 minutes. Customer data is not stored on private
devices.

## Reporting

Lost devices and suspicious messages are reported to the IT desk within one hour, extension 7100 or
it-desk@aurora-instruments.example. Nobody is blamed for reporting too early.

| Service | Hours | Extension |
|---|---|---|
| IT desk | 07:00 to 19:00 | 7100 |
| Network on-call | day and night | 7119 |
"""

FRENCH_MD = """# Guide du site de Lyon

## Télétravail

Chaque salarié du site de Lyon peut télétravailler deux jours par semaine. Le lundi est réservé aux réunions d'équipe
et se passe au bureau.

## Restaurant d'entreprise

Le restaurant est ouvert de 11 h 45 à 13 h 30. Le repas coûte 6,40 euros, dont 3,20 euros payés par l'entreprise.

## Transports

L'entreprise rembourse 75 % de l'abonnement aux transports en commun. La demande est adressée au service du personnel
avant le 15 du mois.
"""

RELEASES_HTML = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Firmware releases</title></head>
<body>
<h1>Firmware releases</h1>
<p>Dates of the firmware of our instruments. Updates are free during the warranty.</p>
<h2>Polaris Laser Tracker</h2>
<p>Polaris firmware 3.2 was released on 14 March 2026. It doubles the measuring rate to 2000 points a second.</p>
<p>Polaris firmware 3.3 is planned for 9 November 2026 and adds wireless triggers.</p>
<h2>Aurora Spectrometers</h2>
<p>Spectrometer firmware 7.0 was released on 2 June 2025. Version 6 is supported until 31 December 2027.</p>
<h2>Zenith Colorimeter</h2>
<p>Zenith firmware 1.9 was released on 21 January 2026 and corrects the readings of metallic paint.</p>
</body>
</html>
"""

EMERGENCY_TXT = """Emergency contacts of Aurora Instruments

Gatehouse, day and night: 7777
First aid, building A: 7790 (Maria Coelho)
First aid, building C: 7791 (Sven Aaltonen)
Poison information centre: 010 456 6700
Chemical spills: close the door, leave the room and call 7777. Do not clean up yourself.

The defibrillators hang in the entrance of building A and beside the canteen in building C.
They are checked on the first Monday of each month.
"""

OFFICES = [
    ("City", "Country", "Address", "Telephone", "Reception opens", "Employees"),
    ("Uppsala", "Sweden", "Ljusgatan 4", "+46 18 555 0100", "07:30", 243),
    ("Lyon", "France", "12 rue du Prisme", "+33 4 55 50 01 00", "08:00", 108),
    ("Porto", "Portugal", "Rua da Lente 77", "+351 22 555 0100", "08:30", 61),
]
