"""Function words of the languages that have a stemmer.

The lists are short on purpose: articles, pronouns, prepositions, auxiliaries and question words. A word that can be
the subject of a question ("will", "may", "us" once folded from "US") is not listed. A query could not undo its
removal.
"""

from __future__ import annotations

_LISTS: dict[str, str] = {
    "en": """a an the and or but nor if then than so as of at by for with about against between into through
    during before after to from in on off over under again further is are was were be been being am
    do does did doing have has had having would should could ought i me my we our ours you your
    yours he him his she her hers it its they them their theirs this that these those there here who
    whom whose which what when where why how also such both each few more most some any no not only
    own same too very s t just don now upon per via am""",
    "fr": """le la les un une des du de d l au aux et ou mais donc or ni car que qui quoi dont où quel quelle
    quels quelles lequel laquelle lesquels lesquelles ce cet cette ces c ça cela ceci celui celle
    ceux celles je tu il elle on nous vous ils elles me te se lui leur leurs y en mon ma mes ton ta
    tes son sa ses notre nos votre vos moi toi soi eux à dans par pour sur sous avec sans chez vers
    entre depuis pendant avant après contre dès est sont était étaient être été étant suis es sommes
    êtes fut furent sera seront serait seraient soit a as ai ont avons avez avait avaient avoir eu
    ayant aura auront aurait ne pas plus n si comme comment quand pourquoi combien aussi très s qu t
    j m afin ainsi lors lorsque puisque même mêmes tout tous toute toutes fait font""",
    "de": """der die das den dem des ein eine einer eines einem einen und oder aber denn sondern als wie wenn ob
    dass daß ich du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mein meine dein deine
    sein seine seinen seinem seiner unser unsere euer eure ihre ihrer ihrem ihren dieser diese
    dieses diesem diesen jener jene jenes welcher welche welches welchem welchen wer wen wem wessen
    was wo wann warum wieso weshalb woher wohin in im an am auf aus bei beim mit nach von vom zu zum
    zur über unter vor zwischen durch für gegen ohne um bis seit während wegen ist sind war waren
    bin bist gewesen wird werden wurde wurden worden hat haben hatte hatten habe nicht kein keine
    keinen auch nur noch schon sehr so da dann hier dort man es""",
    "es": """el la los las un una unos unas lo al del de a ante bajo con contra desde durante en entre hacia
    hasta mediante para por según sin sobre tras y e o u pero sino ni que quien quienes cual cuales
    cuyo cuya cuyos cuyas qué quién quiénes cuál cuáles cómo cuándo dónde cuánto cuánta cuántos
    cuántas porque como cuando donde si yo tú él ella ello nosotros vosotros ellos ellas me te se
    nos os le les mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta estos estas ese
    esa esos esas aquel aquella esto eso aquello es son era eran ser sido fue fueron soy está están
    estaba estaban estar ha han he había habían haber hay no más muy ya también""",
    "it": """il lo la i gli le un uno una l d di a da in con su per tra fra del dello della dei degli delle dell
    al allo alla ai agli alle all dal dallo dalla dai dagli dalle dall nel nello nella nei negli
    nelle nell sul sullo sulla sui sugli sulle sull col e ed o od ma né che chi cui quale quali
    quanto quanta quanti quante cosa come dove quando perché se io tu lui lei noi voi loro mi ti si
    ci vi ne mio mia miei mie tuo tua suo sua suoi sue nostro nostra vostro vostra questo questa
    questi queste quello quella quelli quelle quel è sono era erano essere stato stata stati state
    fu furono sia ha hanno ho abbiamo aveva avevano avere non più anche molto c""",
    "pt": """o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela pelos pelas para com sem
    sob sobre entre até desde após ante contra ao aos à às e ou mas nem que quem qual quais cujo
    cuja quanto quanta quantos quantas como quando onde porque porquê se eu tu ele ela nós vós eles
    elas você vocês me te lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa
    nossos nossas este esta estes estas esse essa esses essas aquele aquela isto isso aquilo é são
    era eram ser sido foi foram sou está estão estava estavam estar há tem têm tinha tinham ter não
    mais muito já também num numa""",
    "nl": """de het een en of maar want dus noch als dan dat die deze dit wie wat welke welk waar wanneer waarom
    hoe ik jij je u hij zij ze wij we jullie hun hen hem haar mij me ons onze mijn jouw uw zijn er
    hier daar in op aan van voor met bij uit naar door over onder tussen tegen zonder om tot sinds
    tijdens te ten ter is was waren ben bent geweest wordt worden werd werden geworden heeft hebben
    had hadden heb niet geen ook nog wel al zo zich men""",
}

STOP_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _LISTS.items()}
"""Stop words by ISO 639-1 code, lower case, with accents."""
