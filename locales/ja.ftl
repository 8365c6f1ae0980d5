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
cut-lines = [… { $count }行省略 …]
cut-bytes = [… { $count }バイト省略 …]
words-cut = … ほかに{ $count }行。`@{ $agent } log 1` で読めます
words-attached = … 全文({ $count }行)は添付ファイルと `@{ $agent } log 1` にあります

## エージェントの状態

phase-idle = 待機中
phase-starting = 起動中
phase-running = 作業中
phase-stopping = 停止処理中（{ $reason }）
phase-waiting = { $reason }、あと{ $countdown }
phase-waiting-until = { $reason }、{ $until }まで
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
stop-cap = 上限：{ $cap }

pause-person = { $name }による
pause-failure = { $category }
pause-account = アカウント: { $category }
pause-survivors = プロセスが残っている
pause-cap = 上限に到達：{ $cap }
# What a cap counts, and over what. $unit: usd | tokens; $per: the next message; $window: session | hour | day
cap = { $per }の{ $unit ->
    [usd] ドル
   *[tokens] トークン
}
per = { $window ->
    [session] セッションあたり
    [hour] 1 時間あたり
   *[day] 1 日あたり
}
amount-tokens = { $tokens } トークン
model-unnamed = （名前なし）

wait-backoff = 再起動待ち（{ $category }）
wait-rate-limit = レート制限中
wait-rest = 休憩中

work-message = メッセージ
work-task = タスク
work-round = ラウンド

task-done = 完了
task-failed = 失敗
task-cancelled = 取り消し
task-blocked = 行き詰まり

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
notice-cap-reached = 💰 **{ $agent }** が{ $per }の予算上限 { $limit } を超えました：{ $used } 使用。再開されるまで一時停止します。作業は残ります。
notice-cap-near = 💰 **{ $agent }** が{ $per }の上限 { $limit } の { $percent } % を使いました：{ $used }。
notice-cap-waived = 💰 **{ $agent }** は上限（{ $cap }）を超えて続けます。{ $limit } で再び停止し、次の 1 時間または 1 日から上限が改めて適用されます。
notice-spiked = 💰 **{ $agent }** の使用量が普段より大幅に増えています：この 1 時間で { $used }、普段は { $usual }。
notice-price-unknown = 💰 **{ $agent }**：モデル `{ $model }` の価格がわかりません。{ $assumed ->
    [yes] ドルの上限がある間は、最も高価なモデルの価格で計算します。
   *[no] トークンは数えますが、金額は数えません。
}bot.toml の [prices] に価格を書いてください。
notice-shared-cap-reached = 🚨 💰 { $scope ->
    [account] アカウント **{ $account }**
   *[fleet] 全エージェント
}が{ $per }の上限 { $limit } に達しました：{ $used } 使用。{ $scope ->
    [account] このアカウントのエージェントはすべて一時停止します。
   *[fleet] すべてのエージェントを一時停止します。
}再開すると、上限の次の倍数まで続けます。
notice-shared-cap-near = 💰 { $scope ->
    [account] アカウント **{ $account }**
   *[fleet] 全エージェント
}が{ $per }の上限 { $limit } の { $percent } % を使いました：{ $used }。
notice-shared-cap-waived = 💰 { $scope ->
    [account] アカウント **{ $account }**
   *[fleet] 全エージェント
}は上限を超えて続けます。{ $per } { $limit } で再び停止します。
notice-do-not-restart = 🚫 **{ $agent }** は再起動しないよう求めています: { $detail } 再開されるまで一時停止します。
notice-paused-with-account = { $emoji } **{ $agent }** はアカウント { $account } とともに一時停止中です（{ $category }）。アカウントを直してから `@{ $agent } resume` と送ってください。
notice-account-blocked = 🚨 アカウント **{ $account }**: { $category }（**{ $agent }** で検出）。このアカウントのエージェントはすべて一時停止中です。アカウントを直してから `@{ $agent } resume` と送ってください。
notice-account-opened = ▶️ アカウント **{ $account }** は { $by } が再開しました。エージェントは作業を続けます。
notice-timed-out = ❌ **{ $agent }** は{ $limit }を超えたため停止しました。{ $countdown }後にもう一度だけ試します…
notice-task-failed = ❌ **{ $agent }** はタスク { $task } を断念しました: { $detail }
notice-task-blocked = 🧱 **{ $agent }** はタスク { $task } を先へ進められません: { $detail }
notice-notified = 🔔 **{ $agent }** からのお知らせ: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } 中断します…
notice-permission-denied = ⚙️ **{ $agent }** が許可を求めましたが、まだここから人に尋ねられないため拒否しました: { $what } (autonomy = full なら許可されます。)
notice-needs-intervention = 🧯 **{ $agent }** は対応が必要です: { $window }以内に{ $failures }回失敗しました。最後の理由: { $detail } もう再起動しません。`@{ $agent } log` を読み、`@{ $agent } resume` で一度だけ試せます。
notice-trial-failed = 🧯 **{ $agent }** は引き続き対応が必要です。試しのセッションが失敗しました: { $detail } もう再起動しません。`@{ $agent } log` を読み、`@{ $agent } resume` でもう一度試せます。
notice-breaker-closed = ✅ **{ $agent }** は復旧しました。試しのセッションが成功しました。
notice-degraded = 🧯 **{ $agent }** は不安定です: { $window }以内に{ $crashes }回クラッシュしました。もう再起動しません。`@{ $agent } log` を読んでから `@{ $agent } resume` と送ってください。
notice-survivors = 🧯 **{ $agent }**: { $count }個のプロセスを終了できませんでした: { $pids }。手動で終了してから `@{ $agent } resume` と送ってください。
notice-supervisor-panicked = ❌ **{ $agent }**: herder 自身に不具合があり、このエージェントのスーパーバイザーをジャーナルから作り直しました。{ $countdown }後に再起動します…
notice-supervisor-gave-up = 🧯 **{ $agent }**: スーパーバイザーをジャーナルから作り直せません: { $detail } herder を再起動するまで、このエージェントは動きません。
notice-paused = ⏸️ **{ $agent }** は一時停止中です。`@{ $agent } resume` で再開します。
notice-interrupted = 🐜 **{ $agent }** は herder の停止で中断されました。作業はもう一度試します。
notice-work-line = { $line }

