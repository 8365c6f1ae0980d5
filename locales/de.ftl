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
words-cut = { $count ->
    [one] … noch { $count } Zeile; `@{ $agent } log`
   *[other] … noch { $count } Zeilen; `@{ $agent } log`
}

## Was ein Agent gerade tut

phase-idle = ohne Arbeit
phase-starting = startet
phase-running = arbeitet
phase-stopping = wird angehalten ({ $reason })
phase-waiting = { $reason }, noch { $countdown }
phase-paused = pausiert ({ $reason })
phase-needs-intervention = braucht Hilfe
phase-degraded = beeinträchtigt
phase-removed = entfernt
halt-waiting = in Wartezeit bis { $until }
halt-needs-intervention = nach zu vielen Fehlschlägen angehalten (braucht Hilfe)
halt-degraded = nach zu vielen Abstürzen angehalten (beeinträchtigt)

stop-pause = Pause
stop-abort = Abbruch
stop-restart = Neustart
stop-stop-all = alle anhalten
stop-cancel = Aufgabe zurückgezogen
stop-remove = entfernt
stop-account = Konto: { $category }
stop-hung = hängt

pause-person = von { $name }
pause-failure = { $category }
pause-account = Konto: { $category }
pause-survivors = übrig gebliebene Prozesse

wait-backoff = Neustart nach: { $category }
wait-rate-limit = ausgebremst (Rate-Limit)
wait-rest = ruht

work-message = Nachricht
work-task = Aufgabe
work-round = Durchlauf

task-done = erledigt
task-failed = gescheitert
task-cancelled = zurückgezogen

## Wie eine Sitzung endete

category-success = Erfolg
category-transient = vorübergehender Fehler
category-rate-limit = Rate-Limit
category-permanent = dauerhafter Fehler
category-max-turns = Rundenlimit erreicht
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

clock-startup = ist nicht rechtzeitig gestartet
clock-silence = schweigt zu lange
clock-tool = hat einen Werkzeugaufruf zu lange offen
clock-task = ist zu lange an der Arbeit
clock-heartbeat = antwortet herder nicht mehr

## Statusmeldungen

notice-started = 🐜 **{ $agent }** hat angefangen: { $work }
notice-completed = ✅ **{ $agent }** ist fertig nach { $duration }{ $turns ->
    [0] {""}
    [one] {" "}· { $turns } Runde
   *[other] {" "}· { $turns } Runden
}{ $priced ->
    [yes] {" "}· { $cost }
   *[no] {""}
}
notice-crashed = ❌ **{ $agent }** ist abgestürzt: { $detail } Neustart in { $countdown }…
notice-rate-limited = ⏳ **{ $agent }** hat ein Rate-Limit erreicht. Weiter in { $countdown }…
notice-permanent = 🚫 **{ $agent }** hat einen dauerhaften Fehler: { $detail } Neustart in { $countdown }…
notice-billing = 💳 **{ $agent }** hat einen Abrechnungsfehler – bitte das Konto { $account } prüfen. Pausiert bis zum `resume`.
notice-auth = 🔐 **{ $agent }** konnte sich nicht anmelden – bitte die Zugangsdaten prüfen. Pausiert bis zum `resume`.
notice-budget = 💰 **{ $agent }** hat seine Budgetgrenze in US-Dollar überschritten. Pausiert bis zum `resume`.
notice-do-not-restart = 🚫 **{ $agent }** will nicht neu gestartet werden: { $detail } Pausiert bis zum `resume`.
notice-paused-with-account = { $emoji } **{ $agent }** pausiert mit seinem Konto { $account } ({ $category }). Erst das Konto in Ordnung bringen, dann `@{ $agent } resume`.
notice-account-blocked = 🚨 Konto **{ $account }**: { $category }, bemerkt bei **{ $agent }**. Alle seine Agenten pausieren. Erst das Konto in Ordnung bringen, dann `@{ $agent } resume`.
notice-account-opened = ▶️ Konto **{ $account }** ist wieder offen, dank { $by }. Seine Agenten machen weiter.
notice-timed-out = ❌ **{ $agent }** brauchte länger als { $limit } und wurde angehalten. Noch ein Versuch in { $countdown }…
notice-task-failed = ❌ **{ $agent }** hat Aufgabe { $task } aufgegeben: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } Wird unterbrochen…
notice-needs-intervention = 🧯 **{ $agent }** braucht Hilfe: { $failures ->
    [one] { $failures } Fehlschlag
   *[other] { $failures } Fehlschläge
} innerhalb von { $window }. Keine weiteren Neustarts. Erst `@{ $agent } log` lesen, dann `@{ $agent } resume` für einen Versuch.
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
notice-work-line = { $line }

## Antworten auf Befehle

