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

## Was ein Agent gerade tut

phase-idle = ohne Arbeit
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

stop-pause = Pause
stop-abort = Abbruch
stop-restart = Neustart
stop-stop-all = alle anhalten
stop-cancel = Aufgabe zurückgezogen
stop-remove = entfernt
stop-account = Konto: { $category }
stop-hung = hängt
stop-cap = Grenze: { $cap }

pause-person = von { $name }
pause-failure = { $category }
pause-account = Konto: { $category }
pause-survivors = übrig gebliebene Prozesse
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

work-message = Nachricht
work-task = Aufgabe
work-round = Durchlauf

task-done = erledigt
task-failed = gescheitert
task-cancelled = zurückgezogen
task-blocked = blockiert

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
notice-cap-reached = 💰 **{ $agent }** hat seine Budgetgrenze von { $limit } { $per } überschritten: { $used } verbraucht. Pausiert bis zum `resume`; die Arbeit bleibt erhalten.
notice-cap-near = 💰 **{ $agent }** hat { $percent } % der Grenze von { $limit } { $per } verbraucht: { $used }.
notice-cap-waived = 💰 **{ $agent }** darf über die Grenze hinaus ({ $cap }): Bei { $limit } ist wieder Schluss, und in der nächsten Stunde oder am nächsten Tag gilt die Grenze neu.
notice-spiked = 💰 **{ $agent }** verbraucht weit mehr als sonst: { $used } in dieser Stunde, sonst { $usual }.
notice-price-unknown = 💰 **{ $agent }**: Niemand sagt, was das Modell `{ $model }` kostet. { $assumed ->
    [yes] Solange eine Grenze in US-Dollar gilt, zählen seine Token zum Preis der teuersten Modelle.
   *[no] Seine Token werden gezählt, seine Dollar nicht.
} Ein Abschnitt dafür unter [prices] in bot.toml stellt das richtig.
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
notice-timed-out = ❌ **{ $agent }** brauchte länger als { $limit } und wurde angehalten. Noch ein Versuch in { $countdown }…
notice-task-failed = ❌ **{ $agent }** hat Aufgabe { $task } aufgegeben: { $detail }
notice-task-blocked = 🧱 **{ $agent }** kommt bei Aufgabe { $task } nicht weiter: { $detail }
notice-notified = 🔔 **{ $agent }** meldet: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } Wird unterbrochen…
notice-permission-denied = ⚙️ **{ $agent }** hat um Erlaubnis gebeten und ein Nein bekommen, weil von hier aus noch niemand gefragt werden kann: { $what } (autonomy = full würde es erlauben.)
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
notice-work-line = { $line }

## Die Nachricht, die eine laufende Sitzung zeigt

live-working = 🐜 **{ $agent }** arbeitet, begonnen { $since }
live-last = letztes Lebenszeichen { $when }
live-ended = 🐜 **{ $agent }** hat { $duration } gearbeitet

## Antworten auf Befehle

