"""Templates of German prose."""

from tests.tools.prose.templates.base import Templates, split_lines

GERMAN = Templates(
    openers=split_lines("""
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
    sentences=split_lines("""
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