## 実行中のセッションを示すメッセージ

live-working = 🐜 **{ $agent }** は作業中、開始 { $since }
live-last = 最後の動き { $when }
live-ended = 🐜 **{ $agent }** は { $duration } 作業しました

## コマンドへの返事

notice-pausing = ⏸️ **{ $agent }** はこのセッションの後に一時停止します。`@{ $agent } pause now` ですぐに止まります。
notice-resuming = ▶️ **{ $agent }** を再開します。
notice-resuming-trial = ▶️ **{ $agent }** を試しに1セッションだけ再開します。失敗したら、もう再起動しません。
notice-stopping-pause = ⏸️ **{ $agent }** を停止し、一時停止のままにします。作業は残ります。
notice-stopping-abort = ⏸️ **{ $agent }** を停止します。この作業は破棄し、残りのキューは続行します。
notice-stopping-restart = ▶️ **{ $agent }** を停止し、カウンターを戻して新しく始めます。
notice-stopping-stop-all = ⏸️ **{ $agent }** をほかのエージェントとともに停止し、一時停止のままにします。作業は残ります。
notice-stopping-cancel = ⏸️ **{ $agent }** を停止します。タスクが取り消されました。残りのキューは続行します。
notice-stopping-remove = ⏸️ **{ $agent }** を停止して削除します。履歴は残ります。
notice-stopping-account = ⏸️ **{ $agent }** を停止します。アカウントに問題があります（{ $category }）。作業は残ります。
notice-stopping-hung = ❌ **{ $agent }** は応答がないため停止します。作業はもう一度試します。
notice-stopping-cap = 💰 **{ $agent }** を停止します。上限に達しました（{ $cap }）。作業は残ります。
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
notice-whispered = 🤫 **{ $agent }** だけに伝えます。次のツール呼び出し、進行中のターン、または次のプロンプトで届きます。
notice-reworded = 👀 **{ $agent }** は代わりにこれをします: { $work }
notice-withdrawn = 👀 **{ $agent }** の待ち行列から取り消しました: { $work }
notice-cleared = 👀 **{ $agent }** の待ち行列からメッセージを{ $count }件破棄しました。タスクは残ります。
notice-task-ended = 👀 **{ $agent }** のタスク { $task }: { $end }。
notice-agent-added = 🐜 **{ $agent }** が加わりました（{ $runtime }）。専用チャンネルで話しかけるか、どこからでも `@{ $agent } …` と送ってください。
notice-agent-edited = 👀 **{ $agent }** を変更しました。次のセッションから有効です。
notice-agent-removed = 👀 **{ $agent }** を削除しました。履歴は残ります。{ $works ->
    [0] {""}
   *[other] 未完了の作業 { $works } 件は取りやめました。
}
notice-stopped-all = ⏸️ エージェント{ $agents }体を停止しました。残りのプロセス: { $processes }

