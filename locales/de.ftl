### Every text herder says, in English: the source of all other locales.
###
### `**bold**` and `code` in backticks are the only markup; each network turns them into its own.
### A locale has exactly these messages with exactly these variables.

## Building blocks

# Durations are put together from these: 40s, 5m, 1h 3m. $count is the number of that unit.
unit-seconds = { $count }s
unit-minutes = { $count }m
unit-hours = { $count }h
unit-days = { $count }d
# Two units, the larger first.
unit-pair = { $first } { $second }
# strftime: a full moment, and the time of day alone.
time-format = %Y-%m-%d %H:%M:%S
clock-format = %H:%M:%S
decimal-mark = .
group-mark = ,
# $amount is a number of US dollars, already written with the marks above.
money = ${ $amount }
# Put behind a reason that does not end with one.
full-stop = .
# In place of a reason that nobody gave.
no-reason = no reason given
# Under a long text of an agent that was cut. $count: lines left out.
words-cut = { $count ->
    [one] … { $count } more line; `@{ $agent } log`
   *[other] … { $count } more lines; `@{ $agent } log`
}

## What an agent is doing

phase-idle = idle
phase-starting = starting
phase-running = running
# $reason: one of stop-…
phase-stopping = stopping ({ $reason })
# $reason: one of wait-…
phase-waiting = { $reason }, { $countdown } left
# $reason: one of pause-…
phase-paused = paused ({ $reason })
phase-needs-intervention = needs intervention
phase-degraded = degraded
phase-removed = removed
# $until: a time of day.
halt-waiting = waiting until { $until }

stop-pause = pause
stop-abort = abort
stop-restart = restart
stop-stop-all = stop-all
stop-cancel = task cancelled
stop-remove = removed
stop-account = account: { $category }
stop-hung = hung

pause-person = by { $name }
pause-failure = { $category }
pause-account = account: { $category }
pause-survivors = processes left over

wait-backoff = restarting after: { $category }
wait-rate-limit = rate limited
wait-rest = resting

work-message = message
work-task = task
work-round = round

task-done = done
task-failed = failed
task-cancelled = cancelled

## How a session ended

category-success = success
category-transient = transient error
category-rate-limit = rate limit
category-permanent = permanent error
category-max-turns = turn limit reached
category-billing = billing error
category-auth = authentication failed
category-budget = budget cap reached
category-quota = usage limit reached
category-context-overflow = context window full
category-task-timeout = task took too long
category-sandbox-denial = tool denied
category-hung = hung
category-crash = crash
category-do-not-restart = asked not to be restarted
category-interrupted = interrupted

# Read after the agent's name: "spark did not start in time".
clock-startup = did not start in time
clock-silence = has been silent for too long
clock-tool = has had a tool call open for too long
clock-task = has been at it for too long
clock-heartbeat = stopped answering herder

## Status posts