notice-pausing = ⏸️ **{ $agent }** pausiert nach dieser Sitzung. `@{ $agent } pause now` hält sofort an.
notice-resuming = ▶️ **{ $agent }** macht weiter.
notice-resuming-trial = ▶️ **{ $agent }** macht mit einer Probesitzung weiter. Scheitert sie, gibt es keine weiteren Neustarts.
notice-stopping-pause = ⏸️ **{ $agent }** wird angehalten und bleibt pausiert. Die Arbeit bleibt erhalten.
notice-stopping-abort = ⏸️ **{ $agent }** wird angehalten. Diese Arbeit wird verworfen, die nächste folgt.
notice-stopping-restart = ▶️ **{ $agent }** wird angehalten und fängt frisch an, Zähler auf null.
notice-stopping-stop-all = ⏸️ **{ $agent }** wird mit allen anderen angehalten und bleibt pausiert. Die Arbeit bleibt erhalten.
notice-stopping-cancel = ⏸️ **{ $agent }** wird angehalten: Die Aufgabe wurde zurückgezogen. Die nächste folgt.
notice-stopping-remove = ⏸️ **{ $agent }** wird angehalten und entfernt. Die Geschichte bleibt erhalten.
notice-stopping-account = ⏸️ **{ $agent }** wird angehalten: Mit dem Konto stimmt etwas nicht ({ $category }). Die Arbeit bleibt erhalten.
notice-stopping-hung = ❌ **{ $agent }** hängt und wird angehalten. Die Arbeit wird noch einmal versucht.
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
notice-queued-while-waiting = 👀 { $kind ->
    [task] Aufgabe { $work } wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
   *[other] Wartet bei **{ $agent }** auf Platz { $position }; Zustand: { $why }.
} `@{ $agent } restart` überspringt die Wartezeit.
notice-steering = 👀 Bei laufender Arbeit an **{ $agent }** weitergegeben.
notice-cleared = 👀 { $count ->
    [one] { $count } wartende Nachricht
   *[other] { $count } wartende Nachrichten
} an **{ $agent }** verworfen. Aufgaben bleiben.
notice-task-ended = 👀 Aufgabe { $task } von **{ $agent }**: { $end }.
notice-agent-added = 🐜 **{ $agent }** ist da und läuft mit { $runtime }. Ansprechbar im eigenen Kanal oder überall mit `@{ $agent } …`.
notice-agent-edited = 👀 **{ $agent }** wurde geändert. Es gilt ab der nächsten Sitzung.
notice-agent-removed = 👀 **{ $agent }** ist entfernt. Die Geschichte bleibt erhalten.
notice-stopped-all = ⏸️ { $agents ->
    [one] { $agents } Agent
   *[other] { $agents } Agenten
} angehalten, { $processes ->
    [one] { $processes } Prozess
   *[other] { $processes } Prozesse
} übrig.

## herder selbst

notice-away = Ich war weg von { $from } bis { $to } ({ $duration }).
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
notice-channel-unavailable = 🚨 Kanal { $channel } auf **{ $network }** ist nicht zu betreten: { $detail } Was dort ansteht, wartet.
notice-netsplit = { $nick }: Das Netz war geteilt. Dir { $count ->
    [one] entging { $count } Zeile:
   *[other] entgingen { $count } Zeilen:
}
notice-nobody-configured = 🚨 Niemand darf herder Befehle geben: bitte jemanden unter `[access]` in `bot.toml` eintragen und herder neu starten.
notice-storage-failed = 🚨 herder kann sein Journal nicht mehr schreiben: { $detail } Es hält seine Agenten an und beendet sich. Nichts, was bestätigt wurde, ist verloren.
notice-disk-low = 🚨 Auf dem Datenträger mit den Daten von herder sind nur noch { $free } frei. Bitte Platz schaffen; ist er voll, hält herder seine Agenten an und beendet sich.
notice-revisions-missing = 🚨 Das Journal von { $stream } endet bei Revision { $found }, bestätigt war aber { $expected }. Was fehlt, ging auf dem Datenträger verloren; bitte mit dem letzten täglichen Export vergleichen.
notice-shutting-down = herder wird beendet. Was wartet, bleibt erhalten.

## Absagen

refusal-already-paused = **{ $agent }** pausiert schon oder gleich. Mit `@{ $agent } resume` geht es weiter.
refusal-not-paused = **{ $agent }** pausiert nicht, es gibt also nichts fortzusetzen. `@{ $agent } status` zeigt den Stand.
refusal-nothing-running = Bei **{ $agent }** gibt es nichts abzubrechen: Keine Sitzung läuft.
refusal-already-stopping = **{ $agent }** wird schon angehalten. Bitte das Ende abwarten.
refusal-no-such-task = Es gibt keine Aufgabe { $task }. `!task list` zeigt alle.
refusal-task-over = Aufgabe { $task } ist schon vorbei: { $end }.
refusal-queue-full = Die Warteschlange von **{ $agent }** ist voll ({ $max }). Bitte warten oder die Nachrichten mit `@{ $agent } clear` verwerfen.
refusal-queue-empty = Bei **{ $agent }** warten keine Nachrichten.
refusal-empty-work = Was soll **{ $agent }** tun? Zum Beispiel `@{ $agent } lass die Tests laufen`.
refusal-removed = **{ $agent }** wird gerade entfernt und nimmt nichts mehr an.
refusal-agent-exists = Einen Agenten **{ $agent }** gibt es schon. Bitte einen anderen Namen wählen oder ihn mit `!agent edit { $agent }` ändern.
refusal-no-such-agent = Es gibt keinen Agenten „{ $agent }“. `!agent list` zeigt alle.
refusal-no-such-agent-but = Es gibt keinen Agenten „{ $agent }“. War **{ $nearest }** gemeint?
refusal-fault = herder konnte das für **{ $agent }** nicht tun: Intern ist etwas fehlgeschlagen. Es wurde nichts geändert. Bitte noch einmal versuchen; der Grund steht im Protokoll von herder.
refusal-invalid = { $what }: { $why }
