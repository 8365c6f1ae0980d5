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

## コマンド：ヘルプに出る説明

cmd-about-pause = 今のセッションの後で一時停止する。`now` を付けるとすぐ止める
cmd-about-resume = 一時停止を解き、ブレーカーを半開にして再開する
cmd-about-abort = セッションを止め、その作業を捨てて次に進む
cmd-about-restart = まっさらなセッションを始め、カウンターを戻す。待ち時間は飛ばす
cmd-about-stop-all = すべてのエージェントを今すぐ止め、残ったプロセスの数を答える
cmd-about-status = 状態、作業、使用中のツール、無音の時間、ターン、トークン、費用、クラッシュ、次の再起動
cmd-about-task-add = エージェントにタスクを渡す
cmd-about-task-list = エージェントの、または全員のタスク
cmd-about-task-show = タスクの詳細
cmd-about-task-cancel = 待機中または実行中のタスクを取り消す
cmd-about-queue = エージェントを待っているもの
cmd-about-clear = 待機中のメッセージを捨てる。タスクは残る
cmd-about-log = エージェントの最近のターン
cmd-about-history = エージェントまたは全体に起きたこと
cmd-about-audit = 誰が何を命じたか
cmd-about-agent-add = エージェントを追加する
cmd-about-agent-edit = エージェントの設定を変える（次のセッションから）
cmd-about-agent-remove = エージェントを外す。確認を求め、履歴は残す
cmd-about-agent-list = エージェントの一覧
cmd-about-agent-show = エージェントの設定
cmd-about-help = この一覧、または一つのコマンド

## コマンド：ヘルプ

cmd-help-how = エージェントのチャンネルでは、してほしいことか、`pause` のようなコマンドだけを書く。どこからでも：`@agent 文`、`@agent pause`、`!pause agent`。
cmd-help-yours = { $role }：{ $commands }
cmd-help-not-yours = { $role }（権限なし）：{ $commands }
cmd-help-more = `!help pause` でコマンドの説明を見る。
cmd-help-aliases = 別名：{ $names }
cmd-help-role = { $role } の権限が必要。
cmd-help-agent = エージェントのチャンネルと `@agent` の後では、エージェント名を省ける。
cmd-help-keys = キー：{ $keys }。空白を含む値は引用符で囲む：`instructions="run the tests first"`。

## コマンド：実行できない行

cmd-unknown = 「{ $word }」というコマンドはない。`!help` で一覧を見る。
cmd-unknown-but = 「{ $word }」というコマンドはない。`!{ $nearest }` のことか？
cmd-group = どれか：{ $commands }
cmd-group-but = `!{ $nearest }` のことか？
cmd-ask-back = 何もせず、**{ $agent }** にも渡していない：「{ $word }」は { $options } かもしれない。作業として渡すには：`!task add { $agent } …`
cmd-ask-which = 「{ $word }」というコマンドはない：{ $options } のどれか？
cmd-not-for-here = **{ $agent }** にも渡していない。
cmd-usage = { $reason } 書き方：`!{ $usage }`
cmd-misfit-missing = 「{ $what }」がない。
cmd-misfit-extra = 「{ $word }」はそこに置けない。
cmd-misfit-wrong = 「{ $word }」は合わない：{ $wanted }。
cmd-misfit-unclosed = 引用符（{ $quote }）が閉じていない。
cmd-misfit-whole-fleet = `!{ $command }` は全員に効く。一つだけ止めるには `pause now`。
cmd-or-work = 作業なら：`!task add { $agent } …`
cmd-needs-role = `{ $command }` には { $role } の権限が必要。
cmd-needs-role-work = **{ $agent }** に作業を渡すには { $role } の権限が必要。
cmd-needs-role-any = コマンドには { $role } の権限が必要。

## コマンド：答え