## herder 自身

notice-away = { $from }から{ $to }まで離れていました（{ $duration }）。
notice-collapsed = … 不在の間に{ $count }行。`@{ $agent } log` で読めます
notice-collapsed-elsewhere = … 不在の間に{ $count }行。`!history` で読めます
notice-network-down = 🚨 ネットワーク **{ $network }** に{ $attempts }回試してもつながりません: { $detail } 接続を続けて試します。エージェントは作業を続けます。
notice-network-up = ▶️ ネットワーク **{ $network }** に{ $duration }ぶりに戻りました。
notice-network-refused = 🚨 ネットワーク **{ $network }** に拒否されました: { $detail } もう接続しません。`bot.toml` の設定を直して herder を再起動してください。
notice-channel-unavailable = 🚨 **{ $network }** の { $channel } に入れません: { $detail } そこへの投稿はここに届きます。
notice-topic-denied = **{ $network }** の { $channel } では herder にトピックを変更する権限がなく、エージェントの状態を表示できません。herder をオペレーターにするか、モード +t を外してください。モードが変わりしだい再試行します。herder がオペレーターでないほかのチャンネルも同様です。
# $by: a person on another network. $text: what they said, as they said it.
notice-mirrored = 💬 { $by }（{ $network }）: { $text }
# $permission: one of permission-name; the rest as Discord calls it.
notice-permission-missing = 🚨 herder には **{ $network }** で権限「**{ $permission }**」がありません。サーバー設定 → ロール → ボットのロール → 権限 で有効にしてください。再起動は不要です。
notice-permission-missing-in = 🚨 herder には **{ $network }** の { $channel } で権限「**{ $permission }**」がありません。右クリック → 編集 → 権限 でボットのロールを追加し、許可してください。再起動は不要です。
notice-channels-full = 🚨 **{ $network }** のチャンネルは Discord の上限の{ $max }個に達し、{ $missing }個が足りません。アーカイブなどの不要なチャンネルを削除してください。残りは自動で続きます。
# As Discord's settings call it in this language.
permission-name = { $permission ->
    [view-channel] チャンネルを見る
    [send-messages] メッセージを送信
    [manage-channels] チャンネルの管理
    [manage-roles] ロールの管理
    [attach-files] ファイルを添付
    [read-message-history] メッセージ履歴を読む
    [add-reactions] リアクションの追加
   *[other] { $permission }
}
notice-netsplit = { $nick }: ネットワークが分断されていました。届かなかった{ $count }行:
notice-nobody-configured = 🚨 herder に指示できる人がいません。`bot.toml` の `[access]` に誰かを（例：`admins = ["irc:ネットワーク:アカウント"]`）書いて herder を再起動してください。
notice-storage-failed = 🚨 herder はジャーナルに書き込めなくなりました: { $detail } エージェントを止めて終了します。受け付け済みのものは失われません。
notice-disk-low = 🚨 herder のデータがあるディスクの空きは残り { $free } です。空きを増やしてください。いっぱいになると、herder はエージェントを止めて終了します。
notice-revisions-missing = 🚨 { $stream } のジャーナルはリビジョン { $found } で終わっていますが、{ $expected } まで確認済みでした。不足分はディスク上で失われています。最新の日次エクスポートと見比べてください。
notice-shutting-down = herder を終了します。待っているものは残ります。

## 断り

