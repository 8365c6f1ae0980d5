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
# In the middle of a long text of an agent, where some of it was too much to keep.
cut-lines = [… { $count ->
    [one] { $count } line
   *[other] { $count } lines
} left out …]
cut-bytes = [… { $count ->
    [one] { $count } byte
   *[other] { $count } bytes
} left out …]
# Between the first and the last lines of a long text of an agent. $count: lines that are not shown.
words-cut = { $count ->
    [one] … { $count } more line; `@{ $agent } log 1`
   *[other] … { $count } more lines; `@{ $agent } log 1`
}
# Under the first lines of a long text of an agent, on networks that take files. $count: all its lines.
words-attached = { $count ->
    [one] … the attached file has all of it, `@{ $agent } log 1` too
   *[other] … the attached file has all { $count } lines, `@{ $agent } log 1` too
}
# The same, where not even the file has all of it. $count: the lines in the file, $whole: all its lines.
words-attached-in-part = … the attached file has { $count } of { $whole } lines, with a mark where something is left out

## What an agent is doing

phase-idle = idle
phase-checking = checking its work
phase-held = waits for its turn
phase-starting = starting
phase-running = running
# $reason: one of stop-…
phase-stopping = stopping ({ $reason })
# $reason: one of wait-…
phase-waiting = { $reason }, { $countdown } left
phase-waiting-until = { $reason }, until { $until }
# $reason: one of pause-…
phase-paused = paused ({ $reason })
phase-needs-intervention = needs intervention
phase-degraded = degraded
phase-removed = removed
# $until: a time of day.
halt-waiting = waiting until { $until }
halt-needs-intervention = halted after too many failures (needs intervention)
halt-degraded = halted after too many crashes (degraded)
# In place of what an agent does, where it has work and does not begin with it.
hold-turn = waits for its turn ({ $active } active)
hold-turn-of = waits for its turn ({ $active } of { $max } active)
hold-exhausted = account { $account } is exhausted until a person resumes one of its agents
# $until: a moment.
hold-exhausted-until = account { $account } is exhausted until { $until }
hold-closed = account { $account } is closed ({ $category })
hold-tried = waits until { $agent } has shown whether account { $account } works
hold-pressure = waits: memory pressure of this machine is { $percent } %, none begins from { $max } %
hold-memory = waits for memory: { $needs } needed, { $free } free
# $runner: the name of a machine.
hold-runner-away = waits for machine { $runner }, which does not answer
hold-runner-drained = waits: nothing begins on machine { $runner } (`runner open { $runner }` changes that)

memory-taken = { $now }, at most { $peak }
memory-taken-of = { $now }, at most { $peak } of { $limit }

stop-pause = pause
stop-abort = abort
stop-restart = restart
stop-stop-all = stop-all
stop-cancel = task cancelled
stop-remove = removed
stop-account = account: { $category }
stop-hung = hung
stop-escalation = a person is called
stop-configured = its command has changed
stop-cap = cap: { $cap }

pause-person = by { $name }
pause-stop-all = stop-all by { $name }
pause-failure = { $category }
pause-account = account: { $category }
pause-survivors = processes left over
pause-escalation = a person is called
pause-cap = cap reached: { $cap }
# What a cap counts, and over what. $unit: usd | tokens; $per: the next message; $window: session | hour | day
cap = { $unit ->
    [usd] dollars
   *[tokens] tokens
} { $per }
per = { $window ->
    [session] per session
    [hour] per hour
   *[day] per day
}
# $tokens: a number with its thousands grouped.
amount-tokens = { $tokens } tokens
# In place of the name of a model that nobody named.
model-unnamed = (unnamed)

wait-backoff = restarting after: { $category }
wait-rate-limit = rate limited
wait-rest = resting
wait-split = its task is being split

work-message = message
work-task = task
work-round = round

task-done = done
task-failed = failed
task-cancelled = cancelled
task-blocked = blocked

## Reasons of herder's own

# $own: one of the messages below. $said: what a program or a server said, in its own words.
own-with-said = { $own }: { $said }
own-exit-code = exit code { $code }
own-signal = ended by signal { $signal }
own-not-waited-for = the process could not be waited for
own-no-result = the process left without a result
own-workspace-missing = the workspace { $path } is not there: create it or change it
own-workspace-no-folder = the workspace { $path } is no folder: move what is there or change it
own-workspace-locked = the workspace { $path } cannot be written to: see to its owner, its rights and the disk
own-workspace-silent = the workspace { $path } does not answer: see to its disk or network mount
own-start-silent = it could not be started in time: see to the disks of its program, of its workspace { $path } and of the files that it is given
own-no-command = it has no command to run: set `command`
own-empty-command = the command's first word is empty: name a program
own-program-missing = there is no program { $path }
own-not-installed = { $program } is not installed: no such program in { $path }
own-arguments-too-long = { $program } cannot be started: its arguments are too long; use prompt = "stdin"
own-not-started = { $program } cannot be started
own-limits-not-set = its limits on memory, CPU and processes cannot be set: run herder in a service with Delegate=yes, or by systemd-run --user --scope -p Delegate=yes
own-state-folder = its own folder { $path } cannot be made
own-credential-missing = there is no { $path } to give it: log in, or take it out of `credentials`
own-variable-unreadable = { $path } holds no line that a variable could be set to: put the secret there, alone
# What was seen when a clock ran out: durations.
own-silent = no event for { $silent }, no tool open, no CPU time
own-silent-since = no event for { $silent }, no tool open, no CPU time for { $cpu }
own-only-cpu = no event for { $silent }, no tool open, only CPU time was used
own-nothing-yet = nothing from the process for { $waited }
own-tool-open = tool { $tool } open for { $open }
own-takes-long = the session takes { $takes }, last event { $silent } ago
own-takes-long-with-tool = the session takes { $takes }, tool { $tool } open for { $open }
own-no-heartbeat = no heartbeat for { $silent }
own-no-sign-of-life = its driver gave no sign of life
own-driver-gone = the driver stopped without a word
own-old-runner = the process that runs the agents is of an older version: herder runner restart --when-idle
own-runner-away = the process that runs the agents does not answer
own-driver-failed = the driver failed
own-driver-overdue = the driver did not end its session in time
own-not-ended = its processes could not be ended
own-restarted = herder was restarted
own-supervisor-panicked = its supervisor panicked
own-time-limit = it took longer than it may, twice
own-split-by-nobody = its context window was full, and nobody is asked to split the task: name a model in `[evaluator]`, or use `!task split`
own-split-too-deep = its context window was full, and the task is a part of a part already
own-split-no-list = its context window was full, and the evaluator's answer was no list of 2 to 5 parts
own-split-timed-out = its context window was full, and the evaluator did not split the task in time
own-split-failed = its context window was full, and the evaluator could not split the task
own-nobody-broader = its sandbox denied what the task needs, and no other agent may do more
own-check-failed = `{ $command }` has failed { $times ->
    [one] once
   *[other] { $times } times
    } on what the agent called done
own-by = by { $name }
own-out-of-memory = { $used } of { $limit }
own-out-of-memory-by = { $used } of { $limit }, `{ $program }`
own-turn-limit = reached the maximum number of turns ({ $turns })
own-agents-turn-limit = reached the agent's own maximum number of turns
own-turn-interrupted = the turn was interrupted
own-turn-cancelled = the turn was cancelled
own-answer-too-long = the answer was longer than the model may answer
own-answer-broken-off = the model's answer broke off
own-nothing-said = the agent said and did nothing; its call of the model may have failed
own-model-refused = the model refused
# $status: a word of the runtime's protocol.
own-turn-ended-as = the turn ended as "{ $status }"
# Of a conversation that is given up.
own-conversation-gone = it cannot be opened any more
own-history-refused = the model refuses its history
own-conversation-full = it does not fit into the model's context window
own-no-conversation = the agent opened no conversation, or one without an id: this version speaks another protocol than herder does
own-other-protocol = the agent speaks version { $spoken } of its protocol and herder speaks version { $ours }; use a release of it that does
own-no-protocol = the agent speaks no version of its protocol and herder speaks version { $ours }; use a release of it that does
own-model-not-set = the model { $model } cannot be set
own-no-plan-mode = the agent offers no mode in which it only plans; set permissions to read-only, workspace-write or full
git-no-repository = { $path } is no git repository
git-no-base = the repository has no commit `{ $base }` to begin from
git-failed = `{ $command }` failed
git-late = `{ $command }` was not done in time
git-too-much = `{ $command }` had more output than is read
git-partial = the repository lacks files of the commit `{ $base }`, as a partial clone does; get them there: git fetch --refetch --no-filter
git-setup-failed = the setup `{ $command }` failed with exit code { $code }
git-setup-killed = the setup `{ $command }` was ended by signal { $signal }
git-setup-late = the setup `{ $command }` was not done in time
git-no-clone = the task's clone { $path } is not there
git-off-branch = the last commit of its branch `{ $branch }` is not checked out there
git-moved = its branch moved while the check ran
git-uncommitted = { $files ->
    [one] one changed file is not committed
   *[other] { $files } changed files are not committed
}
git-no-branch = `{ $base }` is no branch of the repository; name one as its base
git-behind = `{ $branch }` lacks the commit that the task began from; bring it up to date first
# $files: names, separated by commas.
git-conflict = it conflicts with what is on `{ $branch }` by now, in { $files }
git-red = `{ $command }` fails together with what is on `{ $branch }` by now
git-base-moved = `{ $branch }` moved during each merge
git-own-work = { $reviewer } has worked on it itself, or has given it as a part
git-changed-since = it has changed since its review began
git-no-verdict = { $reviewer } has given no verdict
git-rejected-often = { $reviewer } has rejected it { $times ->
    [one] once
   *[other] { $times } times
}
git-stopped = { $name } has stopped everything
# $line: for a shell.
git-checked-out = `{ $branch }` is checked out where something is changed or under way; once that is settled, type: `{ $line }`
git-taken = { $path } has `{ $name }` of another herder; if that herder is gone: git update-ref -d { $name }
git-outside = there is news in { $link }, from { $names }
git-followed-often = there is news in { $link }, from { $names }, and it has gone back { $times ->
    [0] as often as it may
    [one] once already
   *[other] { $times } times already
}
git-pull-closed = { $link } was closed without a merge
git-not-followed = { $link } cannot be looked at
git-no-remote = { $path } names no repository at a forge
git-branch-moved = somebody else has pushed to `{ $branch }`: bring their commits into the task, or remove that branch there
git-other-host = the repository is at { $host }, and the login is for { $known }: [forge] host names it
git-no-forge = the settings open no pull requests any more
git-forge = `{ $command }` failed
git-replaced = { $path } is not the folder that was made for the task: its contents are not read
git-file = { $path } cannot be written, copied or removed

## Why a network is not to be had; what the other side said of it follows
link-not-found = cannot find { $server }
link-no-address = { $server } has no address
link-not-connected = cannot connect to { $server }
link-not-answered = { $server } did not answer within { $within }
link-no-tls-name = "{ $server }" cannot be a TLS server's name
link-tls-failed = TLS with { $server } failed
link-certificate = the certificate of { $server } { $why ->
    [issuer] is self-signed or of an unknown authority
    [expired] has expired
    [early] is not valid yet
    [name] is for another name
    [other] is not the one of tls_fingerprint
   *[invalid] is not valid
    } (SHA-256 { $fingerprint }); if it is the right one, set tls_fingerprint to that, or tls_ca to a file with its authority
