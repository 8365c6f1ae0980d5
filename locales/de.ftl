### Deutsch. Dieselben Meldungen und Variablen wie en-US.ftl; dort steht auch, was jede Variable ist.

## Bausteine

unit-seconds = { $count } s
unit-minutes = { $count } min
unit-hours = { $count } h
unit-days = { $count } { $count ->
    [one] Tag
   *[other] Tage
}
unit-pair = { $first } { $second }
time-format = %d.%m.%Y %H:%M:%S
clock-format = %H:%M:%S
decimal-mark = ,
group-mark = .
money = { $amount } $
full-stop = .
no-reason = kein Grund angegeben
cut-lines = [… { $count ->
    [one] { $count } Zeile
   *[other] { $count } Zeilen
} ausgelassen …]
cut-bytes = [… { $count ->
    [one] { $count } Byte
   *[other] { $count } Bytes
} ausgelassen …]
words-cut = { $count ->
    [one] … noch { $count } Zeile; `@{ $agent } log 1`
   *[other] … noch { $count } Zeilen; `@{ $agent } log 1`
}
words-attached = { $count ->
    [one] … alles steht in der angehängten Datei und in `@{ $agent } log 1`
   *[other] … alle { $count } Zeilen stehen in der angehängten Datei und in `@{ $agent } log 1`
}
words-attached-in-part = … die angehängte Datei hat { $count } von { $whole } Zeilen, mit einem Zeichen, wo etwas fehlt

## Was ein Agent gerade tut

phase-idle = ohne Arbeit
phase-checking = Arbeit wird geprüft
phase-held = wartet, bis er an der Reihe ist
phase-starting = startet
phase-running = arbeitet
phase-stopping = wird angehalten ({ $reason })
phase-waiting = { $reason }, noch { $countdown }
phase-waiting-until = { $reason }, bis { $until }
phase-paused = pausiert ({ $reason })
phase-needs-intervention = braucht Hilfe
phase-degraded = beeinträchtigt
phase-removed = entfernt
halt-waiting = in Wartezeit bis { $until }
halt-needs-intervention = nach zu vielen Fehlschlägen angehalten (braucht Hilfe)
halt-degraded = nach zu vielen Abstürzen angehalten (beeinträchtigt)
hold-turn = wartet, bis er an der Reihe ist ({ $active } bei der Arbeit)
hold-turn-of = wartet, bis er an der Reihe ist ({ $active } von { $max } bei der Arbeit)
hold-exhausted = Konto { $account } ist erschöpft, bis jemand einen seiner Agenten mit `resume` weiterlässt
hold-exhausted-until = Konto { $account } ist erschöpft bis { $until }
hold-closed = Konto { $account } ist geschlossen ({ $category })
hold-tried = wartet, bis { $agent } gezeigt hat, ob Konto { $account } geht
hold-pressure = wartet: der Speicherdruck dieses Rechners ist { $percent } %, ab { $max } % beginnt keiner
hold-memory = wartet auf Speicher: { $needs } nötig, { $free } frei
hold-runner-away = wartet auf Rechner { $runner }, der nicht antwortet
hold-runner-drained = wartet: auf Rechner { $runner } beginnt nichts (`runner open { $runner }` ändert das)

memory-taken = { $now }, höchstens { $peak }
memory-taken-of = { $now }, höchstens { $peak } von { $limit }

stop-pause = Pause
stop-abort = Abbruch
stop-restart = Neustart
stop-stop-all = alle anhalten
stop-cancel = Aufgabe zurückgezogen
stop-remove = entfernt
stop-account = Konto: { $category }
stop-hung = hängt
stop-escalation = ein Mensch wird gerufen
stop-configured = der Befehl hat sich geändert
stop-cap = Grenze: { $cap }

pause-person = von { $name }
pause-stop-all = stop-all von { $name }
pause-failure = { $category }
pause-account = Konto: { $category }
pause-survivors = übrig gebliebene Prozesse
pause-escalation = ein Mensch wird gerufen
pause-cap = Grenze erreicht: { $cap }
# What a cap counts, and over what. $unit: usd | tokens; $per: the next message; $window: session | hour | day
cap = { $unit ->
    [usd] US-Dollar
   *[tokens] Token
} { $per }
per = { $window ->
    [session] je Sitzung
    [hour] je Stunde
   *[day] je Tag
}
amount-tokens = { $tokens } Token
model-unnamed = (ohne Namen)

wait-backoff = Neustart nach: { $category }
wait-rate-limit = ausgebremst (Rate-Limit)
wait-rest = ruht
wait-split = seine Aufgabe wird geteilt

work-message = Nachricht
work-task = Aufgabe
work-round = Durchlauf

task-done = erledigt
task-failed = gescheitert
task-cancelled = zurückgezogen
task-blocked = blockiert

## herders eigene Gründe

# $own: eine der Nachrichten darunter. $said: was ein Programm oder Server sagte, in dessen eigenen Worten.
own-with-said = { $own }: { $said }
own-exit-code = Exit-Code { $code }
own-signal = durch Signal { $signal } beendet
own-not-waited-for = auf den Prozess konnte nicht gewartet werden
own-no-result = der Prozess endete ohne Ergebnis
own-workspace-missing = den Arbeitsordner { $path } gibt es nicht: anlegen oder ändern
own-workspace-no-folder = der Arbeitsordner { $path } ist kein Ordner: wegräumen, was dort liegt, oder ändern
own-workspace-locked = in den Arbeitsordner { $path } kann nicht geschrieben werden: Besitzer, Rechte und Datenträger prüfen
own-workspace-silent = der Arbeitsordner { $path } antwortet nicht: Datenträger oder Netzlaufwerk prüfen
own-start-silent = ließ sich nicht rechtzeitig starten: Datenträger des Programms, des Arbeitsordners { $path } und der mitgegebenen Dateien prüfen
own-no-command = kein Kommando angegeben: `command` setzen
own-empty-command = das erste Wort des Kommandos ist leer: ein Programm nennen
own-program-missing = das Programm { $path } gibt es nicht
own-not-installed = { $program } ist nicht installiert: kein solches Programm in { $path }
own-arguments-too-long = { $program } lässt sich nicht starten: die Argumente sind zu lang; prompt = "stdin" verwenden
own-not-started = { $program } lässt sich nicht starten
own-limits-not-set = die Grenzen für Speicher, CPU und Prozesse lassen sich nicht setzen: herder in einem Dienst mit Delegate=yes betreiben oder mit systemd-run --user --scope -p Delegate=yes
own-state-folder = der eigene Ordner { $path } lässt sich nicht anlegen
own-credential-missing = { $path } gibt es nicht: anmelden oder aus `credentials` streichen
own-variable-unreadable = in { $path } steht keine Zeile, auf die eine Variable gesetzt werden könnte: das Geheimnis allein dort hineinschreiben
# Was zu sehen war, als eine Uhr ablief: Dauern.
own-silent = seit { $silent } kein Ereignis, kein Werkzeug offen, keine CPU-Zeit
own-silent-since = seit { $silent } kein Ereignis, kein Werkzeug offen, seit { $cpu } keine CPU-Zeit
own-only-cpu = seit { $silent } kein Ereignis, kein Werkzeug offen, nur CPU-Zeit wurde verbraucht
own-nothing-yet = seit { $waited } nichts vom Prozess
own-tool-open = Werkzeug { $tool } seit { $open } offen
own-takes-long = die Sitzung dauert { $takes }, letztes Ereignis vor { $silent }
own-takes-long-with-tool = die Sitzung dauert { $takes }, Werkzeug { $tool } seit { $open } offen
own-no-heartbeat = seit { $silent } kein Lebenszeichen des Treibers
own-no-sign-of-life = der Treiber gab kein Lebenszeichen
own-driver-gone = der Treiber endete ohne ein Wort
own-old-runner = der Prozess, in dem die Agenten laufen, hat eine ältere Version: herder runner restart --when-idle
own-runner-away = der Prozess, in dem die Agenten laufen, antwortet nicht
own-driver-failed = der Treiber ist abgestürzt
own-driver-overdue = der Treiber beendete die Sitzung nicht rechtzeitig
own-not-ended = die Prozesse ließen sich nicht beenden
own-restarted = herder wurde neu gestartet
own-supervisor-panicked = der Supervisor ist abgestürzt
own-time-limit = es dauerte zweimal länger als erlaubt
own-split-by-nobody = das Kontextfenster war voll, und niemand wird gefragt, die Aufgabe zu teilen: in `[evaluator]` ein Modell nennen, oder `!task split`
own-split-too-deep = das Kontextfenster war voll, und die Aufgabe ist schon Teil eines Teils
own-split-no-list = das Kontextfenster war voll, und die Antwort des Evaluators war keine Liste von 2 bis 5 Teilen
own-split-timed-out = das Kontextfenster war voll, und der Evaluator hat die Aufgabe nicht rechtzeitig geteilt
own-split-failed = das Kontextfenster war voll, und der Evaluator konnte die Aufgabe nicht teilen
own-nobody-broader = die Sandbox verwehrte, was die Aufgabe braucht, und kein anderer Agent darf mehr
own-check-failed = `{ $command }` ist { $times ->
    [one] einmal
   *[other] { $times }-mal
    } an dem gescheitert, was der Agent fertig nannte
own-by = von { $name }
own-out-of-memory = { $used } von { $limit }
own-out-of-memory-by = { $used } von { $limit }, `{ $program }`
own-turn-limit = die Höchstzahl der Schritte ({ $turns }) ist erreicht
own-agents-turn-limit = die eigene Höchstzahl der Schritte des Agenten ist erreicht
own-turn-interrupted = der Schritt wurde unterbrochen
own-turn-cancelled = der Schritt wurde abgebrochen
own-answer-too-long = die Antwort war länger, als das Modell antworten darf
own-answer-broken-off = die Antwort des Modells brach ab
own-nothing-said = der Agent hat nichts gesagt und nichts getan; sein Aufruf des Modells ist wohl gescheitert
own-model-refused = das Modell hat abgelehnt
# $status: ein Wort aus dem Protokoll des Agenten.
own-turn-ended-as = der Schritt endete als „{ $status }“
# Of a conversation that is given up.
own-conversation-gone = es lässt sich nicht mehr öffnen
own-history-refused = das Modell lehnt seinen Verlauf ab
own-conversation-full = es passt nicht mehr in das Kontextfenster des Modells
own-no-conversation = der Agent eröffnete kein Gespräch oder eines ohne Kennung: diese Version spricht ein anderes Protokoll als herder
own-other-protocol = der Agent spricht Version { $spoken } seines Protokolls, herder Version { $ours }; eine passende Version des Agenten verwenden
own-no-protocol = der Agent spricht keine Version seines Protokolls, herder Version { $ours }; eine passende Version des Agenten verwenden
own-model-not-set = das Modell { $model } lässt sich nicht einstellen
own-no-plan-mode = der Agent hat keinen Modus, in dem er nur plant; setze permissions auf read-only, workspace-write oder full
git-no-repository = { $path } ist kein Git-Repository
git-no-base = das Repository hat keinen Commit `{ $base }`, von dem aus begonnen werden könnte
git-failed = `{ $command }` ist fehlgeschlagen
git-late = `{ $command }` wurde nicht rechtzeitig fertig
git-too-much = `{ $command }` gab mehr aus, als gelesen wird
git-partial = dem Repository fehlen Dateien des Commits `{ $base }`, wie einem partiellen Klon; hole sie dort: git fetch --refetch --no-filter
git-setup-failed = die Einrichtung `{ $command }` ist mit Exit-Code { $code } fehlgeschlagen
git-setup-killed = die Einrichtung `{ $command }` wurde durch Signal { $signal } beendet
git-setup-late = die Einrichtung `{ $command }` wurde nicht rechtzeitig fertig
git-no-clone = der Klon { $path } der Aufgabe ist nicht da
git-off-branch = der letzte Commit des Branches `{ $branch }` ist dort nicht ausgecheckt
git-moved = der Branch hat sich während der Prüfung bewegt
git-uncommitted = { $files ->
    [one] eine geänderte Datei ist nicht committet
   *[other] { $files } geänderte Dateien sind nicht committet
}
git-no-branch = `{ $base }` ist kein Branch des Repositorys; nennen Sie einen als Basis
git-behind = in `{ $branch }` fehlt der Commit, von dem die Aufgabe ausging; bringen Sie ihn erst auf den Stand
# $files: Namen, durch Kommas getrennt.
git-conflict = es gibt einen Konflikt mit dem, was jetzt in `{ $branch }` ist, in { $files }
git-red = `{ $command }` scheitert zusammen mit dem, was jetzt in `{ $branch }` ist
git-base-moved = `{ $branch }` hat sich bei jedem Versuch bewegt
git-own-work = { $reviewer } hat selbst daran gearbeitet oder sie als Teil vergeben
git-changed-since = sie hat sich seit dem Beginn ihrer Durchsicht geändert
git-no-verdict = { $reviewer } hat nicht geurteilt
git-rejected-often = { $reviewer } hat sie { $times ->
    [one] einmal
   *[other] { $times }-mal
} zurückgewiesen
git-stopped = { $name } hat alles angehalten
# $line: für eine Shell.
git-checked-out = `{ $branch }` ist ausgecheckt, wo etwas geändert oder im Gange ist; ist das erledigt, eingeben: `{ $line }`
git-taken = { $path } hat `{ $name }` eines anderen herder; falls es den nicht mehr gibt: git update-ref -d { $name }
git-outside = in { $link } gibt es Neues von { $names }
git-followed-often = in { $link } gibt es Neues von { $names }, und sie ging schon { $times ->
    [0] so oft zurück, wie sie darf
    [one] einmal zurück
   *[other] { $times }-mal zurück
}
git-pull-closed = { $link } wurde geschlossen, ohne dass etwas zusammengeführt wurde
git-not-followed = { $link } lässt sich nicht ansehen
git-no-remote = { $path } nennt kein Repository bei einer Forge
git-branch-moved = jemand anders hat nach `{ $branch }` gepusht: bring deren Commits in die Aufgabe oder lösche den Branch dort
git-other-host = das Repository liegt auf { $host }, und die Anmeldung gilt für { $known }: [forge] host nennt sie
git-no-forge = nach den Einstellungen werden keine Pull Requests mehr eröffnet
git-forge = `{ $command }` ist fehlgeschlagen
git-replaced = { $path } ist nicht der Ordner, der für die Aufgabe angelegt wurde: sein Inhalt wird nicht gelesen
git-file = { $path } lässt sich nicht schreiben, kopieren oder löschen

## Warum ein Netz nicht zu haben ist; was die Gegenseite dazu sagt, folgt
link-not-found = { $server } ist nicht zu finden
link-no-address = { $server } hat keine Adresse
link-not-connected = keine Verbindung zu { $server }
link-not-answered = { $server } hat { $within } lang nicht geantwortet
link-no-tls-name = „{ $server }“ kann nicht der Name eines TLS-Servers sein
link-tls-failed = TLS mit { $server } ist gescheitert
link-certificate = das Zertifikat von { $server } { $why ->
    [issuer] ist selbst ausgestellt oder von einer unbekannten Stelle
    [expired] ist abgelaufen
    [early] gilt noch nicht
    [name] ist für einen anderen Namen
    [other] ist nicht das von tls_fingerprint
   *[invalid] ist ungültig
    } (SHA-256 { $fingerprint }); wenn es das richtige ist, tls_fingerprint darauf setzen oder tls_ca auf eine Datei mit seiner Stelle
