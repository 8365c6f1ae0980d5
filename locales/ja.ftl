### 日本語。メッセージと変数は en-US.ftl と同じ。変数の意味もそちらに書いてある。

## 部品

unit-seconds = { $count }秒
unit-minutes = { $count }分
unit-hours = { $count }時間
unit-days = { $count }日
unit-pair = { $first }{ $second }
time-format = %Y年%m月%d日 %H:%M:%S
clock-format = %H:%M:%S
decimal-mark = .
group-mark = ,
money = ${ $amount }
full-stop = .
no-reason = 理由は不明です。
words-cut = … 残り{ $count }行。`@{ $agent } log` で読めます

## エージェントの状態

phase-idle = 待機中
phase-starting = 起動中
phase-running = 作業中
phase-stopping = 停止処理中（{ $reason }）
phase-waiting = { $reason }、あと{ $countdown }
phase-paused = 一時停止中（{ $reason }）
phase-needs-intervention = 要対応
phase-degraded = 不安定
phase-removed = 削除済み
halt-waiting = { $until }まで待機中
halt-needs-intervention = 失敗が続いたため停止中（要対応）
halt-degraded = クラッシュが続いたため停止中（不安定）

stop-pause = 一時停止
stop-abort = 中止
stop-restart = 再起動
stop-stop-all = 全停止
stop-cancel = タスク取り消し
stop-remove = 削除
stop-account = アカウント: { $category }
stop-hung = 応答なし

pause-person = { $name }による
pause-failure = { $category }
pause-account = アカウント: { $category }
pause-survivors = プロセスが残っている

wait-backoff = 再起動待ち（{ $category }）
wait-rate-limit = レート制限中
wait-rest = 休憩中

work-message = メッセージ
work-task = タスク
work-round = ラウンド

task-done = 完了
task-failed = 失敗
task-cancelled = 取り消し

## セッションの終わり方

category-success = 成功
category-transient = 一時的なエラー
category-rate-limit = レート制限
category-permanent = 恒久的なエラー
category-max-turns = ターン数の上限
category-billing = 請求エラー
category-auth = 認証エラー
category-budget = 予算の上限
category-quota = 利用枠の上限
category-context-overflow = コンテキストがいっぱい
category-task-timeout = タスクの時間切れ
category-sandbox-denial = ツールの拒否
category-hung = 応答なし
category-crash = クラッシュ
category-do-not-restart = 再起動を拒否
category-interrupted = 中断

clock-startup = は時間内に起動しませんでした
clock-silence = から長い間反応がありません
clock-tool = のツール呼び出しが長く終わりません
clock-task = の作業が長すぎます
clock-heartbeat = が herder に応答しなくなりました

## 状態のお知らせ