link-tls-not-set-up = TLS cannot be set up
link-not-let-in = the server did not let us in within { $within }
link-login-not-answered = the services did not answer the SASL login within { $within }
link-no-login-now = the server offers no SASL at the moment; its services may be away
link-let-in-without-login = the server let us in without the login that is configured
link-login-refused = the services refused the SASL login; check account, password and certificate
# $offered: mechanisms, as the server lists them.
link-login-refused-offering = the services refused the SASL login (the server offers { $offered }); check account, password and certificate
link-login-broken-off = the SASL login was broken off
link-server-password = the server's password is wrong or missing
link-banned = banned
link-no-services = the server does not say that it is services
link-barred = banned; the next attempt is in { $again }
link-no-nick = no nick that the server accepts is free
link-closed = the server closed the connection
link-ended-by-server = the server ended the link
link-broke = the connection broke
link-stopped-reading = the server stopped reading
link-fell-silent = the server fell silent
link-lines-not-answered = the server took lines and did not answer for { $waited }
link-kicked = kicked
discord-link-token = Discord does not know the token. Put the bot's token (Developer Portal, Bot, Reset Token) into `token` of [discord], or into the variable or file that it names, and start herder again
discord-link-shard = Discord refuses the shard that herder asked for (code 4010). Another program may be logged in with the same token and other shards; stop it and start herder again
discord-link-more-shards = Discord wants this bot to use more shards (code 4011): it is in too many guilds for one. Start herder again, so that it asks anew how many
discord-link-version = Discord does not speak this version of its gateway any more (code 4012). Install a newer herder
discord-link-intent-unknown = Discord does not know an intent that herder asks for (code 4013). Install a newer herder
discord-link-intent-refused = Discord does not allow an intent that herder asks for (code 4014). Switch on Message Content Intent in the Developer Portal under Bot, Privileged Gateway Intents, and start herder again
discord-link-client = no client for Discord can be made
discord-link-no-content = the Message Content intent is not switched on; herder goes on without it
discord-link-logins = Discord allows this bot no more logins ({ $total } a day); the next one is in { $within }
discord-link-outside = the bot is not in its server; `herder check` prints the link that invites it
discord-link-stuck = Discord ended the link, and serenity hung over it
discord-link-not-again = the connection to Discord broke, and serenity does not begin another one
discord-link-not-let-in = Discord did not let us in within { $within }
discord-link-dead = the connection to Discord is dead: no event and no answered heartbeat for { $silent }
discord-link-broke = the connection to Discord broke
discord-link-thread = the link's thread cannot be started
discord-link-thread-died = the link's thread died
# $request: method and path. $code: Discord's own.
discord-link-refused = Discord refused { $request } (status { $status }, code { $code })
discord-link-foreign = { $request } was answered by something between herder and Discord (status { $status }), such as a proxy; herder asks again
discord-link-stopped = { $refused } requests were refused within ten minutes, so herder asks Discord only now and then until it is answered again; the log names what was refused
discord-link-not-answered = { $request } was not answered in time
discord-link-unreadable = the answer to { $request } cannot be read
discord-link-unaskable = { $request } cannot be asked

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
category-out-of-memory = out of memory

# What an agent is caught in, each a whole sentence about it.
finding-same-approach = { $count ->
    [one] Retried same approach { $count } time.
   *[other] Retried same approach { $count } times.
}
finding-same-edit = { $count ->
    [one] Made the same edit { $count } time.
   *[other] Made the same edit { $count } times.
}
finding-same-error = { $count ->
    [one] Ran into the same error { $count } time.
   *[other] Ran into the same error { $count } times.
}
finding-same-words = { $count ->
    [one] Said the same { $count } time without doing anything new.
   *[other] Said the same { $count } times without doing anything new.
}
finding-no-change = { $count ->
    [one] Changed no file in { $count } turn, only repeating itself or failing.
   *[other] Changed no file in { $count } turns, mostly repeating itself or failing.
}
# $longest is a duration.
finding-long-gaps = { $count ->
    [one] Fell silent { $count } time in the middle of its work, for { $longest }.
   *[other] Fell silent { $count } times in the middle of its work, once for { $longest }.
}

# Read after the agent's name: "spark did not start in time".
clock-startup = did not start in time
clock-silence = has been silent for too long
clock-tool = has had a tool call open for too long
clock-task = has been at it for too long
clock-heartbeat = stopped answering herder

## Status posts

notice-started = 🐜 **{ $agent }** started: { $work }
# $workspace: as `workspace` has it.
notice-workspace-seen = 📂 **{ $agent }** finds its workspace so: { $workspace }.
# How a workspace stands. $on: branch | nothing; $changed: files; $under: the word after `git`, or nothing.
workspace = { $on ->
    [branch] branch { $branch }
   *[other] no branch
}, { $changed ->
    [0] nothing changed
    [one] 1 changed file
   *[other] { $changed } changed files
}{ $under ->
    [nothing] {""}
   *[other] , a { $under } under way
}
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
notice-overflowed = ❌ **{ $agent }** has filled its context window: { $detail } Going on in a new conversation in { $countdown }…
notice-billing = 💳 **{ $agent }** has a billing error — check your { $account } account. Pausing until resumed.
notice-auth = 🔐 **{ $agent }** failed to authenticate — check credentials. Pausing until resumed.
notice-budget = 💰 **{ $agent }** exceeded its USD budget cap. Pausing until resumed.
# $per: over what it is counted; $limit and $used: amounts.
notice-cap-reached = 💰 **{ $agent }** exceeded its budget cap of { $limit } { $per }: { $used } used. Pausing until resumed; its work is kept.
notice-cap-near = 💰 **{ $agent }** has used { $percent } % of its cap of { $limit } { $per }: { $used }.
notice-cap-waived = 💰 **{ $agent }** may go on past its cap ({ $cap }): it is stopped again at { $limit }, and the cap holds anew in the next hour or day.
notice-spiked = 💰 **{ $agent }** uses far more than usual: { $used } in this hour, usually { $usual }.
# $assumed: yes | no, whether the dearest price is taken meanwhile.
notice-price-unknown = 💰 **{ $agent }**: nobody says what model `{ $model }` costs. { $assumed ->
    [yes] While a cap in dollars holds, its tokens are counted at the price of the dearest models.
   *[no] Its tokens are counted, its dollars are not.
} { $named ->
    [no] Name it with `model` at this agent in bot.toml, and its price in a [prices] section.
   *[yes] A [prices] section for it in bot.toml sets that right.
}
# $scope: account | fleet
notice-shared-cap-reached = 🚨 💰 { $scope ->
    [account] Account **{ $account }**
   *[fleet] The fleet
} has reached its cap of { $limit } { $per }: { $used } used. { $scope ->
    [account] All its agents are paused.
   *[fleet] All agents are paused.
} Resuming one lets them go on up to the next multiple of the cap.
notice-shared-cap-near = 💰 { $scope ->
    [account] Account **{ $account }**
   *[fleet] The fleet
} has used { $percent } % of its cap of { $limit } { $per }: { $used }.
notice-shared-cap-waived = 💰 { $scope ->
    [account] Account **{ $account }**
   *[fleet] The fleet
} may go on past its cap: it is closed again at { $limit } { $per }.
notice-do-not-restart = 🚫 **{ $agent }** asked not to be restarted: { $detail } Pausing until resumed.
# $emoji: that of the category.
notice-paused-with-account = { $emoji } **{ $agent }** is paused with its account { $account } ({ $category }). Fix the account, then `@{ $agent } resume`.
notice-account-blocked = 🚨 Account **{ $account }**: { $category }, seen by **{ $agent }**. All its agents are paused. Fix the account, then `@{ $agent } resume`.
# $by: who opened it.
notice-account-opened = ▶️ Account **{ $account }** is open again, thanks to { $by }. Its agents go on.
notice-quota-reached = ⏳ **{ $agent }** has reached the usage limit of account { $account }. Its work is kept and goes on when the account does.
# $how: reset | later | probe | ask | never; $reset: when the limit ends, empty if unknown; $at: a moment, empty with never.
notice-account-exhausted = ⏳ Account **{ $account }**: usage limit reached, seen by **{ $agent }**. None of its agents begins anything; { $how ->
    [reset] the limit ends about { $at }, and one of them tries it then.
    [later] the limit ends about { $reset }, and one of them tries it at { $at }.
    [probe] one of them tries again at { $at }.
    [ask] people are asked at { $at } whether they go on.
   *[never] `@{ $agent } resume` lets one of them try.
}
notice-account-asked = ⏳ Account **{ $account }**: its usage limit should be over. `@{ $agent } resume` lets its agents go on.
notice-account-tried = ▶️ { $by } lets **{ $agent }** try account **{ $account }**; its other agents follow when it works.
notice-clock-set = 🕰️ The clock of herder's machine was set { $way ->
    [ahead] ahead
   *[back] back
 } by { $by }. Waits keep their length; only a limit that ends at a given time goes by the new clock.
notice-account-works = ▶️ Account **{ $account }** works again, as **{ $agent }** shows. Its agents go on.
notice-out-of-memory = ❌ **{ $agent }** was ended for want of memory: { $detail } Trying once more in { $countdown }…
notice-timed-out = ❌ **{ $agent }** took longer than { $limit } and was stopped. Trying once more in { $countdown }…
notice-task-failed = ❌ **{ $agent }** gave up task { $task }: { $detail }
notice-task-blocked = 🧱 **{ $agent }** is blocked on task { $task }: { $detail }
# $work: an excerpt of the task.
notice-task-taken = 👀 **{ $agent }** has task { $task } from the board: { $work }
notice-task-released = **{ $agent }** cannot go on, so task { $task } is on the board for another agent.
notice-task-splitting = ❌ **{ $agent }**: its context window was full. Task { $task } is being split into smaller ones…
# $permissions: workspace-write or full, as in bot.toml.
notice-task-needs-more = 🚫 **{ $agent }** may do too little for task { $task }: it is on the board for an agent that may do at least { $permissions }.
notice-checkout-failed = ❌ { $act ->
        [make] The clone of task { $task } could not be made
        [read] The clone of task { $task } could not be read
        [check] The check of task { $task } could not be run
        [merge] Task { $task } could not be merged
       *[remove] The clone of task { $task } could not be removed
    } for **{ $agent }**: { $why }
# $why: an exit code and the end of the output. $again: it goes back to the agent.
notice-check-passed = ✅ Task { $task } of **{ $agent }**: `{ $command }` passed after { $took }, on { $commit }.
notice-check-failed = ❌ Task { $task } of **{ $agent }**: `{ $command }` failed after { $took }: { $why }{ $again ->
        [yes] {" "}It goes back to { $agent }.
       *[no] {""}
    }