notice-pausing = ⏸️ **{ $agent }** pausiert nach dieser Sitzung. `@{ $agent } pause now` hält sofort an.
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
notice-stopping-cap = 💰 **{ $agent }** wird angehalten: Die Grenze ist erreicht ({ $cap }). Die Arbeit bleibt erhalten.
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
notice-whispered = 🤫 **{ $agent }** erfährt es, und sonst niemand: mit dem nächsten Werkzeugaufruf, im laufenden Zug oder mit der nächsten Eingabe.
notice-reworded = 👀 **{ $agent }** tut stattdessen: { $work }
notice-withdrawn = 👀 Zurückgenommen bei **{ $agent }**: { $work }
notice-cleared = 👀 { $count ->
    [one] { $count } wartende Nachricht
   *[other] { $count } wartende Nachrichten
} an **{ $agent }** verworfen. Aufgaben bleiben.
notice-task-ended = 👀 Aufgabe { $task } von **{ $agent }**: { $end }.
notice-agent-added = 🐜 **{ $agent }** ist da und läuft mit { $runtime }. Ansprechbar im eigenen Kanal oder überall mit `@{ $agent } …`.
notice-agent-edited = 👀 **{ $agent }** wurde geändert. Es gilt ab der nächsten Sitzung.
notice-agent-removed = 👀 **{ $agent }** ist entfernt. Die Geschichte bleibt erhalten.{ $works ->
    [0] {""}
    [one] {" "}1 Arbeit, die noch nicht erledigt war, ist aufgegeben.
   *[other] {" "}{ $works } Arbeiten, die noch nicht erledigt waren, sind aufgegeben.
}
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
notice-channel-unavailable = 🚨 Kanal { $channel } auf **{ $network }** ist nicht zu betreten: { $detail } Was dort ansteht, kommt hierher.
notice-topic-denied = herder darf in { $channel } auf **{ $network }** das Thema nicht setzen, in dem der Zustand des Agenten stünde. Mach herder dort zum Operator oder nimm den Modus +t weg: Sobald sich die Modi ändern, wird es wieder versucht. Dasselbe gilt für andere Kanäle, in denen herder kein Operator ist.
# $by: a person on another network. $text: what they said, as they said it.
notice-mirrored = 💬 { $by } ({ $network }) sagt: { $text }
# $permission: one of permission-name; the rest as Discord calls it.
notice-permission-missing = 🚨 herder fehlt die Berechtigung **{ $permission }** auf **{ $network }**. Bitte in den Servereinstellungen → Rollen → Rolle des Bots → Berechtigungen einschalten. Ein Neustart ist nicht nötig.
notice-permission-missing-in = 🚨 herder fehlt die Berechtigung **{ $permission }** für { $channel } auf **{ $network }**. Bitte Rechtsklick darauf → Bearbeiten → Berechtigungen, dort die Rolle des Bots hinzufügen und sie erlauben. Ein Neustart ist nicht nötig.
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
   *[other] { $permission }
}
notice-netsplit = { $nick }: Das Netz war geteilt. Dir { $count ->
    [one] entging { $count } Zeile:
   *[other] entgingen { $count } Zeilen:
}
notice-nobody-configured = 🚨 Niemand darf herder Befehle geben: bitte jemanden unter `[access]` in `bot.toml` eintragen, z. B. `admins = ["irc:NETZ:DEIN-KONTO"]`, und herder neu starten.
notice-storage-failed = 🚨 herder kann sein Journal nicht mehr schreiben: { $detail } Es hält seine Agenten an und beendet sich. Nichts, was bestätigt wurde, ist verloren.
notice-disk-low = 🚨 Auf dem Datenträger mit den Daten von herder sind nur noch { $free } frei. Bitte Platz schaffen; ist er voll, hält herder seine Agenten an und beendet sich.
notice-revisions-missing = 🚨 Das Journal von { $stream } endet bei Revision { $found }, bestätigt war aber { $expected }. Was fehlt, ging auf dem Datenträger verloren; bitte mit dem letzten täglichen Export vergleichen.
notice-shutting-down = herder wird beendet. Was wartet, bleibt erhalten.

## Absagen

refusal-already-paused = **{ $agent }** pausiert schon oder gleich. Mit `@{ $agent } resume` geht es weiter.
refusal-already-halted = Bei **{ $agent }** gibt es nichts anzuhalten, Stand: { $why }. Mit `@{ $agent } resume` geht es weiter.
refusal-not-paused = **{ $agent }** pausiert nicht, es gibt also nichts fortzusetzen. `@{ $agent } status` zeigt den Stand.
refusal-nothing-running = Bei **{ $agent }** gibt es nichts abzubrechen: Keine Sitzung läuft.
refusal-already-stopping = **{ $agent }** wird schon angehalten. Bitte das Ende abwarten.
refusal-no-such-task = Es gibt keine Aufgabe { $task }. `!task list` zeigt alle.
refusal-task-over = Aufgabe { $task } ist schon vorbei: { $end }.
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
refusal-fault = herder konnte das für **{ $agent }** nicht tun: Intern ist etwas fehlgeschlagen. Es wurde nichts geändert. Bitte noch einmal versuchen; der Grund steht im Protokoll von herder.
refusal-invalid = { $what }: { $why }

