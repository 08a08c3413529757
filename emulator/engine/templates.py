"""Sentences with gaps, in the languages worth writing well.

``{person}``, ``{first}``, ``{city}``, ``{company}`` and ``{job}`` are filled by Faker in the language's
locale, every other gap from the language's own words. A sentence is grammatical whatever fills it,
so German nouns go by gender, and no gap follows an indefinite article.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """What a language's sentences are made of; ``openers`` are fit to begin an answer, ``words`` fill gaps."""

    openers: tuple[str, ...]
    sentences: tuple[str, ...]
    words: Mapping[str, str]
    lower_jobs: bool = False


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line)


_ENGLISH = Templates(
    lower_jobs=True,
    openers=_lines("""
Yes, and the {noun} is the best place to start.
The short answer is that the {noun} matters more than the {noun}.
In short, the {noun} depends on the {noun} and on the time you can spend.
There are two ways to look at this, and both begin with the {noun}.
That is a good question, and {company} in {city} has answered it before.
The most common approach is to review the {noun} first and the {noun} afterwards.
It depends on what you expect from the {noun}.
Here is a brief overview of how the {noun} usually works.
To answer this, it helps to look at the {adjective} {noun} that {company} uses.
The main point is simple: without the {noun} there is no {adjective} {noun}.
You can do this in three steps, and the first one concerns the {noun}.
Most people begin with the {noun}, which is a reasonable choice.
Let us take the {noun} as an example.
Broadly speaking, the {noun} and the {noun} should be treated separately.
Both options work well, but the {adjective} {noun} needs less care.
The answer has changed since {month}, when the {noun} was revised.
"""),
    sentences=_lines("""
{person} from {company} presented the {adjective} {noun} in {city} last {month}.
The team in {city} checked the {noun} twice before it was published.
By {month}, the {noun} should be ready for a first review.
According to {person}, the {noun} is easier to understand than the {noun}.
{company} has used the same {noun} for several years without any trouble.
A closer look at the {noun} shows where the time is lost.
If the {noun} changes, the {noun} has to change as well.
Everyone involved agreed that the {adjective} {noun} was worth the effort.
The {job} who joined in {month} now looks after the {noun}.
It is often enough to compare the {noun} with the one from {month}.
For this reason, {company} moved its {noun} to {city}.
Small changes to the {noun} can have a large effect on the {plural}.
{first} wrote down the {plural} and shared them with the others.
The {plural} were collected in {city} between {month} and the end of the year.
None of the {plural} explain why the {noun} took so long.
Without a clear {noun}, the {plural} are difficult to compare.
The first draft of the {noun} came from {person}.
Two of the {plural} were written by people who had never visited {city}.
The {noun} remains {adjective} as long as the {plural} are kept up to date.
People at {company} describe the {noun} as {adjective} and the {plural} as useful.
In practice, the {noun} matters most when the {plural} are new.
{first} and {first} spent most of {month} on the {noun}.
The {adjective} {noun} was chosen because it needs fewer {plural}.
On the other hand, the {noun} has its limits, and {company} knows them well.
The office in {city} keeps a copy of the {noun} for later use.
As a rule, the {plural} should be reviewed before the {noun} is approved.
What began as a simple {noun} soon became part of every {noun}.
Several {plural} from {city} support this view.
The {noun} that {person} suggested is both {adjective} and easy to explain.
After the visit to {city}, the {noun} was extended by a few {plural}.
This also helps new colleagues who have not seen the {noun} before.
There is no need to repeat the {noun} when the {plural} stay the same.
The {job} at {company} would probably start with the {plural}.
The results from {month} confirm that the {noun} is {adjective}.
In {city}, the same {noun} is used for all {plural}.
It takes about a week to prepare the {noun} and the {plural}.
Some of the {plural} can be removed without any loss.
{company} plans to share its {noun} with partners in {city}.
The {noun} was tested by {person}, who found it {adjective}.
Later in {month}, the {plural} were moved into the new {noun}.
This is where the {adjective} {noun} comes in.
Good {plural} make the {noun} shorter and easier to read.
The next step is to send the {noun} to {company} and wait for a reply.
Taken together, the {plural} give a fair picture of the {noun}.
"""),
    words={
        "month": "January February March April May June July August September October November December",
        "noun": """
            report plan budget schedule project model system method process design contract survey review
            summary network market product service program policy strategy document question solution library
            structure test result analysis proposal forecast meeting decision database process training workshop
            study guide index record standard layout pipeline setup checklist catalogue calendar approach
        """,
        "plural": """
            reports numbers results examples questions documents records notes tests projects ideas details
            changes requests examples products services tools costs prices files steps answers samples comments
            letters figures charts sources rules problems updates
        """,
        "adjective": """
            simple useful reliable clear careful complete modern flexible stable practical detailed recent
            common successful helpful accurate consistent efficient familiar reasonable
        """,
    },
)