notice-started = 🐜 **{ $agent }** が開始しました: { $work }
notice-completed = ✅ **{ $agent }** が完了しました（{ $duration }{ $turns ->
    [0] {""}
   *[other] {" "}· { $turns }ターン
}{ $priced ->
    [yes] {" "}· { $cost }
   *[no] {""}
}）
notice-crashed = ❌ **{ $agent }** がクラッシュしました: { $detail } { $countdown }後に再起動します…
notice-rate-limited = ⏳ **{ $agent }** はレート制限中です。{ $countdown }後に再開します…
notice-permanent = 🚫 **{ $agent }** に恒久的なエラーが起きました: { $detail } { $countdown }後に再起動します…
notice-billing = 💳 **{ $agent }** に請求エラーが起きました。{ $account } アカウントを確認してください。再開されるまで一時停止します。
notice-auth = 🔐 **{ $agent }** が認証に失敗しました。認証情報を確認してください。再開されるまで一時停止します。
notice-budget = 💰 **{ $agent }** がドル建ての予算上限を超えました。再開されるまで一時停止します。
notice-do-not-restart = 🚫 **{ $agent }** は再起動しないよう求めています: { $detail } 再開されるまで一時停止します。
notice-paused-with-account = { $emoji } **{ $agent }** はアカウント { $account } とともに一時停止中です（{ $category }）。アカウントを直してから `@{ $agent } resume` と送ってください。
notice-account-blocked = 🚨 アカウント **{ $account }**: { $category }（**{ $agent }** で検出）。このアカウントのエージェントはすべて一時停止中です。アカウントを直してから `@{ $agent } resume` と送ってください。
notice-account-opened = ▶️ アカウント **{ $account }** は { $by } が再開しました。エージェントは作業を続けます。
notice-timed-out = ❌ **{ $agent }** は{ $limit }を超えたため停止しました。{ $countdown }後にもう一度だけ試します…
notice-task-failed = ❌ **{ $agent }** はタスク { $task } を断念しました: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } 中断します…
notice-needs-intervention = 🧯 **{ $agent }** は対応が必要です: { $window }以内に{ $failures }回失敗しました。もう再起動しません。`@{ $agent } log` を読み、`@{ $agent } resume` で一度だけ試せます。
notice-breaker-closed = ✅ **{ $agent }** は復旧しました。試しのセッションが成功しました。
notice-degraded = 🧯 **{ $agent }** は不安定です: { $window }以内に{ $crashes }回クラッシュしました。もう再起動しません。`@{ $agent } log` を読んでから `@{ $agent } resume` と送ってください。
notice-survivors = 🧯 **{ $agent }**: { $count }個のプロセスを終了できませんでした: { $pids }。手動で終了してから `@{ $agent } resume` と送ってください。
notice-supervisor-panicked = ❌ **{ $agent }**: herder 自身に不具合があり、このエージェントのスーパーバイザーをジャーナルから作り直しました。{ $countdown }後に再起動します…
notice-supervisor-gave-up = 🧯 **{ $agent }**: スーパーバイザーをジャーナルから作り直せません: { $detail } herder を再起動するまで、このエージェントは動きません。
notice-paused = ⏸️ **{ $agent }** は一時停止中です。`@{ $agent } resume` で再開します。
notice-interrupted = 🐜 **{ $agent }** は herder の停止で中断されました。作業はもう一度試します。
notice-work-line = { $line }

## コマンドへの返事

notice-pausing = ⏸️ **{ $agent }** はこのセッションの後に一時停止します。`@{ $agent } pause now` ですぐに止まります。
notice-resuming = ▶️ **{ $agent }** を再開します。
notice-resuming-trial = ▶️ **{ $agent }** を試しに1セッションだけ再開します。失敗したら、もう再起動しません。
notice-stopping-pause = ⏸️ **{ $agent }** を停止し、一時停止のままにします。作業は残ります。
notice-stopping-abort = ⏸️ **{ $agent }** を停止します。この作業は破棄し、次へ進みます。
notice-stopping-restart = ▶️ **{ $agent }** を停止し、カウンターを戻して新しく始めます。
notice-stopping-stop-all = ⏸️ **{ $agent }** をほかのエージェントとともに停止し、一時停止のままにします。作業は残ります。
notice-stopping-cancel = ⏸️ **{ $agent }** を停止します。タスクが取り消されました。次へ進みます。
notice-stopping-remove = ⏸️ **{ $agent }** を停止して削除します。履歴は残ります。
notice-stopping-account = ⏸️ **{ $agent }** を停止します。アカウントに問題があります（{ $category }）。作業は残ります。
notice-stopping-hung = ❌ **{ $agent }** は応答がないため停止します。作業はもう一度試します。
notice-restarting = ▶️ **{ $agent }** はカウンターを戻して新しく始めます。
notice-aborted = ⏸️ **{ $agent }** は次の作業を破棄しました: { $work }
notice-accepted = 👀 { $kind ->
    [task] **{ $agent }** がタスク { $work } に取りかかります。
   *[other] **{ $agent }** が取りかかります。
}
notice-queued = 👀 { $kind ->
    [task] タスク { $work } は **{ $agent }** の待ち行列の{ $position }番目です。
   *[other] **{ $agent }** の待ち行列の{ $position }番目に入りました。
}
notice-queued-while-paused = 👀 { $kind ->
    [task] タスク { $work } は **{ $agent }** の待ち行列の{ $position }番目ですが、いまは{ $why }です。
   *[other] **{ $agent }** の待ち行列の{ $position }番目に入りましたが、いまは{ $why }です。
}`@{ $agent } resume` で再開します。
notice-queued-while-waiting = 👀 { $kind ->
    [task] タスク { $work } は **{ $agent }** の待ち行列の{ $position }番目です。いまは{ $why }です。
   *[other] **{ $agent }** の待ち行列の{ $position }番目に入りました。いまは{ $why }です。
}`@{ $agent } restart` で待たずに始めます。
notice-steering = 👀 作業中の **{ $agent }** に伝えます。
notice-cleared = 👀 **{ $agent }** の待ち行列からメッセージを{ $count }件破棄しました。タスクは残ります。
notice-task-ended = 👀 **{ $agent }** のタスク { $task }: { $end }。
notice-agent-added = 🐜 **{ $agent }** が加わりました（{ $runtime }）。専用チャンネルで話しかけるか、どこからでも `@{ $agent } …` と送ってください。
notice-agent-edited = 👀 **{ $agent }** を変更しました。次のセッションから有効です。
notice-agent-removed = 👀 **{ $agent }** を削除しました。履歴は残ります。
notice-stopped-all = ⏸️ エージェント{ $agents }体を停止しました。残りのプロセス: { $processes }