## Befehle: was sie tun, in der Hilfe

cmd-about-pause = nach der laufenden Sitzung anhalten; `now` unterbricht sie
cmd-about-resume = jede Pause beenden, Sicherung halb öffnen, weitermachen
cmd-about-abort = die Sitzung beenden, ihre Arbeit verwerfen, mit der nächsten weitermachen
cmd-about-restart = saubere neue Sitzung, Zähler auf null; überspringt einen Countdown
cmd-about-stop-all = alle Agenten sofort stoppen; antwortet mit der Zahl der übrigen Prozesse
cmd-about-status = Phase, Arbeit, Werkzeug, Leerlauf, Schritte, Token, Kosten, Abstürze, nächster Neustart
cmd-about-usage = Token und Dollar dieser Stunde und von heute je Agent und Konto, gegen die Grenzen
cmd-about-task-add = einem Agenten eine Aufgabe geben
cmd-about-task-list = die Aufgaben eines Agenten oder aller
cmd-about-task-show = eine Aufgabe ganz
cmd-about-task-cancel = eine Aufgabe abbrechen, ob wartend oder laufend
cmd-about-queue = was auf einen Agenten wartet
cmd-about-clear = die wartenden Nachrichten eines Agenten verwerfen; Aufgaben bleiben
cmd-about-whisper = einem Agenten etwas unter vier Augen sagen
cmd-about-log = die letzten Schritte eines Agenten; mit 1 oder einer Sitzung alles daraus
cmd-about-history = was mit einem Agenten oder der Herde geschah
cmd-about-audit = wer was befohlen hat
cmd-about-agent-add = einen Agenten hinzufügen
cmd-about-agent-edit = einen Agenten ab seiner nächsten Sitzung ändern
cmd-about-agent-remove = einen Agenten entfernen; fragt nach und behält seine Geschichte
cmd-about-agent-list = die Agenten
cmd-about-agent-show = wie ein Agent eingestellt ist
cmd-about-help = diese Liste oder ein Befehl
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
cmd-ask-back = Nichts getan und **{ $agent }** nichts gegeben: „{ $word }“ könnte { $options } heißen. Als Arbeit: `!task add { $agent } …`
cmd-ask-which = „{ $word }“ ist kein eigener Befehl: { $options }?
cmd-not-for-here = Auch **{ $agent }** wurde nichts gegeben.
cmd-usage = { $reason } So geht es: `!{ $usage }`
cmd-misfit-missing = „{ $what }“ fehlt.
cmd-misfit-extra = „{ $word }“ gehört dort nicht hin.
cmd-misfit-wrong = „{ $word }“ passt nicht: { $wanted }.
cmd-misfit-unclosed = Ein Anführungszeichen ({ $quote }) wird nicht geschlossen.
cmd-misfit-whole-fleet = `!{ $command }` gilt allen Agenten; einer allein hält mit `pause now`.
cmd-or-work = Falls es Arbeit ist: `!task add { $agent } …`
cmd-needs-role = `{ $command }` braucht die Rolle { $role }.
cmd-needs-role-work = Wer **{ $agent }** Arbeit geben will, braucht die Rolle { $role }.
cmd-needs-role-any = Für Befehle braucht es die Rolle { $role }.
cmd-too-often = Das war zu viel auf einmal. In einer Minute noch einmal versuchen.

## Befehle: Antworten