_GERMAN = Templates(
    openers=_lines("""
Ja, und am besten beginnt man mit dem {der}.
Kurz gesagt hängt die {die} vor allem vom {der} ab.
Die kurze Antwort lautet, dass der {der} wichtiger ist als das {das}.
Es gibt zwei Möglichkeiten, und beide beginnen mit der {die}.
Das ist eine gute Frage, die {company} in {city} schon beantwortet hat.
Am einfachsten ist es, zuerst den {der} und danach die {die} zu prüfen.
Das kommt darauf an, was man von der {die} erwartet.
Hier ist ein kurzer Überblick darüber, wie die {die} meist abläuft.
Im Wesentlichen geht es um die {die} und um das {das}.
Die Antwort hat sich seit {month} geändert, denn die {die} wurde überarbeitet.
"""),
    sentences=_lines("""
{person} hat den {der} im {month} in {city} vorgestellt.
Das Team in {city} hat die {die} vor der Veröffentlichung zweimal geprüft.
Bis {month} sollte das {das} für eine erste Durchsicht bereit sein.
Nach Ansicht von {person} ist der {der} leichter zu verstehen als das {das}.
{company} verwendet dieselbe {die} seit mehreren Jahren ohne Schwierigkeiten.
Ein genauer Blick auf den {der} zeigt, wo die Zeit verloren geht.
Wenn sich die {die} ändert, muss auch der {der} angepasst werden.
Alle Beteiligten waren sich einig, dass sich das {das} gelohnt hat.
Für die Stelle als {job} gab es in {city} mehrere Bewerbungen.
Oft genügt es, den {der} mit dem aus dem {month} zu vergleichen.
Aus diesem Grund hat {company} das {das} nach {city} verlegt.
Kleine Änderungen an der {die} können eine große Wirkung haben.
{first} hat die {plural} aufgeschrieben und an alle verteilt.
Die {plural} wurden zwischen {month} und dem Jahresende in {city} gesammelt.
Ohne eine klare {die} sind die {plural} kaum zu vergleichen.
Der erste Entwurf für das {das} stammt von {person}.
Der {der} bleibt {adjective}, solange die {plural} gepflegt werden.
In der Praxis ist die {die} besonders wichtig, wenn die {plural} neu sind.
{first} und {first} haben den größten Teil des Monats an dem {das} gearbeitet.
Andererseits hat der {der} seine Grenzen, und {company} kennt sie gut.
Das Büro in {city} bewahrt eine Kopie der {die} auf.
In der Regel sollten die {plural} geprüft werden, bevor der {der} freigegeben wird.
Mehrere {plural} aus {city} stützen diese Ansicht.
Die {die}, die {person} vorgeschlagen hat, ist {adjective} und leicht zu erklären.
Nach dem Besuch in {city} wurde das {das} um einige {plural} erweitert.
Das hilft auch neuen Kollegen, die den {der} noch nicht kennen.
Solange die {plural} gleich bleiben, muss man die {die} nicht wiederholen.
Die {plural} vom {month} bestätigen, dass das {das} {adjective} ist.
In {city} gilt derselbe {der} für alle {plural}.
Es dauert etwa eine Woche, den {der} und die {plural} vorzubereiten.
Einige der {plural} kann man ohne Verlust weglassen.
Gute {plural} machen die {die} kürzer und verständlicher.
Im nächsten Schritt geht der {der} an {company}.
Zusammen ergeben die {plural} ein gutes Bild von der {die}.
"""),
    words={
        "month": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "der": """
            Bericht Plan Vertrag Test Entwurf Ablauf Termin Vorschlag Aufbau Vergleich Katalog Kalender Prozess
            Leitfaden Versuch Überblick Auftrag Zeitplan
        """,
        "die": """
            Planung Übersicht Auswertung Prüfung Lösung Beschreibung Umfrage Schulung Analyse Anleitung Methode
            Struktur Strategie Studie Bibliothek Vorlage Messung Entscheidung
        """,
        "das": """
            Modell Projekt System Verfahren Konzept Ergebnis Programm Angebot Produkt Protokoll Werkzeug
            Dokument Netzwerk Verzeichnis Beispiel Budget
        """,
        "plural": """
            Berichte Zahlen Ergebnisse Beispiele Fragen Unterlagen Notizen Ideen Änderungen Anfragen Produkte
            Kosten Dateien Antworten Quellen Regeln Messwerte Tabellen Hinweise
        """,
        "adjective": """
            einfach nützlich zuverlässig klar vollständig modern flexibel stabil praktisch aktuell hilfreich
            genau sinnvoll übersichtlich
        """,
    },
)

