# ruff: noqa: E501 - one answer a line
"""Answers in Markdown as language models write them, and what of each a page must show."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelAnswer:
    """A text, how many of each element it makes, and words that one of them must contain, by selector."""

    name: str
    text: str
    counts: dict[str, int] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


ANSWERS = (
    ModelAnswer(
        "nested list",
        "The setup has three parts:\n\n1. **Network**\n   - Open port `8443` [1].\n   - Allow *outbound* DNS.\n     - Only UDP.\n"
        "2. **Storage**: 40 GB are enough [2].\n3. Reboot.\n",
        {"ol": 1, "ul": 2, "li": 6, "li li li": 1, "strong": 2, "em": 1, "li code": 1},
        {"li li li": "Only UDP."},
    ),
    ModelAnswer(
        "table with footnotes in cells",
        "| Product | Warranty | Price |\n|:--------|:--------:|------:|\n| Polaris | 60 months [1] | 1 200 € [2] |\n"
        "| Vega \\| II | **24 months** [1] | 300 € |\n\nPrices without tax.",
        {"table": 1, "th": 3, "td": 6, "td.right": 2, "td strong": 1, "p": 1},
        {"td": "Vega | II"},
    ),
    ModelAnswer(
        "headings and a rule",
        "# Summary\n\nShort.\n\n## Details\n\nLonger.\n\n---\n\n###### Note\n\nLast.",
        {"h3": 1, "h4": 1, "h6": 1, "hr": 1, "p": 3},
        {"h4": "Details"},
    ),
    ModelAnswer(
        "code with a language",
        "Run this:\n\n```python\ndef area(r: float) -> float:\n    return 3.14 * r ** 2  # [1] **not** bold\n```\n\nThen `area(2)`.",
        {"pre": 1, "pre strong": 0, "p code": 1},
        {"pre": "    return 3.14 * r ** 2  # [1] **not** bold"},
    ),
    ModelAnswer("code that never ends", "It begins:\n\n```sh\nfootnote serve all\n", {"pre": 1}, {"pre": "footnote serve all"}),
    ModelAnswer(
        "code in a list",
        "1. Install:\n\n   ```sh\n   pip install footnote\n   ```\n\n2. Start it.",
        {"ol": 1, "li": 2, "li pre": 1},
        {"li pre": "pip install footnote"},
    ),
    ModelAnswer(
        "formulas of every delimiter",
        "With $E = mc^2$ and \\(a_1 + a_2\\):\n\n$$\n\\int_0^1 x^2\\,dx = \\frac{1}{3}\n$$\n\nAnd \\[ \\sum_{i=1}^{n} i \\] ends it.",
        {".formula": 4, ".formula.display": 2, "math": 4, "mfrac": 1, "em": 0},
    ),
    ModelAnswer(
        "money is no formula",
        "The basic plan costs $5 a month, the large one $10 or $12.50; between $3 and $4 is saved.",
        {".formula": 0},
        {"p": "costs $5 a month, the large one $10 or $12.50; between $3 and $4 is saved."},
    ),
    ModelAnswer("a wrong formula stays in sight", "It is $\\frac{1}{$ here.", {"p": 1}, {"p": "\\frac"}),
    ModelAnswer(
        "formula in a table",
        "| Shape | Area |\n|---|---|\n| Circle | $\\pi r^2$ [1] |\n| Square | $a^2$ |",
        {"td .formula": 2, "td math": 2},
    ),
    ModelAnswer(
        "tasks", "- [x] Sign the form\n- [ ] Send it\n", {"li.task": 2, "input": 0}, {"li.task": "☑ Sign the form"}
    ),
    ModelAnswer(
        "quotation", "The policy says:\n\n> Travel is paid\n> in second class.\n\nNothing else.", {"blockquote": 1, "p": 3},
        {"blockquote": "Travel is paid\nin second class."},
    ),
    ModelAnswer("loose list", "- First point.\n\n- Second point.\n\n  With more.\n", {"ul": 1, "li": 2, "li p": 3}),
    ModelAnswer("numbers that go on", "3. Third\n4. Fourth\n", {"ol[start='3']": 1, "li": 2}),
    ModelAnswer("bold label items", "* **Owner:** Ann\n* **Due:** 3 May\n* ~~Late~~ done\n", {"li strong": 2, "del": 1}),
    ModelAnswer(
        "lines that belong together", "Dear all,\nplease note:\nthe office is closed.", {"p": 1, "br": 0},
        {"p": "Dear all,\nplease note:\nthe office is closed."},
    ),
    ModelAnswer(
        "entities and escapes", "R&amp;D \\*costs\\* 3 &lt; 4, AT&T pays 5 \\_000 [1].", {"em": 0},
        {"p": "R&D *costs* 3 < 4, AT&T pays 5 _000"},
    ),
    ModelAnswer(
        "names with underscores", "Set snake_case_name and 2*3*4 in config_file.yaml.", {"em": 1}, {"p": "snake_case_name"}
    ),
    ModelAnswer(
        "footnote marks are no links", "The stock is 150 [1](see below) and 20 [2][3].\n\n[1]: https://example.org/x", {"a": 0},
        {"p": "150 [1](see below) and 20 [2][3]."},
    ),
    ModelAnswer("generics are no markup", "Use List<String> and a < b > c.", {"string": 0}, {"p": "Use List<String> and a < b > c."}),
    ModelAnswer("German", "## Überblick\n\n1. Die Frist beträgt **14 Tage** [1].\n2. Danach gilt § 5.", {"h4": 1, "li": 2, "li strong": 1}),
    ModelAnswer("Chinese", "### 结论\n\n- 保修期为 **60 个月** [1]。\n- 价格见表。", {"h5": 1, "li": 2, "strong": 1}),
    ModelAnswer("Arabic", "الضمان **60 شهرا** [1].\n\n- السعر 300", {"p[dir=auto]": 1, "ul[dir=auto]": 1}),
    ModelAnswer("emoji", "✅ Done 😀 [1].\n\n- 🚗 Car [2]\n- 🚆 Train [1]", {"li": 2}),
    ModelAnswer(
        "list right after a sentence", "It needs:\n- a key\n- a door\nand then some", {"ul": 1, "li": 2}, {"li": "a door\nand then some"}
    ),
    ModelAnswer(
        "table then list", "| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n- y\n\n1. one\n\n1\n", {"table": 1, "ul": 1, "ol": 1}
    ),
    ModelAnswer("table without edges", "Year | Sum\n--- | ---\n2023 | 4\n2024 | 5 [1]\n", {"table": 1, "td": 4}),
    ModelAnswer("wide table", "|" + "column|" * 14 + "\n|" + "---|" * 14 + "\n|" + "a long value|" * 14, {"th": 14, "td": 14}),
    ModelAnswer(
        "comparison with a verdict",
        "Based on the documents, here is how the two plans compare:\n\n### Basic\n- **Price:** 9 € per month [1]\n- **Storage:** 50 GB [1]\n\n"
        "### Team\n- **Price:** 29 € per month [2]\n- **Storage:** unlimited[2]\n  - except attachments over 1 GB [3]\n\n"
        "**Bottom line:** *Team* pays off from four people on.",
        {"h5": 2, "ul": 3, "li": 5, "li li": 1, "strong": 5, "em": 1},
        {"li li": "except attachments over 1 GB [3]"},
    ),
    ModelAnswer(
        "breaks in table cells",
        "| Step | What to do |\n|:--|:--|\n| 1 | Open the valve.<br>Wait 30 s. [1] |\n| 2 | Close it.<br/>Note the pressure. |\n",
        {"td": 4, "td br": 2},
    ),
    ModelAnswer(
        "steps with code and a warning",
        "To move the database:\n\n1. **Stop the service**\n\n   ```bash\n   systemctl stop footnote\n   ```\n\n2. **Copy the folder** [1]\n\n"
        "   > **Warning:** never while it runs.\n\n3. **Start it again**\n\n   ```bash\n   systemctl start footnote\n   systemctl status footnote\n   ```\n",
        {"ol": 1, "ol > li": 3, "li pre": 2, "li blockquote": 1, "blockquote strong": 1},
        {"li pre": "systemctl start footnote\nsystemctl status footnote"},
    ),
    ModelAnswer(
        "parameters with pipes and JSON",
        "| Field | Type | Default |\n|---|---|---|\n| `mode` | `\"a\" \\| \"b\"` | `a` |\n| `limit` | `int` | 8 [1] |\n\n"
        "```json\n{\"mode\": \"b\", \"limit\": 8}\n```\n",
        {"table": 1, "td": 6, "td code": 5, "pre": 1},
        {"td code": '"a" | "b"', "pre": '{"mode": "b", "limit": 8}'},
    ),
    ModelAnswer(
        "a derivation",
        "The mean speed follows in two steps:\n\n\\[\n\\begin{aligned}\nv &= \\frac{s}{t} \\\\\n  &= \\frac{120\\,\\text{km}}{1.5\\,\\text{h}} = 80\\,\\text{km/h}\n\\end{aligned}\n\\]\n\n"
        "where $s$ is the way and $t$ the time [2].",
        {".formula": 3, ".formula.display": 1, "math": 3, "mfrac": 2, "mtr": 2},
    ),
    ModelAnswer(
        "links of every form",
        "See the [travel policy](https://intranet.example/travel?year=2024), <https://example.org/forms> or https://example.org/help. "
        "A [local part](#part) stays as it is.",
        {"a": 0, "button.outside": 3},
        {"button.outside": "travel policy", "p": "[local part](#part)"},
    ),
    ModelAnswer(
        "for and against with signs",
        "### ✅ For\n\n* Cheap (≈ 12 % less) [1]\n* Fast – two days\n\n### ⚠️ Against\n\n* No warranty [2]\n\n---\n\n💡 **Tip:** ask for an offer.",
        {"h5": 2, "ul": 2, "li": 3, "hr": 1, "strong": 1},
        {"h5": "⚠️ Against"},
    ),
    ModelAnswer(
        "underlined headings and a list in a quotation",
        "Summary\n=======\n\nDetails\n-------\n\n> The rules are:\n>\n> 1. Ask first.\n> 2. Keep receipts [1].\n>\n> — *Handbook*, p. 3\n",
        {"h3": 1, "h4": 1, "blockquote ol": 1, "blockquote li": 2, "blockquote em": 1},
        {"blockquote li": "Keep receipts [1]."},
    ),
    ModelAnswer(
        "four levels and a checklist",
        "- Offices\n  - Lyon\n    - Floor 1\n      - Room 12 [1]\n    - Floor 2\n  - Bern\n- [x] Visited\n- [ ] Not yet",
        {"ul": 4, "li": 8, "li li li li": 1, "li.task": 2},
        {"li li li li": "Room 12 [1]"},
    ),
    ModelAnswer(
        "French with signs of its own",
        "D’après le document, « le délai est de 30 jours » [1] ; au-delà :\n\n1. une **relance** est envoyée ;\n2. puis une pénalité de 3 % s’applique [2].",
        {"ol": 1, "li": 2, "li strong": 1},
        {"p": "« le délai est de 30 jours » [1]"},
    ),
    ModelAnswer(
        "Japanese with a table",
        "**結論**：保証期間は次のとおりです。\n\n| 製品 | 期間 |\n|:---|---:|\n| ポラリス | 60か月 [1] |\n| ベガ | 24か月 [1] |\n\n※ 消耗品は対象外です。",
        {"strong": 1, "table": 1, "td": 4, "td.right": 2, "p": 2},
        {"td": "60か月 [1]"},
    ),
    ModelAnswer(
        "code of other kinds inline and out",
        "Call `GET /v1/documents?page_size=50` or ``a `quoted` word``:\n\n~~~diff\n- old: 3\n+ new: 5   # | no table |\n~~~\n\n```\n$ echo \"$HOME\" && ls *\n```\n\nBoth print `$x$`, not a formula.",
        {"p code": 3, "pre": 2, ".formula": 0, "table": 0},
        {"p code": "a `quoted` word", "pre": "+ new: 5   # | no table |"},
    ),
)  # fmt: skip