cmd-more = … noch { $count }
cmd-stopping-all = { $agents ->
    [one] { $agents } Agent wird gestoppt …
   *[other] { $agents } Agenten werden gestoppt …
}
cmd-link-up = { $network } verbunden seit { $up }
cmd-link-connecting = { $network } verbindet sich
cmd-link-failing = { $network } getrennt, { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuche
}: { $reason }
cmd-link-refused = { $network } aufgegeben: { $reason }
cmd-tokens = { $input } rein, { $output } raus
cmd-spent = { $name }: diese Stunde { $hour }; heute { $today }
cmd-spent-cap = { $used } von { $limit } { $per }
cmd-spent-fleet = Flotte
cmd-spent-account = Konto { $account }
cmd-spent-session = Sitzung { $session }; insgesamt { $total }
cmd-status-nobody = Es gibt keine Agenten. `!agent add spark claude /path/to/workspace` fügt einen hinzu.
cmd-status-fleet = { $agents ->
    [one] { $agents } Agent
   *[other] { $agents } Agenten
}, { $busy } beschäftigt, { $stopped } angehalten
cmd-status-tool = Werkzeug { $tool }
cmd-status-idle = still seit { $idle }
cmd-status-turns = { $count ->
    [one] { $count } Schritt
   *[other] { $count } Schritte
}
cmd-status-queued = { $count } wartend
cmd-status-since = seit { $since }
cmd-status-pause-pending = hält nach dieser Sitzung an
cmd-status-totals = { $sessions ->
    [one] { $sessions } Sitzung
   *[other] { $sessions } Sitzungen
}, { $successes } gelungen, { $failures } gescheitert, { $crashes } abgestürzt · { $turns ->
    [one] { $turns } Schritt
   *[other] { $turns } Schritte
} · { $usage }
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
cmd-task-none = Es gibt keine Aufgaben. `!task add agent text` gibt eine.
cmd-task-line = { $task } { $state } · **{ $agent }** · { $text }
cmd-task-running = läuft
cmd-task-queued = wartet
cmd-task-given = gegeben von { $name } ({ $network }), { $at }{ $attempts ->
    [0] {""}
    [one] , { $attempts } gescheiterter Versuch
   *[other] , { $attempts } gescheiterte Versuche
}
cmd-task-note = → { $note }
cmd-log-empty = **{ $agent }** hat noch nichts gesagt.
cmd-log-tools = Werkzeuge: { $tools }
cmd-log-ended = Sitzung { $session }: { $how }
cmd-log-more = `@{ $agent } log session { $session }` zeigt alles.
cmd-log-page = Seite { $page } von { $pages }
cmd-log-next = Weiter mit `@{ $agent } log session { $session } page { $page }`.
cmd-log-no-session = **{ $agent }** hat in einer Sitzung { $session } nichts gesagt.
cmd-audit-empty = Noch hat niemand etwas befohlen.
cmd-audit-line = { $name } ({ $identity }, { $network } { $place }): { $text }
cmd-history-empty = Noch ist nichts geschehen.
cmd-history-failed = Das Journal ließ sich nicht lesen; herders Log nennt die Ursache.
cmd-whisper-private = Hier lesen alle mit. Flüstere **{ $agent }** in einer privaten Nachricht an mich: whisper { $agent } und den Text.
cmd-until = bis { $until }
cmd-event-by = durch { $name }
cmd-event = { $what ->
    [added] hinzugefügt { $subject }
    [edited] geändert
    [removed] entfernt { $subject }
    [queued] eingereiht { $subject }
    [cleared] { $subject } aus der Schlange verworfen
    [reworded] { $subject } umformuliert
    [withdrawn] { $subject } zurückgenommen
    [steered] { $subject } in den laufenden Schritt gegeben
    [task-ended] Aufgabe { $subject }
    [task-reported] Meldung zu Aufgabe { $subject }
    [whispered] Geflüster { $subject }
    [whispers-tool] Geflüster { $subject } mit einem Werkzeugaufruf übergeben
    [whispers-turn] Geflüster { $subject } in den laufenden Schritt gegeben
    [whispers-prompt] Geflüster { $subject } mit der Eingabe übergeben
    [discarded] { $subject } verworfen
    [session-started] Sitzung { $subject } begonnen
    [process-started] Prozess { $subject } gestartet
    [ready] Sitzung { $subject } bereit
    [conversation] Gespräch benannt
    [conversation-lost] Gespräch ist nicht mehr fortzusetzen
    [permission-denied] Erlaubnis verweigert
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
    [requeued] { $subject } zurück an der Spitze der Schlange
    [waiting] wartet { $subject }
    [wait-over] Warten vorbei
    [pause-pending] Pause nach der Sitzung verlangt
    [paused] angehalten
    [resumed] macht weiter
    [account-opened] Konto { $subject } geöffnet
    [account-blocked] Konto { $subject } gesperrt
    [linked] { $subject } verbunden
    [unlinked] Verbindung von { $subject } aufgehoben
    [reset] Zähler auf null
    [breaker-opened] Sicherung offen nach { $subject } Fehlschlägen
    [breaker-closed] Sicherung geschlossen
    [degraded] beeinträchtigt nach { $subject } Prozessabstürzen
    [panicked] Aufseher neu aufgebaut { $subject }
    [started] herder { $subject } gestartet
    [configured] { $subject } aus bot.toml gelesen
    [stopped] herder beendet
   *[other] { $what } { $subject }
}