_CHINESE = Templates(
    openers=_lines("""
可以，最好先从{noun}开始。
简单来说，{noun}比{noun}更重要。
这个问题很好，{company}以前也遇到过。
这主要取决于你对{noun}的要求。
一般来说，可以分三个步骤来处理{noun}。
下面简单介绍一下{noun}的基本情况。
答案与{noun}有关，也与{noun}有关。
总的来说，{adjective}的{noun}是最合适的选择。
有两种常见的方法，都需要先准备好{noun}。
从{month}开始，{noun}的要求有了一些变化。
"""),
    sentences=_lines("""
{person}{month}在{city}介绍了新的{noun}。
{company}多年来一直使用同样的{noun}。
团队在发布之前检查了两次{noun}。
到{month}为止，{noun}应该可以完成第一次评审。
{person}认为，{noun}比{noun}更容易理解。
仔细看一下{noun}，就能发现时间花在了哪里。
如果{noun}发生变化，{noun}也需要随之调整。
大家都同意，{adjective}的{noun}值得投入时间。
因此，{company}把{noun}搬到了{city}。
对{noun}的小改动可能会带来很大的影响。
{person}把{noun}整理好以后发给了其他同事。
这些{noun}是{month}以前在{city}收集的。
没有清楚的{noun}，就很难比较不同的结果。
第一版{noun}是由{person}完成的。
只要及时更新，{noun}就会一直保持{adjective}。
在实际工作中，{noun}往往起到关键作用。
{person}和{person}一起负责这个{noun}。
另一方面，{noun}也有它的限制，{company}对此非常了解。
{city}的办公室保存了一份完整的{noun}。
通常应该先检查{noun}，然后再批准{noun}。
来自{city}的几个例子也支持这个看法。
{person}提出的{noun}既{adjective}又容易说明。
访问{city}之后，{noun}又增加了一些内容。
这样也可以帮助还不了解{noun}的新同事。
{month}的结果说明，这个{noun}是{adjective}的。
在{city}，大家使用的是同一个{noun}。
准备{noun}大约需要一个星期的时间。
有些内容可以删除，不会影响{noun}。
{company}计划与{city}的合作伙伴分享{noun}。
下一步是把{noun}发给{company}，然后等待回复。
好的例子可以让{noun}更短，也更容易阅读。
把这些信息放在一起，就能全面了解{noun}。
"""),
    words={
        "month": "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
        "noun": """
            报告 计划 方案 项目 系统 模型 流程 合同 文件 数据 标准 结构 平台
            产品 服务 方法 测试 设计 总结 记录 目标 预算 调查 教程 目录 接口
        """,
        "adjective": "简单 可靠 清楚 完整 稳定 实用 准确 有效 灵活 详细",
    },
)

TEMPLATES: Mapping[str, Templates] = {"en_US": _ENGLISH, "de_DE": _GERMAN, "zh_CN": _CHINESE}