## herder 自身

notice-away = { $from }から{ $to }まで離れていました（{ $duration }）。
notice-collapsed = … 不在の間に{ $count }行。`@{ $agent } log` で読めます
notice-collapsed-elsewhere = … 不在の間に{ $count }行。`!history` で読めます
notice-network-down = 🚨 ネットワーク **{ $network }** に{ $attempts }回試してもつながりません: { $detail } 接続を続けて試します。エージェントは作業を続けます。
notice-network-up = ▶️ ネットワーク **{ $network }** に{ $duration }ぶりに戻りました。
notice-network-refused = 🚨 ネットワーク **{ $network }** に拒否されました: { $detail } もう接続しません。`bot.toml` の設定を直して herder を再起動してください。
notice-channel-unavailable = 🚨 **{ $network }** の { $channel } に入れません: { $detail } そこへの投稿は保留します。
notice-netsplit = { $nick }: ネットワークが分断されていました。届かなかった{ $count }行:
notice-nobody-configured = 🚨 herder に指示できる人がいません。`bot.toml` の `[access]` に誰かを書いて herder を再起動してください。
notice-storage-failed = 🚨 herder はジャーナルに書き込めなくなりました: { $detail } エージェントを止めて終了します。受け付け済みのものは失われません。
notice-disk-low = 🚨 herder のデータがあるディスクの空きは残り { $free } です。空きを増やしてください。いっぱいになると、herder はエージェントを止めて終了します。
notice-revisions-missing = 🚨 { $stream } のジャーナルはリビジョン { $found } で終わっていますが、{ $expected } まで確認済みでした。不足分はディスク上で失われています。最新の日次エクスポートと見比べてください。
notice-shutting-down = herder を終了します。待っているものは残ります。

## 断り

refusal-already-paused = **{ $agent }** はすでに一時停止中か、まもなく一時停止します。`@{ $agent } resume` で再開します。
refusal-not-paused = **{ $agent }** は一時停止していないので、再開するものがありません。`@{ $agent } status` で状態を見られます。
refusal-nothing-running = **{ $agent }** に中止するものはありません。セッションは動いていません。
refusal-already-stopping = **{ $agent }** はすでに停止処理中です。終わるまで待ってください。
refusal-no-such-task = タスク { $task } はありません。`!task list` で一覧を見られます。
refusal-task-over = タスク { $task } はもう終わっています: { $end }。
refusal-queue-full = **{ $agent }** の待ち行列はいっぱいです（{ $max }）。待つか、`@{ $agent } clear` でメッセージを破棄してください。
refusal-queue-empty = **{ $agent }** に待っているメッセージはありません。
refusal-empty-work = **{ $agent }** に何をするか伝えてください。例: `@{ $agent } テストを実行して`
refusal-removed = **{ $agent }** は削除中で、もう何も受け付けません。
refusal-agent-exists = エージェント **{ $agent }** はすでにいます。別の名前にするか、`!agent edit { $agent }` で変更してください。
refusal-no-such-agent = エージェント「{ $agent }」はいません。`!agent list` で一覧を見られます。
refusal-no-such-agent-but = エージェント「{ $agent }」はいません。**{ $nearest }** のことですか？
refusal-fault = herder は **{ $agent }** にこれを実行できませんでした。内部で何かが失敗しました。何も変わっていません。もう一度試してください。原因は herder のログにあります。
refusal-invalid = { $what }: { $why }