cmd-more = … ほか { $count } 件
cmd-link-up = { $network } 接続 { $up }
cmd-link-connecting = { $network } 接続中
cmd-link-failing = { $network } 切断、{ $attempts ->
   *[other] { $attempts } 回試行
}：{ $reason }
cmd-link-refused = { $network } 断念：{ $reason }
cmd-tokens = 入力 { $input }、出力 { $output }
cmd-status-nobody = エージェントはいない。`!agent add spark claude /path/to/workspace` で追加する。
cmd-status-fleet = エージェント { $agents ->
   *[other] { $agents } 個
}、稼働 { $busy }、停止 { $stopped }
cmd-status-tool = ツール { $tool }
cmd-status-idle = 無音 { $idle }
cmd-status-turns = { $count ->
   *[other] { $count } ターン
}
cmd-status-queued = 待機 { $count } 件
cmd-status-since = { $since } 前から
cmd-status-pause-pending = このセッションの後で一時停止
cmd-status-totals = セッション { $sessions ->
   *[other] { $sessions } 回
}、成功 { $successes }、失敗 { $failures }、クラッシュ { $crashes } · { $turns ->
   *[other] { $turns } ターン
} · { $usage }
cmd-status-failures = { $count ->
   *[other] { $count } 回連続で失敗
}
cmd-status-crashes = { $count ->
   *[other] { $count } 回連続でプロセスがクラッシュ
}
cmd-status-breaker-open = ブレーカー開
cmd-status-breaker-half-open = ブレーカー半開
cmd-status-last = 最後：{ $detail }
cmd-status-queue = 待機：メッセージ { $messages ->
   *[other] { $messages } 件
}、タスク { $tasks ->
   *[other] { $tasks } 件
}
cmd-queue-current = 実行中：{ $work }
cmd-queue-empty = **{ $agent }** を待つものはない。
cmd-attempts = { $count ->
   *[other] 失敗 { $count } 回
}
cmd-task-none = タスクはない。`!task add agent text` で追加する。
cmd-task-line = { $task } { $state } · **{ $agent }** · { $text }
cmd-task-running = 実行中
cmd-task-queued = 待機中
cmd-task-given = { $name }（{ $network }）から、{ $at }{ $attempts ->
    [0] {""}
   *[other] 、失敗 { $attempts } 回
}
cmd-task-note = → { $note }
cmd-log-empty = **{ $agent }** はまだ何も言っていない。
cmd-log-tools = ツール：{ $tools }
cmd-log-ended = セッション { $session }：{ $how }
cmd-audit-empty = まだ何も命じられていない。
cmd-audit-line = { $name }（{ $identity }、{ $network } { $place }）：{ $text }
cmd-history-empty = まだ何も起きていない。
cmd-history-failed = ジャーナルを読めなかった。原因は herder のログにある。
cmd-until = { $until } まで
cmd-event-by = （{ $name }）
cmd-event = { $what ->
    [added] 追加 { $subject }
    [edited] 変更
    [removed] 削除 { $subject }
    [queued] 待機列へ { $subject }
    [cleared] 待機列から { $subject } 件を破棄
    [steered] { $subject } を実行中のターンへ
    [task-ended] タスク { $subject }
    [discarded] { $subject } を破棄
    [session-started] セッション { $subject } 開始
    [process-started] プロセス { $subject } 起動
    [ready] セッション { $subject } 準備完了
    [conversation] 会話に名前
    [turn] ターン
    [clock] 時間切れ：{ $subject }
    [stop] 停止中（{ $subject }）
    [session-ended] セッション { $subject }
    [requeued] { $subject } を待機列の先頭へ
    [waiting] 待機 { $subject }
    [wait-over] 待機終了
    [pause-pending] セッション後の一時停止を予約
    [paused] 一時停止
    [resumed] 再開
    [account-opened] アカウント { $subject } を開放
    [account-blocked] アカウント { $subject } を閉鎖
    [reset] カウンターを戻した
    [breaker-opened] { $subject } 回の失敗でブレーカー開
    [breaker-closed] ブレーカー閉
    [degraded] { $subject } 回のクラッシュで縮退
    [panicked] スーパーバイザーを再構築 { $subject }
    [started] herder { $subject } 起動
    [stopped] herder 終了
   *[other] { $what } { $subject }
}

## コマンド：エージェント

cmd-agent-name = 「{ $name }」はエージェントの名前にできない：英小文字で始め、英小文字・数字・途中のハイフンで 30 文字まで。例：spark-codex
cmd-agent-name-is-word = 「{ $name }」はエージェントの名前にできない：herder のコマンドの言葉だから。
cmd-agent-problems = 「{ $name }」は変わっていない。問題が { $count ->
   *[other] { $count } 件ある：
}
cmd-agent-remove-confirm = **{ $agent }** を終わらせ、チャンネルを外す。履歴は残る。60 秒以内に：`!agent remove { $agent } { $code }`
cmd-agent-remove-stale = コードが違うか、60 秒を過ぎた。何も外していない。`!agent remove { $agent }` で新しいコードを出す。
cmd-setting-no-pair = { $key }：key=value の形ではない
cmd-setting-no-such-key = { $key }：そのキーはない。`!help agent add` で一覧を見る
cmd-setting-nearest-key = { $key }：そのキーはない。{ $more } のことか？
cmd-setting-twice = { $key }：二度書かれている
cmd-setting-one-of = { $key }：次のどれか：{ $more }
cmd-setting-form = { $key }：{ $more } のように書く
cmd-setting-too-long = { $key }：長すぎる。作業フォルダーのファイルに置く
cmd-setting-control = { $key }：制御文字が入っている
cmd-setting-unclosed = { $key }：引用符が閉じていない
cmd-setting-secret = { $key }：秘密はチャットでは渡せない。herder の環境に置き、inherit_env に名前を書く
cmd-setting-not-absolute = { $key }：ルートからのパスで書く。例：/srv/agents/spark
cmd-setting-no-folder = { $key }：このマシンにそのフォルダーはない。先に作る
cmd-setting-needs-command = { $key }：runtime command のエージェントには必要。例：command="sh -c 'make test'"
cmd-setting-placeholder = { $key }：prompt=arg はコマンドに {"{"}prompt{"}"} があるとき、prompt=stdin はないとき