link-tls-not-set-up = TLS lässt sich nicht einrichten
link-not-let-in = der Server hat uns { $within } lang nicht hereingelassen
link-login-not-answered = die Dienste haben { $within } lang nicht auf die SASL-Anmeldung geantwortet
link-no-login-now = der Server bietet gerade kein SASL an; seine Dienste sind vielleicht weg
link-let-in-without-login = der Server hat uns ohne die eingestellte Anmeldung hereingelassen
link-login-refused = die Dienste haben die SASL-Anmeldung abgelehnt; bitte Konto, Passwort und Zertifikat prüfen
# $offered: mechanisms, as the server lists them.
link-login-refused-offering = die Dienste haben die SASL-Anmeldung abgelehnt (der Server bietet { $offered } an); bitte Konto, Passwort und Zertifikat prüfen
link-login-broken-off = die SASL-Anmeldung wurde abgebrochen
link-server-password = das Passwort des Servers ist falsch oder fehlt
link-banned = gebannt
link-no-services = der Server sagt nicht, dass es Dienste sind
link-barred = gebannt; der nächste Versuch ist in { $again }
link-no-nick = kein Nick, den der Server annimmt, ist frei
link-closed = der Server hat die Verbindung geschlossen
link-ended-by-server = der Server hat die Verbindung beendet
link-broke = die Verbindung ist abgebrochen
link-stopped-reading = der Server liest nicht mehr
link-fell-silent = der Server ist verstummt
link-lines-not-answered = der Server hat Zeilen angenommen und { $waited } lang nicht geantwortet
link-kicked = hinausgeworfen
discord-link-token = Discord kennt das Token nicht. Bitte das Token des Bots (Developer Portal, Bot, Reset Token) bei `token` unter [discord] eintragen, oder in die Variable oder Datei, die dort steht, und herder neu starten
discord-link-shard = Discord lehnt den Shard ab, den herder verlangt (Code 4010). Vielleicht ist ein anderes Programm mit demselben Token und anderen Shards angemeldet; bitte beenden und herder neu starten
discord-link-more-shards = Discord verlangt mehr Shards für diesen Bot (Code 4011): Er ist in zu vielen Servern für einen. Bitte herder neu starten, damit neu gefragt wird, wie viele es sein sollen
discord-link-version = Discord spricht diese Fassung seines Gateways nicht mehr (Code 4012). Bitte ein neueres herder einrichten
discord-link-intent-unknown = Discord kennt einen Intent nicht, den herder verlangt (Code 4013). Bitte ein neueres herder einrichten
discord-link-intent-refused = Discord erlaubt einen Intent nicht, den herder verlangt (Code 4014). Bitte im Developer Portal unter Bot, Privileged Gateway Intents, den Message Content Intent einschalten und herder neu starten
discord-link-client = für Discord ist kein Client möglich
discord-link-no-content = der Message Content Intent ist nicht eingeschaltet; herder macht ohne ihn weiter
discord-link-logins = Discord erlaubt diesem Bot keine Anmeldung mehr ({ $total } am Tag); die nächste geht in { $within }
discord-link-outside = der Bot ist nicht in seinem Server; `herder check` zeigt den Link, der ihn einlädt
discord-link-stuck = Discord hat die Verbindung beendet, und serenity ist dabei hängen geblieben
discord-link-not-again = die Verbindung zu Discord ist abgebrochen, und serenity beginnt keine neue
discord-link-not-let-in = Discord hat uns { $within } lang nicht hereingelassen
discord-link-dead = die Verbindung zu Discord ist tot: { $silent } lang kein Ereignis und kein beantworteter Herzschlag
discord-link-broke = die Verbindung zu Discord ist abgebrochen
discord-link-thread = der Thread der Verbindung lässt sich nicht starten
discord-link-thread-died = der Thread der Verbindung ist gestorben
# $request: method and path. $code: Discord's own.
discord-link-refused = Discord hat { $request } abgelehnt (Status { $status }, Code { $code })
discord-link-foreign = { $request } hat nicht Discord beantwortet, sondern etwas dazwischen (Status { $status }), etwa ein Proxy; herder fragt wieder
discord-link-stopped = { $refused } Anfragen wurden in zehn Minuten abgelehnt, deshalb fragt herder Discord nur noch ab und zu, bis wieder eine Antwort kommt; was abgelehnt wurde, steht im Log
discord-link-not-answered = { $request } wurde nicht rechtzeitig beantwortet
discord-link-unreadable = die Antwort auf { $request } ist nicht lesbar
discord-link-unaskable = { $request } lässt sich nicht fragen

## Wie eine Sitzung endete

category-success = Erfolg
category-transient = vorübergehender Fehler
category-rate-limit = Rate-Limit
category-permanent = dauerhafter Fehler
category-max-turns = Schrittlimit erreicht
category-billing = Abrechnungsfehler
category-auth = Anmeldung fehlgeschlagen
category-budget = Budgetgrenze erreicht
category-quota = Kontingent erschöpft
category-context-overflow = Kontextfenster voll
category-task-timeout = Zeitlimit der Aufgabe überschritten
category-sandbox-denial = Werkzeug verweigert
category-hung = hängt
category-crash = Absturz
category-do-not-restart = will nicht neu gestartet werden
category-interrupted = unterbrochen
category-out-of-memory = Speicher erschöpft

finding-same-approach = { $count ->
    [one] Hat denselben Ansatz { $count }-mal versucht.
   *[other] Hat denselben Ansatz { $count }-mal versucht.
}
finding-same-edit = { $count ->
    [one] Hat dieselbe Änderung { $count }-mal gemacht.
   *[other] Hat dieselbe Änderung { $count }-mal gemacht.
}
finding-same-error = { $count ->
    [one] Ist { $count }-mal auf denselben Fehler gestoßen.
   *[other] Ist { $count }-mal auf denselben Fehler gestoßen.
}
finding-same-words = { $count ->
    [one] Hat { $count }-mal dasselbe gesagt, ohne etwas Neues zu tun.
   *[other] Hat { $count }-mal dasselbe gesagt, ohne etwas Neues zu tun.
}
finding-no-change = { $count ->
    [one] Hat in { $count } Schritt keine Datei geändert und sich nur wiederholt oder ist gescheitert.
   *[other] Hat in { $count } Schritten keine Datei geändert und sich meist nur wiederholt oder ist gescheitert.
}
finding-long-gaps = { $count ->
    [one] Hat { $count }-mal mitten in der Arbeit geschwiegen, { $longest } lang.
   *[other] Hat { $count }-mal mitten in der Arbeit geschwiegen, einmal { $longest } lang.
}

clock-startup = ist nicht rechtzeitig gestartet
clock-silence = schweigt zu lange
clock-tool = hat einen Werkzeugaufruf zu lange offen
clock-task = ist zu lange an der Arbeit
clock-heartbeat = antwortet herder nicht mehr

## Statusmeldungen

notice-started = 🐜 **{ $agent }** hat angefangen: { $work }
# $workspace: as `workspace` has it.
notice-workspace-seen = 📂 **{ $agent }** findet den Arbeitsordner so vor: { $workspace }.
# How a workspace stands. $on: branch | nothing; $changed: files; $under: the word after `git`, or nothing.
workspace = { $on ->
    [branch] Branch { $branch }
   *[other] kein Branch
}, { $changed ->
    [0] nichts geändert
    [one] 1 geänderte Datei
   *[other] { $changed } geänderte Dateien
}{ $under ->
    [nothing] {""}
   *[other] , { $under } nicht abgeschlossen
}
notice-completed = ✅ **{ $agent }** ist fertig nach { $duration }{ $turns ->
    [0] {""}
    [one] {" "}· { $turns } Schritt
   *[other] {" "}· { $turns } Schritte
}{ $priced ->
    [yes] {" "}· { $cost }
   *[no] {""}
}
notice-crashed = ❌ **{ $agent }** ist abgestürzt: { $detail } Neustart in { $countdown }…
notice-rate-limited = ⏳ **{ $agent }** hat ein Rate-Limit erreicht. Weiter in { $countdown }…
notice-permanent = 🚫 **{ $agent }** hat einen dauerhaften Fehler: { $detail } Neustart in { $countdown }…
notice-overflowed = ❌ **{ $agent }** hat sein Kontextfenster gefüllt: { $detail } Weiter in einem neuen Gespräch in { $countdown }…
notice-billing = 💳 **{ $agent }** hat einen Abrechnungsfehler – bitte das Konto { $account } prüfen. Pausiert bis zum `resume`.
notice-auth = 🔐 **{ $agent }** konnte sich nicht anmelden – bitte die Zugangsdaten prüfen. Pausiert bis zum `resume`.
notice-budget = 💰 **{ $agent }** hat seine Budgetgrenze in US-Dollar überschritten. Pausiert bis zum `resume`.
notice-cap-reached = 💰 **{ $agent }** hat seine Budgetgrenze von { $limit } { $per } überschritten: { $used } verbraucht. Pausiert bis zum `resume`; die Arbeit bleibt erhalten.
notice-cap-near = 💰 **{ $agent }** hat { $percent } % der Grenze von { $limit } { $per } verbraucht: { $used }.
notice-cap-waived = 💰 **{ $agent }** darf über die Grenze hinaus ({ $cap }): Bei { $limit } ist wieder Schluss, und in der nächsten Stunde oder am nächsten Tag gilt die Grenze neu.
notice-spiked = 💰 **{ $agent }** verbraucht weit mehr als sonst: { $used } in dieser Stunde, sonst { $usual }.
notice-price-unknown = 💰 **{ $agent }**: Niemand sagt, was das Modell `{ $model }` kostet. { $assumed ->
    [yes] Solange eine Grenze in US-Dollar gilt, zählen seine Token zum Preis der teuersten Modelle.
   *[no] Seine Token werden gezählt, seine Dollar nicht.
} { $named ->
    [no] Sein Name gehört als `model` zu diesem Agenten in bot.toml, sein Preis in einen Abschnitt unter [prices].
   *[yes] Ein Abschnitt dafür unter [prices] in bot.toml stellt das richtig.
}
notice-shared-cap-reached = 🚨 💰 { $scope ->
    [account] Das Konto **{ $account }**
   *[fleet] Die Flotte
} hat die Grenze von { $limit } { $per } erreicht: { $used } verbraucht. { $scope ->
    [account] Alle seine Agenten sind pausiert.
   *[fleet] Alle Agenten sind pausiert.
} Ein `resume` lässt sie bis zum nächsten Vielfachen der Grenze weitermachen.
notice-shared-cap-near = 💰 { $scope ->
    [account] Das Konto **{ $account }**
   *[fleet] Die Flotte
} hat { $percent } % der Grenze von { $limit } { $per } verbraucht: { $used }.
notice-shared-cap-waived = 💰 { $scope ->
    [account] Das Konto **{ $account }**
   *[fleet] Die Flotte
} darf über die Grenze hinaus: Bei { $limit } { $per } ist wieder Schluss.
notice-do-not-restart = 🚫 **{ $agent }** will nicht neu gestartet werden: { $detail } Pausiert bis zum `resume`.
notice-paused-with-account = { $emoji } **{ $agent }** pausiert mit seinem Konto { $account } ({ $category }). Erst das Konto in Ordnung bringen, dann `@{ $agent } resume`.
notice-account-blocked = 🚨 Konto **{ $account }**: { $category }, bemerkt bei **{ $agent }**. Alle seine Agenten pausieren. Erst das Konto in Ordnung bringen, dann `@{ $agent } resume`.
notice-account-opened = ▶️ Konto **{ $account }** ist wieder offen, dank { $by }. Seine Agenten machen weiter.
notice-quota-reached = ⏳ **{ $agent }** hat das Nutzungslimit des Kontos { $account } erreicht. Die Arbeit bleibt erhalten und geht weiter, sobald das Konto wieder geht.
notice-account-exhausted = ⏳ Konto **{ $account }**: Nutzungslimit erreicht, bemerkt bei **{ $agent }**. Keiner seiner Agenten fängt etwas an; { $how ->
    [reset] das Limit endet etwa um { $at }, dann versucht es einer von ihnen.
    [later] das Limit endet etwa um { $reset }, und um { $at } versucht es einer von ihnen.
    [probe] um { $at } versucht es einer von ihnen wieder.
    [ask] um { $at } wird gefragt, ob es weitergeht.
   *[never] mit `@{ $agent } resume` darf es einer von ihnen versuchen.
}
notice-account-asked = ⏳ Konto **{ $account }**: Das Nutzungslimit müsste vorbei sein. Mit `@{ $agent } resume` machen seine Agenten weiter.
notice-account-tried = ▶️ { $by } lässt **{ $agent }** das Konto **{ $account }** versuchen; die anderen folgen, wenn es geht.
notice-clock-set = 🕰️ Die Uhr von herders Rechner wurde um { $by } { $way ->
    [ahead] vorgestellt
   *[back] zurückgestellt
 }. Wartezeiten bleiben so lang, wie sie sind; nur ein Limit, das zu einer genannten Zeit endet, richtet sich nach der neuen Uhr.
notice-account-works = ▶️ Konto **{ $account }** geht wieder, wie **{ $agent }** zeigt. Seine Agenten machen weiter.
notice-out-of-memory = ❌ **{ $agent }** wurde aus Mangel an Speicher beendet: { $detail } Noch ein Versuch in { $countdown }…
notice-timed-out = ❌ **{ $agent }** brauchte länger als { $limit } und wurde angehalten. Noch ein Versuch in { $countdown }…
notice-task-failed = ❌ **{ $agent }** hat Aufgabe { $task } aufgegeben: { $detail }
notice-task-blocked = 🧱 **{ $agent }** kommt bei Aufgabe { $task } nicht weiter: { $detail }
notice-task-taken = 👀 **{ $agent }** hat Aufgabe { $task } vom Brett: { $work }
notice-task-released = **{ $agent }** kommt nicht weiter; Aufgabe { $task } liegt deshalb für einen anderen Agenten am Brett.
notice-task-splitting = ❌ **{ $agent }**: das Kontextfenster war voll. Aufgabe { $task } wird in kleinere geteilt…
# $permissions: workspace-write or full, as in bot.toml.
notice-task-needs-more = 🚫 **{ $agent }** darf zu wenig für Aufgabe { $task }: Sie liegt am Brett für einen Agenten, der mindestens { $permissions } darf.
notice-checkout-failed = ❌ { $act ->
        [make] Der Klon der Aufgabe { $task } von **{ $agent }** ließ sich nicht anlegen
        [read] Der Klon der Aufgabe { $task } von **{ $agent }** ließ sich nicht lesen
        [check] Die Prüfung der Aufgabe { $task } von **{ $agent }** ließ sich nicht starten
        [merge] Aufgabe { $task } von **{ $agent }** ließ sich nicht zusammenführen
       *[remove] Der Klon der Aufgabe { $task } von **{ $agent }** ließ sich nicht löschen
    }: { $why }
notice-check-passed = ✅ Aufgabe { $task } von **{ $agent }**: `{ $command }` bestanden nach { $took }, auf { $commit }.
notice-check-failed = ❌ Aufgabe { $task } von **{ $agent }**: `{ $command }` fehlgeschlagen nach { $took }: { $why }{ $again ->
        [yes] {" "}Es geht zurück an { $agent }.
       *[no] {""}
    }