refusal-already-paused = **{ $agent }** はすでに一時停止中か、まもなく一時停止します。`@{ $agent } resume` で再開します。
refusal-already-halted = **{ $agent }** に止めるものはありません（{ $why }）。`@{ $agent } resume` で再開します。
refusal-not-paused = **{ $agent }** は一時停止していないので、再開するものがありません。`@{ $agent } status` で状態を見られます。
refusal-nothing-running = **{ $agent }** に中止するものはありません。セッションは動いていません。
refusal-already-stopping = **{ $agent }** はすでに停止処理中です。終わるまで待ってください。
refusal-no-such-task = タスク { $task } はありません。`!task list` で一覧を見られます。
refusal-task-over = タスク { $task } はもう終わっています: { $end }。
refusal-work-running = **{ $agent }** はもとの内容ですでに作業中です。違う点を伝えるか、`@{ $agent } abort` のあとで言い直してください。
refusal-work-over = **{ $agent }** はもうこれを終えています。変更は間に合いません。言い直してください。
refusal-no-task = **{ $agent }** は今タスクに取り組んでいません。メッセージや巡回は、その答えで終わります。
refusal-whispers-full = **{ $agent }** にはすでに { $max } 件のささやきが待っています。次に動くときに届きます。
refusal-queue-full = **{ $agent }** の待ち行列はいっぱいです（{ $max }）。待つか、`@{ $agent } clear` でメッセージを破棄してください。
refusal-queue-empty = **{ $agent }** に待っているメッセージはありません。
refusal-empty-work = **{ $agent }** に何をするか伝えてください。例: `@{ $agent } テストを実行して`
refusal-removed = **{ $agent }** は削除中で、もう何も受け付けません。
refusal-agent-exists = エージェント **{ $agent }** はすでにいます。別の名前にするか、`!agent edit { $agent }` で変更してください。
refusal-no-such-agent = エージェント「{ $agent }」はいません。`!agent list` で一覧を見られます。
refusal-no-such-agent-but = エージェント「{ $agent }」はいません。**{ $nearest }** のことですか？
refusal-fault = herder は **{ $agent }** にこれを実行できませんでした。内部で何かが失敗しました。何も変わっていません。もう一度試してください。原因は herder のログにあります。
refusal-invalid = { $what }: { $why }

## コマンド：ヘルプに出る説明

cmd-about-pause = 今のセッションの後で一時停止する。`now` を付けるとすぐ止める
cmd-about-resume = 一時停止を解き、ブレーカーを半開にして再開する
cmd-about-abort = セッションを止め、その作業を捨てて次に進む
cmd-about-restart = まっさらなセッションを始め、カウンターを戻す。待ち時間は飛ばす
cmd-about-stop-all = すべてのエージェントを今すぐ止め、残ったプロセスの数を答える
cmd-about-status = 状態、作業、使用中のツール、無音の時間、ターン、トークン、費用、クラッシュ、次の再起動
cmd-about-usage = この 1 時間と今日のトークンと費用を、エージェントとアカウントごとに上限と比べて表示
cmd-about-task-add = エージェントにタスクを渡す
cmd-about-task-list = エージェントの、または全員のタスク
cmd-about-task-show = タスクの詳細
cmd-about-task-cancel = 待機中または実行中のタスクを取り消す
cmd-about-queue = エージェントを待っているもの
cmd-about-clear = 待機中のメッセージを捨てる。タスクは残る
cmd-about-whisper = エージェントだけに何かを伝える
cmd-about-log = エージェントの最近のターン。1かセッション番号でその全文
cmd-about-history = エージェントまたは全体に起きたこと
cmd-about-audit = 誰が何を命じたか
cmd-about-agent-add = エージェントを追加する
cmd-about-agent-edit = エージェントの設定を変える（次のセッションから）
cmd-about-agent-remove = エージェントを外す。確認を求め、履歴は残す
cmd-about-agent-list = エージェントの一覧
cmd-about-agent-show = エージェントの設定
cmd-about-help = この一覧、または一つのコマンド
cmd-about-link = Discord のユーザーと IRC のアカウントを結ぶ。あちらで出たコードをこちらで言う

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
cmd-late = `{ $line }` は { $age }前に書かれ、いま読まれました。何もしていません。まだ必要なら、もう一度送ってください。
cmd-edit-no-work = これは **{ $agent }** への作業でした。書き換えて別のものにすることはできません。何も変わっていません。言い直してください。
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
cmd-too-often = 一度に多すぎます。一分後にもう一度どうぞ。

## コマンド：答え