## Befehle: Agenten

cmd-agent-name = „{ $name }“ kann kein Agent heißen: kleine Buchstaben, Ziffern und innen Bindestriche, am Anfang ein Buchstabe, höchstens 30, z. B. spark-codex.
cmd-agent-name-is-word = „{ $name }“ kann kein Agent heißen: dieses Wort gebraucht herder selbst.
cmd-agent-problems = „{ $name }“: nichts getan, es gibt { $count ->
    [one] { $count } Problem:
   *[other] { $count } Probleme:
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
cmd-setting-needs-command = { $key }: ein Agent mit runtime command braucht einen, z. B. command="sh -c 'make test'"
cmd-setting-placeholder = { $key }: prompt=arg gehört zu {"{"}prompt{"}"} im Befehl, prompt=stdin zu einem ohne

## Discord

discord-left-out = Nicht oder nur teilweise bei der Nachricht: { $files }. Ein Agent bekommt Textdateien, mit der Nachricht höchstens { $max } KiB; der Rest gehört in seinen Arbeitsordner.
discord-no-content = Der Message Content Intent ist aus, deshalb kann herder nicht lesen, was hier geschrieben wird. Slash-Befehle, Knöpfe, private Nachrichten und Nachrichten, die herder erwähnen, gehen; einfacher Text im Kanal eines Agenten nicht. Einschalten: Developer Portal, Bot, Privileged Gateway Intents, Message Content Intent; danach herder neu starten.
discord-post-refused = 🚫 Hier war etwas zu sagen, das Discord in keiner Form annimmt. Was ein Agent sagt, steht in seinem `log`, der Grund im Protokoll von herder.
## Befehle von Netzen, die eigene haben

slash-pause = pausieren
slash-resume = fortsetzen
slash-abort = abbrechen
slash-restart = neustarten
slash-stop-all = alle-stoppen
slash-status = status
slash-usage = verbrauch
slash-queue = warteschlange
slash-clear = leeren
slash-whisper = flüstern
slash-log = protokoll
slash-history = verlauf
slash-audit = nachweis
slash-help = hilfe
slash-link = verbinden
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
slash-task-cancel = abbrechen
slash-about-agent = welche Agenten es gibt und wie sie eingestellt sind
slash-about-task = Agenten Aufgaben geben und nach ihnen sehen
option-agent = agent
option-about-agent = welcher Agent; in seinem eigenen Kanal nicht nötig
option-name = name
option-about-name = Name des neuen Agenten: Kleinbuchstaben, Ziffern, Bindestriche
option-runtime = laufzeit
option-about-runtime = womit er läuft
option-now = sofort
option-about-now = nicht auf das Ende der Sitzung warten
option-n = anzahl
option-about-n = wie viele
option-session = sitzung
option-about-session = welche Sitzung, um alles zu lesen, was darin gesagt wurde
option-page = seite
option-about-page = welche Seite davon
option-task = aufgabe
option-about-task = welche Aufgabe
option-code = code
option-about-code = der Code, der es bestätigt
option-text = text
option-about-text = was zu tun ist; ohne Angabe: ein Formular für lange Texte
option-workspace = ordner
option-about-workspace = sein Ordner, von der Wurzel an; ohne Angabe: ein Formular fragt nach allem
option-settings = einstellungen
option-about-settings = key=value …, z. B. model=opus max_turns=20
option-command = befehl
option-about-command = ein Befehl

## Formulare

form-task-add = Aufgabe für { $agent }
form-agent-add = Neuer Agent { $name }
form-agent-edit = { $agent } ändern
field-text = Was zu tun ist
field-workspace = Ordner, von der Wurzel an
field-model = Modell
field-command = Befehl (nur für Laufzeit command)
field-instructions = Ständige Anweisungen
field-settings = Weitere Einstellungen, je Zeile key=value
field-example-text = Bring die Tests des Parsers in Ordnung und erkläre, was falsch war.
field-example-workspace = /srv/agents/spark
field-example-model = opus
field-example-command = sh -c 'make test'
field-example-instructions = Lass die Tests laufen, bevor du sagst, dass du fertig bist.
field-example-settings = max_turns=20

## Knöpfe

button-resume = Fortsetzen
button-abort = Abbrechen
button-transcript = Protokoll
button-remove = Entfernen
button-keep = Behalten
button-answered = { $action } · { $name } ({ $network })
button-kept = behalten · { $name }
button-over = erledigt
prompt-late = Zu spät: { $name } ({ $network }) hat das schon beantwortet: { $action }.
prompt-over = Zu spät: das ist erledigt. `/status` zeigt, wie es um **{ $agent }** steht.
answer-file = Die ganze Antwort steht in der Datei.
answer-failed = Das ging in herder selbst schief; sein Log nennt die Ursache.
answer-unknown = herder kennt das nicht mehr. Bitte von vorn.
form-unchanged = Nichts wurde geändert.

## Befehle: ein Mensch in zwei Netzen

cmd-link-code = Sag das innerhalb von 10 Minuten im IRC, bei den Diensten angemeldet, am besten privat: `!link { $code }`. Wer das sagt, hat ab dann deine Rollen und du dessen. `/link code:remove` hebt es auf.
cmd-link-how = Gib `/link` auf Discord: die Antwort ist ein Code, der hier gesagt wird. `!link remove` hebt es auf.
cmd-link-private = Hier würden andere den Code lesen. Gib `/link` als Befehl oder sag es privat.
cmd-link-elsewhere = Dieser Code wird im IRC gesagt, als `!link` und der Code.
cmd-link-no-account = Nichts verbunden: du bist hier nicht bei den Diensten angemeldet. Der Code ist verbraucht; melde dich an und hol mit `/link` einen neuen.
cmd-link-wrong = Nichts verbunden: dieser Code gilt nicht oder nicht mehr. `/link` auf Discord gibt einen neuen.
cmd-link-done = Verbunden: der Discord-Nutzer { $name } ({ $user }) und das Konto { $account } in { $network } sind ein Mensch, mit den Rollen beider. Bist du das nicht, sag jetzt `!link remove`.
cmd-link-none = Du bist mit niemandem verbunden.
cmd-link-removed = { $count ->
    [one] { $count } Verbindung
   *[other] { $count } Verbindungen
} aufgehoben.