notice-started = 🐜 **{ $agent }** started: { $work }
# $priced: yes | no, whether the runtime named a price.
notice-completed = ✅ **{ $agent }** completed in { $duration }{ $turns ->
    [0] {""}
    [one] {" "}· { $turns } turn
   *[other] {" "}· { $turns } turns
}{ $priced ->
    [yes] {" "}· { $cost }
   *[no] {""}
}
notice-crashed = ❌ **{ $agent }** crashed: { $detail } Restarting in { $countdown }…
notice-rate-limited = ⏳ **{ $agent }** is rate limited. Resuming in { $countdown }…
notice-permanent = 🚫 **{ $agent }** encountered a permanent error: { $detail } Restarting in { $countdown }…
notice-billing = 💳 **{ $agent }** has a billing error — check your { $account } account. Pausing until resumed.
notice-auth = 🔐 **{ $agent }** failed to authenticate — check credentials. Pausing until resumed.
notice-budget = 💰 **{ $agent }** exceeded its USD budget cap. Pausing until resumed.
notice-do-not-restart = 🚫 **{ $agent }** asked not to be restarted: { $detail } Pausing until resumed.
# $emoji: that of the category.
notice-paused-with-account = { $emoji } **{ $agent }** is paused with its account { $account } ({ $category }). Fix the account, then `@{ $agent } resume`.
notice-account-blocked = 🚨 Account **{ $account }**: { $category }, seen by **{ $agent }**. All its agents are paused. Fix the account, then `@{ $agent } resume`.
# $by: who opened it.
notice-account-opened = ▶️ Account **{ $account }** is open again, thanks to { $by }. Its agents go on.
notice-timed-out = ❌ **{ $agent }** took longer than { $limit } and was stopped. Trying once more in { $countdown }…
notice-task-failed = ❌ **{ $agent }** gave up task { $task }: { $detail }
# $clock: one of clock-…; $detail: what was seen.
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } Interrupting it…
notice-needs-intervention = 🧯 **{ $agent }** needs intervention: { $failures ->
    [one] { $failures } failure
   *[other] { $failures } failures
} within { $window }. No more restarts. Read `@{ $agent } log`, then `@{ $agent } resume` for one trial.
notice-breaker-closed = ✅ **{ $agent }** is well again: the trial session succeeded.
notice-degraded = 🧯 **{ $agent }** is degraded: { $crashes ->
    [one] { $crashes } crash
   *[other] { $crashes } crashes
} within { $window }. No more restarts. Read `@{ $agent } log`, then `@{ $agent } resume`.
# $pids: process ids with commas.
notice-survivors = 🧯 **{ $agent }**: { $count ->
    [one] a process could not be ended: { $pids }. End it
   *[other] { $count } processes could not be ended: { $pids }. End them
} by hand, then `@{ $agent } resume`.
notice-supervisor-panicked = ❌ **{ $agent }**: herder itself made a mistake here and rebuilt this agent's supervisor from the journal. Restarting in { $countdown }…
notice-supervisor-gave-up = 🧯 **{ $agent }**: its supervisor cannot be rebuilt from the journal: { $detail } The agent stands still until herder is restarted.
notice-paused = ⏸️ **{ $agent }** is paused. `@{ $agent } resume` lets it go on.
notice-interrupted = 🐜 **{ $agent }** was cut short when herder went down. Its work is tried again.
# For machines as well as people: stays as it is in every language.
notice-work-line = { $line }

## Answers to commands

notice-pausing = ⏸️ **{ $agent }** will pause after this session. `@{ $agent } pause now` stops it at once.
notice-resuming = ▶️ **{ $agent }** resumes.
notice-resuming-trial = ▶️ **{ $agent }** resumes with one trial session. If it fails, no more restarts.
notice-stopping-pause = ⏸️ **{ $agent }** is being stopped and will stay paused. Its work is kept.
notice-stopping-abort = ⏸️ **{ $agent }** is being stopped. This work is discarded and the next one follows.
notice-stopping-restart = ▶️ **{ $agent }** is being stopped and starts afresh, counters reset.
notice-stopping-stop-all = ⏸️ **{ $agent }** is being stopped with all others and will stay paused. Its work is kept.
notice-stopping-cancel = ⏸️ **{ $agent }** is being stopped: its task was cancelled. The next one follows.
notice-stopping-remove = ⏸️ **{ $agent }** is being stopped and removed. Its history is kept.
notice-stopping-account = ⏸️ **{ $agent }** is being stopped: its account has a problem ({ $category }). Its work is kept.
notice-stopping-hung = ❌ **{ $agent }** is being stopped: it hangs. Its work is tried again.
notice-restarting = ▶️ **{ $agent }** starts afresh, counters reset.
notice-aborted = ⏸️ **{ $agent }** discarded: { $work }
# $kind: message | task | round; $work: the number of the work.
notice-accepted = 👀 { $kind ->
    [task] **{ $agent }** takes up task { $work }.
   *[other] **{ $agent }** is on it.
}
notice-queued = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }.
   *[other] Queued for **{ $agent }** at position { $position }.
}
# $why: one of phase-paused, phase-needs-intervention, phase-degraded, halt-waiting.
notice-queued-while-paused = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }, but it is { $why }.
   *[other] Queued for **{ $agent }** at position { $position }, but it is { $why }.
} `@{ $agent } resume` lets it go on.
notice-queued-while-waiting = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }. It is { $why }.
   *[other] Queued for **{ $agent }** at position { $position }. It is { $why }.
} `@{ $agent } restart` skips the wait.
notice-steering = 👀 Passed on to **{ $agent }** while it works.
notice-cleared = 👀 { $count ->
    [one] { $count } queued message
   *[other] { $count } queued messages
} of **{ $agent }** dropped. Tasks stay.
# $end: one of task-…
notice-task-ended = 👀 Task { $task } of **{ $agent }**: { $end }.
notice-agent-added = 🐜 **{ $agent }** is here, running { $runtime }. Talk to it in its channel, or say `@{ $agent } …` anywhere.
notice-agent-edited = 👀 **{ $agent }** changed. The next session uses it.
notice-agent-removed = 👀 **{ $agent }** is removed. Its history is kept.
notice-stopped-all = ⏸️ { $agents ->
    [one] { $agents } agent
   *[other] { $agents } agents
} stopped, { $processes ->
    [one] { $processes } process
   *[other] { $processes } processes
} left.