cmd-more = … ほか { $count } 件
cmd-stopping-all = エージェント { $agents ->
   *[other] { $agents } 個
} を停止中 …
cmd-link-up = { $network } 接続 { $up }
cmd-link-connecting = { $network } 接続中
cmd-link-failing = { $network } 切断、{ $attempts ->
   *[other] { $attempts } 回試行
}：{ $reason }
cmd-link-refused = { $network } 断念：{ $reason }
cmd-tokens = 入力 { $input }、出力 { $output }
cmd-spent = { $name }：この 1 時間 { $hour }、今日 { $today }
cmd-spent-cap = { $per } { $limit } のうち { $used }
cmd-spent-fleet = 全体
cmd-spent-account = アカウント { $account }
cmd-spent-session = セッション { $session }、合計 { $total }
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
cmd-status-today = 今日 { $usage }
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
cmd-log-more = `@{ $agent } log session { $session }` で全文を読めます。
cmd-log-page = { $page }/{ $pages }ページ
cmd-log-next = 続きは `@{ $agent } log session { $session } page { $page }` で読めます。
cmd-log-no-session = セッション { $session } で **{ $agent }** は何も言っていません。
cmd-audit-empty = まだ何も命じられていない。
cmd-audit-line = { $name }（{ $identity }、{ $network } { $place }）：{ $text }
cmd-history-empty = まだ何も起きていない。
cmd-history-failed = ジャーナルを読めなかった。原因は herder のログにある。
cmd-whisper-private = ここではみんなが読めます。**{ $agent }** へのささやきは、わたしへの個人メッセージで whisper { $agent } と本文を送ってください。
cmd-until = { $until } まで
cmd-event-by = （{ $name }）
cmd-event = { $what ->
    [added] 追加 { $subject }
    [edited] 変更
    [removed] 削除 { $subject }
    [queued] 待機列へ { $subject }
    [cleared] 待機列から { $subject } 件を破棄
    [reworded] { $subject } の言い直し
    [withdrawn] { $subject } を取り消し
    [steered] { $subject } を実行中のターンへ
    [task-ended] タスク { $subject }
    [task-reported] タスク { $subject } についての報告
    [whispered] ささやき { $subject }
    [whispers-tool] ささやき { $subject } をツール呼び出しで伝達
    [whispers-turn] ささやき { $subject } を実行中のターンへ
    [whispers-prompt] ささやき { $subject } をプロンプトで伝達
    [discarded] { $subject } を破棄
    [session-started] セッション { $subject } 開始
    [process-started] プロセス { $subject } 起動
    [ready] セッション { $subject } 準備完了
    [conversation] 会話に名前
    [conversation-lost] 会話はもう再開できません
    [permission-denied] 許可を拒否
    [usage] セッション { $subject } の使用量
    [cap-near] 上限 { $subject } に接近
    [cap-waived] 上限 { $subject } を引き上げ
    [spiked] 普段と違う 1 時間
    [price-unknown] 価格不明
    [books-kept] { $subject } の使用量を保存
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
    [linked] { $subject } を結んだ
    [unlinked] { $subject } の結びを解いた
    [reset] カウンターを戻した
    [breaker-opened] { $subject } 回の失敗でブレーカー開
    [breaker-closed] ブレーカー閉
    [degraded] { $subject } 回のクラッシュで縮退
    [panicked] スーパーバイザーを再構築 { $subject }
    [started] herder { $subject } 起動
    [configured] { $subject } を bot.toml から読み込み
    [stopped] herder 終了
   *[other] { $what } { $subject }
}

## コマンド：エージェント

cmd-agent-name = 「{ $name }」はエージェントの名前にできない：英小文字で始め、英小文字・数字・途中のハイフンで 30 文字まで。例：spark-codex
cmd-agent-name-is-word = 「{ $name }」はエージェントの名前にできない：herder 自身が使う言葉だから。
cmd-agent-problems = 「{ $name }」：何もしていない。問題が { $count ->
   *[other] { $count } 件ある：
}
cmd-agent-remove-confirm = **{ $agent }** を終わらせ、チャンネルを外す。履歴は残る。{ $works ->
    [0] {""}
   *[other] 未完了の作業 { $works } 件は取りやめる。
}60 秒以内に：`!agent remove { $agent } { $code }`
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

## Discord

discord-left-out = メッセージに含まれない、または一部だけのファイル: { $files }。エージェントに届くのはテキストファイルだけで、メッセージと合わせて { $max } KiB までです。残りは作業フォルダーに置いてください。
discord-no-content = Message Content Intent がオフのため、herder はここに書かれた内容を読めません。スラッシュコマンド、ボタン、個人メッセージ、herder へのメンション付きメッセージは使えますが、エージェントのチャンネルに書いたふつうの文は届きません。オンにするには: Developer Portal → Bot → Privileged Gateway Intents → Message Content Intent。そのあと herder を再起動してください。
discord-post-refused = 🚫 ここに表示するはずの内容を Discord がどの形でも受け付けませんでした。エージェントの発言は `log` に、理由は herder 自身のログにあります。
## 独自のコマンドを持つネットワーク