# $uncommitted: Dateien. $checked: eine Prüfung ist bestanden. $paid: die Aufgabe hat etwas gekostet.
notice-task-in-review = 👀 Aufgabe { $task } von **{ $agent }** wartet auf Durchsicht{ $asked ->
    [yes] {" "}durch **{ $reviewer }**
   *[no] {""}
}: { $commits ->
    [one] ein Commit
   *[other] { $commits } Commits
}, { $files ->
    [one] eine Datei
   *[other] { $files } Dateien
} (+{ $added } −{ $removed }){ $uncommitted ->
    [0] {""}
    [one] , eine Datei nicht committet
   *[other] , { $uncommitted } Dateien nicht committet
}{ $checked ->
    [yes] , `{ $command }` bestanden
   *[no] {""}
}{ $paid ->
    [yes] {" "}· { $cost }
   *[no] {""}
}. `!task diff { $task }` zeigt sie; `!accept { $task }`{ $merges ->
    [yes] {" "}(nach { $branch })
   *[no] {""}
} oder `!reject { $task } Grund` antwortet{ $asked ->
    [yes] {" "}an Stelle von { $reviewer }
   *[no] {""}
}.
notice-review-left = 👀 Über Aufgabe { $task } von **{ $agent }** muss ein Mensch entscheiden: { $why } `!task diff { $task }` zeigt sie; `!accept { $task }` oder `!reject { $task } Grund` antwortet.
# $merges: yes: sie wird als Nächstes in die Basis gebracht; pull: ein Pull Request wird eröffnet.
notice-task-accepted = ✅ { $by } nimmt Aufgabe { $task } von **{ $agent }** an{ $merges ->
    [yes] : sie wird zusammengeführt.
    [pull] : ein Pull Request wird eröffnet.
   *[no] .
}
notice-task-rejected = 👀 { $by } gibt Aufgabe { $task } an **{ $agent }** zurück.
notice-task-proposed = 📤 Aufgabe { $task } von **{ $agent }** hat einen Pull Request: { $link } Rote Prüfungen und Anmerkungen dort gehen an **{ $agent }** zurück.
notice-task-landed = ✅ Aufgabe { $task } von **{ $agent }** ist zusammengeführt: { $branch } steht auf { $commit }.
notice-task-returned = ❌ Aufgabe { $task } geht an **{ $agent }** zurück: { $why }
notice-merge-failed = ❌ Aufgabe { $task } von **{ $agent }** ließ sich nicht zusammenführen: { $why } `!accept { $task }` versucht es noch einmal, `!reject { $task } Grund` gibt sie zurück.
notice-task-opened = 📂 **{ $agent }**: Was hier gesagt wird, gehört ab jetzt zu Aufgabe { $task }.
notice-task-dropping = 👀 Der Klon der Aufgabe { $task } wird gelöscht.
notice-part-failed = 🧱 Aufgabe { $task } kann so nicht erledigt werden: ihr Teil { $part } ist { $end }. `!task assign { $part } auto` lässt ihn neu versuchen, `!task cancel { $task }` gibt alles auf.
notice-awaited-not-done = 🧱 Aufgabe { $task } kann nicht beginnen: Sie wartet auf Aufgabe { $awaited }, und die ist { $end }. { $anew ->
    [yes] `!task assign { $awaited } auto` lässt jene neu versuchen, `!task cancel { $task }` gibt diese auf.
   *[no] `!task cancel { $task }` gibt sie auf, `!task add` gibt sie noch einmal, ohne zu warten.
}
notice-nobody-suffices = 🧱 Aufgabe { $task } wartet am Brett, und kein Agent, den es gibt, genügt ihr noch{ $needs ->
    [none] {""}
   *[other] {" "}(sie braucht { $needs })
}. `!task assign { $task } agent` gibt sie trotzdem einem, `!agent edit` ändert einen, `!task cancel { $task }` gibt sie auf.
notice-notified = 🔔 **{ $agent }** meldet: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } Wird unterbrochen…
notice-permission-denied = ⚙️ **{ $agent }** hat um Erlaubnis gebeten und ein Nein bekommen, weil schon zu viele Antworten ausstehen: { $what }
# Worum es geht, steht unverändert darunter. $tool: das Werkzeug; $within: so lange wird gewartet.
notice-permission-asked = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool }. `@{ $agent } approve { $ask }`, `@{ $agent } approve { $ask } always` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
# $danger: das Muster, wegen dem immer gefragt wird.
notice-permission-asked-always = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool } (wird immer gefragt: { $danger }). `@{ $agent } approve { $ask }`, `@{ $agent } approve { $ask } always` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
notice-permission-asked-cut = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool }, zu lang, um ganz gezeigt zu werden. `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
notice-permission-asked-vague = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool }, ohne zu sagen, was genau geschehen würde. `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
notice-permission-asked-hidden = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool }, mit Zeichen, die niemand sähe; sie sind ausgeschrieben. `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
notice-permission-asked-secret = ⚙️ **{ $agent }** bittet um Erlaubnis { $ask }: { $tool }, mit einem Geheimnis, das nicht gezeigt wird. `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }` innerhalb von { $within }; danach heißt es nein.
# Der Wortlaut steht darunter.
notice-question-asked = ⚙️ **{ $agent }** stellt Frage { $ask }. Antwort im Kanal des Agenten oder mit `@{ $agent } answer { $ask } …` innerhalb von { $within }:
notice-question-asked-one = ⚙️ **{ $agent }** stellt Frage { $ask }. Wähle eine Antwort nach ihrer Nummer, `@{ $agent } answer { $ask } 1`, oder antworte in Worten, innerhalb von { $within }:
notice-question-asked-several = ⚙️ **{ $agent }** stellt Frage { $ask }. Wähle eine oder mehrere Antworten nach ihren Nummern, `@{ $agent } answer { $ask } 1,2`, oder antworte in Worten, innerhalb von { $within }:
# The plan stands before it.
notice-plan-asked = ⚙️ **{ $agent }** fragt, ob der Plan oben ausgeführt werden darf, { $ask }: `@{ $agent } approve { $ask }`, oder `@{ $agent } answer { $ask } …` mit dem, was anders sein soll, innerhalb von { $within }; danach heißt es nein.
# $text: what is asked; $within: how long an answer is waited for yet.
notice-question-open = ⚙️ **{ $agent }** wartet noch { $within } auf eine Antwort auf Frage { $ask }: { $text } `@{ $agent } answer { $ask } …`
notice-permission-open = ⚙️ **{ $agent }** wartet noch { $within } auf ein Wort zu { $ask }: { $text } `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }`
# $by: eine Person; $network: wo.
notice-permission-approved = ✅ **{ $agent }** darf: { $ask } erlaubt von { $by } ({ $network }).
notice-permission-approved-always = ✅ **{ $agent }** darf, ab jetzt immer: { $ask } erlaubt von { $by } ({ $network }). `!rule remove { $ask }` nimmt das zurück.
notice-permission-refused = ❌ **{ $agent }** darf nicht: { $ask } abgelehnt von { $by } ({ $network }).
notice-question-answered = ✅ Frage { $ask } von **{ $agent }** beantwortet von { $by } ({ $network }): { $text }
notice-permission-expired = ❌ **{ $agent }** darf nicht: niemand hat { $ask } rechtzeitig beantwortet.
notice-question-expired = ❌ Niemand hat Frage { $ask } von **{ $agent }** rechtzeitig beantwortet.
# $command: was erlaubt war.
notice-rule-removed = ✅ **{ $agent }** fragt ab jetzt wieder (Regel { $rule } entfernt): { $command }
notice-needs-intervention = 🧯 **{ $agent }** braucht Hilfe: { $failures ->
    [one] { $failures } Fehlschlag
   *[other] { $failures } Fehlschläge
} innerhalb von { $window }, zuletzt: { $detail } Keine weiteren Neustarts. Erst `@{ $agent } log` lesen, dann `@{ $agent } resume` für einen Versuch.
notice-trial-failed = 🧯 **{ $agent }** braucht weiter Hilfe: Die Probesitzung ist gescheitert: { $detail } Keine weiteren Neustarts. Erst `@{ $agent } log` lesen, dann `@{ $agent } resume` für einen neuen Versuch.
notice-breaker-closed = ✅ **{ $agent }** läuft wieder: Die Probesitzung war erfolgreich.
notice-degraded = 🧯 **{ $agent }** ist beeinträchtigt: { $crashes ->
    [one] { $crashes } Absturz
   *[other] { $crashes } Abstürze
} innerhalb von { $window }. Keine weiteren Neustarts. Erst `@{ $agent } log` lesen, dann `@{ $agent } resume`.
notice-survivors = 🧯 **{ $agent }**: { $count ->
    [one] Ein Prozess ließ sich nicht beenden: { $pids }. Bitte
   *[other] { $count } Prozesse ließen sich nicht beenden: { $pids }. Bitte
} von Hand beenden, dann `@{ $agent } resume`.
notice-supervisor-panicked = ❌ **{ $agent }**: herder selbst hat hier einen Fehler gemacht und den Supervisor dieses Agenten aus dem Journal neu aufgebaut. Neustart in { $countdown }…
notice-supervisor-gave-up = 🧯 **{ $agent }**: Der Supervisor lässt sich nicht aus dem Journal aufbauen: { $detail } Der Agent steht still, bis herder neu gestartet wird.
notice-paused = ⏸️ **{ $agent }** pausiert. Mit `@{ $agent } resume` geht es weiter.
notice-interrupted = 🐜 **{ $agent }** wurde unterbrochen, als herder ausfiel. Die Arbeit wird noch einmal versucht.
# $detail: one of the reasons above, with what the runtime or the model said.
notice-conversation-lost = 🐜 **{ $agent }** kann sein Gespräch nicht fortsetzen und beginnt ein neues, mit dem zuletzt Gesagten am Anfang: { $detail }
notice-work-line = { $line }

## Die Nachricht, die eine laufende Sitzung zeigt

live-working = 🐜 **{ $agent }** arbeitet, begonnen { $since }
live-last = letztes Lebenszeichen { $when }
live-ended = 🐜 **{ $agent }** hat { $duration } gearbeitet

## Antworten auf Befehle

notice-pausing = ⏸️ **{ $agent }** pausiert nach dieser Sitzung. `@{ $agent } pause now` hält sofort an.
notice-handed-off-now = ⏸️ **{ $agent }** pausiert. Erst das Terminal verlassen, dann `@{ $agent } resume`: Es macht mit dem weiter, was dort gesagt und getan wurde. So geht sein Gespräch { $conversation } in einem Terminal weiter:
    `{ $line }`
notice-handed-off-before = ⏸️ **{ $agent }** stand schon still. Erst das Terminal verlassen, dann `@{ $agent } resume`: Es macht mit dem weiter, was dort gesagt und getan wurde. So geht sein Gespräch { $conversation } in einem Terminal weiter:
    `{ $line }`
notice-handed-off-pausing = ⏸️ **{ $agent }** arbeitet und pausiert nach dieser Sitzung; `@{ $agent } handoff now` hält es sofort an. Erst das Terminal verlassen, dann `@{ $agent } resume`: Es macht mit dem weiter, was dort gesagt und getan wurde. Sobald gemeldet ist, dass es pausiert, und nicht früher, geht sein Gespräch { $conversation } so in einem Terminal weiter:
    `{ $line }`
notice-handed-off-stopping = ⏸️ **{ $agent }** wird angehalten und bleibt pausiert; seine Arbeit bleibt erhalten. Erst das Terminal verlassen, dann `@{ $agent } resume`: Es macht mit dem weiter, was dort gesagt und getan wurde. Sobald gemeldet ist, dass es pausiert, und nicht früher, geht sein Gespräch { $conversation } so in einem Terminal weiter:
    `{ $line }`
notice-resuming = ▶️ **{ $agent }** macht weiter.
notice-resuming-trial = ▶️ **{ $agent }** macht mit einer Probesitzung weiter. Scheitert sie, gibt es keine weiteren Neustarts.
notice-stopping-pause = ⏸️ **{ $agent }** wird angehalten und bleibt pausiert. Die Arbeit bleibt erhalten.
notice-stopping-abort = ⏸️ **{ $agent }** wird angehalten. Diese Arbeit wird verworfen; was noch ansteht, geht weiter.
notice-stopping-restart = ▶️ **{ $agent }** wird angehalten und fängt frisch an, Zähler auf null.
notice-stopping-stop-all = ⏸️ **{ $agent }** wird mit allen anderen angehalten und bleibt pausiert. Die Arbeit bleibt erhalten.
notice-stopping-cancel = ⏸️ **{ $agent }** wird angehalten: Die Aufgabe wurde zurückgezogen. Was noch ansteht, geht weiter.
notice-stopping-remove = ⏸️ **{ $agent }** wird angehalten und entfernt. Die Geschichte bleibt erhalten.
notice-stopping-account = ⏸️ **{ $agent }** wird angehalten: Mit dem Konto stimmt etwas nicht ({ $category }). Die Arbeit bleibt erhalten.
notice-stopping-hung = ❌ **{ $agent }** hängt und wird angehalten. Die Arbeit wird noch einmal versucht.
notice-stopping-escalation = 🚨 **{ $agent }** wird angehalten: Der Agent dreht sich im Kreis, ein Mensch wird gerufen. Seine Arbeit bleibt erhalten.
notice-stopping-configured = 🔄 **{ $agent }** wird angehalten: Die Konfiguration nennt einen anderen Befehl. Damit geht seine Arbeit weiter.
notice-stopping-cap = 💰 **{ $agent }** wird angehalten: Die Grenze ist erreicht ({ $cap }). Die Arbeit bleibt erhalten.
# Nach abort, restart, pause now oder stop: dass die Sitzung weg ist. $ended, $left: Zahlen von Prozessen.
notice-ended = **{ $agent }** ist beendet: { $ended ->
    [one] { $ended } Prozess
   *[other] { $ended } Prozesse
} beendet, { $left } übrig.
notice-restarting = ▶️ **{ $agent }** fängt frisch an, Zähler auf null.
notice-aborted = ⏸️ **{ $agent }** hat verworfen: { $work }
notice-accepted = 👀 { $kind ->
    [task] **{ $agent }** nimmt sich Aufgabe { $work } vor.
   *[other] **{ $agent }** ist dran.
}
notice-queued = 👀 { $kind ->
    [task] Aufgabe { $work } wartet bei **{ $agent }** auf Platz { $position }.
   *[other] Wartet bei **{ $agent }** auf Platz { $position }.
}
notice-queued-while-paused = 👀 { $kind ->
    [task] Aufgabe { $work } wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
   *[other] Wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
} Mit `@{ $agent } resume` geht es weiter.
notice-queued-held = 👀 { $kind ->
    [task] Aufgabe { $work } wartet bei **{ $agent }** auf Platz { $position }: { $why }.
   *[other] Wartet bei **{ $agent }** auf Platz { $position }: { $why }.
}
notice-queued-while-waiting = 👀 { $kind ->
    [task] Aufgabe { $work } wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
   *[other] Wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
} `@{ $agent } restart` überspringt die Wartezeit.
notice-steering = 👀 Bei laufender Arbeit an **{ $agent }** weitergegeben.
notice-whispered = 🤫 **{ $agent }** erfährt es, und sonst niemand: mit dem nächsten Werkzeugaufruf, im laufenden Zug oder mit der nächsten Eingabe.
notice-reworded = 👀 **{ $agent }** tut stattdessen: { $work }
notice-withdrawn = 👀 Zurückgenommen bei **{ $agent }**: { $work }
notice-cleared = 👀 { $count ->
    [one] { $count } wartende Nachricht
   *[other] { $count } wartende Nachrichten
} an **{ $agent }** verworfen. Aufgaben bleiben.
notice-task-ended = 👀 Aufgabe { $task } von **{ $agent }**: { $end }.
notice-task-waits = 👀 Aufgabe { $task } wartet am Brett, bis diese erledigt sind: { $after }. { $then ->
    [agent] Dann bekommt sie **{ $agent }**.
    [next] Dann nimmt sie der nächste freie Agent, der dafür taugt.
   *[nobody] Keiner der Agenten taugt dafür: `!task assign { $task } agent` sagt, wer sie dann bekommt, `!agent edit` ändert einen.
}
notice-boarded = 👀 Aufgabe { $task } liegt am Brett. { $fits ->
    [yes] Der nächste freie Agent, der dafür taugt, nimmt sie.
   *[no] Keiner der Agenten taugt dafür: `!task assign { $task } agent` gibt sie trotzdem einem, `!agent edit` ändert einen.
}
notice-task-moved = 👀 Aufgabe { $task } geht von **{ $from }** an **{ $to }**.
notice-task-moved-from = 👀 Aufgabe { $task } geht von **{ $from }** an den nächsten freien Agenten, der dafür taugt.
notice-task-moved-to = 👀 Aufgabe { $task } geht an **{ $to }**.
notice-task-moved-to-next = 👀 Aufgabe { $task } geht an den nächsten freien Agenten, der dafür taugt.
notice-task-split = 👀 Aufgabe { $task } wird in Teilen erledigt: { $parts }. Sie ist erledigt, wenn die es sind.
notice-board-cancelled = 👀 Aufgabe { $task } ist abgebrochen{ $parts ->
    [0] {""}.
    [one] , und mit ihr { $parts } Teil, sobald dessen Agent angehalten hat.
   *[other] , und mit ihr { $parts } Teile, sobald deren Agenten angehalten haben.
}
notice-board-reworded = 👀 Aufgabe { $task } lautet jetzt: { $work }
notice-agent-added = 🐜 **{ $agent }** ist da und läuft mit { $runtime }. Ansprechbar im eigenen Kanal oder überall mit `@{ $agent } …`.
notice-agent-edited = 👀 **{ $agent }** wurde geändert. Es gilt ab der nächsten Sitzung{ $anew ->
    [yes] , die ein neues Gespräch beginnt
   *[no] {""}
}.
notice-agent-removed = 👀 **{ $agent }** ist entfernt. Die Geschichte bleibt erhalten.{ $works ->
    [0] {""}
    [one] {" "}1 Arbeit, die noch nicht erledigt war, ist aufgegeben.
   *[other] {" "}{ $works } Arbeiten, die noch nicht erledigt waren, sind aufgegeben.
}
notice-reloaded = 🔄 Die Konfiguration wurde neu gelesen: { $what }.
notice-reloaded-nothing = 🔄 Die Konfiguration wurde neu gelesen; nichts hat sich geändert.
reload-added = neu: { $names }
reload-changed = geändert: { $names } (ab der nächsten Sitzung)
reload-restarted = neu gestartet, mit anderem Befehl: { $names }
reload-removed = entfernt, Verlauf behalten: { $names }
reload-sections = ab jetzt: { $names }
reload-replaced = was per Befehl geändert war, gilt nicht mehr bei { $names }
reload-stayed = per Befehl entfernt und so belassen: { $names } (`agent add` holt sie zurück)
reload-failed = nicht übernommen: { $names } (das Log sagt, warum; noch einmal lesen)
reload-later = ab dem nächsten Start: { $names }
reload-more = { $count } weitere
notice-not-reloaded = 🚫 Die Konfiguration wurde nicht übernommen, und nichts hat sich geändert; { $count ->
    [one] sie hat einen Fehler
   *[other] sie hat { $count } Fehler
}: { $problems }{ $more ->
    [0] {""}
   *[other] {" "}· { $more } weitere; das Log und `herder check` haben alle
}
notice-linked = Verbunden: der Discord-Nutzer { $name } ({ $user }) und das Konto { $account } in { $network } sind ein Mensch, mit den Rollen beider. Bist du das nicht, sag jetzt `!link remove`.
notice-unlinked = { $count ->
    [one] { $count } Verbindung
   *[other] { $count } Verbindungen
} aufgehoben.
notice-answer-too-long = Erledigt. Die ganze Antwort war zu lang, um aufbewahrt zu werden, während herder weg war.
notice-stopped-all = ⏸️ { $agents ->
    [one] { $agents } Agent
   *[other] { $agents } Agenten
} angehalten, { $processes ->
    [one] { $processes } Prozess
   *[other] { $processes } Prozesse
} übrig.
notice-stopped-all-heard = ⏸️ { $agents ->
    [one] { $agents } Agent
   *[other] { $agents } Agenten
} angehalten, { $processes ->
    [one] { $processes } Prozess
   *[other] { $processes } Prozesse
} übrig auf Rechnern, die antworten. Nicht geprüft, weil ihre Rechner nicht antworten: { $unheard }. Sie werden angehalten, sobald der Rechner wieder da ist.

## herder selbst

notice-away = Ich war weg von { $from } bis { $to } ({ $duration }).
notice-went-on = Wieder da nach { $duration }; { $sessions ->
    [one] { $sessions } Sitzung lief
   *[other] { $sessions } Sitzungen liefen
} weiter.
notice-runner-away = 🚨 Der Prozess, in dem die Agenten laufen (`herder runner`), antwortet nicht. Was er ausführt, läuft vielleicht weiter; Neues beginnt nicht. `herder runner status` und sein Protokoll sagen mehr.
notice-runner-back = ▶️ Der Prozess, in dem die Agenten laufen, ist nach { $duration } wieder da.
notice-machine-away = 🚨 Rechner { $runner } antwortet nicht. Seine Sitzungen laufen dort eine Weile weiter (`unattended`); Neues beginnt dort nicht. `herder runner status` und das Protokoll auf { $runner } sagen mehr.
notice-machine-back = ▶️ Rechner { $runner } ist nach { $duration } wieder da.
notice-machine-joined = ▶️ Rechner { $runner } ist dabei und kann Agenten ausführen: `agent add <Name> <Laufzeit> <Ordner> runner={ $runner }`.
notice-machine-drained = Auf Rechner { $runner } beginnt keine Sitzung mehr. { $sessions ->
    [0] Dort läuft keine.
    [one] Eine läuft weiter.
   *[other] { $sessions } laufen weiter.
}
notice-machine-opened = Auf Rechner { $runner } beginnen wieder Sitzungen.
notice-machine-removed = Rechner { $runner } gehört nicht mehr dazu, und die Server sollen seinen Schlüssel abweisen. Sitzungen dort enden nach einer Weile von selbst (`unattended`), sofort mit `herder runner stop` auf { $runner }.
notice-machine-twin = 🚨 Zwei Rechner nennen sich { $runner }: { $first }, der Agenten ausführt, und { $second }, der abgewiesen wird (Kennungen aus `/etc/machine-id`). Gib einem davon einen eigenen Namen: seinen Ordner `data/cluster` beiseitelegen und ihn einladen. Ist { $first } für immer weg, dann `runner remove { $runner }` und { $second } neu einladen.
notice-too-early = { $nicks }: Als das geschrieben wurde, war ich noch nicht da. Bitte noch einmal sagen.
notice-collapsed = { $count ->
    [one] … { $count } Zeile in Abwesenheit; `@{ $agent } log`
   *[other] … { $count } Zeilen in Abwesenheit; `@{ $agent } log`
}
notice-collapsed-elsewhere = { $count ->
    [one] … { $count } Zeile in Abwesenheit; `!history`
   *[other] … { $count } Zeilen in Abwesenheit; `!history`
}
notice-network-down = 🚨 Netz **{ $network }** ist nach { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuchen
} nicht erreichbar: { $detail } Weitere Versuche folgen; die Agenten arbeiten weiter.
notice-network-up = ▶️ Netz **{ $network }** ist nach { $duration } wieder da.
notice-network-refused = 🚨 Netz **{ $network }** lässt herder nicht herein: { $detail } Keine weiteren Versuche. Bitte den Abschnitt in `bot.toml` berichtigen und herder neu starten.
notice-nickserv-refused = 🚨 NickServ auf **{ $network }** nimmt herders Passwort nicht an: { $detail } Der nächste Versuch folgt mit der nächsten Verbindung; bis dahin arbeitet herder dort ohne sein Konto weiter. Bitte `nickserv_password` in `bot.toml` berichtigen und herder neu starten.
notice-nickserv-untrusted = 🚨 Wer auf **{ $network }** NickServ heißt, bekommt das Passwort von herder nicht: Der Server sagt nicht, dass es Dienste sind. Später wird wieder gefragt; bis dahin macht herder dort ohne sein Konto weiter. Wo das Netz SASL hat, stattdessen `sasl` setzen.
notice-webhook-down = 🚨 Webhook **{ $network }** hat in { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuchen
} nicht angenommen, was ihm geschickt wird: { $detail } Weitere Versuche folgen; was inzwischen geschieht, wartet darauf, und die Agenten arbeiten weiter.
notice-webhook-up = ▶️ Webhook **{ $network }** nimmt nach { $duration } wieder an, was ihm geschickt wird.
notice-webhook-gone = 🚨 Webhook **{ $network }** gibt es nicht mehr: { $detail } Ihm wird nichts mehr geschickt. Bitte den Abschnitt in `bot.toml` berichtigen oder streichen und herder neu starten.
notice-webhook-dropped = 🚨 Webhook **{ $network }** lehnt ab, was ihm geschickt wird: { $detail } Ein Ereignis ist nach { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuchen
} aufgegeben; die nächsten werden geschickt. Das wird erst wieder gesagt, nachdem er eines angenommen hat.
notice-channel-unavailable = 🚨 Kanal { $channel } auf **{ $network }** ist nicht zu betreten: { $detail } Was dort ansteht, kommt hierher.
notice-topic-denied = herder darf in { $channel } auf **{ $network }** das Thema nicht setzen, in dem der Zustand des Agenten stünde. Mach herder dort zum Operator oder nimm den Modus +t weg: Sobald sich die Modi ändern, wird es wieder versucht. Dasselbe gilt für andere Kanäle, in denen herder kein Operator ist.
# $by: a person on another network. $text: what they said, as they said it.
notice-mirrored = 💬 { $by } ({ $network }) sagt: { $text }
# $permission: one of permission-name; the rest as Discord calls it.
notice-permission-missing = 🚨 herder fehlt die Berechtigung **{ $permission }** auf **{ $network }**. Bitte in den Servereinstellungen → Rollen → Rolle des Bots → Berechtigungen einschalten. Ein Neustart ist nicht nötig.
notice-permission-missing-in = 🚨 herder fehlt die Berechtigung **{ $permission }** für { $channel } auf **{ $network }**. Bitte Rechtsklick darauf → Bearbeiten → Berechtigungen, dort die Rolle des Bots hinzufügen und sie erlauben. Ein Neustart ist nicht nötig.
notice-commands-refused = 🚨 **{ $network }** lässt herder keine Slash-Befehle haben: Der Scope `applications.commands` fehlt. Lade herder noch einmal ein mit { $invite }; vorher hinauswerfen muss es niemand. Bis dahin gehen @Erwähnungen und Knöpfe.
notice-not-invited = 🚨 herder ist nicht auf seinem Server auf **{ $network }** oder wurde entfernt: Dort wird niemand gehört und nichts gesagt. Lass ihn herein mit { $invite } (oder berichtige `guild` in `bot.toml` und starte herder neu). Was dort ansteht, bleibt erhalten; die Agenten arbeiten weiter.
notice-channels-full = 🚨 **{ $network }** hat { $max } Kanäle, mehr erlaubt Discord nicht: { $missing ->
    [one] { $missing } Kanal fehlt
   *[other] { $missing } Kanäle fehlen
}. Bitte welche löschen, die niemand braucht, z. B. im Archiv; das Übrige geht von selbst weiter.
# As Discord's settings call it in this language.
permission-name = { $permission ->
    [view-channel] Kanäle ansehen
    [send-messages] Nachrichten senden
    [manage-channels] Kanäle verwalten
    [manage-roles] Rollen verwalten
    [attach-files] Dateien anhängen
    [read-message-history] Nachrichtenverlauf anzeigen
    [add-reactions] Reaktionen hinzufügen
    [send-in-threads] Nachrichten in Threads senden
   *[other] { $permission }
}
notice-netsplit = { $nick }: Das Netz war geteilt. Dir { $count ->
    [one] entging { $count } Zeile:
   *[other] entgingen { $count } Zeilen:
}
notice-nobody-configured = 🚨 Niemand darf herder Befehle geben: bitte jemanden unter `[access]` in `bot.toml` eintragen, z. B. `admins = ["discord:DEINE-BENUTZER-ID"]` oder `["irc:NETZ:DEIN-KONTO"]`, und in einer Shell `herder reload` eingeben.
notice-storage-failed = 🚨 herder kann sein Journal nicht mehr schreiben: { $detail } Es hält seine Agenten an und beendet sich. Nichts, was bestätigt wurde, ist verloren.
notice-disk-low = 🚨 Auf dem Datenträger mit den Daten von herder sind nur noch { $free } frei. Bitte Platz schaffen; ist er voll, hält herder seine Agenten an und beendet sich.
notice-upkeep-left-out = 🚨 Archive oder der tägliche Export entfallen: auf dem Datenträger mit den Daten von herder sind { $free } frei, es fehlen { $missing }. Bitte Platz schaffen; geschrieben wird, sobald er reicht.
notice-upkeep-failed = 🚨 herder kann alte Einträge nicht archivieren oder den täglichen Export nicht schreiben: { $detail } Bitte nach dem sehen, was da genannt ist; es wird alle zehn Minuten wieder versucht.
notice-revisions-missing = 🚨 Das Journal von { $stream } endet bei Revision { $found }, bestätigt war aber { $expected }. Was fehlt, ging auf dem Datenträger verloren; bitte mit dem letzten täglichen Export vergleichen.
notice-archives-aside = 🚨 Die Datenbank endet bei Ereignis { $ends }, und Archive mit den Ereignissen { $first } bis { $last } gehören nicht zu ihr: eine ältere oder eine andere Datenbank wurde zurückgespielt. Was nur diese Archive wussten, ist hier vergessen; sie liegen in { $folder }. Ist ein täglicher Export neuer als die Datenbank, bitte ihn mit herder import wiederherstellen.
notice-events-missing = 🚨 Die Ereignisse { $events } des Journals stehen in keinem lesbaren Archiv: eines fehlt oder ist beschädigt. Bitte aus einer Sicherung zurückholen; bis dahin fehlen sie in Exporten. Kein vollständiger täglicher Export weicht einem, dem etwas fehlt.
notice-entries-unreadable = 🚨 { $newer ->
    [0] Ein neuerer herder
   *[other] herder { $version }
} hat geschrieben, was dieser nicht lesen kann (Einträge der Flotte: { $events }, Nachrichten: { $posts }). Es bleibt erhalten und wird ausgelassen; bitte den neueren herder wieder starten.
notice-shutting-down = herder wird beendet. Was wartet, bleibt erhalten.

## Der Evaluator

# For programs alone: what the evaluator said stays private. $times: findings in a row.
notice-spiraling = **{ $agent }** scheint sich bei „{ $work }“ zu verrennen ({ $times ->
    [one] { $times } Befund
   *[other] { $times } Befunde
} in Folge). Es wurde dem Agenten unter vier Augen gesagt.
# The words up to the reason, and those after it, are known to machines and stay English. $why: one sentence.
notice-escalated = 🚨 { $reminder ->
    [0] {""}
   *[other] (Erinnerung { $reminder }) {""}
}[ESCALATION] Agent { $agent } appears stuck on task "{ $work }". { $why }{ $told ->
    [no] {" "}Was ihm dazu gesagt wurde, hat ihn nicht erreicht.
   *[yes] {""}
}{ $times ->
    [1] {""}
   *[other] {" "}Das ist Ruf { $times } wegen derselben Arbeit.
} Awaiting human guidance. Reply @{ $agent } resume/abort. (`!ack { $id }`: gesehen, keine Erinnerungen)
# $answer: resume | abort | remove | moved
notice-escalation-answered = ✅ Ruf { $id } wegen **{ $agent }** ist beantwortet, von { $by }: { $answer ->
    [resume] Es geht weiter.
    [remove] Der Agent ist entfernt.
    [moved] Die Aufgabe wird ihm abgenommen.
   *[other] Die Arbeit ist verworfen.
}
notice-escalation-acked = 👀 { $by } kümmert sich um Ruf { $id } wegen **{ $agent }**. Der Agent bleibt angehalten bis `@{ $agent } resume` oder `@{ $agent } abort`.
notice-whisper-marked = 👀 Hinweis { $id } an **{ $agent }** gilt als { $mark ->
    [right] richtig
   *[wrong] falsch
}.
notice-evaluator-lapsed = ⚠️ **{ $agent }** wurde { $times }-mal in Folge nicht beurteilt: { $why } Bis das behoben ist, achtet nur der eingebaute Detektor auf den Agenten.
# $kind: timed-out | busy | missing | logged-out | limited | failed | unparsable | overtaken; $detail: what was said; $after: the limit.
lapse = { $kind ->
    [timed-out] der Evaluator hat nicht innerhalb von { $after } geantwortet
    [busy] es liefen zu viele Beurteilungen zugleich
    [missing] es gibt kein Programm { $detail }
    [logged-out] der Evaluator ist nicht angemeldet: { $detail }
    [limited] das Konto des Evaluators ist an seiner Grenze: { $detail }
    [unparsable] die Antwort des Evaluators ist kein Urteil: { $detail }
    [overtaken] niemand wartete mehr auf die Antwort des Evaluators: der Agent wurde angehalten oder hatte andere Arbeit, oder herder ging zu Ende
   *[failed] der Evaluator ist gescheitert: { $detail }
}
refusal-escalation-answered = { $by } hat Ruf { $id } wegen **{ $agent }** schon beantwortet, um { $at }: { $answer ->
    [resume] Es geht weiter.
    [remove] Der Agent ist entfernt.
    [moved] Die Aufgabe wurde ihm abgenommen.
   *[other] Die Arbeit wurde verworfen.
}
# $answer: as above
refusal-late-abort = { $by } hat Ruf { $id } wegen **{ $agent }** gerade beantwortet: { $answer ->
    [resume] Es geht weiter.
    [moved] Die Aufgabe wurde ihm abgenommen, und der Agent macht jetzt etwas anderes.
   *[other] Die Arbeit wurde verworfen, und der Agent macht jetzt etwas anderes.
} Wenn du das meinst, was er jetzt macht, sag noch einmal `abort`.
refusal-already-acked = { $by } kümmert sich schon um Ruf { $id } wegen **{ $agent }**.
refusal-no-escalation = Für **{ $agent }** wird gerade kein Mensch gerufen.
refusal-no-such-whisper = Der Evaluator hat **{ $agent }** nichts mit der Nummer { $id } gesagt, oder vor zu langer Zeit. `!history { $agent }` zeigt die Nummern.
refusal-no-such-number = Nichts hat die Nummer { $id }: `!history` des Agenten zeigt die Nummern.

## Absagen

refusal-already-paused = **{ $agent }** pausiert schon oder gleich. Mit `@{ $agent } resume` geht es weiter.
refusal-already-halted = Bei **{ $agent }** gibt es nichts anzuhalten, Stand: { $why }. Mit `@{ $agent } resume` geht es weiter.
refusal-no-conversation = **{ $agent }** hat noch kein Gespräch: Seine erste Sitzung beginnt eines. Geändert wurde nichts.
refusal-no-line = **{ $agent }** hat das Gespräch { $conversation }, aber herder kennt keine Zeile, mit der sein Programm es in einem Terminal fortsetzt. Geändert wurde nichts; `@{ $agent } pause` pausiert es.
refusal-no-line-ever = **{ $agent }** läuft mit `command`: Jede seiner Sitzungen steht für sich, und es gibt kein Gespräch, das in einem Terminal weitergehen könnte. Geändert wurde nichts.
refusal-not-paused = **{ $agent }** pausiert nicht, es gibt also nichts fortzusetzen. `@{ $agent } status` zeigt den Stand.
refusal-nothing-running = Bei **{ $agent }** gibt es nichts abzubrechen: Keine Sitzung läuft.
refusal-already-stopping = **{ $agent }** wird schon angehalten. Bitte das Ende abwarten.
refusal-no-such-task = Es gibt keine Aufgabe { $task }. `!task list` zeigt alle.
refusal-no-runner = Kein Rechner „{ $runner }“ ist dabei. `!runner list` zeigt die, die es sind.
refusal-task-over = Aufgabe { $task } ist schon vorbei: { $end }.
refusal-task-running = **{ $agent }** arbeitet an Aufgabe { $task }. `@{ $agent } pause now` legt sie in die Warteschlange zurück, `@{ $agent } abort` gibt sie auf; danach noch einmal fragen.
refusal-no-checkout = Aufgabe { $task } hat keinen eigenen Klon, der da ist: `task show { $task }` sagt mehr.
refusal-in-review = Aufgabe { $task } von **{ $agent }** wartet auf Durchsicht: erst `accept { $task }` oder `reject { $task } Grund`; `task cancel { $task }` gibt sie auf.
refusal-not-in-review = Aufgabe { $task } wartet nicht auf Durchsicht: `task show { $task }` sagt mehr.
refusal-is-review = Aufgabe { $task } ist die Durchsicht einer anderen Aufgabe und bleibt, wie sie ist: `!accept` oder `!reject` entscheidet über jene, `!task cancel { $task }` überlässt sie dir.
refusal-worked-on = **{ $agent }** hat noch eine Nachricht zu Aufgabe { $task } zu bearbeiten, oder ihr Ordner wird gelesen. Danach noch einmal fragen; `clear { $agent }` verwirft wartende Nachrichten.
refusal-not-as-reviewed = Aufgabe { $task } hat sich seit der Durchsicht geändert, und niemand hat das angesehen: `reject { $task } Grund` gibt sie zurück, und eine Nachricht darüber an **{ $agent }** lässt sie neu prüfen und durchsehen.
refusal-being-merged = Aufgabe { $task } ist von { $by } angenommen und wird gerade zusammengeführt.
refusal-pull-open = Aufgabe { $task } ist angenommen und ihr Pull Request offen: führe ihn dort zusammen oder schließe ihn, { $link } `!reject { $task } Grund` gibt sie an ihren Agenten zurück.
refusal-task-moving = Aufgabe { $task } ist gerade zwischen dem Brett und einem Agenten unterwegs. In einer Sekunde noch einmal fragen.
refusal-deserted = herder hat die Aufsicht über **{ $agent }** nach internen Fehlern aufgegeben, wie in #alerts steht. Bis herder neu gestartet ist, lässt sich daran nichts ändern.
refusal-awaits-parts = Aufgabe { $task } von **{ $agent }** wartet auf ihre Teile, die `task show { $task }` nennt: brich diese ab oder weise sie zu, oder gib sie mit `task cancel { $task }` samt allen Teilen auf.
refusal-nothing-to-check = **{ $agent }** hat kein Repository, in dem die Prüfung einer Aufgabe laufen könnte. Gib die Aufgabe einem Agenten mit Repository oder lass `check=` weg.
refusal-task-kept = Aufgabe { $task } wartet schon auf **{ $agent }**.
refusal-task-is-split = Aufgabe { $task } wird in Teilen erledigt. `!task show { $task }` nennt sie: diese zuweisen, teilen oder abbrechen, oder alles zusammen abbrechen.
refusal-split-parts = Eine Aufgabe wird in 2 bis { $max } Teile geteilt, und Aufgabe { $task } sollte { $parts } haben. Zwischen die Teile gehören Strichpunkte, z. B. `!task split { $task } erstens; zweitens`.
refusal-split-too-deep = Aufgabe { $task } ist Teil eines Teils und wird nicht noch einmal geteilt: es gibt höchstens { $max } Ebenen.
refusal-board-full = Das Brett ist voll ({ $max } Aufgaben). Einige abbrechen, oder die Agenten abarbeiten lassen.
refusal-work-running = **{ $agent }** arbeitet schon daran, so wie es da stand. Bitte sagen, was anders ist, oder `@{ $agent } abort` und neu sagen.
refusal-work-over = **{ $agent }** ist damit fertig; die Änderung kommt zu spät. Bitte neu sagen.
refusal-no-task = **{ $agent }** arbeitet gerade an keiner Aufgabe, sondern an einer Nachricht oder Runde; die endet mit der Antwort.
refusal-whispers-full = Für **{ $agent }** warten schon { $max } Geflüster; sie werden übergeben, wenn wieder gearbeitet wird.
refusal-queue-full = Die Warteschlange von **{ $agent }** ist voll ({ $max }). Bitte warten oder die Nachrichten mit `@{ $agent } clear` verwerfen.
refusal-queue-empty = Bei **{ $agent }** warten keine Nachrichten.
refusal-empty-work = Was soll **{ $agent }** tun? Zum Beispiel `@{ $agent } lass die Tests laufen`.
refusal-removed = **{ $agent }** wird gerade entfernt und nimmt nichts mehr an.
refusal-agent-exists = Einen Agenten **{ $agent }** gibt es schon. Bitte einen anderen Namen wählen oder ihn mit `!agent edit { $agent }` ändern.
refusal-no-such-agent = Es gibt keinen Agenten „{ $agent }“. `!agent list` zeigt alle.
refusal-no-such-agent-but = Es gibt keinen Agenten „{ $agent }“. War **{ $nearest }** gemeint?
refusal-no-such-ask = Unter der Nummer { $ask } wird nichts gefragt.
# $by: wer zuerst da war; $network: wo; $at: wann.
refusal-ask-approved = Zu spät: { $by } ({ $network }) hat { $ask } um { $at } erlaubt. Deine Antwort ändert nichts.
refusal-ask-refused = Zu spät: { $by } ({ $network }) hat { $ask } um { $at } abgelehnt. Deine Antwort ändert nichts.
refusal-ask-answered = Zu spät: { $by } ({ $network }) hat { $ask } um { $at } beantwortet. Deine Antwort ändert nichts.
refusal-ask-expired = Zu spät: die Zeit für { $ask } war um { $at } abgelaufen, die Antwort war nein.
refusal-ask-dropped = { $ask } braucht seit { $at } keine Antwort mehr: die Arbeit ist vorbei.
refusal-wants-words = { $ask } ist eine Frage von **{ $agent }**: antworte in Worten, `@{ $agent } answer { $ask } …`.
refusal-nothing-asked = Nichts ist gefragt, worauf das eine Antwort wäre.
refusal-nothing-asked-by = **{ $agent }** fragt nichts, worauf das eine Antwort wäre.
# $asks: their numbers.
refusal-several-asked = Mehrere sind offen: { $asks }. Sag mit der Nummer, welche du meinst.
# $offers: how many answers the question offers.
refusal-no-such-offer = Frage { $ask } von **{ $agent }** nimmt eine Nummer von 1 bis { $offers } oder Worte.
refusal-no-such-offers = Frage { $ask } von **{ $agent }** nimmt Nummern von 1 bis { $offers }, wie in `1,2`, oder Worte.
refusal-wants-yes-or-no = { $ask } bittet um Erlaubnis: `@{ $agent } approve { $ask }` oder `@{ $agent } deny { $ask }`.
refusal-no-rule-for-cut = { $ask } war zu lang, um ganz gezeigt zu werden, und kann deshalb nicht auf Dauer erlaubt werden. `@{ $agent } approve { $ask }` erlaubt es dieses eine Mal.
refusal-no-rule-for-vague = { $ask } hat nicht gesagt, was genau geschehen würde, und kann deshalb nicht auf Dauer erlaubt werden. `@{ $agent } approve { $ask }` erlaubt es dieses eine Mal.
refusal-no-rule-for-hidden = { $ask } enthält Zeichen, die niemand sähe, und kann deshalb nicht auf Dauer erlaubt werden. `@{ $agent } approve { $ask }` erlaubt es dieses eine Mal.
refusal-no-rule-for-secret = { $ask } enthält ein Geheimnis, das herder nicht speichert, und kann deshalb nicht auf Dauer erlaubt werden. `@{ $agent } approve { $ask }` erlaubt es dieses eine Mal.
refusal-too-many-rules = **{ $agent }** hat so viele Regeln, wie aufbewahrt werden. `!rule list { $agent }` zeigt sie, `!rule remove` schafft Platz; `@{ $agent } approve { $ask }` erlaubt es dieses eine Mal.
refusal-no-such-rule = Es gibt keine Regel { $rule }. `!rule list` zeigt die vorhandenen.
refusal-too-many-asks = **{ $agent }** wartet schon auf { $max } Antworten und fragt nichts mehr, bis einige da sind.
refusal-no-session = Die Sitzung von **{ $agent }**, die fragt, ist vorbei.
refusal-fault = herder konnte das für **{ $agent }** nicht tun: Intern ist etwas fehlgeschlagen. Es wurde nichts geändert. Bitte noch einmal versuchen; der Grund steht im Protokoll von herder.
refusal-work-too-long = Ein Text von { $bytes } Bytes ist zu lang: Ein Auftrag hat höchstens { $max }. Bitte den Rest in eine Datei legen und diese nennen.
refusal-whisper-too-long = Ein Geflüster von { $bytes } Bytes ist zu lang: Es hat höchstens { $max }. Bitte den Rest als Auftrag geben.
refusal-name-kept = Ein Agent behält seinen Namen. Bitte **{ $name }** neu anlegen, statt **{ $agent }** umzubenennen.
refusal-edited-meanwhile = **{ $agent }** wurde gleichzeitig von anderer Seite geändert, und nichts wurde getan. Bitte mit `!agent show { $agent }` nachsehen und es noch einmal sagen.
refusal-history-unreadable = Die Vorgeschichte von **{ $agent }** ist nicht lesbar: { $detail }
# $detail: in the words of the database.
refusal-not-recorded = herder kann das gerade nicht festhalten, und nichts wurde getan: { $detail }
refusal-invalid = { $what }: { $why }
refusal-no-configuration = Dieser herder wurde ohne Konfigurationsdatei gestartet; es gibt nichts neu zu lesen.
refusal-going-down = herder beendet sich gerade; der nächste Start holt es nach.
refusal-closing = herder beendet sich gerade. Das wurde nicht ausgeführt; bitte noch einmal sagen, sobald herder wieder da ist.

## Befehle: was sie tun, in der Hilfe

cmd-about-pause = nach der laufenden Sitzung anhalten; `now` unterbricht sie
cmd-about-handoff = pausieren und die Zeile nennen, mit der es im Terminal weitergeht; `now` unterbricht
cmd-about-resume = jede Pause beenden, Sicherung halb öffnen, weitermachen
cmd-about-abort = die Sitzung beenden, ihre Arbeit verwerfen, mit der nächsten weitermachen
cmd-about-restart = saubere neue Sitzung, Zähler auf null; überspringt einen Countdown
cmd-about-stop-all = alle Agenten sofort stoppen; antwortet mit der Zahl der übrigen Prozesse
cmd-about-resume-all = alle weitermachen lassen, die `stop-all` gestoppt hat; sagt, wer pausiert bleibt und warum
cmd-about-status = Phase, Arbeit, Werkzeug, Leerlauf, Schritte, Token, Kosten, Abstürze, nächster Neustart
cmd-about-usage = Token und Dollar dieser Stunde und von heute je Agent und Konto, gegen die Grenzen
cmd-about-task-add = einem Agenten eine Aufgabe geben, oder dem nächsten freien, der dafür taugt
cmd-about-task-list = die Aufgaben eines Agenten oder aller
cmd-about-task-show = eine Aufgabe ganz
cmd-about-task-diff = was eine Aufgabe geändert hat: die Dateien, oder die Zeilen einer davon
cmd-about-task-assign = eine wartende, gescheiterte oder blockierte Aufgabe einem anderen Agenten geben
cmd-about-task-split = eine wartende Aufgabe in 2 bis 5 Teilen erledigen lassen
cmd-about-task-cancel = eine Aufgabe abbrechen, ob wartend oder laufend
cmd-about-task-new = eine Aufgabe beginnen; was dann im Kanal des Agenten gesagt wird, gehört zu ihr
cmd-about-task-open = zu einer früheren Aufgabe zurückkehren: ihr Ordner, ihr Gespräch
cmd-about-task-drop = Ordner und Branch einer Aufgabe löschen
cmd-about-accept = die Arbeit einer Aufgabe annehmen
cmd-about-reject = die Arbeit einer Aufgabe mit einem Grund zurückgeben
cmd-about-approve = einem Agenten erlauben, worum er bittet; `always`: ab jetzt ungefragt
cmd-about-deny = einem Agenten nein sagen
cmd-about-answer = die Frage eines Agenten beantworten
cmd-about-rule-list = was Agenten ungefragt dürfen
cmd-about-rule-remove = danach wieder fragen lassen
cmd-about-runner-list = Rechner, die für diesen Bot Agenten ausführen
cmd-about-runner-drain = auf einem Rechner keine Sitzung mehr beginnen lassen
cmd-about-runner-open = auf einem Rechner wieder Sitzungen beginnen lassen
cmd-about-runner-remove = einen Rechner herausnehmen; sein Schlüssel öffnet nichts mehr
cmd-about-ack = sagen, dass man sich um einen wartenden Agenten kümmert; keine Erinnerungen mehr
cmd-about-mark = sagen, ob ein Hinweis des Evaluators angebracht war: right oder wrong
cmd-about-queue = was auf einen Agenten wartet
cmd-about-clear = die wartenden Nachrichten eines Agenten verwerfen; Aufgaben bleiben
cmd-about-whisper = einem Agenten etwas unter vier Augen sagen
cmd-about-log = die letzten Schritte eines Agenten; mit 1 oder einer Sitzung alles daraus
cmd-about-history = was mit einem Agenten oder der Herde geschah
cmd-about-audit = wer was befohlen hat
cmd-about-reload = die Konfiguration neu lesen: Agenten, Grenzen und wer befehlen darf; was gleich bleibt, läuft weiter
cmd-about-agent-add = einen Agenten hinzufügen
cmd-about-agent-edit = einen Agenten ab seiner nächsten Sitzung ändern
cmd-about-agent-remove = einen Agenten entfernen; fragt nach und behält seine Geschichte
cmd-about-agent-list = die Agenten
cmd-about-agent-show = wie ein Agent eingestellt ist
cmd-about-help = diese Liste oder ein Befehl
cmd-about-whoami = als wen herder dich kennt, und dein Name für `[access]`
cmd-about-page = ein Link, der dich auf der Seite anmeldet; `revoke`: deine Sitzungen dort beenden
cmd-about-link = deinen Discord-Nutzer mit deinem IRC-Konto verbinden: dort gibt es einen Code, hier gilt er

## Befehle: Hilfe

cmd-help-how = Im Kanal eines Agenten steht einfach, was er tun soll, oder ein Befehl allein, z. B. `pause`. Überall: `@agent Text`, `@agent pause`, `!pause agent`.
cmd-help-yours = { $role }: { $commands }
cmd-help-not-yours = { $role } (nicht du): { $commands }
cmd-help-more = `!help pause` erklärt einen Befehl.
cmd-help-aliases = Auch: { $names }
cmd-help-role = Braucht die Rolle { $role }.
cmd-help-agent = Im Kanal eines Agenten und nach `@agent` kann der Agent wegbleiben.
cmd-help-keys = Schlüssel: { $keys }. Werte mit Leerzeichen in Anführungszeichen: `instructions="run the tests first"`.

## Befehle: was nicht ausgeführt werden kann

cmd-unknown = Den Befehl „{ $word }“ kenne ich nicht. `!help` zählt alle auf.
cmd-unknown-but = Den Befehl „{ $word }“ kenne ich nicht. War `!{ $nearest }` gemeint?
cmd-group = Welcher: { $commands }?
cmd-group-but = War `!{ $nearest }` gemeint?
cmd-late = `{ $line }` wurde vor { $age } geschrieben und erst jetzt gelesen. Nichts getan. Falls es noch gemeint ist, bitte noch einmal sagen.
cmd-edit-no-work = Das war Arbeit für **{ $agent }** und kann durch eine Änderung nichts anderes werden. Nichts geändert; bitte neu sagen.
cmd-edit-no-task = Das war Aufgabe { $task } für das Brett und kann durch eine Änderung nichts anderes werden. Nichts geändert; bitte neu sagen.
cmd-ask-back = Nichts getan und **{ $agent }** nichts gegeben: „{ $word }“ könnte { $options } heißen. Als Arbeit: `!task add { $agent } …`
cmd-ask-which = „{ $word }“ ist kein eigener Befehl: { $options }?
cmd-not-for-here = Auch **{ $agent }** wurde nichts gegeben.
cmd-usage = { $reason } So geht es: `!{ $usage }`
cmd-misfit-missing = „{ $what }“ fehlt.
cmd-misfit-extra = „{ $word }“ gehört dort nicht hin.
cmd-misfit-wrong = „{ $word }“ passt hier nicht; schreibe zum Beispiel { $wanted }.
cmd-misfit-unclosed = Ein Anführungszeichen ({ $quote }) wird nicht geschlossen.
cmd-misfit-whole-fleet = `!{ $command }` gilt allen Agenten; einer allein hält mit `pause now`.
cmd-or-work = Falls es Arbeit ist: `!task add { $agent } …`
cmd-needs-role = `{ $command }` braucht die Rolle { $role }.
cmd-needs-role-work = Wer **{ $agent }** Arbeit geben will, braucht die Rolle { $role }.
cmd-needs-role-any = Für Befehle braucht es die Rolle { $role }.
cmd-bot-has-had-its-share = Ein Bot bekommt hier { $count } Antworten in der Stunde. Mehr wird nicht angenommen, bis ein Mensch mit dem Agenten spricht.
cmd-too-often = Das war zu viel auf einmal. In einer Minute noch einmal versuchen.

## Befehle: Antworten

cmd-more = … noch { $count }
cmd-still-working = Das dauert noch; die Antwort folgt.
cmd-given-up = Das dauert zu lange, wie zu viel anderes auch, und darauf wird nicht mehr gewartet. Ob es getan wurde: !history
cmd-resumed-all = { $count ->
    [one] { $count } Agent macht weiter: { $agents }.
   *[other] { $count } Agenten machen weiter: { $agents }.
}
cmd-resumed-none = Kein Agent ist durch `stop-all` pausiert.
cmd-resumed-not = { $agent } bleibt, wie er ist: { $why }.
cmd-stopping-all = { $agents ->
    [one] { $agents } Agent wird gestoppt …
   *[other] { $agents } Agenten werden gestoppt …
}
cmd-link-up = { $network } verbunden seit { $up }
cmd-link-up-unidentified = { $network } verbunden seit { $up }, ohne sein Konto ({ $reason })
cmd-link-connecting = { $network } verbindet sich
cmd-link-failing = { $network } getrennt, { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuche
}: { $reason }
cmd-link-waiting = { $network } wartet: { $reason }
cmd-link-refused = { $network } aufgegeben: { $reason }
cmd-tokens = { $input } rein, { $output } raus
cmd-spent = { $name }: diese Stunde { $hour }; heute { $today }
cmd-spent-cap = { $used } von { $limit } { $per }
cmd-spent-marks = { $right } von { $all } Hinweisen als richtig bezeichnet
cmd-spent-unmetered = { $count ->
    [one] eine Beurteilung, deren Kosten unbekannt sind
   *[other] { $count } Beurteilungen, deren Kosten unbekannt sind
}
cmd-spent-chart = { $name }: { $sum } in 24 h, höchstens { $most } in einer Stunde
cmd-spent-fleet = Flotte
cmd-spent-account = Konto { $account }
cmd-spent-repository = Repository { $repository }
cmd-spent-tasks = Aufgaben: { $tasks }
cmd-spent-session = { $told ->
    [yes] letzter Schritt { $turn };{" "}
   *[no] {""}
}Sitzung { $session }; insgesamt { $total }
cmd-status-nobody = Es gibt keine Agenten. `!agent add spark claude /path/to/workspace` fügt einen hinzu.
cmd-status-fleet = { $agents ->
    [one] { $agents } Agent
   *[other] { $agents } Agenten
}, { $busy } beschäftigt, { $stopped } angehalten
cmd-status-tool = Werkzeug { $tool }
cmd-status-memory = Speicher { $taken }
cmd-status-idle = still seit { $idle }
cmd-status-turns = { $count ->
    [one] { $count } Schritt
   *[other] { $count } Schritte
}
cmd-status-queued = { $count } wartend
cmd-status-since = seit { $since }
cmd-status-workspace = Arbeitsordner: { $workspace }
cmd-status-pause-pending = hält nach dieser Sitzung an
cmd-status-totals = { $sessions ->
    [one] { $sessions } Sitzung
   *[other] { $sessions } Sitzungen
}, { $successes } gelungen, { $failures } gescheitert, { $crashes } abgestürzt · { $turns ->
    [one] { $turns } Schritt
   *[other] { $turns } Schritte
} · { $usage }
cmd-status-unknown = { $count ->
    [one] { $count } Fehlschlag unbekannter Art, als vorübergehend gewertet
   *[other] { $count } Fehlschläge unbekannter Art, als vorübergehend gewertet
}
cmd-status-spent = { $told ->
    [yes] letzter Schritt { $turn };{" "}
   *[no] {""}
}{ $runs ->
    [yes] diese Sitzung
   *[no] letzte Sitzung
} { $session }
cmd-status-today = heute { $usage }
cmd-status-failures = { $count ->
    [one] { $count } Fehlschlag in Folge
   *[other] { $count } Fehlschläge in Folge
}
cmd-status-crashes = { $count ->
    [one] { $count } Prozessabsturz in Folge
   *[other] { $count } Prozessabstürze in Folge
}
cmd-status-breaker-open = Sicherung offen
cmd-status-breaker-half-open = Sicherung halb offen
cmd-status-last = zuletzt: { $detail }
cmd-status-evaluator = Evaluator: { $judged } beurteilt, { $findings } mit Befund, { $lapses } ausgefallen{ $named ->
    [yes] {" "}({ $kinds })
   *[no] {""}
}; zuletzt vor { $ago }: { $last }
# $kind: as for lapse.
cmd-status-lapses = { $count } { $kind ->
    [timed-out] zu langsam
    [busy] zu viele zugleich
    [missing] ohne Programm
    [logged-out] nicht angemeldet
    [limited] an einer Grenze
    [unparsable] mit einer Antwort, die keine ist
    [overtaken] überholt
   *[failed] gescheitert
}
cmd-status-judged-ok = alles in Ordnung
cmd-status-judged = { $count ->
    [0] ein Befund
    [one] ein Befund
   *[other] ein Befund, { $count } in Folge
}
# $acked: yes | no; $name: who takes care of it.
cmd-status-called = ein Mensch wird gerufen ({ $id }, vor { $ago }){ $acked ->
    [yes] , { $name } kümmert sich
   *[no] {""}
}: `resume` oder `abort`
# $asks: numbers.
cmd-status-asks = fragt { $asks }
# $kind: permission, question or plan; $left: how long an answer is waited for yet.
cmd-status-asked = { $kind ->
    [question] stellt Frage { $ask }
    [plan] fragt nach Plan { $ask }
   *[permission] bittet um Erlaubnis { $ask }
} (noch { $left }): { $text }
cmd-status-queue = es warten { $messages ->
    [one] { $messages } Nachricht
   *[other] { $messages } Nachrichten
}, { $tasks ->
    [one] { $tasks } Aufgabe
   *[other] { $tasks } Aufgaben
}
cmd-queue-current = jetzt: { $work }
cmd-queue-empty = Auf **{ $agent }** wartet nichts.
cmd-attempts = { $count ->
    [one] { $count } gescheiterter Versuch
   *[other] { $count } gescheiterte Versuche
}
cmd-rule-none = Nichts ist auf Dauer erlaubt.
cmd-runner-off = Alle Agenten laufen auf dem Rechner des Bots. `[runners] servers` in bot.toml führt zu anderen.
cmd-runner-none = Kein Rechner ist dabei. `herder runner invite <Name>` auf dem Rechner des Bots gibt die Zeile für einen aus.
cmd-runner-here = da, { $sessions ->
    [one] { $sessions } Sitzung
   *[other] { $sessions } Sitzungen
}
cmd-runner-load = Last { $load }
cmd-runner-disk = { $free } frei
cmd-runner-away = seit { $away } weg
cmd-runner-unheard = weg, seit dem Start dieses Bots nicht gehört
cmd-runner-drained = dort beginnt nichts
# $rule: die Nummer; $tool, $command: was erlaubt ist; $name: von wem.
cmd-rule-line = { $rule } { $agent }: { $tool } `{ $command }` ({ $name }, { $at })
cmd-task-none = Es gibt keine Aufgaben. `!task add text` gibt eine.
cmd-task-line = { $task } { $state } · **{ $agent }** · { $text }
cmd-task-running = läuft
cmd-task-checking = wird geprüft
cmd-task-in-review = wartet auf Durchsicht
cmd-task-merging = wird zusammengeführt
cmd-task-proposed = im Pull Request
cmd-task-queued = wartet
cmd-task-board-line = { $task } { $state } · Brett · { $text }
cmd-task-waits = wartet auf { $tasks }
cmd-task-queued-for = wartet auf **{ $agent }**
cmd-task-split = { $blocked ->
    [yes] blockiert
   *[no] in Teilen
} ({ $over }/{ $parts })
cmd-task-priority = { $priority ->
    [high] dringend
   *[low] nicht dringend
}
cmd-task-after = nach { $tasks }
cmd-task-check = Prüfung `{ $command }`
cmd-task-needs = braucht { $needs }
cmd-task-part-of = Teil von { $task }
cmd-task-attempt = versucht von **{ $agent }** in Sitzung { $session }, { $at }: { $category }{ $detail }
cmd-task-given = gegeben von { $name } ({ $network }), { $at }{ $attempts ->
    [0] {""}
    [one] , { $attempts } gescheiterter Versuch
   *[other] , { $attempts } gescheiterte Versuche
}
cmd-task-note = → { $note }
cmd-task-branch = Branch { $branch }
cmd-task-folder = { $folder } ({ $size }): { $stage ->
        [planned] wird angelegt
        [not-made] noch nicht angelegt
        [removing] wird gelöscht
       *[made] { $commits ->
            [one] ein Commit
           *[other] { $commits } Commits
        }, { $files ->
            [0] nichts ohne Commit
            [one] eine Datei ohne Commit
           *[other] { $files } Dateien ohne Commit
        }
    }
cmd-task-evidence = Geprüft: `{ $command }` auf { $commit }, { $took }: { $how }
cmd-task-evidence-passed = bestanden
# $since: eine Zeit.
cmd-task-reviewed = Wartet seit { $since } auf Durchsicht{ $is_asked ->
    [yes] {" "}durch **{ $reviewer }**
   *[no] {""}
}: `!accept { $task }` oder `!reject { $task } Grund` antwortet, `!task diff { $task }` zeigt sie.
cmd-task-accepted = Angenommen von { $name }
cmd-task-landed = Zusammengeführt: { $branch } steht auf { $commit }
cmd-task-pull = Pull Request: { $link }
cmd-task-cost = Kosten bisher: { $cost }, { $tokens } Tokens
cmd-task-unread = Der Klon lässt sich nicht lesen: { $why }
cmd-task-lost-unknown = Es ist nicht bekannt, was verloren ginge. `task drop { $task } confirm` löscht den Klon von Aufgabe { $task } und den Branch { $branch } trotzdem.
cmd-task-lost = Aufgabe { $task }, Branch { $branch }, { $size }: { $commits ->
        [0] keine Commits
        [one] ein Commit, der auf keinem Branch des Repositorys ist,
       *[other] { $commits } Commits, die auf keinem Branch des Repositorys sind,
    } und { $files ->
        [0] keine Dateien
        [one] eine Datei ohne Commit
       *[other] { $files } Dateien ohne Commit
    } gingen verloren. `task drop { $task } confirm` löscht sie.
cmd-task-clone = 📁 { $task } · { $agent } · { $branch } · { $size } · { $stage ->
        [planned] wird angelegt
        [not-made] noch nicht angelegt
        [removing] wird gelöscht
       *[made] nur dort: { $commits ->
            [0] keine Commits
            [one] ein Commit
           *[other] { $commits } Commits
        }, { $files ->
            [0] keine Dateien
            [one] eine Datei
           *[other] { $files } Dateien
        }
    }
# $files changed; $counts: +3 −1. $commits since the base; $uncommitted: files that are not committed.
cmd-diff-head = Aufgabe { $task }, Branch { $branch }: { $files ->
        [one] eine Datei
       *[other] { $files } Dateien
    }, { $counts }; { $commits ->
        [0] kein Commit
        [one] ein Commit
       *[other] { $commits } Commits
    }, { $uncommitted ->
        [0] alles committet
        [one] eine Datei nicht committet
       *[other] { $uncommitted } Dateien nicht committet
    }
cmd-diff-none = Aufgabe { $task }, Branch { $branch }, hat noch nichts geändert.
cmd-diff-fetched = Ihr Klon ist fort; das sind die Commits, die zuletzt geholt wurden.
cmd-diff-left-out = { $count ->
    [one] Eine weitere neue Datei fehlt hier: Es sind zu viele.
   *[other] { $count } weitere neue Dateien fehlen hier: Es sind zu viele.
}
# $from: the name before.
cmd-diff-renamed = war { $from }
cmd-diff-mode = Modus { $before } → { $after }
cmd-diff-mark = { $mark ->
    [added] neu
    [removed] gelöscht
    [type] eine andere Art von Datei
    [submodule] Submodul
    [binary] binär
    [unread] zu groß zum Lesen oder nicht lesbar
    [lock] eingeklappt: Lock-Datei
    [generated] eingeklappt: erzeugt
    [long] eingeklappt: lang
    [undone] committet, aber seitdem ohne Commit zurückgenommen
   *[uncommitted] nicht committet
}
cmd-diff-more = `!task diff { $task } [file]` zeigt eine davon.
cmd-diff-stat-next = Weiter mit `!task diff { $task } stat page { $page }`.
cmd-diff-next = Weiter mit `!task diff { $task } { $file } page { $page }`.
cmd-diff-no-text = Davon gibt es keinen Text zu zeigen.
# $name: as it was asked for. $files: those that it may mean.
cmd-diff-several = „{ $name }“ kann { $files } sein.
cmd-diff-no-file = Aufgabe { $task } hat keine Datei „{ $name }“ geändert.{ $is_near ->
    [yes] {" "}War { $near } gemeint?
   *[no] {""}
}
cmd-diff-no-page = { $pages ->
    [one] Es gibt nur eine Seite.
   *[other] Es gibt nur { $pages } Seiten.
}
cmd-log-empty = **{ $agent }** hat noch nichts gesagt.
cmd-log-tools = Werkzeuge: { $tools }
cmd-log-ended = Sitzung { $session }: { $how }
cmd-log-more = `@{ $agent } log session { $session }` zeigt alles.
cmd-log-plan = Plan { $ask }: { $text }
cmd-log-page = Seite { $page } von { $pages }
cmd-log-next = Weiter mit `@{ $agent } log session { $session } page { $page }`.
cmd-log-no-session = **{ $agent }** hat in einer Sitzung { $session } nichts gesagt.
cmd-audit-empty = Noch hat niemand etwas befohlen.
cmd-audit-line = { $name } ({ $identity }, { $network } { $place }): { $text }
cmd-history-empty = Noch ist nichts geschehen.
cmd-looked-back = { $found ->
    [0] Nichts in den letzten { $seen } Einträgen, seit { $since }. Weiter zurück habe ich nicht gesehen; in einem Export steht alles.
   *[other] Aus den letzten { $seen } Einträgen, seit { $since }. Weiter zurück habe ich nicht gesehen; in einem Export steht alles.
}
cmd-unreadable = { $count ->
    [one] Ein Eintrag ließ sich nicht lesen und fehlt hier; herders Log nennt den Grund.
   *[other] { $count } Einträge ließen sich nicht lesen und fehlen hier; herders Log nennt die Gründe.
}
cmd-not-reloaded = 🚫 Die Konfiguration wurde nicht übernommen, und nichts hat sich geändert; sie hat { $count } Fehler:
cmd-follow-not = `--follow` gibt es bei `events` und `log`.
cmd-follow-behind = Das Journal endet bei Ereignis { $end }, vor dem verlangten: Es ist ein anderes oder wurde zurückgespielt. Beginne von vorn.
cmd-follow-gap = Ereignisse { $numbers } fehlen: Ihr Archiv ist weg oder unlesbar.
cmd-history-failed = Das Journal ließ sich nicht lesen; herders Log nennt die Ursache.
cmd-whisper-private = Hier lesen alle mit. Flüstere **{ $agent }** in einer privaten Nachricht an mich: whisper { $agent } und den Text.
cmd-until = bis { $until }
cmd-event-by = durch { $name }
cmd-event = { $what ->
    [added] hinzugefügt { $subject }
    [edited] geändert
    [removed] entfernt { $subject }
    [queued] eingereiht { $subject }
    [taken] { $subject } vom Brett genommen, gegeben
    [handed-back] { $subject } ans Brett zurückgegeben
    [board-heard] das Brett kennt seine Neuigkeiten
    [split-begun] Aufgabe { $subject } wird geteilt
    [split-ended] Teilung { $subject } liegt vor
    [split-lapsed] keine Teilung { $subject }
    [board-added] { $subject } ans Brett gehängt
    [board-taken] { $subject } gibt sie ans Brett zurück,
    [board-directed] { $subject } zugewiesen
    [board-offered] { $subject } übergeben
    [board-accepted] { $subject } angekommen
    [board-returned] { $subject } zurück am Brett
    [board-split] { $subject } geteilt
    [board-part-over] Teil { $subject }
    [board-awaited-over] { $subject } wartete auf
    [board-reopened] { $subject } soll neu versucht werden
    [board-cancelling] { $subject } mit ihren Teilen abgebrochen
    [board-review-asked] { $subject } zur Durchsicht gegeben
    [board-review-accepted] Durchsicht { $subject } nimmt an
    [board-review-rejected] Durchsicht { $subject } weist zurück
    [board-review-ended] Durchsicht { $subject } endet ohne Urteil
    [board-review-given-up] Durchsicht von { $subject } aufgegeben
    [board-review-closed] Durchsicht von { $subject } geschlossen
    [parts-awaited] { $subject } wartet auf Teile
    [parked] { $subject } zurückgestellt, bis ihre Teile fertig sind
    [parts-reported] Teile sind fertig, { $subject } geht weiter
    [board-part-added] Teil von ihrem Leiter dazugegeben: { $subject }
    [board-part-cancelled] Teil { $subject } abgebrochen
    [board-lead-ending] { $subject } ist zu Ende, ihre offenen Teile sind abgebrochen
    [board-lead-closed] alle Teile von { $subject } sind zu Ende
    [cleared] { $subject } aus der Warteschlange verworfen
    [reworded] { $subject } umformuliert
    [withdrawn] { $subject } zurückgenommen
    [steered] { $subject } in den laufenden Schritt gegeben
    [task-ended] Aufgabe { $subject }
    [task-reported] Meldung zu Aufgabe { $subject }
    [whispered] Geflüster { $subject }
    [whispers-tool] Geflüster { $subject } mit einem Werkzeugaufruf übergeben
    [whispers-turn] Geflüster { $subject } in den laufenden Schritt gegeben
    [whispers-prompt] Geflüster { $subject } mit der Eingabe übergeben
    [whispers-anew] Geflüster { $subject } mit dem nächsten Schritt übergeben, für den der laufende abgebrochen wurde
    [whispers-dropped] Geflüster { $subject } zurückgenommen, nicht übergeben
    [discarded] { $subject } verworfen
    [session-started] Sitzung { $subject } begonnen
    [workspace] Arbeitsordner angesehen: { $subject }
    [checkout-planned] Klon von { $subject } wird angelegt
    [checkout-made] Klon von { $subject } ist bereit
    [checkout-reading] Arbeit an { $subject } wird im Repository gesichert
    [checkout-read] Arbeit an { $subject } im Repository gesichert
    [checkout-removing] Klon von { $subject } wird gelöscht
    [checkout-removed] Klon von { $subject } gelöscht
    [checkout-checking] { $subject } wird geprüft
    [checkout-checked] { $subject } geprüft
    [task-in-review] { $subject } wartet auf Durchsicht
    [task-left] { $subject } einem Menschen überlassen
    [task-accepted] { $subject } angenommen
    [task-returned] { $subject } zurück an den Agenten
    [task-proposed] { $subject } im Pull Request
    [task-heard] { $subject }: Neues
    [task-landed] { $subject } zusammengeführt
    [failed-make] Klon von { $subject } ließ sich nicht anlegen
    [failed-read] Klon von { $subject } ließ sich nicht lesen
    [failed-remove] Klon von { $subject } ließ sich nicht löschen
    [failed-check] { $subject } ließ sich nicht prüfen
    [failed-merge] { $subject } ließ sich nicht zusammenführen
    [task-opened] { $subject } geöffnet
    [process-started] Prozess { $subject } gestartet
    [process-warm] Prozess { $subject } bleibt für die nächste Sitzung
    [process-cool] der Prozess, der geblieben war, wird beendet
    [ready] Sitzung { $subject } bereit
    [conversation] Gespräch benannt
    [conversation-lost] Gespräch ist nicht mehr fortzusetzen
    [asked] { $subject } gefragt
    [asked-again] { $subject } noch einmal gefragt
    [ask-reminded] an { $subject } erinnert
    [approved] { $subject } erlaubt
    [denied] { $subject } abgelehnt
    [answered] { $subject } beantwortet
    [ask-expired] { $subject } nicht rechtzeitig beantwortet
    [ask-dropped] { $subject } braucht keine Antwort mehr
    [permission-given] Erlaubnis erteilt
    [rule-added] Regel { $subject } gemacht
    [rule-removed] Regel { $subject } entfernt
    [permission-denied] Erlaubnis verweigert
    [turn-observed] Schritt gesehen
    [evaluation-begun] Beurteilung { $subject } begonnen
    [judged-ok] Beurteilung { $subject }: alles in Ordnung
    [judged] Beurteilung { $subject }
    [not-judged] Beurteilung { $subject } kam nicht zustande
    [stood-in] Beurteilung { $subject }: der eingebaute Detektor springt ein
    [escalated] ein Mensch wird gerufen, { $subject }
    [reminded] an Ruf { $subject } erinnert
    [acked] Ruf { $subject } gesehen
    [answered-resume] Ruf { $subject } beantwortet: weiter
    [answered-abort] Ruf { $subject } beantwortet: abbrechen
    [answered-moved] Ruf { $subject } beantwortet: Aufgabe abgenommen
    [marked-right] Hinweis { $subject } als richtig bezeichnet
    [marked-wrong] Hinweis { $subject } als falsch bezeichnet
    [usage] Verbrauch von Sitzung { $subject }
    [cap-near] Grenze { $subject } fast verbraucht
    [cap-waived] Grenze { $subject } angehoben
    [spiked] ungewöhnliche Stunde
    [price-unknown] Preis unbekannt
    [books-kept] Verbrauch von { $subject } aufgehoben
    [turn] Schritt
    [clock] Uhr abgelaufen: { $subject }
    [stop] wird gestoppt ({ $subject })
    [session-ended] Sitzung { $subject }
    [requeued] { $subject } zurück an der Spitze der Warteschlange
    [waiting] wartet { $subject }
    [wait-over] Warten vorbei
    [pause-pending] Pause nach der Sitzung verlangt
    [paused] angehalten
    [resumed] macht weiter
    [account-opened] Konto { $subject } geöffnet
    [account-blocked] Konto { $subject } gesperrt
    [account-exhausted] Konto { $subject } erschöpft
    [account-asked] nach Konto { $subject } gefragt
    [account-tried] Konto { $subject } versucht
    [account-proved] Konto { $subject } geht wieder
    [linked] { $subject } verbunden
    [unlinked] Verbindung von { $subject } aufgehoben
    [reset] Zähler auf null
    [breaker-opened] Sicherung offen nach { $subject } Fehlschlägen
    [clock-set] Uhr des Rechners um { $subject } verstellt
    [breaker-closed] Sicherung geschlossen
    [degraded] beeinträchtigt nach { $subject } Prozessabstürzen
    [panicked] Aufseher neu aufgebaut { $subject }
    [started] herder { $subject } gestartet
    [configured] { $subject } aus bot.toml gelesen
    [left-out] { $subject } steht nicht mehr in bot.toml
    [stopped] herder beendet
   *[other] { $what } { $subject }
}

## Befehle: Agenten

cmd-agent-name = „{ $name }“ kann kein Agent heißen: kleine Buchstaben, Ziffern und innen Bindestriche, am Anfang ein Buchstabe, höchstens 30, z. B. spark-codex.
cmd-agent-name-is-word = „{ $name }“ kann kein Agent heißen: dieses Wort gebraucht herder selbst.
cmd-agent-name-is-channel = „{ $name }“ kann kein Agent heißen: #{ $name } ist ein Kanal von herder selbst.
cmd-agent-problems = „{ $name }“: nichts getan, es gibt { $count ->
    [one] { $count } Problem:
   *[other] { $count } Probleme:
}
cmd-agent-conversation = Gespräch { $conversation }, { $known ->
    [yes] in einem Terminal, sobald der Agent pausiert: `{ $line }`
   *[no] das keine bekannte Zeile in einem Terminal fortsetzt
}
cmd-agent-remove-confirm = Das beendet **{ $agent }** und nimmt den Kanal weg; die Geschichte bleibt.{ $works ->
    [0] {""}
    [one] {" "}1 Arbeit, die noch nicht erledigt ist, wird aufgegeben.
   *[other] {" "}{ $works } Arbeiten, die noch nicht erledigt sind, werden aufgegeben.
} Binnen 60 s: `!agent remove { $agent } { $code }`
cmd-agent-remove-stale = Dieser Code passt nicht, oder seine 60 s sind vorbei. Nichts wurde entfernt; `!agent remove { $agent }` gibt einen neuen.
cmd-setting-no-pair = { $key }: nicht von der Form key=value
cmd-setting-no-such-key = { $key }: diesen Schlüssel gibt es nicht; `!help agent add` zählt alle auf
cmd-setting-nearest-key = { $key }: diesen Schlüssel gibt es nicht; war { $more } gemeint?
cmd-setting-twice = { $key }: zweimal angegeben
cmd-setting-one-of = { $key }: muss eines sein von { $more }
cmd-setting-form = { $key }: zu schreiben wie { $more }
cmd-setting-too-long = { $key }: zu lang; eine Datei im Arbeitsordner fasst es
cmd-setting-control = { $key }: enthält ein Steuerzeichen
cmd-setting-unclosed = { $key }: ein Anführungszeichen wird nicht geschlossen
cmd-setting-secret = { $key }: Geheimnisse kommen nicht durch den Chat; in herders Umgebung setzen und in inherit_env nennen
cmd-setting-not-absolute = { $key }: muss ein Pfad von der Wurzel her sein, z. B. /srv/agents/spark
cmd-setting-no-folder = { $key }: diesen Ordner gibt es auf diesem Rechner nicht; zuerst anlegen
cmd-setting-folder-silent = { $key }: das Dateisystem dieses Ordners antwortet nicht; bitte prüfen, ob der Server läuft, von dem er eingehängt ist
cmd-setting-needs-command = { $key }: ein Agent mit runtime command braucht einen, z. B. command="sh -c 'make test'"
cmd-setting-placeholder = { $key }: prompt=arg gehört zu {"{"}prompt{"}"} im Befehl, prompt=stdin zu einem ohne
cmd-setting-needs-own-home = { $key }: eine Datei gehört in ein eigenes HOME: own_home=true dazu
cmd-setting-needs-machine = { $key }: mit einem Ersatz läuft kein Agent auf dem Rechner des Bots: runner=box4 dazu, mit einem Namen aus `runner list`
cmd-setting-no-machine = { $key }: kein Rechner dieses Namens gehört dazu; `runner list` zeigt sie

## Discord

discord-given-up = Im Kanal mit der Id { $channel } darf ich nicht schreiben; was ich dort seit über einer Stunde schulde, gebe ich auf.
discord-agent-removed = **{ $agent }** wurde entfernt: Was hier gesagt wird, hört niemand. Die Geschichte bleibt erhalten.
# $name: who wrote the message that is replied to. For agents: the quoted message follows.
discord-replied = Als Antwort auf { $name }:
discord-left-out = Nicht oder nur teilweise bei der Nachricht: { $files }. Eine Nachricht bringt höchstens { $count } Dateien von je { $max } MiB mit; der Rest gehört in den Arbeitsordner des Agenten.
file-sent = 📎 { $agent } schickt { $file } ({ $size } Bytes).
file-sent-link = 📎 { $agent } schickt { $file } ({ $size } Bytes), 24 Stunden lang unter { $link }
file-sent-first = 📎 { $agent } schickt { $file } ({ $size } Bytes). Der Anfang:
file-sent-alone = 📎 { $agent } schickt { $file } ({ $size } Bytes). Dieses Netz nimmt keine Dateien an, und es gibt keine Seite, um sie zu holen.
files-old-runner = Nicht oder nur teilweise bei der Nachricht: { $files }. Der Prozess, in dem die Agenten laufen, stammt von einem früheren herder, der nur Text weitergibt: `herder runner restart --when-idle`.
files-not-fetched = Nicht bei der Nachricht: { $file } { $why ->
    [private] (die Adresse ist privat oder keine des Webs)
    [redirects] (die Adresse leitet zu oft weiter)
    [long] (mehr als { $max } MiB)
    [refused] (der Server verweigert sie)
    [unanswered] (der Server antwortet nicht oder nicht rechtzeitig)
   *[failed] (sie ließ sich nicht speichern)
}.
discord-unread = { $what ->
    [poll] Eine Umfrage kann ein Agent nicht lesen.
    [sticker] Einen Sticker kann ein Agent nicht lesen.
   *[forward] In dem Weitergeleiteten ist nichts, was ein Agent lesen kann.
} Sag es in Worten oder häng es als Textdatei an.
discord-unreadable = Hier hat jemand etwas geschrieben, das herder nicht lesen kann, auch nicht zum Teil; es hat niemanden erreicht. Sag es noch einmal, in einfachen Worten.
discord-no-content = Der Message Content Intent ist aus, deshalb kann herder nicht lesen, was hier geschrieben wird. Slash-Befehle, Knöpfe, private Nachrichten und Nachrichten, die herder erwähnen, gehen; einfacher Text im Kanal eines Agenten nicht. Einschalten: Developer Portal, Bot, Privileged Gateway Intents, Message Content Intent; danach herder neu starten.
discord-post-refused = 🚫 Hier war etwas zu sagen, das Discord in keiner Form annimmt. Was ein Agent sagt, steht in seinem `log`, der Grund im Protokoll von herder.
## Befehle von Netzen, die eigene haben

slash-pause = pausieren
slash-handoff = übergeben
slash-resume = fortsetzen
slash-abort = abbrechen
slash-restart = neustarten
slash-stop-all = alle-stoppen
slash-resume-all = alle-fortsetzen
slash-status = status
slash-usage = verbrauch
slash-queue = warteschlange
slash-clear = leeren
slash-whisper = flüstern
slash-approve = erlauben
slash-deny = ablehnen
slash-answer = antworten
slash-log = protokoll
slash-history = verlauf
slash-audit = nachweis
slash-reload = neu-laden
slash-help = hilfe
slash-link = verbinden
slash-whoami = wer-bin-ich
slash-page = seite
slash-agent = agent
slash-agent-add = hinzufügen
slash-agent-edit = ändern
slash-agent-remove = entfernen
slash-agent-list = liste
slash-agent-show = zeigen
slash-task = aufgabe
slash-task-add = geben
slash-task-list = liste
slash-task-show = zeigen
slash-task-assign = zuweisen
slash-task-split = teilen
slash-task-cancel = abbrechen
slash-task-new = neu
slash-task-open = öffnen
slash-task-drop = entfernen
slash-accept = annehmen
slash-reject = zurückgeben
slash-task-diff = änderungen
slash-rule = regel
slash-rule-list = liste
slash-rule-remove = entfernen
slash-runner = rechner
slash-runner-list = liste
slash-runner-drain = leeren
slash-runner-open = öffnen
slash-runner-remove = entfernen
slash-ack = gesehen
slash-mark = bewerten
slash-about-agent = welche Agenten es gibt und wie sie eingestellt sind
slash-about-task = Agenten Aufgaben geben und nach ihnen sehen
slash-about-rule = was Agenten ungefragt dürfen, und das zurücknehmen
option-agent = agent
option-about-agent = welcher Agent; in seinem eigenen Kanal nicht nötig
option-name = name
option-about-name = Name des neuen Agenten: Kleinbuchstaben, Ziffern, Bindestriche
option-runtime = laufzeit
option-about-runtime = womit er läuft
option-now = sofort
option-about-now = nicht auf das Ende der Sitzung warten
option-revoke = beenden
option-about-revoke = deine Sitzungen auf der Seite beenden
option-n = anzahl
option-about-n = wie viele
option-session = sitzung
option-about-session = welche Sitzung, um alles zu lesen, was darin gesagt wurde
option-page = seite
option-about-page = welche Seite davon
option-confirm = bestätigen
option-about-confirm = ausführen, was auch verloren geht
option-file = datei
option-about-file = stat, oder eine geänderte Datei oder ein Teil ihres Namens
option-task = aufgabe
option-about-task = welche Aufgabe
option-priority = dringlichkeit
option-about-priority = wie dringend sie ist
option-needs = braucht
option-about-needs = was ein Agent sein muss: eine Berechtigung und Stichworte, z. B. full,rust
option-after = nach
option-about-after = welche Aufgaben zuerst erledigt sein müssen, z. B. 7,8
option-check = prüfung
option-about-check = ein Befehl, der gelingen muss, bevor sie erledigt ist, z. B. make test
option-parts = teile
option-about-parts = die Teile, mit Strichpunkten dazwischen
option-id = nummer
option-about-id = die Nummer, mit der gefragt wurde
option-as = als
option-about-as = right: angebracht; wrong: nicht angebracht
option-always = immer
option-about-always = und ab jetzt ungefragt
option-chart = grafik
option-about-chart = und der Verlauf als Bild
option-code = code
option-about-code = der Code, der es bestätigt
option-machine = rechner
option-about-machine = welcher Rechner
option-text = text
option-about-text = was zu tun ist; ohne Angabe: ein Formular für lange Texte
option-workspace = ordner
option-about-workspace = sein Ordner, von der Wurzel an; ohne Angabe: ein Formular fragt nach allem
option-settings = einstellungen
option-about-settings = key=value …, z. B. model=opus max_turns=20
option-command = befehl
option-about-command = ein Befehl

## Formulare

form-answer = Deine Antwort
form-reject = Was zu ändern ist
form-task-add = Aufgabe für { $agent }
form-task-add-auto = Aufgabe fürs Brett
form-task-new = Eine neue Aufgabe für { $agent }
form-agent-add = Neuer Agent { $name }
form-agent-edit = { $agent } ändern
field-text = Was zu tun ist
field-answer = Antwort
field-reject = Was zu ändern ist
field-workspace = Ordner, von der Wurzel an
field-model = Modell
field-command = Befehl (nur für Laufzeit command)
field-instructions = Ständige Anweisungen
field-settings = Weitere Einstellungen, je Zeile key=value
field-example-text = Bring die Tests des Parsers in Ordnung und erkläre, was falsch war.
field-example-answer = Nimm den grünen und lass den Rest, wie er ist.
field-example-reject = Den Fehler in der Meldung nennen und die leere Datei testen.
field-example-workspace = /srv/agents/spark
field-example-model = opus
field-example-command = sh -c 'make test'
field-example-instructions = Lass die Tests laufen, bevor du sagst, dass du fertig bist.
field-example-settings = max_turns=20

## Knöpfe

button-resume = Fortsetzen
button-abort = Abbrechen
button-transcript = Protokoll
button-approve = Erlauben
button-deny = Ablehnen
button-always = Immer
button-answer = Antwort
button-other = Etwas anderes…
button-accept = Annehmen
button-reject = Zurückgeben …
button-diff = Was geändert wurde
button-expired = nicht rechtzeitig beantwortet
button-remove = Entfernen
button-keep = Behalten
button-again = Korrigieren
button-answered = { $action } · { $name } ({ $network })
button-kept = behalten · { $name }
button-over = erledigt
prompt-late = Zu spät: { $name } ({ $network }) hat das schon beantwortet: { $action }.
prompt-over = Zu spät: das ist erledigt. `/status` zeigt, wie es um **{ $agent }** steht.
answer-file = Die ganze Antwort steht in der Datei.
answer-failed = Das ging in herder selbst schief; sein Log nennt die Ursache.
answer-interrupted = herder wurde neu gestartet, bevor er hier antworten konnte. Sieh mit `/status` und `/history` nach, ob es getan ist, und gib den Befehl noch einmal, wenn nicht.
answer-unknown = herder kennt das nicht mehr. Bitte von vorn.
form-unchanged = Nichts wurde geändert.
form-gone = Was du eingegeben hast, ist nicht mehr da: herder wurde neu gestartet, oder neuere Formulare sind an seine Stelle getreten. Gib den Befehl noch einmal.

## Befehle: ein Mensch in zwei Netzen

cmd-link-code = Sag das innerhalb von 10 Minuten im IRC, bei den Diensten angemeldet, am besten privat: `!link { $code }`. Wer das sagt, hat ab dann deine Rollen und du dessen. `/link code:remove` hebt es auf.
cmd-link-how = Gib `/link` auf Discord: die Antwort ist ein Code, der hier gesagt wird. `!link remove` hebt es auf.
cmd-link-no-code = Für einen Code fehlt gerade der Zufall. Bitte noch einmal versuchen.
cmd-link-private = Hier würden andere den Code lesen. Gib `/link` als Befehl oder sag es privat.
cmd-link-elsewhere = Dieser Code wird im IRC gesagt, als `!link` und der Code.
cmd-link-no-account = Nichts verbunden: du bist hier nicht bei den Diensten angemeldet. Der Code ist verbraucht; melde dich an und hol mit `/link` einen neuen.
cmd-link-wrong = Nichts verbunden: dieser Code gilt nicht oder nicht mehr. `/link` auf Discord gibt einen neuen.
cmd-link-none = Du bist mit niemandem verbunden.
cmd-whoami = Du bist { $nick } auf { $network }. Deine Rolle: { $role }.
cmd-whoami-no-role = Du bist { $nick } auf { $network }. Du hast keine Rolle.
cmd-whoami-name = Dein Name für `[access]` in bot.toml: `"{ $subject }"`
cmd-whoami-no-name = Das Netz belegt nichts über dich, was in `[access]` stehen könnte. Melde dich bei den Services an und frag dann noch einmal.
cmd-whoami-local = Du bist der Benutzer, als der herder läuft: ein Admin.

## Die Seite

cmd-page-link = Öffne das innerhalb von { $good }, einmal: { $url }
cmd-page-private = Ein Link zur Seite ist nur für dich: frag privat danach oder in einer Shell mit `herder page`.
cmd-page-none = Es gibt keine Seite: `[http]` in bot.toml öffnet sie.
cmd-page-busy = Zu viele Links warten darauf, geöffnet zu werden; frag in einer Minute noch einmal.
cmd-page-revoked = { $count ->
    [0] Du hattest keine Sitzung auf der Seite.
    [one] Deine Sitzung auf der Seite ist beendet.
   *[other] Deine { $count } Sitzungen auf der Seite sind beendet.
}
page-title-fleet = Agenten
page-needs-you = Braucht dich
page-needs-nobody = Niemand braucht dich.
page-no-agents = Es gibt noch keine Agenten: `!agent add` oder ein Abschnitt in bot.toml.
page-summary = { $agents ->
    [one] 1 Agent
   *[other] { $agents } Agenten
} · { $busy } bei der Arbeit
page-today = heute { $money }
page-agent = Agent
page-phase = Phase
page-work = Arbeit
page-tool = Werkzeug · still
page-turns = Schritte
page-memory = Speicher
page-tokens = Tokens
page-cost = Kosten heute
page-queue = Warteschlange
page-filter = Filter
page-pause = Pause
page-pause-now = Sofort pausieren
page-resume = Weiter
page-abort = Abbrechen
page-restart = Neu starten
page-stop-all = Alle anhalten
page-approve = Erlauben
page-deny = Ablehnen
page-always = Immer
page-answer = Antworten
page-ack = Gesehen
page-other-answer = andere Antwort
page-give = Arbeit geben
page-give-label = Arbeit für { $agent }
page-whisper = Flüstern
page-whisper-label = { $agent } zuflüstern
page-logout = Abmelden
page-waiting = Was wartet
page-said = Was er gesagt hat
page-said-by = Die letzten Worte von { $agent }
page-happened = Was geschehen ist
page-settings = Einstellungen
page-back = Alle Agenten
page-door-title = Anmelden
page-door-text = Dieser Link gilt einmal, innerhalb einer Minute.
page-door-button = Bei { $name } anmelden
page-door-over = Dieser Link wurde benutzt oder ist älter als eine Minute. Frag nach einem neuen: `!page` privat oder `herder page` in einer Shell.
page-locked-title = Wer bist du?
page-locked-text = Sag herder privat `!page` (`/page` auf Discord) oder tippe `herder page` in einer Shell: die Antwort ist ein Link, der dich anmeldet.
page-nowhere = Hier ist nichts.
page-refused = Abgelehnt
page-other-host = Diese Seite hat eine andere Adresse. `herder page` in einer Shell gibt einen Link, der geht; soll dieser Name gelten, schreib ihn in `public_url` oder `hosts` unter `[http]`.
page-other-site = Das kam von der Seite eines anderen Servers und wurde nicht ausgeführt.
page-too-slow = Die Anfrage hat länger als 30 Sekunden gedauert und wurde aufgegeben.
page-form-old = Dieses Formular gehört zu einer anderen Sitzung; nichts wurde getan. Versuch es noch einmal.
page-cut = Diese Seite ist nicht auf dem Stand: herder antwortet nicht. Sie versucht es von selbst wieder; was du siehst, kann alt sein.
page-live-off = Die Seite erneuert sich nicht von selbst: lade sie neu, um Änderungen zu sehen.
page-title-board = Tafel
page-title-money = Kosten
page-title-history = Verlauf
page-skip = Zum Inhalt
page-views = Ansichten
page-language = Sprache
# The name of this language in itself.
page-language-name = Deutsch
page-transcript = Mitschrift
page-transcript-of = { $agent }, Sitzung { $session }
page-mood-needs = braucht einen Menschen
page-mood-failed = wegen eines Fehlers angehalten
page-mood-works = bei der Arbeit
page-mood-waits = wartet
page-mood-rests = ruht
page-row-called = hat einen Menschen gerufen
page-row-asks = { $count ->
    [one] wartet auf eine Antwort
   *[other] wartet auf { $count } Antworten
}
page-row-review = { $count ->
    [one] hat eine Aufgabe zur Durchsicht
   *[other] hat { $count } Aufgaben zur Durchsicht
}
page-count-all = alle { $count }
page-count-needs = braucht einen Menschen { $count }
page-count-failed = angehalten { $count }
page-count-works = bei der Arbeit { $count }
page-count-waits = wartet { $count }
page-count-rests = ruht { $count }
page-crashes = Abstürze
page-day = 24 h
page-day-said = { $busy } der letzten 24 Stunden mit Sitzungen, { $failed } mit Fehlern
page-any-phase = jede Phase
page-tag = Merkmal
page-any-tag = jedes Merkmal
page-find = Zeigen
page-of-cap = { $used } von { $limit }
page-spend = { $money } in 24 h
page-sessions = Sitzungen
page-no-sessions = Noch ist keine Sitzung zu Ende.
page-running = läuft gerade
page-restart-mark = Neustart
page-whisper-mark = Flüstern
page-pause-person = von einem Menschen angehalten
page-pause-limit = wartet auf ein Limit
page-pause-money = wegen Geld angehalten
page-pause-question = wartet auf die Antwort eines Menschen
page-pause-failure = nach einem Fehler angehalten
page-timeline-said = { $span }: { $sessions } Sitzungen, { $failed } gescheitert, { $restarts } Neustarts, { $whispers } Mal geflüstert
page-session = Sitzung
page-outcome = Ausgang
page-ended = Ende vor
page-took = Dauer
page-spent = verbraucht
page-said-nothing = Er hat noch nichts gesagt.
page-all-events = Alle seine Ereignisse
page-new-task = Neue Aufgabe
page-priority = Dringlichkeit
page-priority-high = dringend
page-priority-normal = normal
page-priority-low = nicht dringend
page-add-task = Hinzufügen
page-any-agent = irgendein Agent
page-column-queued = Wartet
page-column-working = In Arbeit
page-column-checking = Wird geprüft
page-column-review = Zur Durchsicht
page-column-blocked = Blockiert
page-column-over = Heute beendet
page-column-empty = Nichts hier.
page-assign = Zuweisen
page-split-parts = erster Teil; zweiter Teil
page-split = Teilen
page-cancel-task = Zurückziehen
page-review-change = { $commits ->
    [one] ein Commit
   *[other] { $commits } Commits
}, { $files ->
    [one] eine Datei
   *[other] { $files } Dateien
}, +{ $added } −{ $removed }
page-accept = Annehmen
page-reject = Zurückgeben
page-reject-why = Was zu ändern ist
page-given-by = gegeben von
page-needs = braucht
page-role = { $role ->
    [admin] Administrator
    [operator] Operator
    [viewer] Betrachter
   *[anybody] jeder
}
page-permissions = { $permissions ->
    [read-only] nur lesen
    [plan] genehmigte Pläne
    [workspace-write] im Arbeitsverzeichnis schreiben
   *[full] alle Rechte
}
page-part-of = Teil von
page-parts = Teile
page-tries = Versuche
page-why = warum
page-came-to = Was daraus wurde
page-evidence = Wie weit sie ist
# Read before how long ago: "4 min".
page-in-review = Zur Durchsicht seit
page-cap-line = Grenze { $limit }
page-caps = Grenzen
page-money-days = Nach Tagen, 35 Tage (UTC)
page-money-hours = Nach Stunden, 24 Stunden (UTC)
page-others = übrige
page-money-show = Was die Bilder zeigen
page-by-agent = nach Agent
page-by-account = nach Konto
page-in-dollars = Dollar
page-in-tokens = Tokens
page-csv = als CSV
page-money-nothing = Nichts wurde ausgegeben.
page-by-month = Nach Monaten (UTC)
page-month = Monat
page-months-kept = Tage werden 35 Tage lang aufbewahrt: ein älterer Monat ist nicht vollständig.
page-by-task = Nach Aufgaben
page-task = Aufgabe
page-needs-role = Das braucht die Rolle { $role }.
page-search = Suchen
page-history-kind = Welcher Verlauf
page-events = was geschehen ist
page-audit = wer was getan hat
page-all-agents = alle Agenten
page-from = von
page-to = bis
page-history-nothing = Nichts gefunden.
page-history-back-to = Zurückgelesen bis { $time }.
page-history-begins = Das ist der Anfang: Älteres gibt es nicht.
page-history-from = Seit diesem Tag gibt es nichts Älteres.
page-history-unreadable = { $count ->
    [one] Ein Eintrag war nicht lesbar und fehlt hier; der Grund steht in herders Log.
   *[other] { $count } Einträge waren nicht lesbar und fehlen hier; der Grund steht in herders Log.
}
page-older = Ältere