## herder itself

notice-away = I was away from { $from } to { $to } ({ $duration }).
notice-collapsed = { $count ->
    [one] … { $count } line while away; `@{ $agent } log`
   *[other] … { $count } lines while away; `@{ $agent } log`
}
notice-collapsed-elsewhere = { $count ->
    [one] … { $count } line while away; `!history`
   *[other] … { $count } lines while away; `!history`
}
notice-network-down = 🚨 Network **{ $network }** cannot be reached after { $attempts ->
    [one] { $attempts } attempt
   *[other] { $attempts } attempts
}: { $detail } Trying again; agents go on working.
notice-network-up = ▶️ Network **{ $network }** is back after { $duration }.
notice-network-refused = 🚨 Network **{ $network }** does not let herder in: { $detail } No more attempts. Correct its section in `bot.toml` and restart herder.
notice-channel-unavailable = 🚨 { $channel } on **{ $network }** cannot be joined: { $detail } What is owed there waits.
notice-netsplit = { $nick }: the network was split. You missed { $count ->
    [one] { $count } line:
   *[other] { $count } lines:
}
notice-nobody-configured = 🚨 Nobody can command herder: name somebody under `[access]` in `bot.toml` and restart it.
notice-storage-failed = 🚨 herder cannot write its journal any more: { $detail } It stops its agents and ends. Nothing it acknowledged is lost.
notice-disk-low = 🚨 Only { $free } are left on the disk with herder's data. Make room; when it is full, herder stops its agents and ends.
notice-revisions-missing = 🚨 The journal of { $stream } ends at revision { $found }, but { $expected } had been acknowledged. What is missing was lost on the disk; compare with the last daily export.
notice-shutting-down = herder is going down. What is queued is kept.

## Refusals

refusal-already-paused = **{ $agent }** is already paused, or about to be. `@{ $agent } resume` lets it go on.
refusal-not-paused = **{ $agent }** is not paused, so there is nothing to resume. `@{ $agent } status` shows what it does.
refusal-nothing-running = **{ $agent }** has nothing to abort: no session is running.
refusal-already-stopping = **{ $agent }** is already being stopped. Wait for it to end.
refusal-no-such-task = There is no task { $task }. `!task list` shows those there are.
refusal-task-over = Task { $task } is already over: { $end }.
refusal-queue-full = The queue of **{ $agent }** is full ({ $max }). Wait, or drop its messages with `@{ $agent } clear`.
refusal-queue-empty = **{ $agent }** has no queued messages.
refusal-empty-work = Tell **{ $agent }** what to do, e.g. `@{ $agent } run the tests`.
refusal-removed = **{ $agent }** is being removed and takes nothing more.
refusal-agent-exists = There is already an agent **{ $agent }**. Choose another name, or change it with `!agent edit { $agent }`.
refusal-no-such-agent = There is no agent “{ $agent }”. `!agent list` shows those there are.
refusal-no-such-agent-but = There is no agent “{ $agent }”. Did you mean **{ $nearest }**?
refusal-fault = herder could not do this for **{ $agent }**: something failed inside it. Nothing was changed. Try again; its log names the cause.
# $what: the thing that was given; $why: what is wrong with it and what would do.
refusal-invalid = { $what }: { $why }

## Befehle: was sie tun, in der Hilfe