slash-pause = 一時停止
slash-resume = 再開
slash-abort = 中止
slash-restart = 再起動
slash-stop-all = 全停止
slash-status = 状態
slash-usage = 使用量
slash-queue = 待ち行列
slash-clear = 消去
slash-whisper = ささやき
slash-log = ログ
slash-history = 履歴
slash-audit = 監査
slash-help = ヘルプ
slash-link = 連携
slash-agent = エージェント
slash-agent-add = 追加
slash-agent-edit = 変更
slash-agent-remove = 削除
slash-agent-list = 一覧
slash-agent-show = 表示
slash-task = タスク
slash-task-add = 追加
slash-task-list = 一覧
slash-task-show = 表示
slash-task-cancel = 取消
slash-about-agent = エージェントの一覧と設定
slash-about-task = エージェントにタスクを渡し、様子を見る
option-agent = エージェント
option-about-agent = どのエージェントか。その専用チャンネルでは省ける
option-name = 名前
option-about-name = 新しいエージェントの名前：小文字、数字、ハイフン
option-runtime = ランタイム
option-about-runtime = 何で動かすか
option-now = すぐ
option-about-now = セッションの終わりを待たない
option-n = 件数
option-about-n = いくつ
option-session = セッション
option-about-session = 全文を読むセッション
option-page = ページ
option-about-page = 何ページ目か
option-task = タスク
option-about-task = どのタスクか
option-code = コード
option-about-code = 確認のコード
option-text = 内容
option-about-text = やること。省くと長い文章の入る入力欄が開く
option-workspace = フォルダ
option-about-workspace = ルートからのフォルダ。省くと入力欄がすべてを尋ねる
option-settings = 設定
option-about-settings = key=value …（例 model=opus max_turns=20）
option-command = コマンド
option-about-command = コマンド一つ

## 入力欄

form-task-add = { $agent } へのタスク
form-agent-add = 新しいエージェント { $name }
form-agent-edit = { $agent } の変更
field-text = やること
field-workspace = フォルダ（ルートから）
field-model = モデル
field-command = コマンド（ランタイム command のときだけ）
field-instructions = 常に守る指示
field-settings = その他の設定 key=value、一行に一つ
field-example-text = パーサーの失敗しているテストを直し、何が間違っていたか説明して。
field-example-workspace = /srv/agents/spark
field-example-model = opus
field-example-command = sh -c 'make test'
field-example-instructions = 終わったと言う前にテストを走らせること。
field-example-settings = max_turns=20

## ボタン

button-resume = 再開
button-abort = 中止
button-transcript = ログ
button-remove = 削除
button-keep = 残す
button-answered = { $action } · { $name }（{ $network }）
button-kept = 残した · { $name }
button-over = 済み
prompt-late = 手遅れです：{ $name }（{ $network }）が先に答えました：{ $action }。
prompt-over = 手遅れです：もう片付いています。`/status` で **{ $agent }** の様子が見られます。
answer-file = 答えの全文はファイルにあります。
answer-failed = herder の内部で失敗しました。原因はログにあります。
answer-unknown = herder はこれをもう覚えていません。初めからどうぞ。
form-unchanged = 何も変わっていません。

## 二つのネットワークにいる一人

cmd-link-code = 10 分以内に、サービスにログインした IRC で、できれば個人宛に言ってください：`!link { $code }`。言った人はあなたの権限を、あなたはその人の権限を持ちます。`/link code:remove` で取り消せます。
cmd-link-how = Discord で `/link` と入力すると、ここで言うコードが出ます。`!link remove` で取り消せます。
cmd-link-private = ここではコードが他の人にも読まれます。コマンドの `/link` を使うか、個人宛に言ってください。
cmd-link-elsewhere = このコードは IRC で `!link` に続けて言ってください。
cmd-link-no-account = 結んでいません：ここでサービスにログインしていません。コードは使い切りました。ログインしてから `/link` で新しいものを。
cmd-link-wrong = 結んでいません：そのコードは無効か、期限切れです。Discord の `/link` で新しいものが出ます。
cmd-link-done = 結びました：Discord のユーザー { $name }（{ $user }）と { $network } のアカウント { $account } は一人として、両方の権限を持ちます。あなたでなければ、今すぐ `!link remove`。
cmd-link-none = 誰とも結ばれていません。
cmd-link-removed = { $count } 件を取り消しました。