# $uncommitted: files. $checked: a check has passed. $paid: the task has cost something. $asked: another agent reviews it.
notice-task-in-review = 👀 Task { $task } of **{ $agent }** is in review{ $asked ->
    [yes] {" "}by **{ $reviewer }**
   *[no] {""}
}: { $commits ->
    [one] one commit
   *[other] { $commits } commits
}, { $files ->
    [one] one file
   *[other] { $files } files
} (+{ $added } −{ $removed }){ $uncommitted ->
    [0] {""}
    [one] , one file not committed
   *[other] , { $uncommitted } files not committed
}{ $checked ->
    [yes] , `{ $command }` passed
   *[no] {""}
}{ $paid ->
    [yes] {" "}· { $cost }
   *[no] {""}
}. `!task diff { $task }` shows it; `!accept { $task }`{ $merges ->
    [yes] {" "}(into { $branch })
   *[no] {""}
} or `!reject { $task } why` answers{ $asked ->
    [yes] {" "}instead of { $reviewer }
   *[no] {""}
}.
notice-review-left = 👀 Task { $task } of **{ $agent }** needs a person's decision: { $why } `!task diff { $task }` shows it; `!accept { $task }` or `!reject { $task } why` answers.
# $merges: yes: it is merged into the base next; pull: a pull request is opened.
notice-task-accepted = ✅ { $by } accepts task { $task } of **{ $agent }**{ $merges ->
    [yes] : it is being merged.
    [pull] : a pull request is being opened.
   *[no] .
}
notice-task-rejected = 👀 { $by } sends task { $task } back to **{ $agent }**.
notice-task-proposed = 📤 Task { $task } of **{ $agent }** has a pull request: { $link } Failed checks and remarks there go back to **{ $agent }**.
notice-task-landed = ✅ Task { $task } of **{ $agent }** is merged: { $branch } is at { $commit }.
notice-task-returned = ❌ Task { $task } goes back to **{ $agent }**: { $why }
notice-merge-failed = ❌ Task { $task } of **{ $agent }** could not be merged: { $why } `!accept { $task }` tries again, `!reject { $task } why` sends it back.
notice-task-opened = 📂 **{ $agent }**: what is said here belongs to task { $task } from now on.
notice-task-dropping = 👀 The clone of task { $task } is being removed.
# $end: one of task-…
notice-part-failed = 🧱 Task { $task } cannot be done as it is: its part { $part } is { $end }. `!task assign { $part } auto` has it tried anew, `!task cancel { $task }` gives it all up.
# $awaited: the task that was to be done first. $end: failed, blocked or cancelled. $anew: yes: it can be tried anew.
notice-awaited-not-done = 🧱 Task { $task } cannot begin: it waits for task { $awaited }, and that one is { $end }. { $anew ->
    [yes] `!task assign { $awaited } auto` has that one tried anew, `!task cancel { $task }` gives this one up.
   *[no] `!task cancel { $task }` gives it up, `!task add` gives it again without waiting.
}
# $needs: what it needs of an agent; none: nothing.
notice-nobody-suffices = 🧱 Task { $task } waits on the board, and no agent that there is suffices for it any more{ $needs ->
    [none] {""}
   *[other] {" "}(it needs { $needs })
}. `!task assign { $task } agent` gives it to one all the same, `!agent edit` changes one, `!task cancel { $task }` gives it up.
notice-notified = 🔔 **{ $agent }** says: { $detail }
# $clock: one of clock-…; $detail: what was seen.
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } Interrupting it…
notice-permission-denied = ⚙️ **{ $agent }** asked for permission and was told no, since it waits for too many answers already: { $what }
# What is asked for stands under it, as it is. $tool: the tool; $within: how long an answer is waited for.
notice-permission-asked = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool }. `@{ $agent } approve { $ask }`, `@{ $agent } approve { $ask } always` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
# $danger: the pattern by which it is always asked.
notice-permission-asked-always = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool } (always asked: { $danger }). `@{ $agent } approve { $ask }`, `@{ $agent } approve { $ask } always` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
notice-permission-asked-cut = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool }, too long to be shown whole. `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
notice-permission-asked-vague = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool }, without saying what exactly it would do. `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
notice-permission-asked-hidden = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool }, with characters that nobody would see; they are spelled out. `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
notice-permission-asked-secret = ⚙️ **{ $agent }** asks for permission { $ask }: { $tool }, with a secret in it that is not shown. `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }` within { $within }; after that it is a no.
# Its words stand under it.
notice-question-asked = ⚙️ **{ $agent }** asks question { $ask }. Answer in its channel, or with `@{ $agent } answer { $ask } …`, within { $within }:
notice-question-asked-one = ⚙️ **{ $agent }** asks question { $ask }. Choose one by its number, `@{ $agent } answer { $ask } 1`, or answer in words, within { $within }:
notice-question-asked-several = ⚙️ **{ $agent }** asks question { $ask }. Choose one or more by their numbers, `@{ $agent } answer { $ask } 1,2`, or answer in words, within { $within }:
# The plan stands before it.
notice-plan-asked = ⚙️ **{ $agent }** asks whether it may carry out the plan above, { $ask }: `@{ $agent } approve { $ask }`, or `@{ $agent } answer { $ask } …` with what should be different, within { $within }; after that it is a no.
# $text: what is asked; $within: how long an answer is waited for yet.
notice-question-open = ⚙️ **{ $agent }** still waits for an answer to question { $ask }, for { $within } more: { $text } `@{ $agent } answer { $ask } …`
notice-permission-open = ⚙️ **{ $agent }** still waits for a word on { $ask }, for { $within } more: { $text } `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }`
# $by: a person; $network: where.
notice-permission-approved = ✅ **{ $agent }** may: { $ask } approved by { $by } ({ $network }).
notice-permission-approved-always = ✅ **{ $agent }** may, from now on always: { $ask } approved by { $by } ({ $network }). `!rule remove { $ask }` takes that back.
notice-permission-refused = ❌ **{ $agent }** may not: { $ask } denied by { $by } ({ $network }).
notice-question-answered = ✅ Question { $ask } of **{ $agent }** answered by { $by } ({ $network }): { $text }
notice-permission-expired = ❌ **{ $agent }** may not: nobody answered { $ask } in time.
notice-question-expired = ❌ Nobody answered question { $ask } of **{ $agent }** in time.
# $command: what was allowed.
notice-rule-removed = ✅ **{ $agent }** asks again from now on (rule { $rule } removed): { $command }
notice-needs-intervention = 🧯 **{ $agent }** needs intervention: { $failures ->
    [one] { $failures } failure
   *[other] { $failures } failures
} within { $window }, the last: { $detail } No more restarts. Read `@{ $agent } log`, then `@{ $agent } resume` for one trial.
# $detail: how the trial session ended.
notice-trial-failed = 🧯 **{ $agent }** still needs intervention: the trial session failed: { $detail } No more restarts. Read `@{ $agent } log`, then `@{ $agent } resume` for another trial.
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
# $detail: one of the reasons above, with what the runtime or the model said.
notice-conversation-lost = 🐜 **{ $agent }** cannot go on with its conversation and begins a new one, with what was said last at its head: { $detail }
# For machines as well as people: stays as it is in every language.
notice-work-line = { $line }

## The message that shows a running session

# $since and $when: "5 minutes ago", put in by each reader's client.
live-working = 🐜 **{ $agent }** is at work, started { $since }
live-last = last sign of life { $when }
live-ended = 🐜 **{ $agent }** worked for { $duration }

## Answers to commands

notice-pausing = ⏸️ **{ $agent }** will pause after this session. `@{ $agent } pause now` stops it at once.
# $line: what to type into a shell, as it stands; $conversation: its id.
notice-handed-off-now = ⏸️ **{ $agent }** is paused. Leave the terminal before `@{ $agent } resume`, which goes on with what was said and done there. This continues its conversation { $conversation } in a terminal:
    `{ $line }`
notice-handed-off-before = ⏸️ **{ $agent }** stood still already. Leave the terminal before `@{ $agent } resume`, which goes on with what was said and done there. This continues its conversation { $conversation } in a terminal:
    `{ $line }`
notice-handed-off-pausing = ⏸️ **{ $agent }** is at work and will pause after this session; `@{ $agent } handoff now` stops it at once. Leave the terminal before `@{ $agent } resume`, which goes on with what was said and done there. When it is said to be paused, and not before, this continues its conversation { $conversation } in a terminal:
    `{ $line }`
notice-handed-off-stopping = ⏸️ **{ $agent }** is being stopped and will stay paused; its work is kept. Leave the terminal before `@{ $agent } resume`, which goes on with what was said and done there. When it is said to be paused, and not before, this continues its conversation { $conversation } in a terminal:
    `{ $line }`
notice-resuming = ▶️ **{ $agent }** resumes.
notice-resuming-trial = ▶️ **{ $agent }** resumes with one trial session. If it fails, no more restarts.
notice-stopping-pause = ⏸️ **{ $agent }** is being stopped and will stay paused. Its work is kept.
notice-stopping-abort = ⏸️ **{ $agent }** is being stopped. This work is discarded; what is queued goes on.
notice-stopping-restart = ▶️ **{ $agent }** is being stopped and starts afresh in a new conversation, counters reset.
notice-stopping-stop-all = ⏸️ **{ $agent }** is being stopped with all others and will stay paused. Its work is kept.
notice-stopping-cancel = ⏸️ **{ $agent }** is being stopped: its task was cancelled. What is queued goes on.
notice-stopping-remove = ⏸️ **{ $agent }** is being stopped and removed. Its history is kept.
notice-stopping-account = ⏸️ **{ $agent }** is being stopped: its account has a problem ({ $category }). Its work is kept.
notice-stopping-hung = ❌ **{ $agent }** is being stopped: it hangs. Its work is tried again.
notice-stopping-escalation = 🚨 **{ $agent }** is being stopped: it goes round in circles, and a person is called. Its work is kept.
notice-stopping-configured = 🔄 **{ $agent }** is being stopped: the configuration runs it otherwise now. Its work goes on with that.
notice-stopping-cap = 💰 **{ $agent }** is being stopped: its cap is reached ({ $cap }). Its work is kept.
# After an abort, restart, pause now or stop: that the session is gone. $ended, $left: numbers of processes.
notice-ended = **{ $agent }** ended: { $ended ->
    [one] { $ended } process
   *[other] { $ended } processes
} ended, { $left } left.
notice-restarting = ▶️ **{ $agent }** starts afresh in a new conversation, counters reset.
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
# $why: phase-paused or one of halt-…, read after "it is".
notice-queued-while-paused = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }, but it is { $why }.
   *[other] Queued for **{ $agent }** at position { $position }, but it is { $why }.
} `@{ $agent } resume` lets it go on.
# $why: one of hold-….
notice-queued-held = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }: { $why }.
   *[other] Queued for **{ $agent }** at position { $position }: { $why }.
}
notice-queued-while-waiting = 👀 { $kind ->
    [task] Task { $work } is queued for **{ $agent }** at position { $position }. It is { $why }.
   *[other] Queued for **{ $agent }** at position { $position }. It is { $why }.
} `@{ $agent } restart` skips the wait.
notice-steering = 👀 Passed on to **{ $agent }** while it works.
notice-whispered = 🤫 **{ $agent }** is told, and nobody else: with its next tool call, its running turn or its next prompt.
notice-reworded = 👀 **{ $agent }** will do this instead: { $work }
notice-withdrawn = 👀 Taken back from the queue of **{ $agent }**: { $work }
notice-cleared = 👀 { $count ->
    [one] { $count } queued message
   *[other] { $count } queued messages
} of **{ $agent }** dropped. Tasks stay.
# $end: one of task-…
notice-task-ended = 👀 Task { $task } of **{ $agent }**: { $end }.
# $after: numbers of tasks. $then: agent: it goes to $agent; next: to the next idle one; nobody: no agent suffices.
notice-task-waits = 👀 Task { $task } waits on the board until these are done: { $after }. { $then ->
    [agent] Then **{ $agent }** gets it.
    [next] Then the next idle agent that suffices takes it.
   *[nobody] No agent that there is suffices: `!task assign { $task } agent` says who gets it then, `!agent edit` changes one.
}
# $fits: yes: an agent suffices; no: none does.
notice-boarded = 👀 Task { $task } is on the board. { $fits ->
    [yes] The next idle agent that suffices takes it.
   *[no] No agent that there is suffices: `!task assign { $task } agent` gives it to one all the same, `!agent edit` changes one.
}
# $from, $to: agents.
notice-task-moved = 👀 Task { $task } goes from **{ $from }** to **{ $to }**.
notice-task-moved-from = 👀 Task { $task } goes from **{ $from }** to the next idle agent that suffices.
notice-task-moved-to = 👀 Task { $task } goes to **{ $to }**.
notice-task-moved-to-next = 👀 Task { $task } goes to the next idle agent that suffices.
# $parts: their numbers.
notice-task-split = 👀 Task { $task } is done in parts: { $parts }. It is done when they are.
# $parts: how many are not over yet.
notice-board-cancelled = 👀 Task { $task } is cancelled{ $parts ->
    [0] {""}.
    [one] , and { $parts } part with it, as soon as its agent has stopped.
   *[other] , and { $parts } parts with it, as soon as their agents have stopped.
}
notice-board-reworded = 👀 Task { $task } is this now: { $work }
notice-agent-added = 🐜 **{ $agent }** is here, running { $runtime }. Talk to it in its channel, or say `@{ $agent } …` anywhere.
notice-agent-edited = 👀 **{ $agent }** changed. The next session uses it{ $anew ->
    [yes] {" "}and begins a new conversation
   *[no] {""}
}.
notice-agent-removed = 👀 **{ $agent }** is removed. Its history is kept.{ $works ->
    [0] {""}
    [one] {" "}1 piece of work that it had not done is given up.
   *[other] {" "}{ $works } pieces of work that it had not done are given up.
}
notice-reloaded = 🔄 The configuration was read again: { $what }.
notice-reloaded-nothing = 🔄 The configuration was read again; nothing has changed.
reload-added = added { $names }
reload-changed = changed { $names } (from the next session on)
reload-restarted = restarted { $names } with another command
reload-removed = removed { $names }, history kept
reload-sections = from now on: { $names }
reload-replaced = what was changed by command is gone in { $names }
reload-stayed = removed by command and left so: { $names } (`agent add` brings them back)
reload-failed = not brought in: { $names } (the log says why; read again)
reload-later = from the next start on: { $names }
reload-more = { $count } more
notice-not-reloaded = 🚫 The configuration was not taken in, and nothing has changed; { $count ->
    [one] it has a mistake
   *[other] it has { $count } mistakes
}: { $problems }{ $more ->
    [0] {""}
   *[other] {" "}· { $more } more; the log and `herder check` have all
}
# $name, $user: on Discord. $account, $network: here.
notice-linked = Tied: the Discord user { $name } ({ $user }) and the account { $account } on { $network } are one person, with the roles of both. If that is not you, say `!link remove` now.
notice-unlinked = { $count ->
    [one] { $count } tie
   *[other] { $count } ties
} undone.
notice-answer-too-long = Done. The whole answer was too long to be kept while herder was away.
notice-stopped-all = ⏸️ { $agents ->
    [one] { $agents } agent
   *[other] { $agents } agents
} stopped, { $processes ->
    [one] { $processes } process
   *[other] { $processes } processes
} left.
# $unheard: names of agents.
notice-stopped-all-heard = ⏸️ { $agents ->
    [one] { $agents } agent
   *[other] { $agents } agents
} stopped, { $processes ->
    [one] { $processes } process
   *[other] { $processes } processes
} left on machines that answer. Not verified, because their machines do not answer: { $unheard }. They are stopped as soon as the machine is heard.

## herder itself

notice-away = I was away from { $from } to { $to } ({ $duration }).
notice-went-on = Back after { $duration }; { $sessions ->
    [one] { $sessions } session
   *[other] { $sessions } sessions
} went on.
notice-runner-away = 🚨 The process that runs the agents (`herder runner`) does not answer. What it runs may go on; nothing new begins. `herder runner status` and its log say more.
notice-runner-back = ▶️ The process that runs the agents is back after { $duration }.
notice-machine-away = 🚨 Machine { $runner } does not answer. Its sessions go on there for a while (`unattended`); nothing new begins there. `herder runner status` and the log on { $runner } say more.
notice-machine-back = ▶️ Machine { $runner } is back after { $duration }.
notice-machine-joined = ▶️ Machine { $runner } has joined and can run agents: `agent add <name> <runtime> <folder> runner={ $runner }`.
# $sessions: number of sessions that run there.
notice-machine-drained = No session begins on machine { $runner } any more. { $sessions ->
    [0] None runs there.
    [one] One goes on.
   *[other] { $sessions } go on.
}
notice-machine-opened = Sessions begin on machine { $runner } again.
notice-machine-removed = Machine { $runner } is removed, and the servers are told to refuse its key. Sessions that run there end by themselves after a while (`unattended`), or at once with `herder runner stop` on { $runner }.
# $first, $second: ids of the two machines.
notice-machine-twin = 🚨 Two machines say that they are { $runner }: { $first }, which runs agents, and { $second }, which is refused (ids of `/etc/machine-id`). Give one of them a name of its own: move its `data/cluster` away and invite it. If { $first } is gone for good, `runner remove { $runner }` and invite { $second } again.
notice-too-early = { $nicks }: I was not here yet when you wrote that. Please say it again.
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
notice-nickserv-refused = 🚨 NickServ on **{ $network }** does not take herder's password: { $detail } It is told again with the next connection; until then herder goes on there without its account. Correct `nickserv_password` in `bot.toml` and restart herder.
notice-nickserv-untrusted = 🚨 Whoever is called NickServ on **{ $network }** is not told herder's password: the server does not say that it is services. It is asked again later; until then herder goes on there without its account. Where the network has SASL, set `sasl` instead.
notice-webhook-down = 🚨 Webhook **{ $network }** has not taken what it is sent in { $attempts ->
    [one] { $attempts } attempt
   *[other] { $attempts } attempts
}: { $detail } Trying again; what happens meanwhile waits for it, and agents go on working.
notice-webhook-up = ▶️ Webhook **{ $network }** takes what it is sent again, after { $duration }.
notice-webhook-gone = 🚨 Webhook **{ $network }** is gone: { $detail } Nothing more is sent to it. Correct its section in `bot.toml` or take it out, and restart herder.
notice-webhook-dropped = 🚨 Webhook **{ $network }** refuses what it is sent: { $detail } An event is given up after { $attempts ->
    [one] { $attempts } attempt
   *[other] { $attempts } attempts
}; those after it are sent. This is not said again before it takes one.
notice-channel-unavailable = 🚨 { $channel } on **{ $network }** cannot be joined: { $detail } What is owed there comes here.
notice-topic-denied = herder may not set the topic of { $channel } on **{ $network }**, where the state of its agent would be shown. Make herder an operator there or take mode +t off: it is tried again as soon as the modes change. The same goes for other channels it is no operator in.
# $by: a person on another network. $text: what they said, as they said it.
notice-mirrored = 💬 { $by } ({ $network }): { $text }
# $permission: one of permission-name; the rest as Discord calls it.
notice-permission-missing = 🚨 herder lacks the permission **{ $permission }** on **{ $network }**. Open Server Settings → Roles → the role of the bot → Permissions and switch it on. Nothing needs to be restarted.
notice-permission-missing-in = 🚨 herder lacks the permission **{ $permission }** for { $channel } on **{ $network }**. Right-click it → Edit → Permissions → add the role of the bot and allow it. Nothing needs to be restarted.
notice-commands-refused = 🚨 **{ $network }** refuses herder its slash commands: the scope `applications.commands` is missing. Invite it again with { $invite }; nobody has to throw it out before. Until then @mentions and buttons work.
notice-not-invited = 🚨 herder is not in its server on **{ $network }**, or was thrown out: nobody is heard there and nothing is said. Let it in with { $invite } (or correct `guild` in `bot.toml` and restart herder). What waits there is kept; agents go on working.
notice-channels-full = 🚨 **{ $network }** has { $max } channels, and Discord allows no more: { $missing ->
    [one] { $missing } channel is
   *[other] { $missing } channels are
} missing. Delete some that nobody needs, e.g. in the archive; the rest follows by itself.
# As Discord's settings call it in this language.
permission-name = { $permission ->
    [view-channel] View Channels
    [send-messages] Send Messages
    [manage-channels] Manage Channels
    [manage-roles] Manage Roles
    [attach-files] Attach Files
    [read-message-history] Read Message History
    [add-reactions] Add Reactions
    [send-in-threads] Send Messages in Threads
   *[other] { $permission }
}
notice-netsplit = { $nick }: the network was split. You missed { $count ->
    [one] { $count } line:
   *[other] { $count } lines:
}
notice-nobody-configured = 🚨 Nobody can command herder: name somebody under `[access]` in `bot.toml`, e.g. `admins = ["discord:YOUR-USER-ID"]` or `["irc:NETWORK:YOUR-ACCOUNT"]`, and type `herder reload` in a shell.
notice-storage-failed = 🚨 herder cannot write its journal any more: { $detail } It stops its agents and ends. Nothing it acknowledged is lost.
notice-disk-low = 🚨 Only { $free } are left on the disk with herder's data. Make room; when it is full, herder stops its agents and ends.
notice-upkeep-left-out = 🚨 Archives or the daily export are left out: the disk with herder's data has { $free } left, and { $missing } more would have to be free. Make room; they are written when there is enough.
notice-upkeep-failed = 🚨 herder cannot archive old entries or write the daily export: { $detail } Look after what is named there; it is tried again every ten minutes.
notice-revisions-missing = 🚨 The journal of { $stream } ends at revision { $found }, but { $expected } had been acknowledged. What is missing was lost on the disk; compare with the last daily export.
notice-archives-aside = 🚨 The database ends at event { $ends }, and archives with events { $first } to { $last } do not belong to it: an older or another database was put back. What only those archives knew is forgotten here; they are kept in { $folder }. If a daily export is newer than the database, restore that one with herder import.
notice-events-missing = 🚨 Events { $events } of the journal are in no archive that can be read: one is gone or damaged. Put it back from a backup; until then exports lack them. No whole daily export is removed for one that lacks something.
notice-entries-unreadable = 🚨 { $newer ->
    [0] A newer herder
   *[other] herder { $version }
} wrote what this one cannot read (entries of the fleet: { $events }, posts: { $posts }). It is kept and left out; start the newer herder again to have it.
notice-shutting-down = herder is going down. What is queued is kept.

## The evaluator

# For programs alone: what the evaluator said stays private. $times: findings in a row.
notice-spiraling = **{ $agent }** appears to go the wrong way on "{ $work }" ({ $times ->
    [one] { $times } finding
   *[other] { $times } findings
} in a row). It was told so in private.
# The words up to the reason, and those after it, are known to machines and stay English. $why: one sentence.
notice-escalated = 🚨 { $reminder ->
    [0] {""}
   *[other] (reminder { $reminder }) {""}
}[ESCALATION] Agent { $agent } appears stuck on task "{ $work }". { $why }{ $told ->
    [no] {" "}What it was told about this has not reached it.
   *[yes] {""}
}{ $times ->
    [1] {""}
   *[other] {" "}This is call { $times } for the same work.
} Awaiting human guidance. Reply @{ $agent } resume/abort. (`!ack { $id }`: seen, no reminders)
# $answer: resume | abort | remove | moved
notice-escalation-answered = ✅ Call { $id } for **{ $agent }** is answered by { $by }: { $answer ->
    [resume] it goes on.
    [remove] it is removed.
    [moved] its task is taken from it.
   *[other] its work is discarded.
}
notice-escalation-acked = 👀 { $by } takes care of call { $id } for **{ $agent }**. It stays paused until `@{ $agent } resume` or `@{ $agent } abort`.
notice-whisper-marked = 👀 Whisper { $id } to **{ $agent }** counts as { $mark ->
    [right] right
   *[wrong] wrong
}.
notice-evaluator-lapsed = ⚠️ **{ $agent }** was not judged { $times } times in a row: { $why } Until that is mended nobody but the built-in detector looks after it.
# $kind: timed-out | busy | missing | logged-out | limited | failed | unparsable | overtaken; $detail: what was said; $after: the limit.
lapse = { $kind ->
    [timed-out] the evaluator did not answer within { $after }
    [busy] too many evaluations ran at once
    [missing] there is no program { $detail }
    [logged-out] the evaluator is not logged in: { $detail }
    [limited] the evaluator's account is at its limit: { $detail }
    [unparsable] the evaluator's answer is no verdict: { $detail }
    [overtaken] nobody waited for the evaluator's answer any more: the agent was stopped or had other work, or herder ended
   *[failed] the evaluator failed: { $detail }
}
refusal-escalation-answered = { $by } has answered call { $id } for **{ $agent }** before, at { $at }: { $answer ->
    [resume] it goes on.
    [remove] it is removed.
    [moved] its task was taken from it.
   *[other] its work was discarded.
}
# $answer: as above
refusal-late-abort = { $by } has just answered call { $id } for **{ $agent }**: { $answer ->
    [resume] it goes on.
    [moved] its task was taken from it, and it does something else now.
   *[other] its work was discarded, and it does something else now.
} If you mean what it does now, say `abort` again.
refusal-already-acked = { $by } takes care of call { $id } for **{ $agent }** already.
refusal-no-escalation = No person is called for **{ $agent }** now.
refusal-no-such-whisper = The evaluator has not told **{ $agent }** anything numbered { $id }, or too long ago. `!history { $agent }` shows the numbers.
refusal-no-such-number = Nothing has the number { $id }: `!history` of the agent shows the numbers.

## Refusals

refusal-already-paused = **{ $agent }** is already paused, or about to be. `@{ $agent } resume` lets it go on.
# $why: phase-paused or one of halt-…, read after "it is".
refusal-already-halted = **{ $agent }** has nothing to pause: it is { $why }. `@{ $agent } resume` lets it go on.
refusal-no-conversation = **{ $agent }** has no conversation yet: its first session begins one. Nothing was changed.
refusal-no-line = **{ $agent }** has the conversation { $conversation }, but herder knows no line by which its program continues it in a terminal. Nothing was changed; `@{ $agent } pause` pauses it.
refusal-no-line-ever = **{ $agent }** runs by `command`: each of its sessions stands alone, and there is no conversation to continue in a terminal. Nothing was changed.
refusal-not-paused = **{ $agent }** is not paused, so there is nothing to resume. `@{ $agent } status` shows what it does.
refusal-nothing-running = **{ $agent }** has nothing to abort: no session is running.
refusal-already-stopping = **{ $agent }** is already being stopped. Wait for it to end.
refusal-no-such-task = There is no task { $task }. `!task list` shows those there are.
refusal-no-runner = No machine “{ $runner }” has joined. `!runner list` shows those that have.
refusal-task-over = Task { $task } is already over: { $end }.
refusal-task-running = **{ $agent }** works on task { $task }. `@{ $agent } pause now` puts it back into the queue, `@{ $agent } abort` gives it up; then ask again.
refusal-no-checkout = Task { $task } has no clone of its own that is there: `task show { $task }` says more.
refusal-in-review = Task { $task } of **{ $agent }** is in review: `accept { $task }` or `reject { $task } why` first; `task cancel { $task }` gives it up.
refusal-not-in-review = Task { $task } is not in review: `task show { $task }` says more.
refusal-is-review = Task { $task } is the review of another task, and stays as it is: `!accept` or `!reject` decides about that one, `!task cancel { $task }` leaves it to you.
refusal-worked-on = **{ $agent }** has a message about task { $task } to work on, or its folder is being read. Ask again when that is done; `clear { $agent }` drops messages that wait.
refusal-not-as-reviewed = Task { $task } has changed since its review, and nothing has looked at that: `reject { $task } why` sends it back, and a message about it to **{ $agent }** has it checked and reviewed anew.
refusal-being-merged = Task { $task } is accepted by { $by }, and is being merged.
refusal-pull-open = Task { $task } is accepted, and its pull request is open: merge or close it there, { $link } `!reject { $task } why` sends it back to its agent.
refusal-task-moving = Task { $task } is on its way between the board and an agent at this moment. Ask again in a second.
refusal-deserted = herder has given up supervising **{ $agent }** after faults inside it, as #alerts was told. Nothing of it can be changed until herder is started again.
refusal-awaits-parts = Task { $task } of **{ $agent }** waits for its parts, which `task show { $task }` lists: cancel or assign those, or give it up with all of them by `task cancel { $task }`.
refusal-nothing-to-check = **{ $agent }** has no repository, so that a task's check has no folder to run in. Give the task to an agent with one, or leave `check=` out.
refusal-task-kept = Task { $task } waits for **{ $agent }** already.
refusal-task-is-split = Task { $task } is done in parts. `!task show { $task }` names them: assign, split or cancel those, or cancel it with all of them.
# $parts: how many were given.
refusal-split-parts = A task is split into 2 to { $max } parts, and task { $task } was to have { $parts }. Separate them with semicolons, e.g. `!task split { $task } first; second`.
refusal-split-too-deep = Task { $task } is a part of a part, and is not split again: there are at most { $max } levels.
refusal-board-full = The board is full ({ $max } tasks). Cancel some, or let agents work them off.
refusal-work-running = **{ $agent }** has this already, as it was. Say what is different, or `@{ $agent } abort` and say it anew.
refusal-work-over = **{ $agent }** is through with this; the change comes too late. Say it anew.
refusal-no-task = **{ $agent }** works on no task now: what it has is a message or a round, which its answer ends.
refusal-whispers-full = **{ $agent }** has { $max } whispers waiting already; it gets them when it works next.
refusal-queue-full = The queue of **{ $agent }** is full ({ $max }). Wait, or drop its messages with `@{ $agent } clear`.
refusal-queue-empty = **{ $agent }** has no queued messages.
refusal-empty-work = Tell **{ $agent }** what to do, e.g. `@{ $agent } run the tests`.
refusal-removed = **{ $agent }** is being removed and takes nothing more.
refusal-agent-exists = There is already an agent **{ $agent }**. Choose another name, or change it with `!agent edit { $agent }`.
refusal-no-such-agent = There is no agent “{ $agent }”. `!agent list` shows those there are.
refusal-no-such-agent-but = There is no agent “{ $agent }”. Did you mean **{ $nearest }**?
refusal-no-such-ask = Nothing with the number { $ask } is being asked.
# $by: who was first; $network: where; $at: when.
refusal-ask-approved = Too late: { $by } ({ $network }) approved { $ask } at { $at }. Your answer changes nothing.
refusal-ask-refused = Too late: { $by } ({ $network }) denied { $ask } at { $at }. Your answer changes nothing.
refusal-ask-answered = Too late: { $by } ({ $network }) answered { $ask } at { $at }. Your answer changes nothing.
refusal-ask-expired = Too late: the time for { $ask } ran out at { $at }, and the answer was no.
refusal-ask-dropped = { $ask } needs no answer any more, since { $at }: its work is over.
refusal-wants-words = { $ask } is a question of **{ $agent }**: answer it in words, `@{ $agent } answer { $ask } …`.
refusal-nothing-asked = Nothing is asked that this could answer.
refusal-nothing-asked-by = **{ $agent }** asks nothing that this could answer.
# $asks: their numbers.
refusal-several-asked = Several are open: { $asks }. Say which, by its number.
# $offers: how many answers the question offers.
refusal-no-such-offer = Question { $ask } of **{ $agent }** takes one number from 1 to { $offers }, or words.
refusal-no-such-offers = Question { $ask } of **{ $agent }** takes numbers from 1 to { $offers }, as in `1,2`, or words.
refusal-wants-yes-or-no = { $ask } asks for permission: `@{ $agent } approve { $ask }` or `@{ $agent } deny { $ask }`.
refusal-no-rule-for-cut = { $ask } was too long to be shown whole, so it cannot be allowed for good. `@{ $agent } approve { $ask }` allows it this once.
refusal-no-rule-for-vague = { $ask } did not say what exactly it would do, so it cannot be allowed for good. `@{ $agent } approve { $ask }` allows it this once.
refusal-no-rule-for-hidden = { $ask } has characters in it that nobody would see, so it cannot be allowed for good. `@{ $agent } approve { $ask }` allows it this once.
refusal-no-rule-for-secret = { $ask } has a secret in it that herder does not store, so it cannot be allowed for good. `@{ $agent } approve { $ask }` allows it this once.
refusal-too-many-rules = **{ $agent }** has as many rules as are kept. `!rule list { $agent }` shows them, `!rule remove` makes room; `@{ $agent } approve { $ask }` allows it this once.
refusal-no-such-rule = There is no rule { $rule }. `!rule list` shows those there are.
refusal-too-many-asks = **{ $agent }** waits for { $max } answers already and asks nothing more until some are given.
refusal-no-session = The session of **{ $agent }** that asks is over.
refusal-fault = herder could not do this for **{ $agent }**: something failed inside it. Nothing was changed. Try again; its log names the cause.
# $what: the thing that was given; $why: what is wrong with it and what would do.
refusal-work-too-long = A text of { $bytes } bytes is too long: one piece of work has at most { $max }. Put the rest into a file and name it.
refusal-whisper-too-long = A whisper of { $bytes } bytes is too long: it has at most { $max }. Give the rest as work.
refusal-name-kept = An agent keeps its name. Add **{ $name }** as a new one instead of renaming **{ $agent }**.
refusal-edited-meanwhile = **{ $agent }** was changed by somebody else at the same time, and nothing was done. Look at it with `!agent show { $agent }`, then say it again.
refusal-history-unreadable = The history of **{ $agent }** cannot be read: { $detail }
# $detail: in the words of the database.
refusal-not-recorded = herder cannot record it at the moment, and nothing was done: { $detail }
refusal-invalid = { $what }: { $why }
refusal-no-configuration = This herder was started without a configuration file; there is nothing to read again.
refusal-going-down = herder is going down; the next start does it.
refusal-closing = herder is going down. This was not done; say it again once herder is back.

## Commands: what they do, in help and in the README

cmd-about-pause = pause after the current session; `now` interrupts it
cmd-about-handoff = pause, and name the line by which a person goes on in a terminal; `now` interrupts
cmd-about-resume = leave any pause, close the breaker half-open, start again
cmd-about-abort = stop the session, discard its work, go on with the next
cmd-about-restart = clean new session, counters reset; skips a countdown
cmd-about-stop-all = stop every agent now; answers with the number of processes left
cmd-about-resume-all = let those go on that `stop-all` stopped; says who stays paused, and why
cmd-about-status = phase, work, tool in use, idle time, turns, tokens, cost, crashes, next restart
cmd-about-usage = tokens and dollars of this hour and of today by agent and account, against the caps
cmd-about-task-add = give a task to an agent, or to the next idle one that suffices
cmd-about-task-list = the tasks of an agent or of all
cmd-about-task-show = one task in full
cmd-about-task-diff = what a task has changed: its files, or the lines of one of them
cmd-about-task-assign = give a queued, failed or blocked task to another agent, or to the next idle one
cmd-about-task-split = do a queued task in 2 to 5 parts
cmd-about-task-cancel = cancel a task, queued or running
cmd-about-task-new = begin a task; what is said in the agent's channel then belongs to it
cmd-about-task-open = go back to an earlier task: its folder, its conversation
cmd-about-task-drop = remove the folder and the branch of a task
cmd-about-accept = accept the work of a task in review
cmd-about-reject = send the work of a task in review back, with the reason
cmd-about-approve = let an agent do what it asks for; `always`: the same unasked from now on
cmd-about-deny = tell an agent no
cmd-about-answer = answer an agent's question
cmd-about-rule-list = what agents may do without asking
cmd-about-rule-remove = have that asked again
cmd-about-runner-list = machines that run agents for this bot
cmd-about-runner-drain = let no session begin on a machine any more
cmd-about-runner-open = let sessions begin on a machine again
cmd-about-runner-remove = take a machine out; its key opens nothing any more
cmd-about-ack = say that you take care of an agent that waits for a person; no more reminders
cmd-about-mark = say whether a whisper of the evaluator was called for: right or wrong
cmd-about-queue = what waits for an agent
cmd-about-clear = drop an agent's queued messages; tasks stay
cmd-about-whisper = tell an agent something in private
cmd-about-log = an agent's last turns; with 1 or a session all that was said in it
cmd-about-history = what happened to an agent, or to the fleet
cmd-about-audit = who commanded what
cmd-about-reload = read the configuration again: agents, limits and who may command; runs that are not changed go on
cmd-about-agent-add = add an agent
cmd-about-agent-edit = change an agent from its next session on
cmd-about-agent-remove = remove an agent; asks back, and keeps its history
cmd-about-agent-list = the agents
cmd-about-agent-show = what an agent is set to
cmd-about-help = this list, or one command
cmd-about-whoami = how herder knows you, and your name for `[access]`
cmd-about-page = a link that logs you in to the page; `revoke`: end your sessions there
cmd-about-link = tie your Discord user to your IRC account: a code is given there and said here

## Commands: help

cmd-help-how = In an agent's channel write what it is to do, or a command alone, e.g. `pause`. Anywhere: `@agent text`, `@agent pause`, `!pause agent`.
# $role: viewer, operator or admin. $commands: names.
cmd-help-yours = { $role }: { $commands }
cmd-help-not-yours = { $role } (not you): { $commands }
cmd-help-more = `!help pause` explains one command.
cmd-help-aliases = Also: { $names }
cmd-help-role = Needs the role { $role }.
cmd-help-agent = In an agent's channel, and after `@agent`, the agent can be left out.
# $keys: what can stand before the "=".
cmd-help-keys = Keys: { $keys }. Values with spaces in quotes: `instructions="run the tests first"`.

## Commands: lines that cannot be carried out

cmd-unknown = I know no command “{ $word }”. `!help` lists them.
# $nearest: a command.
cmd-unknown-but = I know no command “{ $word }”. Did you mean `!{ $nearest }`?
cmd-group = Which one: { $commands }?
cmd-group-but = Did you mean `!{ $nearest }`?
# A short line that sounds like a command, in an agent's channel. $options: commands, as they would be typed.
# $line: a command as it was written; $age: how long ago.
cmd-late = You wrote `{ $line }` { $age } ago, and it is read only now. Nothing done. If you still mean it, say it again.
cmd-edit-no-work = This was work for **{ $agent }** and cannot become something else by a change. Nothing changed; say it anew.
cmd-edit-no-task = This was task { $task } for the board and cannot become something else by a change. Nothing changed; say it anew.
cmd-ask-back = Nothing done, and nothing given to **{ $agent }**: “{ $word }” could be { $options }. As work: `!task add { $agent } …`
cmd-ask-which = “{ $word }” is no command of its own: { $options }?
# After "There is no agent …", in the channel of another one.
cmd-not-for-here = Nothing was given to **{ $agent }** either.
# $reason: one of cmd-misfit-…, a whole sentence. $usage: as it would be typed.
cmd-usage = { $reason } Usage: `!{ $usage }`
cmd-misfit-missing = “{ $what }” is missing.
cmd-misfit-extra = “{ $word }” has no place there.
cmd-misfit-wrong = “{ $word }” does not fit here; write for example { $wanted }.
cmd-misfit-unclosed = A quote ({ $quote }) is not closed.
cmd-misfit-whole-fleet = `!{ $command }` is for all agents; one alone stops with `pause now`.
cmd-or-work = If it is work: `!task add { $agent } …`
cmd-needs-role = `{ $command }` needs the role { $role }.
cmd-needs-role-work = Giving **{ $agent }** work needs the role { $role }.
cmd-needs-role-any = Commands need the role { $role }.
cmd-bot-has-had-its-share = A bot is answered { $count } times an hour here. Nothing more of yours is taken until a person speaks to the agent.
cmd-too-often = That was too much at once. Try again in a minute.

## Commands: answers

# Under a list that was cut.
cmd-more = … { $count } more
cmd-still-working = Still working on it; the answer follows.
cmd-given-up = That takes too long, as too much else does, and is waited for no longer. Whether it was done: !history
cmd-resumed-all = { $count ->
    [one] { $count } agent goes on: { $agents }.
   *[other] { $count } agents go on: { $agents }.
}
cmd-resumed-none = No agent is paused by `stop-all`.
cmd-resumed-not = { $agent } stays as it is: { $why }.
cmd-stopping-all = Stopping { $agents ->
    [one] { $agents } agent
   *[other] { $agents } agents
} …
cmd-link-up = { $network } up { $up }
cmd-link-up-unidentified = { $network } up { $up }, without its account ({ $reason })
cmd-link-connecting = { $network } connecting
cmd-link-failing = { $network } down, { $attempts ->
    [one] { $attempts } attempt
   *[other] { $attempts } attempts
}: { $reason }
cmd-link-waiting = { $network } waiting: { $reason }
cmd-link-refused = { $network } given up: { $reason }
# Numbers of tokens, short: 12.3k.
cmd-tokens = { $input } in, { $output } out
# $hour and $today: tokens and dollars. Hours and days are those of UTC.
cmd-spent = { $name }: this hour { $hour }; today { $today }
cmd-spent-cap = { $used } of { $limit } { $per }
cmd-spent-marks = { $right } of { $all } whispers called right
cmd-spent-unmetered = { $count ->
    [one] one evaluation of unknown cost
   *[other] { $count } evaluations of unknown cost
}
cmd-spent-chart = { $name }: { $sum } in 24 h, at most { $most } in an hour
cmd-spent-fleet = fleet
cmd-spent-account = account { $account }
cmd-spent-repository = repository { $repository }
# $tasks: numbers with amounts, the dearest first.
cmd-spent-tasks = tasks: { $tasks }
# $told: `yes` if it is known what the last turn used.
cmd-spent-session = { $told ->
    [yes] last turn { $turn };{" "}
   *[no] {""}
}session { $session }; in all { $total }
cmd-status-nobody = There are no agents. `!agent add spark claude /path/to/workspace` adds one.
cmd-status-fleet = { $agents ->
    [one] { $agents } agent
   *[other] { $agents } agents
}, { $busy } busy, { $stopped } stopped
cmd-status-tool = tool { $tool }
cmd-status-memory = memory { $taken }
cmd-status-idle = quiet for { $idle }
cmd-status-turns = { $count ->
    [one] { $count } turn
   *[other] { $count } turns
}
cmd-status-queued = { $count } queued
cmd-status-since = for { $since }
cmd-status-workspace = workspace: { $workspace }
cmd-status-pause-pending = pauses after this session
cmd-status-totals = { $sessions ->
    [one] { $sessions } session
   *[other] { $sessions } sessions
}, { $successes } ok, { $failures } failed, { $crashes } crashed · { $turns ->
    [one] { $turns } turn
   *[other] { $turns } turns
} · { $usage }
cmd-status-unknown = { $count ->
    [one] { $count } failure of a kind that is not known, taken for transient
   *[other] { $count } failures of a kind that is not known, taken for transient
}
# $runs: `yes` if it is the session that runs; $told: `yes` if it is known what the last turn used.
cmd-status-spent = { $told ->
    [yes] last turn { $turn };{" "}
   *[no] {""}
}{ $runs ->
    [yes] this session
   *[no] last session
} { $session }
cmd-status-today = today { $usage }
cmd-status-failures = { $count ->
    [one] { $count } failure in a row
   *[other] { $count } failures in a row
}
cmd-status-crashes = { $count ->
    [one] { $count } process crash in a row
   *[other] { $count } process crashes in a row
}
cmd-status-breaker-open = breaker open
cmd-status-breaker-half-open = breaker half-open
cmd-status-last = last: { $detail }
cmd-status-evaluator = evaluator: { $judged } judged, { $findings } with a finding, { $lapses } skipped{ $named ->
    [yes] {" "}({ $kinds })
   *[no] {""}
}; last { $ago } ago: { $last }
# $kind: as for lapse.
cmd-status-lapses = { $count } { $kind ->
    [timed-out] timed out
    [busy] too many at once
    [missing] without a program
    [logged-out] not logged in
    [limited] at a limit
    [unparsable] with an answer that is none
    [overtaken] overtaken
   *[failed] failed
}
cmd-status-judged-ok = all is well
cmd-status-judged = { $count ->
    [0] a finding
    [one] a finding
   *[other] a finding, { $count } in a row
}
# $acked: yes | no; $name: who takes care of it.
cmd-status-called = a person is called ({ $id }, { $ago } ago){ $acked ->
    [yes] , { $name } takes care of it
   *[no] {""}
}: `resume` or `abort`
# $asks: numbers.
cmd-status-asks = asks { $asks }
# $kind: permission, question or plan; $left: how long an answer is waited for yet.
cmd-status-asked = asks { $kind ->
    [question] question { $ask }
    [plan] for a word on plan { $ask }
   *[permission] for permission { $ask }
} ({ $left } left): { $text }
cmd-status-queue = queued: { $messages ->
    [one] { $messages } message
   *[other] { $messages } messages
}, { $tasks ->
    [one] { $tasks } task
   *[other] { $tasks } tasks
}
cmd-queue-current = now: { $work }
cmd-queue-empty = Nothing waits for **{ $agent }**.
cmd-attempts = { $count ->
    [one] { $count } failed attempt
   *[other] { $count } failed attempts
}
cmd-rule-none = Nothing is allowed for good.
cmd-runner-off = All agents run on this bot's machine. `[runners] servers` in bot.toml leads to others.
cmd-runner-none = No machine has joined. `herder runner invite <name>` on the bot's machine prints the line for one.
# $sessions: number of sessions on the machine.
cmd-runner-here = here, { $sessions ->
    [one] { $sessions } session
   *[other] { $sessions } sessions
}
cmd-runner-load = load { $load }
cmd-runner-disk = { $free } free
cmd-runner-away = away for { $away }
cmd-runner-unheard = away, not heard since this bot was started
cmd-runner-drained = nothing begins there
# $rule: its number; $tool, $command: what is allowed; $name: who allowed it.
cmd-rule-line = { $rule } { $agent }: { $tool } `{ $command }` ({ $name }, { $at })
cmd-task-none = There are no tasks. `!task add text` adds one.
# $task: #7. $state: running, queued, done …
cmd-task-line = { $task } { $state } · **{ $agent }** · { $text }
cmd-task-running = running
cmd-task-checking = being checked
cmd-task-in-review = in review
cmd-task-merging = being merged
cmd-task-proposed = in a pull request
cmd-task-queued = queued
# As cmd-task-line, of a task that no agent has.
cmd-task-board-line = { $task } { $state } · board · { $text }
# $tasks: numbers of tasks that must be done first.
cmd-task-waits = waits for { $tasks }
cmd-task-queued-for = queued for **{ $agent }**
# $over of $parts parts are over. $blocked: yes: one of them went wrong.
cmd-task-split = { $blocked ->
    [yes] blocked
   *[no] in parts
} ({ $over }/{ $parts })
# $priority: high | low
cmd-task-priority = { $priority ->
    [high] urgent
   *[low] not urgent
}
cmd-task-after = after { $tasks }
cmd-task-check = check `{ $command }`
# $needs: permission and tags.
cmd-task-needs = needs { $needs }
cmd-task-part-of = part of { $task }
# $category: how the session ended; $detail: why, after a colon, or empty.
cmd-task-attempt = tried by **{ $agent }** in session { $session } at { $at }: { $category }{ $detail }
cmd-task-given = given by { $name } ({ $network }) at { $at }{ $attempts ->
    [0] {""}
    [one] , { $attempts } failed attempt
   *[other] , { $attempts } failed attempts
}
cmd-task-note = → { $note }
cmd-task-branch = branch { $branch }
cmd-task-folder = { $folder } ({ $size }): { $stage ->
        [planned] being made
        [not-made] not made yet
        [removing] being removed
       *[made] { $commits ->
            [one] one commit
           *[other] { $commits } commits
        }, { $files ->
            [0] nothing uncommitted
            [one] one file not committed
           *[other] { $files } files not committed
        }
    }
# $how: passed, or why it failed.
cmd-task-evidence = Checked: `{ $command }` on { $commit }, { $took }: { $how }
cmd-task-evidence-passed = passed
# $since: a time.
# $is_asked: another agent reviews it.
cmd-task-reviewed = In review{ $is_asked ->
    [yes] {" "}by **{ $reviewer }**
   *[no] {""}
} since { $since }: `!accept { $task }` or `!reject { $task } why` answers, `!task diff { $task }` shows it.
cmd-task-accepted = Accepted by { $name }
cmd-task-landed = Merged: { $branch } is at { $commit }
cmd-task-pull = Pull request: { $link }
cmd-task-cost = Cost so far: { $cost }, { $tokens } tokens
cmd-task-unread = The clone cannot be read: { $why }
cmd-task-lost-unknown = It is not known what would be lost. `task drop { $task } confirm` removes task { $task }'s clone and branch { $branch } all the same.
cmd-task-lost = Task { $task }, branch { $branch }, { $size }: { $commits ->
        [0] no commits
        [one] one commit that is on no branch of the repository
       *[other] { $commits } commits that are on no branch of the repository
    } and { $files ->
        [0] no files
        [one] one file that is not committed
       *[other] { $files } files that are not committed
    } would be lost. `task drop { $task } confirm` removes them.
# $task: #7. $size: 12 MB. The last part is of what is in the clone and nowhere else.
cmd-task-clone = 📁 { $task } · { $agent } · { $branch } · { $size } · { $stage ->
        [planned] being made
        [not-made] not made yet
        [removing] being removed
       *[made] only there: { $commits ->
            [0] no commits
            [one] one commit
           *[other] { $commits } commits
        }, { $files ->
            [0] no files
            [one] one file
           *[other] { $files } files
        }
    }
# $files changed; $counts: +3 −1. $commits since the base; $uncommitted: files that are not committed.
cmd-diff-head = Task { $task }, branch { $branch }: { $files ->
        [one] one file
       *[other] { $files } files
    }, { $counts }; { $commits ->
        [0] no commit
        [one] one commit
       *[other] { $commits } commits
    }, { $uncommitted ->
        [0] everything committed
        [one] one file not committed
       *[other] { $uncommitted } files not committed
    }
cmd-diff-none = Task { $task }, branch { $branch }, has changed nothing yet.
cmd-diff-fetched = Its clone is gone; these are the commits that were fetched last.
cmd-diff-left-out = { $count ->
    [one] One more new file is left out: there are too many.
   *[other] { $count } more new files are left out: there are too many.
}
# $from: the name before.
cmd-diff-renamed = was { $from }
cmd-diff-mode = mode { $before } → { $after }
cmd-diff-mark = { $mark ->
    [added] new
    [removed] removed
    [type] another kind of file
    [submodule] submodule
    [binary] binary
    [unread] too large to read, or not readable
    [lock] folded: lock file
    [generated] folded: generated
    [long] folded: long
    [undone] committed, but undone since without a commit
   *[uncommitted] not committed
}
cmd-diff-more = `!task diff { $task } [file]` shows one of them.
cmd-diff-stat-next = `!task diff { $task } stat page { $page }` goes on.
cmd-diff-next = `!task diff { $task } { $file } page { $page }` goes on.
cmd-diff-no-text = There is no text of it to show.
# $name: as it was asked for. $files: those that it may mean.
cmd-diff-several = “{ $name }” may be { $files }.
cmd-diff-no-file = Task { $task } has changed no file “{ $name }”.{ $is_near ->
    [yes] {" "}Did you mean { $near }?
   *[no] {""}
}
cmd-diff-no-page = { $pages ->
    [one] There is only one page.
   *[other] There are only { $pages } pages.
}
cmd-log-empty = **{ $agent }** has said nothing yet.
cmd-log-tools = tools: { $tools }
# $how: a category.
cmd-log-ended = session { $session }: { $how }
# Under turns of which only the beginning is shown.
cmd-log-more = `@{ $agent } log session { $session }` shows all of it.
cmd-log-plan = plan { $ask }: { $text }
cmd-log-page = page { $page } of { $pages }
cmd-log-next = `@{ $agent } log session { $session } page { $page }` goes on.
cmd-log-no-session = **{ $agent }** has said nothing in a session { $session }.
cmd-audit-empty = Nothing was commanded yet.
# $identity: the proof somebody was known by. $text: what they said.
cmd-audit-line = { $name } ({ $identity }, { $network } { $place }): { $text }
cmd-history-empty = Nothing happened yet.
# Older entries were not looked at. $seen: those that were, since $since; $found: those of them that fit.
cmd-looked-back = { $found ->
    [0] Nothing in the last { $seen } entries, since { $since }. I looked no further back; an export has all of it.
   *[other] Out of the last { $seen } entries, since { $since }. I looked no further back; an export has all of it.
}
# Entries of the journal that are damaged, or written by a newer herder.
cmd-unreadable = { $count ->
    [one] One entry cannot be read and is left out; herder's log says why.
   *[other] { $count } entries cannot be read and are left out; herder's log says why.
}
cmd-not-reloaded = 🚫 The configuration was not taken in, and nothing has changed; it has { $count } mistakes:
cmd-follow-not = `--follow` goes with `events` and `log`.
cmd-follow-behind = The journal ends at event { $end }, before the one that was asked for: it is another one, or was restored. Begin anew.
cmd-follow-gap = Events { $numbers } are missing: their archive is gone or cannot be read.
cmd-history-failed = The journal could not be read; herder's log names the cause.
cmd-whisper-private = Everybody reads along here. Whisper to **{ $agent }** in a private message to me: whisper { $agent } and the text.
cmd-until = until { $until }
# After an event that a person caused.
cmd-event-by = by { $name }
# One recorded event. $what: which; $subject: a number or name it is about, or empty.
cmd-event = { $what ->
    [added] added { $subject }
    [edited] changed
    [removed] removed { $subject }
    [queued] queued { $subject }
    [taken] { $subject } taken from the board, given
    [handed-back] { $subject } handed back to the board
    [board-heard] the board knows its news
    [split-begun] task { $subject } is being split
    [split-ended] split { $subject } is there
    [split-lapsed] no split { $subject }
    [board-added] { $subject } put on the board
    [board-taken] { $subject } hands it back to the board,
    [board-directed] { $subject } assigned
    [board-offered] { $subject } handed over
    [board-accepted] { $subject } arrived
    [board-returned] { $subject } back on the board
    [board-split] { $subject } split
    [board-part-over] part { $subject }
    [board-awaited-over] { $subject } waited for
    [board-reopened] { $subject } to be tried anew
    [board-cancelling] { $subject } cancelled with its parts
    [board-review-asked] { $subject } to be reviewed
    [board-review-accepted] review { $subject } accepts
    [board-review-rejected] review { $subject } rejects
    [board-review-ended] review { $subject } ended without a verdict
    [board-review-given-up] review of { $subject } given up
    [board-review-closed] review of { $subject } closed
    [parts-awaited] { $subject } waits for parts
    [parked] { $subject } set aside until its parts are over
    [parts-reported] parts are over, and { $subject } goes on
    [board-part-added] part added by its lead: { $subject }
    [board-part-cancelled] part { $subject } cancelled
    [board-lead-ending] { $subject } is over, and its open parts are cancelled
    [board-lead-closed] all parts of { $subject } are over
    [cleared] dropped { $subject } from the queue
    [reworded] { $subject } reworded
    [withdrawn] { $subject } taken back
    [steered] { $subject } put into the running turn
    [task-ended] task { $subject }
    [task-reported] said of task { $subject }
    [whispered] whisper { $subject }
    [whispers-tool] whisper { $subject } handed over with a tool call
    [whispers-turn] whisper { $subject } put into the running turn
    [whispers-prompt] whisper { $subject } handed over with the prompt
    [whispers-anew] whisper { $subject } handed over with the next turn, for which the running one was cut short
    [whispers-dropped] whisper { $subject } taken back, not handed over
    [discarded] { $subject } discarded
    [session-started] session { $subject } started
    [workspace] workspace looked at: { $subject }
    [checkout-planned] the clone of { $subject } is being made
    [checkout-made] the clone of { $subject } is ready
    [checkout-reading] the work of { $subject } is being saved in the repository
    [checkout-read] the work of { $subject } is saved in the repository
    [checkout-removing] the clone of { $subject } is being removed
    [checkout-removed] the clone of { $subject } is removed
    [checkout-checking] { $subject } is being checked
    [checkout-checked] { $subject } checked
    [task-in-review] { $subject } in review
    [task-left] { $subject } left to a person
    [task-accepted] { $subject } accepted
    [task-returned] { $subject } back to its agent
    [task-proposed] { $subject } in a pull request
    [task-heard] { $subject } has news
    [task-landed] { $subject } merged
    [failed-make] the clone of { $subject } could not be made
    [failed-read] the clone of { $subject } could not be read
    [failed-remove] the clone of { $subject } could not be removed
    [failed-check] { $subject } could not be checked
    [failed-merge] { $subject } could not be merged
    [task-opened] { $subject } opened
    [process-started] process { $subject } started
    [process-warm] process { $subject } stays for the next session
    [process-cool] the process that stayed is let go
    [ready] session { $subject } ready
    [conversation] conversation named
    [conversation-lost] conversation cannot be resumed any more
    [asked] asked { $subject }
    [asked-again] asked { $subject } again
    [ask-reminded] reminded people of { $subject }
    [approved] { $subject } approved
    [denied] { $subject } denied
    [answered] { $subject } answered
    [ask-expired] { $subject } not answered in time
    [ask-dropped] { $subject } needs no answer any more
    [permission-given] permission given
    [rule-added] rule { $subject } made
    [rule-removed] rule { $subject } removed
    [permission-denied] permission denied
    [turn-observed] turn seen
    [evaluation-begun] evaluation { $subject } begun
    [judged-ok] evaluation { $subject }: all is well
    [judged] evaluation { $subject }
    [not-judged] evaluation { $subject } came to nothing
    [stood-in] evaluation { $subject }: the built-in detector stands in
    [escalated] a person is called, { $subject }
    [reminded] reminded of call { $subject }
    [acked] call { $subject } seen
    [answered-resume] call { $subject } answered: resume
    [answered-abort] call { $subject } answered: abort
    [answered-moved] call { $subject } answered: task taken
    [marked-right] whisper { $subject } called right
    [marked-wrong] whisper { $subject } called wrong
    [usage] session { $subject } has used
    [cap-near] cap { $subject } nearly used up
    [cap-waived] cap { $subject } waived
    [spiked] unusual hour
    [price-unknown] price unknown
    [books-kept] books of { $subject } kept
    [turn] turn
    [clock] clock ran out: { $subject }
    [stop] stopping ({ $subject })
    [session-ended] session { $subject }
    [requeued] { $subject } back at the head of the queue
    [waiting] waits { $subject }
    [wait-over] wait over
    [pause-pending] pause after the session asked for
    [paused] paused
    [resumed] resumed
    [account-opened] account { $subject } opened
    [account-blocked] account { $subject } blocked
    [account-exhausted] account { $subject } exhausted
    [account-asked] people asked about account { $subject }
    [account-tried] account { $subject } tried
    [account-proved] account { $subject } works again
    [linked] linked { $subject }
    [unlinked] unlinked { $subject }
    [reset] counters reset
    [breaker-opened] breaker opened after { $subject } failures
    [clock-set] the machine's clock was set by { $subject }
    [breaker-closed] breaker closed
    [degraded] degraded after { $subject } process crashes
    [panicked] supervisor rebuilt { $subject }
    [started] herder { $subject } started
    [configured] { $subject } read from bot.toml
    [left-out] { $subject } is not in bot.toml any more
    [stopped] herder stopped
   *[other] { $what } { $subject }
}

## Commands: agents

cmd-agent-name = “{ $name }” cannot name an agent: use small letters, digits and hyphens inside, starting with a letter, at most 30 of them, e.g. spark-codex.
cmd-agent-name-is-word = “{ $name }” cannot name an agent: herder uses that word itself.
cmd-agent-name-is-channel = “{ $name }” cannot name an agent: #{ $name } is a channel of herder's own.
cmd-agent-problems = “{ $name }”: nothing was done, there { $count ->
    [one] is { $count } problem:
   *[other] are { $count } problems:
}
# $known: yes | no, whether there is such a line.
cmd-agent-conversation = conversation { $conversation }, { $known ->
    [yes] in a terminal, once the agent is paused: `{ $line }`
   *[no] which no known line takes up in a terminal
}
cmd-agent-remove-confirm = This ends **{ $agent }** and takes its channel away; its history stays.{ $works ->
    [0] {""}
    [one] {" "}1 piece of work that it has not done is given up.
   *[other] {" "}{ $works } pieces of work that it has not done are given up.
} Within 60 s: `!agent remove { $agent } { $code }`
cmd-agent-remove-stale = That code does not fit, or its 60 s are over. Nothing was removed; `!agent remove { $agent }` gives a new one.
# In all of these $key is what was written before the "=", and $more what would fit or an example.
cmd-setting-no-pair = { $key }: not of the form key=value
cmd-setting-no-such-key = { $key }: no such key; `!help agent add` lists them
cmd-setting-nearest-key = { $key }: no such key; did you mean { $more }?
cmd-setting-twice = { $key }: given twice
cmd-setting-one-of = { $key }: must be one of { $more }
cmd-setting-form = { $key }: write it like { $more }
cmd-setting-too-long = { $key }: too long; put it into a file in the workspace
cmd-setting-control = { $key }: holds a control character
cmd-setting-unclosed = { $key }: a quote is not closed
cmd-setting-secret = { $key }: secrets do not come by chat; set it in herder's environment and name it in inherit_env
cmd-setting-not-absolute = { $key }: must be a path from the root, e.g. /srv/agents/spark
cmd-setting-no-folder = { $key }: no such folder on this machine; make it first
cmd-setting-folder-silent = { $key }: the file system of that folder does not answer; see whether the server it is mounted from is up
cmd-setting-needs-command = { $key }: an agent of runtime command needs one, e.g. command="sh -c 'make test'"
cmd-setting-placeholder = { $key }: prompt=arg goes with {"{"}prompt{"}"} in the command, prompt=stdin without
cmd-setting-needs-own-home = { $key }: a file is for a HOME of its own: add own_home=true
cmd-setting-needs-machine = { $key }: with a standby no agent runs on the bot's own machine: add runner=box4, with a name of `runner list`
cmd-setting-no-machine = { $key }: no machine of this name has joined: `runner list` shows those that have

## Discord

# $channel: its id.
discord-given-up = I may not speak in the channel with the id { $channel }; what I have owed there for over an hour is given up.
# $files: names of files; $max: kilobytes.
discord-agent-removed = **{ $agent }** was removed: nobody hears what is said here. Its history is kept.
# $name: who wrote the message that is replied to. For agents: the quoted message follows.
discord-replied = In reply to { $name }:
discord-left-out = Not with the message, or only in part: { $files }. A message brings at most { $count } files of { $max } MiB each; put the rest into the agent's workspace.
file-sent = 📎 { $agent } sends { $file } ({ $size } bytes).
file-sent-link = 📎 { $agent } sends { $file } ({ $size } bytes), for 24 hours at { $link }
file-sent-first = 📎 { $agent } sends { $file } ({ $size } bytes). It begins:
file-sent-alone = 📎 { $agent } sends { $file } ({ $size } bytes). This network takes no files, and there is no page to get it from.
files-old-runner = Not with the message, or only in part: { $files }. The process that runs the agents was started by an earlier herder, which passes on text alone: `herder runner restart --when-idle`.
files-not-fetched = Not with the message: { $file } { $why ->
    [private] (its address is private, or none of the web)
    [redirects] (its address leads on too often)
    [long] (it has more than { $max } MiB)
    [refused] (the server refuses it)
    [unanswered] (the server does not answer, or not in time)
   *[failed] (it could not be stored)
}.
# $what: poll, sticker or forward.
discord-unread = { $what ->
    [poll] An agent cannot read a poll.
    [sticker] An agent cannot read a sticker.
   *[forward] There is nothing in what you forwarded that an agent can read.
} Say it in words, or attach it as a text file.
discord-unreadable = Somebody wrote something here that herder cannot read, not even in part, so that it reached nobody. Say it again, in plain words.
discord-no-content = The Message Content intent is switched off, so herder cannot read what is written here. Slash commands, buttons, private messages and messages that mention herder work; plain text in an agent's channel does not. To switch it on: Developer Portal, Bot, Privileged Gateway Intents, Message Content Intent; then start herder again.
discord-post-refused = 🚫 Something was to be said here that Discord takes in no form. What an agent says is in its `log`, the reason in herder's own log.
## Commands of networks that have their own: names and descriptions

# Names: small letters, digits, hyphens; at most 32 characters. In English they are the commands' own.
slash-pause = pause
slash-handoff = handoff
slash-resume = resume
slash-abort = abort
slash-restart = restart
slash-stop-all = stop-all
slash-resume-all = resume-all
slash-status = status
slash-usage = usage
slash-queue = queue
slash-clear = clear
slash-whisper = whisper
slash-approve = approve
slash-deny = deny
slash-answer = answer
slash-log = log
slash-history = history
slash-audit = audit
slash-reload = reload
slash-help = help
slash-link = link
slash-whoami = whoami
slash-page = page
slash-agent = agent
slash-agent-add = add
slash-agent-edit = edit
slash-agent-remove = remove
slash-agent-list = list
slash-agent-show = show
slash-task = task
slash-task-add = add
slash-task-list = list
slash-task-show = show
slash-task-assign = assign
slash-task-split = split
slash-task-cancel = cancel
slash-task-new = new
slash-task-open = open
slash-task-drop = drop
slash-accept = accept
slash-reject = reject
slash-task-diff = diff
slash-rule = rule
slash-rule-list = list
slash-rule-remove = remove
slash-runner = runner
slash-runner-list = list
slash-runner-drain = drain
slash-runner-open = open
slash-runner-remove = remove
slash-ack = ack
slash-mark = mark
# Descriptions, at most 100 characters, like all cmd-about-….
slash-about-agent = which agents there are and what they are set to
slash-about-task = give agents tasks and look after them
slash-about-rule = what agents may do without asking, and taking that back
option-agent = agent
option-about-agent = which agent; in its own channel it can be left out
option-name = name
option-about-name = the new agent's name: small letters, digits, hyphens
option-runtime = runtime
option-about-runtime = what runs it
option-now = now
option-about-now = do not wait for the end of the session
option-revoke = revoke
option-about-revoke = end your sessions on the page
option-n = n
option-about-n = how many
option-session = session
option-about-session = which session, to read all that was said in it
option-page = page
option-about-page = which page of it
option-confirm = confirm
option-about-confirm = do it, whatever is lost
option-file = file
option-about-file = stat, or a changed file or a part of its name
option-task = task
option-about-task = which task
option-priority = priority
option-about-priority = how urgent it is
option-needs = needs
option-about-needs = what an agent must be: a permission and tags, e.g. full,rust
option-after = after
option-about-after = the tasks that must be done first, e.g. 7,8
option-check = check
option-about-check = a command that must succeed before it is done, e.g. make test
option-parts = parts
option-about-parts = the parts, with semicolons between them
option-id = id
option-about-id = the number it was asked with
option-as = as
option-about-as = right: it was called for; wrong: it was not
option-always = always
option-about-always = and the same unasked from now on
option-chart = chart
option-about-chart = and the course of it as a picture
option-code = code
option-about-code = the code that confirms it
option-machine = machine
option-about-machine = which machine
option-text = text
option-about-text = what to do; left out: a form with room for a long text
option-workspace = workspace
option-about-workspace = its folder, from the root; left out: a form asks for everything
option-settings = settings
option-about-settings = key=value …, e.g. model=opus max_turns=20
option-command = command
option-about-command = one command

## Forms: titles and labels have at most 45 characters, examples 100

form-answer = Your answer
form-reject = What is to be changed
form-task-add = A task for { $agent }
form-task-add-auto = A task for the board
form-task-new = A new task for { $agent }
form-agent-add = New agent { $name }
form-agent-edit = Change { $agent }
field-text = What to do
field-answer = Answer
field-reject = What is to be changed
field-workspace = Folder, from the root
field-model = Model
field-command = Command (only for runtime command)
field-instructions = Standing instructions
field-settings = More settings, key=value, one per line
field-example-text = Fix the failing tests in the parser and explain what was wrong.
field-example-answer = Use the green one, and leave the rest as it is.
field-example-reject = Name the error in the message, and test the empty file.
field-example-workspace = /srv/agents/spark
field-example-model = opus
field-example-command = sh -c 'make test'
field-example-instructions = Run the tests before you say that you are done.
field-example-settings = max_turns=20

## Buttons, at most 80 characters with everything in them

button-resume = Resume
button-abort = Abort
button-transcript = Transcript
button-approve = Approve
button-deny = Deny
button-always = Always
button-answer = Answer
button-other = Other…
button-accept = Accept
button-reject = Send back…
button-diff = What was changed
button-expired = not answered in time
button-remove = Remove
button-keep = Keep
button-again = Correct it
# On the button that takes the place of the others. $action: one of the above or a command. $name: who; $network: where.
button-answered = { $action } · { $name } ({ $network })
button-kept = kept · { $name }
button-over = settled
# To somebody who presses a button after somebody else did.
prompt-late = Too late: { $name } ({ $network }) has answered this: { $action }.
prompt-over = Too late: this is settled. `/status` shows how **{ $agent }** stands.
answer-file = The whole answer is in the file.
answer-failed = That went wrong inside herder; its log has the cause.
answer-interrupted = herder was restarted before it could answer here. See by `/status` and `/history` whether it was done, and give the command again if it was not.
answer-unknown = herder does not know this any more. Try it anew.
form-unchanged = Nothing was changed.
form-gone = What you typed is not kept any more: herder was started anew, or newer forms took its place. Give the command again.

## Commands: one person on two networks

# $code: to be said elsewhere.
cmd-link-code = Say this on IRC within 10 minutes, logged in to services, best in private: `!link { $code }`. Whoever says it has your roles from then on, and you theirs. `/link code:remove` undoes it.
cmd-link-how = Give `/link` on Discord: it answers with a code to say here. `!link remove` undoes it.
cmd-link-no-code = There is no randomness for a code at the moment. Try again.
cmd-link-private = Others would read the code here. Give `/link` as a command, or say it in private.
cmd-link-elsewhere = This code is to be said on IRC, as `!link` and the code.
cmd-link-no-account = Nothing tied: you are not logged in to services here. The code is used up; log in, then get a new one with `/link`.
cmd-link-wrong = Nothing tied: that code is not good, or not any more. `/link` on Discord gives a new one.
cmd-link-none = You are tied to nobody.
cmd-whoami = You are { $nick } on { $network }. Your role: { $role }.
cmd-whoami-no-role = You are { $nick } on { $network }. You have no role.
cmd-whoami-name = Your name for `[access]` in bot.toml: `"{ $subject }"`
cmd-whoami-no-name = The network proves nothing about you that `[access]` could name. Log in to services, then ask again.
cmd-whoami-local = You are the user that herder runs as: an admin.

## The page

cmd-page-link = Open this within { $good }, once: { $url }
cmd-page-private = A link to the page is for you alone: ask for it in private, or in a shell with `herder page`.
cmd-page-none = There is no page: `[http]` in bot.toml opens it.
cmd-page-busy = Too many links wait to be opened; ask again in a minute.
cmd-page-revoked = { $count ->
    [0] You had no session on the page.
    [one] Your session on the page is over.
   *[other] Your { $count } sessions on the page are over.
}
page-title-fleet = Agents
page-needs-you = Needs you
page-needs-nobody = Nobody needs you.
page-no-agents = There are no agents yet: `!agent add`, or a section in bot.toml.
page-summary = { $agents ->
    [one] 1 agent
   *[other] { $agents } agents
} · { $busy } at work
page-today = { $money } today
page-agent = agent
page-phase = phase
page-work = work
page-tool = tool · idle
page-turns = turns
page-memory = memory
page-tokens = tokens
page-cost = cost today
page-queue = queue
page-filter = filter
page-pause = Pause
page-pause-now = Pause now
page-resume = Resume
page-abort = Abort
page-restart = Restart
page-stop-all = Stop all
page-approve = Approve
page-deny = Deny
page-always = Always
page-answer = Answer
page-ack = Seen
page-other-answer = other answer
page-give = Give work
page-give-label = Work for { $agent }
page-whisper = Whisper
page-whisper-label = Whisper to { $agent }
page-logout = Log out
page-waiting = What waits
page-said = What it said
page-said-by = The last words of { $agent }
page-happened = What happened
page-settings = Settings
page-back = All agents
page-door-title = Log in
page-door-text = This link works once, within a minute of being asked for.
page-door-button = Log in to { $name }
page-door-over = This link was used, or is older than a minute. Ask for a new one: `!page` in private, or `herder page` in a shell.
page-locked-title = Who are you?
page-locked-text = Say `!page` to herder in private (`/page` on Discord), or type `herder page` in a shell: the answer is a link that logs you in.
page-nowhere = There is nothing here.
page-refused = Refused
page-other-host = This page is not at that address. `herder page` in a shell gives a link that works; to use this host's name, write it into `public_url` or `hosts` under `[http]`.
page-other-site = This came from another site's page, and was not done.
page-too-slow = The request took longer than 30 seconds, and was given up.
page-form-old = This form is from another session; nothing was done. Try again.
page-cut = This page is out of step: herder does not answer. It tries again by itself; what you see may be old.
page-live-off = Live updates are off: reload the page to see changes.
page-title-board = Board
page-title-money = Money
page-title-history = History
page-skip = Skip to the content
page-views = Views
page-language = Language
# The name of this language in itself.
page-language-name = English
page-transcript = Transcript
page-transcript-of = { $agent }, session { $session }
page-mood-needs = needs a person
page-mood-failed = stopped for a failure
page-mood-works = at work
page-mood-waits = waits
page-mood-rests = rests
# Read after an agent's name in the fleet's table.
page-row-called = has called a person
page-row-asks = { $count ->
    [one] waits for an answer
   *[other] waits for { $count } answers
}
page-row-review = { $count ->
    [one] has a task in review
   *[other] has { $count } tasks in review
}
page-count-all = all { $count }
page-count-needs = needs a person { $count }
page-count-failed = stopped { $count }
page-count-works = at work { $count }
page-count-waits = waits { $count }
page-count-rests = rests { $count }
page-crashes = crashes
page-day = 24 h
page-day-said = { $busy } of the last 24 hours with sessions, { $failed } with failures
page-any-phase = any phase
page-tag = Tag
page-any-tag = any tag
page-find = Show
page-of-cap = { $used } of { $limit }
page-spend = { $money } in 24 h
page-sessions = sessions
page-no-sessions = No session has ended yet.
page-running = runs now
page-restart-mark = restart
page-whisper-mark = whisper
page-pause-person = paused by a person
page-pause-limit = waits for a usage limit
page-pause-money = stopped: spending cap or bill
page-pause-question = waits for a person's answer
page-pause-failure = stopped for a failure
page-timeline-said = { $span }: { $sessions } sessions, { $failed } failed, { $restarts } restarts, { $whispers } whispers
page-session = session
page-outcome = outcome
page-ended = ended
page-took = took
page-spent = spent
page-said-nothing = It has said nothing yet.
page-all-events = All its events
page-new-task = New task
page-priority = priority
page-priority-high = urgent
page-priority-normal = normal
page-priority-low = not urgent
page-add-task = Add
page-any-agent = any agent
page-column-queued = Queued
page-column-working = At work
page-column-checking = Checking
page-column-review = In review
page-column-blocked = Blocked
page-column-over = Over today
page-column-empty = Nothing here.
page-assign = Assign
page-split-parts = first part; second part
page-split = Split
page-cancel-task = Cancel
page-review-change = { $commits ->
    [one] one commit
   *[other] { $commits } commits
}, { $files ->
    [one] one file
   *[other] { $files } files
}, +{ $added } −{ $removed }
page-accept = Accept
page-reject = Send back
page-reject-why = What is to be changed
page-given-by = given by
page-needs = needs
page-role = { $role ->
    [admin] admin
    [operator] operator
    [viewer] viewer
   *[anybody] anybody
}
# $permissions: the least that a task needs of its agent.
page-permissions = { $permissions ->
    [read-only] reading alone
    [plan] plans that are approved
    [workspace-write] writing to the workspace
   *[full] full permissions
}
page-part-of = part of
page-parts = Parts
page-tries = Tries
page-why = why
page-came-to = What it came to
page-evidence = How far it is
# Read before how long ago: "4 min".
page-in-review = In review for
page-cap-line = cap { $limit }
page-caps = Caps
page-money-days = By day, 35 days (UTC)
page-money-hours = By hour, 24 hours (UTC)
page-others = others
page-money-show = What the charts show
page-by-agent = by agent
page-by-account = by account
page-in-dollars = dollars
page-in-tokens = tokens
page-csv = as CSV
page-money-nothing = Nothing was spent.
page-by-month = By month (UTC)
page-month = month
page-months-kept = Days are kept for 35 days: an older month is not whole.
page-by-task = By task
page-task = task
page-needs-role = This needs the role { $role }.
page-search = Search
page-history-kind = Which history
page-events = what happened
page-audit = who did what
page-all-agents = all agents
page-from = from
page-to = to
page-history-nothing = Nothing was found.
page-history-back-to = Read back to { $time }.
page-history-begins = This is the beginning: nothing older is kept.
page-history-from = That is everything since that day.
page-history-unreadable = { $count ->
    [one] One entry could not be read and is left out; herder's log has the cause.
   *[other] { $count } entries could not be read and are left out; herder's log has the cause.
}
page-older = Older