cmd-about-pause = nach der laufenden Sitzung anhalten; `now` unterbricht sie
cmd-about-resume = jede Pause beenden, Sicherung halb öffnen, weitermachen
cmd-about-abort = die Sitzung beenden, ihre Arbeit verwerfen, mit der nächsten weitermachen
cmd-about-restart = saubere neue Sitzung, Zähler auf null; überspringt einen Countdown
cmd-about-stop-all = alle Agenten sofort stoppen; antwortet mit der Zahl der übrigen Prozesse
cmd-about-status = Phase, Arbeit, Werkzeug, Leerlauf, Schritte, Token, Kosten, Abstürze, nächster Neustart
cmd-about-task-add = einem Agenten eine Aufgabe geben
cmd-about-task-list = die Aufgaben eines Agenten oder aller
cmd-about-task-show = eine Aufgabe ganz
cmd-about-task-cancel = eine Aufgabe abbrechen, ob wartend oder laufend
cmd-about-queue = was auf einen Agenten wartet
cmd-about-clear = die wartenden Nachrichten eines Agenten verwerfen; Aufgaben bleiben
cmd-about-log = die letzten Schritte eines Agenten
cmd-about-history = was mit einem Agenten oder der Herde geschah
cmd-about-audit = wer was befohlen hat
cmd-about-agent-add = einen Agenten hinzufügen
cmd-about-agent-edit = einen Agenten ab seiner nächsten Sitzung ändern
cmd-about-agent-remove = einen Agenten entfernen; fragt nach und behält seine Geschichte
cmd-about-agent-list = die Agenten
cmd-about-agent-show = wie ein Agent eingestellt ist
cmd-about-help = diese Liste oder ein Befehl

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

## Befehle: Antworten

cmd-more = … noch { $count }
cmd-link-up = { $network } verbunden seit { $up }
cmd-link-connecting = { $network } verbindet sich
cmd-link-failing = { $network } getrennt, { $attempts ->
    [one] { $attempts } Versuch
   *[other] { $attempts } Versuche
}: { $reason }
cmd-link-refused = { $network } aufgegeben: { $reason }
cmd-tokens = { $input } rein, { $output } raus
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
cmd-audit-empty = Noch hat niemand etwas befohlen.
cmd-audit-line = { $name } ({ $identity }, { $network } { $place }): { $text }
cmd-history-empty = Noch ist nichts geschehen.
cmd-history-failed = Das Journal ließ sich nicht lesen; herders Log nennt die Ursache.
cmd-until = bis { $until }
cmd-event-by = durch { $name }
cmd-event = { $what ->
    [added] hinzugefügt { $subject }
    [edited] geändert
    [removed] entfernt { $subject }
    [queued] eingereiht { $subject }
    [cleared] { $subject } aus der Schlange verworfen
    [steered] { $subject } in den laufenden Schritt gegeben
    [task-ended] Aufgabe { $subject }
    [discarded] { $subject } verworfen
    [session-started] Sitzung { $subject } begonnen
    [process-started] Prozess { $subject } gestartet
    [ready] Sitzung { $subject } bereit
    [conversation] Gespräch benannt
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
    [reset] Zähler auf null
    [breaker-opened] Sicherung offen nach { $subject } Fehlschlägen
    [breaker-closed] Sicherung geschlossen
    [degraded] beeinträchtigt nach { $subject } Prozessabstürzen
    [panicked] Aufseher neu aufgebaut { $subject }
    [started] herder { $subject } gestartet
    [stopped] herder beendet
   *[other] { $what } { $subject }
}

## Befehle: Agenten

cmd-agent-name = „{ $name }“ kann kein Agent heißen: kleine Buchstaben, Ziffern und innen Bindestriche, am Anfang ein Buchstabe, höchstens 30, z. B. spark-codex.
cmd-agent-name-is-word = „{ $name }“ kann kein Agent heißen: das Wort gehört zu herders Befehlen.
cmd-agent-problems = { $count ->
    [one] „{ $name }“ wurde nicht geändert, es gibt { $count } Problem:
   *[other] „{ $name }“ wurde nicht geändert, es gibt { $count } Probleme:
}
cmd-agent-remove-confirm = Das beendet **{ $agent }** und nimmt den Kanal weg; die Geschichte bleibt. Binnen 60 s: `!agent remove { $agent } { $code }`
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
