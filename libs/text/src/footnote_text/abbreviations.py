"""Office abbreviations and their long forms: a question says capex, the report "capital expenditures".

The list is general vocabulary only. Queries get the long form in addition to the short one; documents stay unchanged.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ENGLISH = """
AGM = annual general meeting
AP = accounts payable
API = application programming interface
APAC = Asia Pacific
AR = accounts receivable
B2B = business to business
B2C = business to consumer
BoD = board of directors
capex = capital expenditures, purchases of property and equipment
CAGR = compound annual growth rate
CEO = chief executive officer
CFO = chief financial officer
COGS = cost of goods sold, cost of sales, cost of revenue
COO = chief operating officer
CPI = consumer price index
CRM = customer relationship management
CTO = chief technology officer
D&A = depreciation and amortization
DPS = dividends per share
EBIT = earnings before interest and taxes
EBITDA = earnings before interest, taxes, depreciation and amortization
EMEA = Europe, Middle East and Africa
EPS = earnings per share
ERP = enterprise resource planning
ESG = environmental, social and governance
ETA = estimated time of arrival
FAQ = frequently asked questions
FCF = free cash flow
FTE = full-time equivalent employees
FX = foreign exchange, currency
G&A = general and administrative
GDP = gross domestic product
GDPR = general data protection regulation
HQ = headquarters
HR = human resources
IPO = initial public offering
IT = information technology
KPI = key performance indicator
L&D = learning and development
LTV = lifetime value
M&A = mergers and acquisitions
MFA = multi-factor authentication
NDA = non-disclosure agreement
opex = operating expenses
OKR = objectives and key results
P&L = profit and loss, income statement, statement of operations
PII = personally identifiable information
PO = purchase order
PP&E = property, plant and equipment
PTO = paid time off
QA = quality assurance
R&D = research and development
RFP = request for proposal
ROA = return on assets
ROE = return on equity
ROI = return on investment
RSU = restricted stock units
S&M = sales and marketing
SG&A = selling, general and administrative
SKU = stock keeping unit
SLA = service level agreement
SME = small and medium-sized enterprises
SOP = standard operating procedure
SSO = single sign-on
TCO = total cost of ownership
VAT = value added tax
VPN = virtual private network
WFH = work from home, remote work
YoY = year over year
"""
_FRENCH = """
AG = assemblée générale
BFR = besoin en fonds de roulement
CA = chiffre d'affaires
CDD = contrat à durée déterminée
CDI = contrat à durée indéterminée
CP = congés payés
CSE = comité social et économique
DAF = direction administrative et financière
DG = direction générale
DPO = délégué à la protection des données
DRH = direction des ressources humaines
DSI = direction des systèmes d'information
IS = impôt sur les sociétés
PME = petites et moyennes entreprises
PV = procès-verbal
R&D = recherche et développement
RGPD = règlement général sur la protection des données
RH = ressources humaines
RSE = responsabilité sociale des entreprises
RTT = réduction du temps de travail
SAV = service après-vente
TTC = toutes taxes comprises
TVA = taxe sur la valeur ajoutée
"""
_GERMAN = """
AGB = allgemeine Geschäftsbedingungen
BR = Betriebsrat
DSGVO = Datenschutz-Grundverordnung
F&E = Forschung und Entwicklung
GuV = Gewinn- und Verlustrechnung
HV = Hauptversammlung
KMU = kleine und mittlere Unternehmen
MwSt = Mehrwertsteuer
USt = Umsatzsteuer
VVT = Verzeichnis von Verarbeitungstätigkeiten
"""
_LISTS = {"en": _ENGLISH, "fr": _FRENCH, "de": _GERMAN}
_WORD = re.compile(r"[^\W_]+(?:&[^\W_]+)*")


@lru_cache(maxsize=8)
def _table(language: str) -> dict[str, str]:
    entries = (line.split(" = ", 1) for line in _LISTS.get(language, "").strip().splitlines())
    return {short.casefold(): spelled for short, spelled in entries}


def spelled_out(text: str, language: str) -> list[str]:
    """Return the long forms of the abbreviations in a text, in order, each once.

    Short ones that are also words ("it", "po", "is") need two capitals to count.
    """
    table = _table(language)
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group()
        capitals = sum(map(str.isupper, word))
        if word.casefold() in table and (len(word) > 3 or "&" in word or capitals > 1):
            found.setdefault(table[word.casefold()])
    return list(found)
