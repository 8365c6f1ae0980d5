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
words-attached-in-part = … 添付ファイルには{ $whole }行のうち{ $count }行があり、省いた所には印があります

## エージェントの状態

phase-idle = 待機中
phase-checking = 作業を検査中
phase-held = 順番待ち
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
hold-turn = 順番待ち（{ $active } 件作業中）
hold-turn-of = 順番待ち（{ $max } 件中 { $active } 件作業中）
hold-exhausted = アカウント { $account } は上限に達しており、エージェントのどれかが `resume` されるまで待機中
hold-exhausted-until = アカウント { $account } は上限に達しており、{ $until }まで待機中
hold-closed = アカウント { $account } は閉鎖中（{ $category }）
hold-tried = アカウント { $account } が使えるかどうか { $agent } が確かめるまで待機中
hold-pressure = 待機中：このマシンのメモリー圧力は { $percent } % で、{ $max } % 以上では開始しません
hold-memory = メモリー待ち：必要 { $needs }、空き { $free }
hold-runner-away = 応答しないマシン { $runner } を待機中
hold-runner-drained = 待機中：マシン { $runner } では何も始まりません（`runner open { $runner }` で再開）

memory-taken = { $now }（最大 { $peak }）
memory-taken-of = { $now }（最大 { $peak }、上限 { $limit }）

stop-pause = 一時停止
stop-abort = 中止
stop-restart = 再起動
stop-stop-all = 全停止
stop-cancel = タスク取り消し
stop-remove = 削除
stop-account = アカウント: { $category }
stop-hung = 応答なし
stop-escalation = 人の判断待ち
stop-configured = コマンドの変更
stop-cap = 上限：{ $cap }

pause-person = { $name }による
pause-stop-all = { $name }の stop-all
pause-failure = { $category }
pause-account = アカウント: { $category }
pause-survivors = プロセスが残っている
pause-escalation = 人の判断待ち
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
wait-split = タスクを分割中

work-message = メッセージ
work-task = タスク
work-round = ラウンド

task-done = 完了
task-failed = 失敗
task-cancelled = 取り消し
task-blocked = 行き詰まり
notice-stopped-all-heard = ⏸️ エージェント{ $agents }体を停止しました。応答するマシンに残りのプロセス: { $processes }。マシンが応答せず確かめられないもの: { $unheard }。マシンが応答し次第、停止します。

## herder 自身の理由

# $own: 下のメッセージのいずれか。$said: プログラムやサーバーの言葉そのまま。
own-with-said = { $own }：{ $said }
own-exit-code = 終了コード { $code }
own-signal = シグナル { $signal } で終了
own-not-waited-for = プロセスの終了を待てませんでした
own-no-result = プロセスが結果を出さずに終了しました
own-workspace-missing = 作業フォルダー { $path } がありません。作成するか変更してください
own-workspace-no-folder = 作業フォルダー { $path } はフォルダーではありません。そこにあるものを移すか変更してください
own-workspace-locked = 作業フォルダー { $path } に書き込めません。所有者、権限、ディスクを確認してください
own-workspace-silent = 作業フォルダー { $path } が応答しません。ディスクまたはネットワークマウントを確認してください
own-start-silent = 時間内に起動できませんでした。プログラム、作業フォルダー { $path }、渡されるファイルのディスクを確認してください
own-no-command = 実行するコマンドがありません。`command` を設定してください
own-empty-command = コマンドの最初の語が空です。プログラムを指定してください
own-program-missing = プログラム { $path } がありません
own-not-installed = { $program } はインストールされていません。{ $path } にありません
own-arguments-too-long = { $program } を起動できません。引数が長すぎます。prompt = "stdin" を使ってください
own-not-started = { $program } を起動できません
own-limits-not-set = メモリー、CPU、プロセスの上限を設定できません。Delegate=yes のサービスか systemd-run --user --scope -p Delegate=yes で herder を動かしてください
own-state-folder = 専用フォルダー { $path } を作成できません
own-credential-missing = { $path } がありません。ログインするか `credentials` から外してください
own-variable-unreadable = { $path } には変数に設定できる行がありません。そこに秘密の値だけを書いてください
# 時計が切れたときに見えたもの。時間の長さ。
own-silent = { $silent } イベントなし、実行中のツールなし、CPU 時間なし
own-silent-since = { $silent } イベントなし、実行中のツールなし、{ $cpu } CPU 時間なし
own-only-cpu = { $silent } イベントなし、実行中のツールなし、CPU 時間だけが使われています
own-nothing-yet = { $waited } プロセスから何もありません
own-tool-open = ツール { $tool } が { $open } 実行中
own-takes-long = セッションは { $takes } 経過、最後のイベントは { $silent } 前
own-takes-long-with-tool = セッションは { $takes } 経過、ツール { $tool } が { $open } 実行中
own-no-heartbeat = { $silent } ハートビートなし
own-no-sign-of-life = ドライバーの反応がありませんでした
own-driver-gone = ドライバーが何も言わずに止まりました
own-old-runner = エージェントを実行するプロセスのバージョンが古いままです: herder runner restart --when-idle
own-runner-away = エージェントを実行するプロセスが応答しません
own-driver-failed = ドライバーが失敗しました
own-driver-overdue = ドライバーが時間内にセッションを終えませんでした
own-not-ended = プロセスを終了できませんでした
own-restarted = herder が再起動されました
own-supervisor-panicked = スーパーバイザーがパニックを起こしました
own-time-limit = 許された時間を二度超えました
own-split-by-nobody = コンテキストがいっぱいになり、タスクの分割を頼める相手がいません：`[evaluator]` にモデルを指定するか、`!task split` を使ってください
own-split-too-deep = コンテキストがいっぱいになりましたが、タスクはすでに部分の部分です
own-split-no-list = コンテキストがいっぱいになり、評価器の答えは 2～5 個の部分の一覧ではありませんでした
own-split-timed-out = コンテキストがいっぱいになり、評価器は時間内にタスクを分割しませんでした
own-split-failed = コンテキストがいっぱいになり、評価器はタスクを分割できませんでした
own-nobody-broader = サンドボックスがタスクに必要なことを拒み、より広い権限を持つエージェントは他にいません
own-check-failed = エージェントが完了とした作業に対する `{ $command }` が { $times } 回失敗しました
own-by = { $name } による
own-out-of-memory = { $limit } のうち { $used }
own-out-of-memory-by = { $limit } のうち { $used }、`{ $program }`
own-turn-limit = ターン数の上限（{ $turns }）に達しました
own-agents-turn-limit = エージェント自身のターン数の上限に達しました
own-turn-interrupted = ターンが中断されました
own-turn-cancelled = ターンが取り消されました
own-answer-too-long = 回答がモデルの上限を超えました
own-answer-broken-off = モデルの回答が途中で切れました
own-nothing-said = エージェントは何も言わず、何もしませんでした。モデルの呼び出しに失敗した可能性があります
own-model-refused = モデルが拒否しました
# $status: ランタイムのプロトコルの語。
own-turn-ended-as = ターンは「{ $status }」で終わりました
# Of a conversation that is given up.
own-conversation-gone = 会話を開けません
own-history-refused = モデルが会話の履歴を拒否しました
own-conversation-full = モデルのコンテキストウィンドウに収まりません
own-no-conversation = エージェントが会話を開かないか、ID のない会話を開きました。このバージョンは herder とは別のプロトコルを話します
own-other-protocol = エージェントのプロトコルはバージョン { $spoken }、herder はバージョン { $ours } です。合うリリースを使ってください
own-no-protocol = エージェントはプロトコルのバージョンを示さず、herder はバージョン { $ours } です。合うリリースを使ってください
own-model-not-set = モデル { $model } を設定できません
own-no-plan-mode = エージェントに計画だけのモードがありません。permissions を read-only、workspace-write、full のどれかにしてください
git-no-repository = { $path } は git リポジトリではありません
git-no-base = リポジトリに開始点となるコミット `{ $base }` がありません
git-failed = `{ $command }` が失敗しました
git-late = `{ $command }` が時間内に終わりませんでした
git-too-much = `{ $command }` の出力が読み取り上限を超えました
git-partial = リポジトリにコミット `{ $base }` のファイルが足りません（部分クローンなど）。そこで取得してください：git fetch --refetch --no-filter
git-setup-failed = 準備 `{ $command }` が終了コード { $code } で失敗しました
git-setup-killed = 準備 `{ $command }` がシグナル { $signal } で終了しました
git-setup-late = 準備 `{ $command }` が時間内に終わりませんでした
git-no-clone = タスクのクローン { $path } がありません
git-off-branch = ブランチ `{ $branch }` の最新のコミットがチェックアウトされていません
git-moved = 検査中にブランチが動きました
git-uncommitted = コミットされていない変更が { $files } ファイルあります
git-no-branch = `{ $base }` はリポジトリのブランチではありません。base にブランチを指定してください
git-behind = `{ $branch }` にタスクの開始コミットがありません。先に最新にしてください
# $files: コンマ区切りの名前。
git-conflict = 現在の `{ $branch }` と競合します: { $files }
git-red = 現在の `{ $branch }` と合わせると `{ $command }` が失敗します
git-base-moved = マージのたびに `{ $branch }` が動きました
git-own-work = { $reviewer } 自身が作業したか、部分として依頼しました
git-changed-since = レビューの開始後に変更されました
git-no-verdict = { $reviewer } は判定しませんでした
git-rejected-often = { $reviewer } は { $times } 回差し戻しました
git-stopped = { $name } がすべてを停止しました
# $line: シェル用。
git-checked-out = `{ $branch }` は変更や作業の途中でチェックアウトされています。片付いたら実行してください: `{ $line }`
git-taken = { $path } には別の herder の `{ $name }` があります。その herder がもう存在しない場合: git update-ref -d { $name }
git-outside = { $link } に { $names } からの新しい知らせがあります
git-followed-often = { $link } に { $names } からの新しい知らせがあり、差し戻しはすでに { $times } 回です
git-pull-closed = { $link } はマージされずに閉じられました
git-not-followed = { $link } を確認できません
git-no-remote = { $path } にはフォージのリポジトリがありません
git-branch-moved = `{ $branch }` に他の誰かがプッシュしました。そのコミットをタスクに取り込むか、そのブランチを削除してください
git-other-host = リポジトリは { $host } にありますが、ログインは { $known } 用です。[forge] host で指定します
git-no-forge = 設定ではプルリクエストを作成しなくなりました
git-forge = `{ $command }` が失敗しました
git-replaced = { $path } はタスク用に作られたフォルダーではないため、内容は読み取りません
git-file = { $path } を書き込み、コピー、または削除できません

## ネットワークにつながらない理由。相手の言葉があれば後に続く
link-not-found = { $server } が見つかりません
link-no-address = { $server } にはアドレスがありません
link-not-connected = { $server } に接続できません
link-not-answered = { $server } が{ $within }応答しませんでした
link-no-tls-name = 「{ $server }」は TLS サーバーの名前として使えません
link-tls-failed = { $server } との TLS に失敗しました
link-certificate = { $server } の証明書は{ $why ->
    [issuer] 自己署名か、知られていない認証局のものです
    [expired] 期限が切れています
    [early] まだ有効ではありません
    [name] 別の名前のものです
    [other] tls_fingerprint のものではありません
   *[invalid] 有効ではありません
    }（SHA-256 { $fingerprint }）。正しいものなら tls_fingerprint をその値に、または tls_ca をその認証局のファイルにしてください
link-tls-not-set-up = TLS を準備できません
link-not-let-in = サーバーが{ $within }たっても入れてくれませんでした
link-login-not-answered = サービスが SASL ログインに{ $within }応答しませんでした
link-no-login-now = サーバーは今 SASL を提供していません。サービスが停止中かもしれません
link-let-in-without-login = 設定されたログインなしでサーバーに入れられました
link-login-refused = サービスが SASL ログインを拒否しました。アカウント、パスワード、証明書を確認してください
# $offered: mechanisms, as the server lists them.
link-login-refused-offering = サービスが SASL ログインを拒否しました（サーバーの方式は { $offered }）。アカウント、パスワード、証明書を確認してください
link-login-broken-off = SASL ログインが中断されました
link-server-password = サーバーのパスワードが違うか、ありません
link-banned = 禁止されています
link-no-services = サーバーはそれがサービスだと言っていません
link-barred = 禁止されています。次の接続は{ $again }後です
link-no-nick = サーバーが受け入れるニックに空きがありません
link-closed = サーバーが接続を閉じました
link-ended-by-server = サーバーが接続を終了しました
link-broke = 接続が切れました
link-stopped-reading = サーバーが読み取りをやめました
link-fell-silent = サーバーが沈黙しました
link-lines-not-answered = サーバーが行を受け取ったまま{ $waited }応答しませんでした
link-kicked = キックされました
discord-link-token = Discord がトークンを認識しません。ボットのトークン（Developer Portal の Bot、Reset Token）を [discord] の `token`、またはそこに書かれた変数かファイルに入れて、herder を再起動してください
discord-link-shard = herder が求めたシャードを Discord が拒否しました（コード 4010）。同じトークンで別のシャードを使うプログラムがログインしているかもしれません。それを止めて herder を再起動してください
discord-link-more-shards = Discord はこのボットにより多くのシャードを求めています（コード 4011）。一つには多すぎるサーバーに入っています。必要な数を問い直すため、herder を再起動してください
discord-link-version = Discord はこの版のゲートウェイに対応しなくなりました（コード 4012）。新しい herder を入れてください
discord-link-intent-unknown = herder が求めたインテントを Discord が認識しません（コード 4013）。新しい herder を入れてください
discord-link-intent-refused = herder が求めたインテントを Discord が許可しません（コード 4014）。Developer Portal の Bot、Privileged Gateway Intents で Message Content Intent を有効にして、herder を再起動してください
discord-link-client = Discord のクライアントを作れません
discord-link-no-content = Message Content インテントが有効になっていません。herder はそれなしで続けます
discord-link-logins = Discord はこのボットにこれ以上のログインを許していません（1日 { $total } 回）。次は{ $within }後です
discord-link-outside = ボットがサーバーに入っていません。`herder check` で招待リンクを表示できます
discord-link-stuck = Discord が接続を終了し、serenity がそこで固まりました
discord-link-not-again = Discord との接続が切れ、serenity が次の接続を始めません
discord-link-not-let-in = Discord が{ $within }たっても入れてくれませんでした
discord-link-dead = Discord との接続が失われています。{ $silent }の間、イベントもハートビートの応答もありません
discord-link-broke = Discord との接続が切れました
discord-link-thread = 接続のスレッドを開始できません
discord-link-thread-died = 接続のスレッドが異常終了しました
# $request: method and path. $code: Discord's own.
discord-link-refused = Discord が { $request } を拒否しました（ステータス { $status }、コード { $code }）
discord-link-foreign = { $request } に答えたのは Discord ではなく、途中にあるプロキシなどでした（ステータス { $status }）。herder は後でもう一度送ります
discord-link-stopped = 10 分間に { $refused } 件の要求が拒否されたため、応答が戻るまで herder は Discord にときどきしか問い合わせません。拒否されたものはログにあります
discord-link-not-answered = { $request } に時間内の応答がありませんでした
discord-link-unreadable = { $request } への応答を読み取れません
discord-link-unaskable = { $request } を送れません

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
category-out-of-memory = メモリー不足

finding-same-approach = 同じ方法を { $count } 回繰り返しました。
finding-same-edit = 同じ編集を { $count } 回繰り返しました。
finding-same-error = 同じエラーに { $count } 回突き当たりました。
finding-same-words = 新しいことをせずに同じことを { $count } 回言いました。
finding-no-change = { $count } ターンの間ファイルを変更せず、ほとんどが繰り返しか失敗でした。
finding-long-gaps = 作業の途中で { $count } 回沈黙しました（最長 { $longest }）。

clock-startup = は時間内に起動しませんでした
clock-silence = から長い間反応がありません
clock-tool = のツール呼び出しが長く終わりません
clock-task = の作業が長すぎます
clock-heartbeat = が herder に応答しなくなりました

## 状態のお知らせ

notice-started = 🐜 **{ $agent }** が開始しました: { $work }
# $workspace: as `workspace` has it.
notice-workspace-seen = 📂 **{ $agent }** の作業フォルダーの状態: { $workspace }。
# How a workspace stands. $on: branch | nothing; $changed: files; $under: the word after `git`, or nothing.
workspace = { $on ->
    [branch] ブランチ { $branch }
   *[other] ブランチなし
}、{ $changed ->
    [0] 変更なし
   *[other] 変更されたファイル { $changed } 件
}{ $under ->
    [nothing] {""}
   *[other] 、{ $under } の途中
}
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
notice-overflowed = ❌ **{ $agent }** のコンテキストがいっぱいになりました: { $detail } { $countdown }後に新しい会話で続けます…
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
}{ $named ->
    [no] bot.toml でこのエージェントの `model` に名前を、[prices] に価格を書いてください。
   *[yes] bot.toml の [prices] に価格を書いてください。
}
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
notice-quota-reached = ⏳ **{ $agent }** はアカウント { $account } の利用上限に達しました。作業は残り、アカウントが使えるようになれば続けます。
notice-account-exhausted = ⏳ アカウント **{ $account }**: 利用上限に達しました（**{ $agent }** で検出）。このアカウントのエージェントは何も始めません。{ $how ->
    [reset] 上限は { $at } ごろ解除され、そのとき一つが試します。
    [later] 上限は { $reset } ごろ解除され、{ $at } に一つが試します。
    [probe] { $at } に一つがもう一度試します。
    [ask] { $at } に、続けるかどうかお尋ねします。
   *[never] `@{ $agent } resume` と送ると一つが試します。
}
notice-account-asked = ⏳ アカウント **{ $account }**: 利用上限は解除されたはずです。`@{ $agent } resume` と送るとエージェントが作業を続けます。
notice-account-tried = ▶️ { $by } が **{ $agent }** にアカウント **{ $account }** を試させます。使えれば他のエージェントも続きます。
notice-clock-set = 🕰️ herder が動いているマシンの時計が { $by } { $way ->
    [ahead] 進められました
   *[back] 戻されました
 }。待ち時間の長さは変わりません。時刻で終わりが決まっている制限だけが新しい時計に従います。
notice-account-works = ▶️ アカウント **{ $account }** がまた使えることを **{ $agent }** が確かめました。エージェントは作業を続けます。
notice-out-of-memory = ❌ **{ $agent }** はメモリー不足のため終了しました：{ $detail } { $countdown }後にもう一度だけ試します…
notice-timed-out = ❌ **{ $agent }** は{ $limit }を超えたため停止しました。{ $countdown }後にもう一度だけ試します…
notice-task-failed = ❌ **{ $agent }** はタスク { $task } を断念しました: { $detail }
notice-task-blocked = 🧱 **{ $agent }** はタスク { $task } を先へ進められません: { $detail }
notice-task-taken = 👀 **{ $agent }** がボードからタスク { $task } を受け取りました: { $work }
notice-task-released = **{ $agent }** は続けられないため、タスク { $task } は他のエージェントのためにボードに戻りました。
notice-task-splitting = ❌ **{ $agent }**：コンテキストがいっぱいになりました。タスク { $task } を小さなタスクに分割しています…
# $permissions: workspace-write or full, as in bot.toml.
notice-task-needs-more = 🚫 **{ $agent }** の権限ではタスク { $task } を実行できません。少なくとも { $permissions } の権限を持つエージェントのためにボードに戻りました。
notice-checkout-failed = ❌ **{ $agent }** のタスク { $task } { $act ->
        [make] のクローンを作成
        [read] のクローンを読み取り
        [check] を検査
        [merge] をマージ
       *[remove] のクローンを削除
    }できませんでした: { $why }
notice-check-passed = ✅ **{ $agent }** のタスク { $task }: `{ $command }` が { $took } で成功しました（{ $commit }）。
notice-check-failed = ❌ **{ $agent }** のタスク { $task }: `{ $command }` が { $took } で失敗しました: { $why }{ $again ->
        [yes] {" "}{ $agent } に差し戻します。
       *[no] {""}
    }
# $uncommitted: ファイル数。 $checked: 検査に合格。 $paid: 費用あり。
notice-task-in-review = 👀 **{ $agent }** のタスク { $task } は{ $asked ->
    [yes] **{ $reviewer }** による
   *[no] {""}
}確認待ちです: { $commits } コミット、{ $files } ファイル (+{ $added } −{ $removed }){ $uncommitted ->
    [0] {""}
   *[other] 、未コミット { $uncommitted } ファイル
}{ $checked ->
    [yes] 、`{ $command }` 合格
   *[no] {""}
}{ $paid ->
    [yes] {" "}· { $cost }
   *[no] {""}
}。内容は `!task diff { $task }`、返事は `!accept { $task }`{ $merges ->
    [yes] （{ $branch } へ）
   *[no] {""}
} か `!reject { $task } 理由`{ $asked ->
    [yes] （{ $reviewer } の代わりに）
   *[no] {""}
}。
notice-review-left = 👀 **{ $agent }** のタスク { $task } は人の判断が必要です: { $why } 内容は `!task diff { $task }`、返事は `!accept { $task }` か `!reject { $task } 理由`。
# $merges: yes: 次にベースへマージする。pull: プルリクエストを作成する。
notice-task-accepted = ✅ { $by } が **{ $agent }** のタスク { $task } を承認しました{ $merges ->
    [yes] 。マージしています。
    [pull] 。プルリクエストを作成しています。
   *[no] 。
}
notice-task-rejected = 👀 { $by } がタスク { $task } を **{ $agent }** に差し戻しました。
notice-task-proposed = 📤 **{ $agent }** のタスク { $task } のプルリクエスト: { $link } 失敗したチェックとコメントは **{ $agent }** に戻ります。
notice-task-landed = ✅ **{ $agent }** のタスク { $task } をマージしました: { $branch } は { $commit } です。
notice-task-returned = ❌ タスク { $task } は **{ $agent }** に戻ります: { $why }
notice-merge-failed = ❌ **{ $agent }** のタスク { $task } をマージできませんでした: { $why } `!accept { $task }` でもう一度、`!reject { $task } 理由` で差し戻し。
notice-task-opened = 📂 **{ $agent }**: ここでの発言は、これからタスク { $task } のものになります。
notice-task-dropping = 👀 タスク { $task } のクローンを削除します。
notice-part-failed = 🧱 タスク { $task } はこのままでは終えられません。部分 { $part } が「{ $end }」です。`!task assign { $part } auto` でやり直し、`!task cancel { $task }` で全体を取り消します。
notice-awaited-not-done = 🧱 タスク { $task } は始められません。待っているタスク { $awaited } が「{ $end }」です。{ $anew ->
    [yes] `!task assign { $awaited } auto` でそちらをやり直し、`!task cancel { $task }` でこちらを取り消します。
   *[no] `!task cancel { $task }` で取り消し、`!task add` で待たずに出し直せます。
}
notice-nobody-suffices = 🧱 タスク { $task } はボードで待っていますが、条件を満たすエージェントがもういません{ $needs ->
    [none] {""}
   *[other] （必要な条件: { $needs }）
}。それでも任せるなら `!task assign { $task } agent`、エージェントを変えるなら `!agent edit`、取り消すなら `!task cancel { $task }`。
notice-notified = 🔔 **{ $agent }** からのお知らせ: { $detail }
notice-clock-ran-out = ❌ **{ $agent }** { $clock }: { $detail } 中断します…
notice-permission-denied = ⚙️ **{ $agent }** が許可を求めましたが、回答待ちが多すぎるため拒否しました: { $what }
# 求めている内容はこの下にそのまま出る。$tool: ツール、$within: 回答を待つ時間。
notice-permission-asked = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool }。{ $within }以内に `@{ $agent } approve { $ask }`、`@{ $agent } approve { $ask } always` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
# $danger: 必ず確認するパターン。
notice-permission-asked-always = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool } (必ず確認: { $danger })。{ $within }以内に `@{ $agent } approve { $ask }`、`@{ $agent } approve { $ask } always` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
notice-permission-asked-cut = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool }。長すぎて全体は表示できません。{ $within }以内に `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
notice-permission-asked-vague = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool }。具体的に何をするかは示されていません。{ $within }以内に `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
notice-permission-asked-hidden = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool } (目に見えない文字を含むため、文字コードで示しています)。{ $within }以内に `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
notice-permission-asked-secret = ⚙️ **{ $agent }** が許可 { $ask } を求めています: { $tool } (表示されない秘密情報を含みます)。{ $within }以内に `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`。それを過ぎると拒否になります。
# 質問の文はこの下に出る。
notice-question-asked = ⚙️ **{ $agent }** からの質問 { $ask }。{ $within }以内に、このエージェントのチャンネルで、または `@{ $agent } answer { $ask } …` で答えてください:
notice-question-asked-one = ⚙️ **{ $agent }** からの質問 { $ask }。{ $within }以内に、番号を一つ選んで `@{ $agent } answer { $ask } 1`、または言葉で答えてください:
notice-question-asked-several = ⚙️ **{ $agent }** からの質問 { $ask }。{ $within }以内に、番号を一つ以上選んで `@{ $agent } answer { $ask } 1,2`、または言葉で答えてください:
# The plan stands before it.
notice-plan-asked = ⚙️ **{ $agent }** が上の計画を実行してよいか尋ねています { $ask }。{ $within }以内に `@{ $agent } approve { $ask }`、または変えてほしい点を `@{ $agent } answer { $ask } …` で。それを過ぎると拒否になります。
# $text: what is asked; $within: how long an answer is waited for yet.
notice-question-open = ⚙️ **{ $agent }** は質問 { $ask } の答えをあと { $within }待っています: { $text } `@{ $agent } answer { $ask } …`
notice-permission-open = ⚙️ **{ $agent }** は { $ask } への返事をあと { $within }待っています: { $text } `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`
# $by: 人、$network: どこで。
notice-permission-approved = ✅ **{ $agent }** に許可: { $ask } を { $by } ({ $network }) が承認しました。
notice-permission-approved-always = ✅ **{ $agent }** に今後ずっと許可: { $ask } を { $by } ({ $network }) が承認しました。取り消しは `!rule remove { $ask }`。
notice-permission-refused = ❌ **{ $agent }** は不許可: { $ask } を { $by } ({ $network }) が拒否しました。
notice-question-answered = ✅ **{ $agent }** の質問 { $ask } に { $by } ({ $network }) が答えました: { $text }
notice-permission-expired = ❌ **{ $agent }** は不許可: { $ask } に時間内の回答がありませんでした。
notice-question-expired = ❌ **{ $agent }** の質問 { $ask } に時間内の回答がありませんでした。
# $command: 許可されていたもの。
notice-rule-removed = ✅ **{ $agent }** は今後また確認します (ルール { $rule } を削除): { $command }
notice-needs-intervention = 🧯 **{ $agent }** は対応が必要です: { $window }以内に{ $failures }回失敗しました。最後の理由: { $detail } もう再起動しません。`@{ $agent } log` を読み、`@{ $agent } resume` で一度だけ試せます。
notice-trial-failed = 🧯 **{ $agent }** は引き続き対応が必要です。試しのセッションが失敗しました: { $detail } もう再起動しません。`@{ $agent } log` を読み、`@{ $agent } resume` でもう一度試せます。
notice-breaker-closed = ✅ **{ $agent }** は復旧しました。試しのセッションが成功しました。
notice-degraded = 🧯 **{ $agent }** は不安定です: { $window }以内に{ $crashes }回クラッシュしました。もう再起動しません。`@{ $agent } log` を読んでから `@{ $agent } resume` と送ってください。
notice-survivors = 🧯 **{ $agent }**: { $count }個のプロセスを終了できませんでした: { $pids }。手動で終了してから `@{ $agent } resume` と送ってください。
notice-supervisor-panicked = ❌ **{ $agent }**: herder 自身に不具合があり、このエージェントのスーパーバイザーをジャーナルから作り直しました。{ $countdown }後に再起動します…
notice-supervisor-gave-up = 🧯 **{ $agent }**: スーパーバイザーをジャーナルから作り直せません: { $detail } herder を再起動するまで、このエージェントは動きません。
notice-paused = ⏸️ **{ $agent }** は一時停止中です。`@{ $agent } resume` で再開します。
notice-interrupted = 🐜 **{ $agent }** は herder の停止で中断されました。作業はもう一度試します。
# $detail: one of the reasons above, with what the runtime or the model said.
notice-conversation-lost = 🐜 **{ $agent }**は会話を続けられないため、最後のやり取りを冒頭に置いて新しい会話を始めます：{ $detail }
notice-work-line = { $line }

## 実行中のセッションを示すメッセージ

live-working = 🐜 **{ $agent }** は作業中、開始 { $since }
live-last = 最後の動き { $when }
live-ended = 🐜 **{ $agent }** は { $duration } 作業しました

## コマンドへの返事

notice-pausing = ⏸️ **{ $agent }** はこのセッションの後に一時停止します。`@{ $agent } pause now` ですぐに止まります。
notice-handed-off-now = ⏸️ **{ $agent }** は一時停止しました。端末を閉じてから `@{ $agent } resume` してください。そこでの発言と作業を引き継いで続けます。会話 { $conversation } は端末で次の行から続けられます:
    `{ $line }`
notice-handed-off-before = ⏸️ **{ $agent }** はすでに止まっていました。端末を閉じてから `@{ $agent } resume` してください。そこでの発言と作業を引き継いで続けます。会話 { $conversation } は端末で次の行から続けられます:
    `{ $line }`
notice-handed-off-pausing = ⏸️ **{ $agent }** は作業中で、このセッションの後に一時停止します。`@{ $agent } handoff now` ですぐに止まります。端末を閉じてから `@{ $agent } resume` してください。そこでの発言と作業を引き継いで続けます。一時停止の知らせが出てから、会話 { $conversation } を端末で次の行から続けられます:
    `{ $line }`
notice-handed-off-stopping = ⏸️ **{ $agent }** を停止しています。一時停止のままになり、作業は保持されます。端末を閉じてから `@{ $agent } resume` してください。そこでの発言と作業を引き継いで続けます。一時停止の知らせが出てから、会話 { $conversation } を端末で次の行から続けられます:
    `{ $line }`
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
notice-stopping-escalation = 🚨 **{ $agent }** を停止しています：同じことを繰り返しているため、人を呼びます。作業は残ります。
notice-stopping-configured = 🔄 **{ $agent }** を停止しています：設定の実行方法が変わりました。作業は新しい方法で続けます。
notice-stopping-cap = 💰 **{ $agent }** を停止します。上限に達しました（{ $cap }）。作業は残ります。
# abort、restart、pause now、stop の後、セッションがなくなったこと。$ended、$left: プロセスの数。
notice-ended = **{ $agent }** が終了しました：{ $ended } プロセスを終了、残り { $left }。
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
notice-queued-held = 👀 { $kind ->
    [task] タスク { $work } は **{ $agent }** の待ち行列の{ $position }番目です：{ $why }。
   *[other] **{ $agent }** の待ち行列の{ $position }番目に入りました：{ $why }。
}
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
notice-task-waits = 👀 タスク { $task } は次のタスクが終わるまでボードで待ちます：{ $after }。{ $then ->
    [agent] その後 **{ $agent }** が引き受けます。
    [next] その後、条件を満たす次の空きエージェントが引き受けます。
   *[nobody] 条件を満たすエージェントがいません。`!task assign { $task } agent` で渡す相手を決めるか、`!agent edit` で変更してください。
}
notice-boarded = 👀 タスク { $task } をボードに載せました。{ $fits ->
    [yes] 条件を満たす次の空きエージェントが引き受けます。
   *[no] 条件を満たすエージェントがいません。`!task assign { $task } agent` で誰かに渡すか、`!agent edit` で変更してください。
}
notice-task-moved = 👀 タスク { $task } は **{ $from }** から **{ $to }** へ移ります。
notice-task-moved-from = 👀 タスク { $task } は **{ $from }** から、条件を満たす次の空きエージェントへ移ります。
notice-task-moved-to = 👀 タスク { $task } は **{ $to }** へ渡ります。
notice-task-moved-to-next = 👀 タスク { $task } は条件を満たす次の空きエージェントへ渡ります。
notice-task-split = 👀 タスク { $task } は分けて行います: { $parts }。すべて終われば完了です。
notice-board-cancelled = 👀 タスク { $task } を取り消しました{ $parts ->
    [0] {""}。
   *[other] 。残る { $parts } 個の部分も、エージェントが止まり次第取り消します。
}
notice-board-reworded = 👀 タスク { $task } の内容を変えました: { $work }
notice-agent-added = 🐜 **{ $agent }** が加わりました（{ $runtime }）。専用チャンネルで話しかけるか、どこからでも `@{ $agent } …` と送ってください。
notice-agent-edited = 👀 **{ $agent }** を変更しました。次のセッションから有効です。{ $anew ->
    [yes] 次のセッションは新しい会話を始めます。
   *[no] {""}
}
notice-agent-removed = 👀 **{ $agent }** を削除しました。履歴は残ります。{ $works ->
    [0] {""}
   *[other] 未完了の作業 { $works } 件は取りやめました。
}
notice-reloaded = 🔄 設定を読み直しました：{ $what }。
notice-reloaded-nothing = 🔄 設定を読み直しました。変更はありません。
reload-added = 追加: { $names }
reload-changed = 変更: { $names }（次のセッションから）
reload-restarted = 別のコマンドで再開: { $names }
reload-removed = 削除（履歴は残ります）: { $names }
reload-sections = 今から有効: { $names }
reload-replaced = コマンドによる変更は取り消し: { $names }
reload-stayed = コマンドで削除済みのまま: { $names }（`agent add` で戻せます）
reload-failed = 反映できず: { $names }（理由はログに。もう一度読み直してください）
reload-later = 次の起動から: { $names }
reload-more = ほか{ $count }件
notice-not-reloaded = 🚫 設定は反映されず、何も変わっていません。誤りが{ $count }件あります: { $problems }{ $more ->
    [0] {""}
   *[other] {" "}· ほか{ $more }件。すべてはログと `herder check` に
}
notice-linked = 結びました：Discord のユーザー { $name }（{ $user }）と { $network } のアカウント { $account } は一人として、両方の権限を持ちます。あなたでなければ、今すぐ `!link remove`。
notice-unlinked = { $count } 件を取り消しました。
notice-answer-too-long = 完了しました。回答の全文は長すぎて、herder が不在の間は保存できませんでした。
notice-stopped-all = ⏸️ エージェント{ $agents }体を停止しました。残りのプロセス: { $processes }

## herder 自身

notice-away = { $from }から{ $to }まで離れていました（{ $duration }）。
notice-went-on = { $duration }ぶりに戻りました。{ $sessions }件のセッションが続いていました。
notice-runner-away = 🚨 エージェントを動かすプロセス（`herder runner`）が応答しません。動作中のものは続いているかもしれませんが、新しいものは始まりません。`herder runner status` とそのログで確かめられます。
notice-runner-back = ▶️ エージェントを動かすプロセスが{ $duration }ぶりに戻りました。
notice-machine-away = 🚨 マシン { $runner } が応答しません。そこのセッションはしばらく続きますが（`unattended`）、新しいものは始まりません。{ $runner } での `herder runner status` とログで確かめられます。
notice-machine-back = ▶️ マシン { $runner } が{ $duration }ぶりに戻りました。
notice-machine-joined = ▶️ マシン { $runner } が加わり、エージェントを動かせます：`agent add <名前> <ランタイム> <フォルダー> runner={ $runner }`
notice-machine-drained = マシン { $runner } ではもうセッションが始まりません。{ $sessions ->
    [0] 動作中のものはありません。
   *[other] { $sessions }件は続きます。
}
notice-machine-opened = マシン { $runner } で再びセッションが始まります。
notice-machine-removed = マシン { $runner } を外しました。サーバーにもその鍵を拒むよう伝えます。そこのセッションはしばらくすると自ら終わります（`unattended`）。すぐ終えるには { $runner } で `herder runner stop` です。
notice-machine-twin = 🚨 2 台のマシンが { $runner } を名乗っています：エージェントを動かしている { $first } と、拒まれている { $second }（`/etc/machine-id` の ID）。一方の `data/cluster` をよけて、別の名前で招待してください。{ $first } がもう無いなら、`runner remove { $runner }` のあと { $second } を招待し直してください。
notice-too-early = { $nicks }: 書かれたとき、まだここにいませんでした。もう一度言ってください。
notice-collapsed = … 不在の間に{ $count }行。`@{ $agent } log` で読めます
notice-collapsed-elsewhere = … 不在の間に{ $count }行。`!history` で読めます
notice-network-down = 🚨 ネットワーク **{ $network }** に{ $attempts }回試してもつながりません: { $detail } 接続を続けて試します。エージェントは作業を続けます。
notice-network-up = ▶️ ネットワーク **{ $network }** に{ $duration }ぶりに戻りました。
notice-network-refused = 🚨 ネットワーク **{ $network }** に拒否されました: { $detail } もう接続しません。`bot.toml` の設定を直して herder を再起動してください。
notice-nickserv-refused = 🚨 **{ $network }** の NickServ が herder のパスワードを受け付けません: { $detail } 次に接続したときにもう一度試し、それまではアカウントなしで動き続けます。`bot.toml` の `nickserv_password` を直して herder を再起動してください。
notice-nickserv-untrusted = 🚨 **{ $network }** の NickServ には herder のパスワードを伝えません。サーバーはそれがサービスだと言っていません。あとでもう一度確かめます。それまで herder はアカウントなしで続けます。SASL のあるネットワークでは代わりに `sasl` を設定してください。
notice-webhook-down = 🚨 Webhook **{ $network }** は{ $attempts }回試しても通知を受け取りません: { $detail } 再送を続けます。その間の通知は待機し、エージェントは作業を続けます。
notice-webhook-up = ▶️ Webhook **{ $network }** は{ $duration }ぶりに通知を受け取りました。
notice-webhook-gone = 🚨 Webhook **{ $network }** はもうありません: { $detail } 今後は何も送りません。`bot.toml` の設定を直すか削除して、herder を再起動してください。
notice-webhook-dropped = 🚨 Webhook **{ $network }** が通知を拒否しています: { $detail } { $attempts }回試した通知を1件あきらめ、次の通知へ進みます。次に受け取られるまで、この警告は繰り返しません。
notice-channel-unavailable = 🚨 **{ $network }** の { $channel } に入れません: { $detail } そこへの投稿はここに届きます。
notice-topic-denied = **{ $network }** の { $channel } では herder にトピックを変更する権限がなく、エージェントの状態を表示できません。herder をオペレーターにするか、モード +t を外してください。モードが変わりしだい再試行します。herder がオペレーターでないほかのチャンネルも同様です。
# $by: a person on another network. $text: what they said, as they said it.
notice-mirrored = 💬 { $by }（{ $network }）: { $text }
# $permission: one of permission-name; the rest as Discord calls it.
notice-permission-missing = 🚨 herder には **{ $network }** で権限「**{ $permission }**」がありません。サーバー設定 → ロール → ボットのロール → 権限 で有効にしてください。再起動は不要です。
notice-permission-missing-in = 🚨 herder には **{ $network }** の { $channel } で権限「**{ $permission }**」がありません。右クリック → 編集 → 権限 でボットのロールを追加し、許可してください。再起動は不要です。
notice-commands-refused = 🚨 **{ $network }** では herder のスラッシュコマンドが拒否されています。スコープ `applications.commands` がありません。{ $invite } からもう一度招待してください（先に外す必要はありません）。それまでは @メンションとボタンが使えます。
notice-not-invited = 🚨 herder は **{ $network }** のサーバーに参加していないか、外されました。そこでは何も聞けず、何も言えません。{ $invite } から招待してください（または `bot.toml` の `guild` を直して herder を再起動）。そこへの投稿は保持され、エージェントは作業を続けます。
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
    [send-in-threads] スレッドでメッセージを送信
   *[other] { $permission }
}
notice-netsplit = { $nick }: ネットワークが分断されていました。届かなかった{ $count }行:
notice-nobody-configured = 🚨 herder に指示できる人がいません。`bot.toml` の `[access]` に誰かを（例：`admins = ["discord:ユーザーID"]` または `["irc:ネットワーク:アカウント"]`）書いて シェルで `herder reload` を実行してください。
notice-storage-failed = 🚨 herder はジャーナルに書き込めなくなりました: { $detail } エージェントを止めて終了します。受け付け済みのものは失われません。
notice-disk-low = 🚨 herder のデータがあるディスクの空きは残り { $free } です。空きを増やしてください。いっぱいになると、herder はエージェントを止めて終了します。
notice-upkeep-left-out = 🚨 アーカイブまたは日次エクスポートを見送りました。herder のデータがあるディスクの空きは { $free } で、あと { $missing } 足りません。空きを増やしてください。足りれば書き出します。
notice-upkeep-failed = 🚨 herder は古い記録のアーカイブか日次エクスポートの書き出しに失敗しました: { $detail } 示された対象を確認してください。10 分ごとに再試行します。
notice-revisions-missing = 🚨 { $stream } のジャーナルはリビジョン { $found } で終わっていますが、{ $expected } まで確認済みでした。不足分はディスク上で失われています。最新の日次エクスポートと見比べてください。
notice-archives-aside = 🚨 データベースはイベント { $ends } で終わっていますが、イベント { $first } から { $last } のアーカイブはこのデータベースのものではありません。古い、または別のデータベースが戻されています。そのアーカイブにしかない内容はここでは失われています。アーカイブは { $folder } に残してあります。日次エクスポートのほうが新しければ、herder import で復元してください。
notice-events-missing = 🚨 ジャーナルのイベント { $events } は、読めるアーカイブのどれにもありません。アーカイブがないか壊れています。バックアップから戻してください。それまでエクスポートには含まれません。欠けのあるエクスポートのために、完全な日次エクスポートが消されることはありません。
notice-entries-unreadable = 🚨 { $newer ->
    [0] 新しい herder
   *[other] herder { $version }
} が書いた内容をこの herder は読めません (フリートの記録 { $events } 件、投稿 { $posts } 件)。残したまま飛ばします。新しい herder を起動し直してください。
notice-shutting-down = herder を終了します。待っているものは残ります。

## 評価器

# For programs alone: what the evaluator said stays private. $times: findings in a row.
notice-spiraling = **{ $agent }** は「{ $work }」で行き詰まっているようです（連続 { $times } 回の指摘）。本人だけに伝えました。
# The words up to the reason, and those after it, are known to machines and stay English. $why: one sentence.
notice-escalated = 🚨 { $reminder ->
    [0] {""}
   *[other] （再通知 { $reminder }）{""}
}[ESCALATION] Agent { $agent } appears stuck on task "{ $work }". { $why }{ $told ->
    [no] {" "}これについて伝えた内容は本人に届いていません。
   *[yes] {""}
}{ $times ->
    [1] {""}
   *[other] {" "}同じ作業での呼び出しは { $times } 回目です。
} Awaiting human guidance. Reply @{ $agent } resume/abort. (`!ack { $id }`：確認済み、再通知なし)
# $answer: resume | abort | remove | moved
notice-escalation-answered = ✅ **{ $agent }** の呼び出し { $id } に { $by } が答えました：{ $answer ->
    [resume] 続行します。
    [remove] 削除されます。
    [moved] タスクは他へ移されます。
   *[other] 作業は破棄されます。
}
notice-escalation-acked = 👀 { $by } が **{ $agent }** の呼び出し { $id } に対応しています。`@{ $agent } resume` または `@{ $agent } abort` まで停止したままです。
notice-whisper-marked = 👀 **{ $agent }** へのささやき { $id } を{ $mark ->
    [right] 正しい
   *[wrong] 誤り
}と記録しました。
notice-evaluator-lapsed = ⚠️ **{ $agent }** は { $times } 回続けて評価されませんでした：{ $why }直るまでは内蔵の検出器だけが見ています。
# $kind: timed-out | busy | missing | logged-out | limited | failed | unparsable | overtaken; $detail: what was said; $after: the limit.
lapse = { $kind ->
    [timed-out] 評価器が { $after } 以内に答えませんでした
    [busy] 同時に動く評価が多すぎました
    [missing] プログラム { $detail } がありません
    [logged-out] 評価器がログインしていません：{ $detail }
    [limited] 評価器のアカウントが上限に達しています：{ $detail }
    [unparsable] 評価器の答えが判定になっていません：{ $detail }
    [overtaken] 評価器の答えを待つ必要がなくなりました（エージェントが止められたか別の仕事に移ったか、herder が終わりました）
   *[failed] 評価器が失敗しました：{ $detail }
}
refusal-escalation-answered = **{ $agent }** の呼び出し { $id } には { $by } が { $at } に答えています：{ $answer ->
    [resume] 続行します。
    [remove] 削除されます。
    [moved] タスクは他へ移されました。
   *[other] 作業は破棄されました。
}
# $answer: as above
refusal-late-abort = **{ $agent }** の呼び出し { $id } には、たったいま { $by } が答えました：{ $answer ->
    [resume] 続行します。
    [moved] タスクは他へ移され、いまは別の作業をしています。
   *[other] 作業は破棄され、いまは別の作業をしています。
} いまの作業を中止するなら、もう一度 `abort` と言ってください。
refusal-already-acked = **{ $agent }** の呼び出し { $id } には { $by } が対応しています。
refusal-no-escalation = **{ $agent }** について、いま人は呼ばれていません。
refusal-no-such-whisper = 評価器は **{ $agent }** に番号 { $id } のことを伝えていないか、古すぎます。`!history { $agent }` で番号が分かります。
refusal-no-such-number = 番号 { $id } のものはありません。エージェントの `!history` で番号が分かります。

## 断り

refusal-already-paused = **{ $agent }** はすでに一時停止中か、まもなく一時停止します。`@{ $agent } resume` で再開します。
refusal-already-halted = **{ $agent }** に止めるものはありません（{ $why }）。`@{ $agent } resume` で再開します。
refusal-no-conversation = **{ $agent }** にはまだ会話がありません。最初のセッションが会話を始めます。何も変更していません。
refusal-no-line = **{ $agent }** には会話 { $conversation } がありますが、そのプログラムで端末から続ける行を herder は知りません。何も変更していません。`@{ $agent } pause` で一時停止できます。
refusal-no-line-ever = **{ $agent }** は `command` で動いています。セッションはそれぞれ独立していて、端末で続けられる会話はありません。何も変更していません。
refusal-not-paused = **{ $agent }** は一時停止していないので、再開するものがありません。`@{ $agent } status` で状態を見られます。
refusal-nothing-running = **{ $agent }** に中止するものはありません。セッションは動いていません。
refusal-already-stopping = **{ $agent }** はすでに停止処理中です。終わるまで待ってください。
refusal-no-such-task = タスク { $task } はありません。`!task list` で一覧を見られます。
refusal-no-runner = 「{ $runner }」というマシンは加わっていません。`!runner list` で一覧が見られます。
refusal-task-over = タスク { $task } はもう終わっています: { $end }。
refusal-task-running = **{ $agent }** はタスク { $task } を実行中です。`@{ $agent } pause now` で待機列に戻すか、`@{ $agent } abort` で断念させてから、もう一度どうぞ。
refusal-no-checkout = タスク { $task } 専用のクローンはありません。詳しくは `task show { $task }` をどうぞ。
refusal-in-review = **{ $agent }** のタスク { $task } は確認待ちです。先に `accept { $task }` か `reject { $task } 理由` をどうぞ。断念するなら `task cancel { $task }`。
refusal-not-in-review = タスク { $task } は確認待ちではありません。詳しくは `task show { $task }` をどうぞ。
refusal-is-review = タスク { $task } は別のタスクのレビューなので変えられません。`!accept` か `!reject` でそのタスクを決めるか、`!task cancel { $task }` で人の判断に回します。
refusal-worked-on = **{ $agent }** にはタスク { $task } のメッセージが残っているか、フォルダーを読み取り中です。終わってからもう一度どうぞ。`clear { $agent }` で待機中のメッセージを捨てられます。
refusal-not-as-reviewed = タスク { $task } は確認後に変わっていて、まだ検査されていません。`reject { $task } 理由` で差し戻すか、**{ $agent }** にメッセージを送ると検査と確認をやり直します。
refusal-being-merged = タスク { $task } は { $by } が承認済みで、マージ中です。
refusal-pull-open = タスク { $task } は承認済みで、プルリクエストが開いています。そちらでマージするか閉じてください: { $link } `!reject { $task } 理由` で差し戻せます。
refusal-task-moving = タスク { $task } はいまボードとエージェントの間を移動中です。少し待ってもう一度どうぞ。
refusal-deserted = herder は内部の障害のため **{ $agent }** の監督をやめました（#alerts に知らせてあります）。herder を再起動するまで何も変えられません。
refusal-awaits-parts = **{ $agent }** のタスク { $task } は、`task show { $task }` に並ぶ部分の完了を待っています。それらを取り消すか割り当て直すか、`task cancel { $task }` で全部まとめて取り消してください。
refusal-nothing-to-check = **{ $agent }** にはリポジトリがないため、タスクのチェックを実行する場所がありません。リポジトリのあるエージェントに渡すか、`check=` を外してください。
refusal-task-kept = タスク { $task } はすでに **{ $agent }** を待っています。
refusal-task-is-split = タスク { $task } は分けて行われています。`!task show { $task }` で部分が分かります。部分を割り当て・分割・取消するか、全体を取り消してください。
refusal-split-parts = タスクは 2 から { $max } 個に分けられます。タスク { $task } には { $parts } 個ありました。セミコロンで区切ってください。例: `!task split { $task } 一つ目; 二つ目`
refusal-split-too-deep = タスク { $task } は部分の部分なので、これ以上分けられません。最大 { $max } 段です。
refusal-board-full = ボードがいっぱいです（{ $max } 件）。いくつか取り消すか、片付くのを待ってください。
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
refusal-no-such-ask = 番号 { $ask } の確認はありません。
# $by: 先に答えた人、$network: どこで、$at: いつ。
refusal-ask-approved = 遅すぎました: { $by } ({ $network }) が { $at } に { $ask } を承認済みです。この回答では何も変わりません。
refusal-ask-refused = 遅すぎました: { $by } ({ $network }) が { $at } に { $ask } を拒否済みです。この回答では何も変わりません。
refusal-ask-answered = 遅すぎました: { $by } ({ $network }) が { $at } に { $ask } に回答済みです。この回答では何も変わりません。
refusal-ask-expired = 遅すぎました: { $ask } は { $at } に時間切れとなり、拒否されました。
refusal-ask-dropped = { $ask } への回答は { $at } から不要です: その作業は終わりました。
refusal-wants-words = { $ask } は **{ $agent }** の質問です。`@{ $agent } answer { $ask } …` と言葉で答えてください。
refusal-nothing-asked = これが答えになる質問はありません。
refusal-nothing-asked-by = **{ $agent }** の質問で、これが答えになるものはありません。
# $asks: their numbers.
refusal-several-asked = 複数の質問があります: { $asks }。番号でどれかを示してください。
# $offers: how many answers the question offers.
refusal-no-such-offer = **{ $agent }** の質問 { $ask } には、1 から { $offers } までの番号一つか、言葉で答えてください。
refusal-no-such-offers = **{ $agent }** の質問 { $ask } には、1 から { $offers } までの番号 (`1,2` のように) か、言葉で答えてください。
refusal-wants-yes-or-no = { $ask } は許可の求めです: `@{ $agent } approve { $ask }` または `@{ $agent } deny { $ask }`。
refusal-no-rule-for-cut = { $ask } は長すぎて全体を表示できなかったため、常に許可することはできません。`@{ $agent } approve { $ask }` で今回だけ許可できます。
refusal-no-rule-for-vague = { $ask } は具体的に何をするかを示していないため、常に許可することはできません。`@{ $agent } approve { $ask }` で今回だけ許可できます。
refusal-no-rule-for-hidden = { $ask } には目に見えない文字が含まれるため、常に許可することはできません。`@{ $agent } approve { $ask }` で今回だけ許可できます。
refusal-no-rule-for-secret = { $ask } には herder が保存しない秘密情報が含まれるため、常に許可することはできません。`@{ $agent } approve { $ask }` で今回だけ許可できます。
refusal-too-many-rules = **{ $agent }** のルールは上限に達しています。`!rule list { $agent }` で一覧、`!rule remove` で削除。`@{ $agent } approve { $ask }` で今回だけ許可できます。
refusal-no-such-rule = ルール { $rule } はありません。`!rule list` で一覧を表示します。
refusal-too-many-asks = **{ $agent }** はすでに { $max } 件の回答を待っており、回答があるまで新しい質問はできません。
refusal-no-session = 質問している **{ $agent }** のセッションは終わっています。
refusal-fault = herder は **{ $agent }** にこれを実行できませんでした。内部で何かが失敗しました。何も変わっていません。もう一度試してください。原因は herder のログにあります。
refusal-work-too-long = { $bytes } バイトの文章は長すぎます。一件の作業は最大 { $max } バイトです。残りはファイルに入れて、その名前を書いてください。
refusal-whisper-too-long = { $bytes } バイトのささやきは長すぎます。最大 { $max } バイトです。残りは作業として渡してください。
refusal-name-kept = エージェントの名前は変えられません。**{ $agent }** を改名する代わりに、**{ $name }** を新しく追加してください。
refusal-edited-meanwhile = **{ $agent }** は同時に別のところから変更されたため、何も実行していません。`!agent show { $agent }` で確かめてから、もう一度書いてください。
refusal-history-unreadable = **{ $agent }** の履歴を読み取れません: { $detail }
# $detail: in the words of the database.
refusal-not-recorded = herder は今それを記録できず、何も実行していません: { $detail }
refusal-invalid = { $what }: { $why }
refusal-no-configuration = この herder は設定ファイルなしで起動されました。読み直すものがありません。
refusal-going-down = herder は終了中です。次の起動で行います。
refusal-closing = herder は終了中のため、実行されませんでした。herder が戻ったら、もう一度送ってください。

## コマンド：ヘルプに出る説明

cmd-about-pause = 今のセッションの後で一時停止する。`now` を付けるとすぐ止める
cmd-about-handoff = 端末で続ける人のために一時停止し、そのための行を示す。`now` はセッションを中断する
cmd-about-resume = 一時停止を解き、ブレーカーを半開にして再開する
cmd-about-abort = セッションを止め、その作業を捨てて次に進む
cmd-about-restart = まっさらなセッションを始め、カウンターを戻す。待ち時間は飛ばす
cmd-about-stop-all = すべてのエージェントを今すぐ止め、残ったプロセスの数を答える
cmd-about-resume-all = `stop-all` で止めたエージェントを再開し、止まったままのものとその理由を答える
cmd-about-status = 状態、作業、使用中のツール、無音の時間、ターン、トークン、費用、クラッシュ、次の再起動
cmd-about-usage = この 1 時間と今日のトークンと費用を、エージェントとアカウントごとに上限と比べて表示
cmd-about-task-add = エージェント、または条件を満たす次の空きエージェントにタスクを渡す
cmd-about-task-list = エージェントの、または全員のタスク
cmd-about-task-show = タスクの詳細
cmd-about-task-diff = タスクの変更（ファイルの一覧、または一つのファイルの行）
cmd-about-task-assign = 待機中・失敗・中断したタスクを別のエージェントに渡す
cmd-about-task-split = 待機中のタスクを 2 から 5 個に分ける
cmd-about-task-cancel = 待機中または実行中のタスクを取り消す
cmd-about-task-new = タスクを始める。以後エージェントのチャンネルでの発言はそのタスクのものになる
cmd-about-task-open = 以前のタスクに戻る（フォルダーと会話も）
cmd-about-task-drop = タスクのフォルダーとブランチを削除する
cmd-about-accept = 確認待ちのタスクを承認する
cmd-about-reject = 確認待ちのタスクを理由を付けて差し戻す
cmd-about-approve = エージェントの求めを許可する。`always` で今後は確認なし
cmd-about-deny = エージェントの求めを拒否する
cmd-about-answer = エージェントの質問に答える
cmd-about-rule-list = 確認なしで許可されているもの
cmd-about-rule-remove = また確認するように戻す
cmd-about-runner-list = このボットのエージェントを動かすマシン
cmd-about-runner-drain = マシンで新しいセッションを始めないようにする
cmd-about-runner-open = マシンで再びセッションを始められるようにする
cmd-about-runner-remove = マシンを外す。その鍵は使えなくなる
cmd-about-ack = 人を待つエージェントに対応中だと伝える。再通知は止まる
cmd-about-mark = 評価器のささやきが適切だったかを記録する（right または wrong）
cmd-about-queue = エージェントを待っているもの
cmd-about-clear = 待機中のメッセージを捨てる。タスクは残る
cmd-about-whisper = エージェントだけに何かを伝える
cmd-about-log = エージェントの最近のターン。1かセッション番号でその全文
cmd-about-history = エージェントまたは全体に起きたこと
cmd-about-audit = 誰が何を命じたか
cmd-about-reload = 設定を読み直す：エージェント、上限、権限。変わらない実行は続く
cmd-about-agent-add = エージェントを追加する
cmd-about-agent-edit = エージェントの設定を変える（次のセッションから）
cmd-about-agent-remove = エージェントを外す。確認を求め、履歴は残す
cmd-about-agent-list = エージェントの一覧
cmd-about-agent-show = エージェントの設定
cmd-about-help = この一覧、または一つのコマンド
cmd-about-whoami = herder から見た自分と、`[access]` に書く名前
cmd-about-page = ページにログインするためのリンク。`revoke`：自分のセッションを終える
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
cmd-edit-no-task = これはボードへのタスク { $task } でした。書き換えて別のものにすることはできません。何も変わっていません。言い直してください。
cmd-ask-back = 何もせず、**{ $agent }** にも渡していない：「{ $word }」は { $options } かもしれない。作業として渡すには：`!task add { $agent } …`
cmd-ask-which = 「{ $word }」というコマンドはない：{ $options } のどれか？
cmd-not-for-here = **{ $agent }** にも渡していない。
cmd-usage = { $reason } 書き方：`!{ $usage }`
cmd-misfit-missing = 「{ $what }」がない。
cmd-misfit-extra = 「{ $word }」はそこに置けない。
cmd-misfit-wrong = 「{ $word }」はここに合わない。例えば { $wanted } と書く。
cmd-misfit-unclosed = 引用符（{ $quote }）が閉じていない。
cmd-misfit-whole-fleet = `!{ $command }` は全員に効く。一つだけ止めるには `pause now`。
cmd-or-work = 作業なら：`!task add { $agent } …`
cmd-needs-role = `{ $command }` には { $role } の権限が必要。
cmd-needs-role-work = **{ $agent }** に作業を渡すには { $role } の権限が必要。
cmd-needs-role-any = コマンドには { $role } の権限が必要。
cmd-bot-has-had-its-share = ボットへの応答は 1 時間に { $count } 回まで。人がこのエージェントに話しかけるまで、以後は受け付けない。
cmd-too-often = 一度に多すぎます。一分後にもう一度どうぞ。

## コマンド：答え

cmd-more = … ほか { $count } 件
cmd-still-working = まだ処理中。答えは終わり次第
cmd-given-up = 時間がかかりすぎ、ほかにも滞っている処理が多いため、これ以上は待たない。実行されたかどうかは !history
cmd-resumed-all = { $count ->
   *[other] { $count } 個のエージェントを再開：{ $agents }。
}
cmd-resumed-none = `stop-all` で止まっているエージェントはありません。
cmd-resumed-not = { $agent } はそのまま：{ $why }。
cmd-stopping-all = エージェント { $agents ->
   *[other] { $agents } 個
} を停止中 …
cmd-link-up = { $network } 接続 { $up }
cmd-link-up-unidentified = { $network } 接続 { $up }、アカウントなし ({ $reason })
cmd-link-connecting = { $network } 接続中
cmd-link-failing = { $network } 切断、{ $attempts ->
   *[other] { $attempts } 回試行
}：{ $reason }
cmd-link-waiting = { $network } 待機中：{ $reason }
cmd-link-refused = { $network } 断念：{ $reason }
cmd-tokens = 入力 { $input }、出力 { $output }
cmd-spent = { $name }：この 1 時間 { $hour }、今日 { $today }
cmd-spent-cap = { $per } { $limit } のうち { $used }
cmd-spent-marks = ささやき { $all } 件のうち { $right } 件が正しいと記録
cmd-spent-unmetered = 費用の分からない評価 { $count } 件
cmd-spent-chart = { $name }: 24 時間で { $sum }、1 時間あたり最大 { $most }
cmd-spent-fleet = 全体
cmd-spent-account = アカウント { $account }
cmd-spent-repository = リポジトリ { $repository }
cmd-spent-tasks = タスク: { $tasks }
cmd-spent-session = { $told ->
    [yes] 直近のターン { $turn }、
   *[no] {""}
}セッション { $session }、合計 { $total }
cmd-status-nobody = エージェントはいない。`!agent add spark claude /path/to/workspace` で追加する。
cmd-status-fleet = エージェント { $agents ->
   *[other] { $agents } 個
}、稼働 { $busy }、停止 { $stopped }
cmd-status-tool = ツール { $tool }
cmd-status-memory = メモリー { $taken }
cmd-status-idle = 無音 { $idle }
cmd-status-turns = { $count ->
   *[other] { $count } ターン
}
cmd-status-queued = 待機 { $count } 件
cmd-status-since = { $since } 前から
cmd-status-workspace = 作業フォルダー: { $workspace }
cmd-status-pause-pending = このセッションの後で一時停止
cmd-status-totals = セッション { $sessions ->
   *[other] { $sessions } 回
}、成功 { $successes }、失敗 { $failures }、クラッシュ { $crashes } · { $turns ->
   *[other] { $turns } ターン
} · { $usage }
cmd-status-unknown = { $count ->
   *[other] 種類の分からない失敗 { $count } 件（一時的なものとして扱いました）
}
cmd-status-spent = { $told ->
    [yes] 直近のターン { $turn }、
   *[no] {""}
}{ $runs ->
    [yes] 今のセッション
   *[no] 前回のセッション
} { $session }
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
cmd-status-evaluator = 評価器：評価 { $judged } 件、指摘 { $findings } 件、不成立 { $lapses } 件{ $named ->
    [yes] （{ $kinds }）
   *[no] {""}
}、最後は { $ago } 前：{ $last }
# $kind: as for lapse.
cmd-status-lapses = { $kind ->
    [timed-out] 時間切れ
    [busy] 同時実行が多すぎ
    [missing] プログラムなし
    [logged-out] 未ログイン
    [limited] 上限
    [unparsable] 判定でない答え
    [overtaken] 追い越し
   *[failed] 失敗
} { $count } 件
cmd-status-judged-ok = 問題なし
cmd-status-judged = { $count ->
    [0] 指摘あり
    [one] 指摘あり
   *[other] 指摘あり、{ $count } 回連続
}
# $acked: yes | no; $name: who takes care of it.
cmd-status-called = 人を呼んでいます（{ $id }、{ $ago } 前）{ $acked ->
    [yes] 、{ $name } が対応中
   *[no] {""}
}：`resume` か `abort`
# $asks: numbers.
cmd-status-asks = 質問中 { $asks }
# $kind: permission, question or plan; $left: how long an answer is waited for yet.
cmd-status-asked = { $kind ->
    [question] 質問 { $ask }
    [plan] 計画 { $ask } の確認
   *[permission] 許可 { $ask } の依頼
} (残り { $left }): { $text }
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
cmd-rule-none = 常に許可されているものはありません。
cmd-runner-off = すべてのエージェントはボットのマシンで動きます。bot.toml の `[runners] servers` で他のマシンに届きます。
cmd-runner-none = 加わったマシンはありません。ボットのマシンで `herder runner invite <名前>` を実行すると、加えるための一行が出ます。
cmd-runner-here = 応答中、セッション{ $sessions }件
cmd-runner-load = 負荷 { $load }
cmd-runner-disk = 空き { $free }
cmd-runner-away = { $away }前から応答なし
cmd-runner-unheard = 応答なし（このボットの起動以来）
cmd-runner-drained = 新しいものは始まりません
# $rule: 番号、$tool と $command: 許可の内容、$name: 許可した人。
cmd-rule-line = { $rule } { $agent }: { $tool } `{ $command }` ({ $name }, { $at })
cmd-task-none = タスクはない。`!task add text` で追加する。
cmd-task-line = { $task } { $state } · **{ $agent }** · { $text }
cmd-task-running = 実行中
cmd-task-checking = 検査中
cmd-task-in-review = 確認待ち
cmd-task-merging = マージ中
cmd-task-proposed = プルリクエスト中
cmd-task-queued = 待機中
cmd-task-board-line = { $task } { $state } · ボード · { $text }
cmd-task-waits = { $tasks } 待ち
cmd-task-queued-for = **{ $agent }** 待ち
cmd-task-split = { $blocked ->
    [yes] 中断
   *[no] 分割
} ({ $over }/{ $parts })
cmd-task-priority = { $priority ->
    [high] 急ぎ
   *[low] 急がない
}
cmd-task-after = { $tasks } の後
cmd-task-check = チェック `{ $command }`
cmd-task-needs = 条件 { $needs }
cmd-task-part-of = { $task } の一部
cmd-task-attempt = **{ $agent }** が試行、セッション { $session }、{ $at }: { $category }{ $detail }
cmd-task-given = { $name }（{ $network }）から、{ $at }{ $attempts ->
    [0] {""}
   *[other] 、失敗 { $attempts } 回
}
cmd-task-note = → { $note }
cmd-task-branch = ブランチ { $branch }
cmd-task-folder = { $folder }（{ $size }）: { $stage ->
        [planned] 作成中
        [not-made] 未作成
        [removing] 削除中
       *[made] コミット { $commits } 件、未コミットのファイル { $files } 件
    }
cmd-task-evidence = 検査: `{ $command }`（{ $commit }、{ $took }）: { $how }
cmd-task-evidence-passed = 成功
# $since: 時刻。
cmd-task-reviewed = { $since } から{ $is_asked ->
    [yes] **{ $reviewer }** の
   *[no] {""}
}確認待ち。返事は `!accept { $task }` か `!reject { $task } 理由`、内容は `!task diff { $task }`。
cmd-task-accepted = { $name } が承認
cmd-task-landed = マージ済み: { $branch } は { $commit }
cmd-task-pull = プルリクエスト: { $link }
cmd-task-cost = これまでの費用: { $cost }、{ $tokens } トークン
cmd-task-unread = クローンを読み取れません: { $why }
cmd-task-lost-unknown = 何が失われるかは不明です。それでもタスク { $task } のクローンとブランチ { $branch } を削除するには `task drop { $task } confirm` を実行してください。
cmd-task-lost = タスク { $task }、ブランチ { $branch }、{ $size }: リポジトリのどのブランチにもないコミット { $commits } 件と、未コミットのファイル { $files } 件が失われます。`task drop { $task } confirm` で削除します。
cmd-task-clone = 📁 { $task } · { $agent } · { $branch } · { $size } · { $stage ->
        [planned] 作成中
        [not-made] 未作成
        [removing] 削除中
       *[made] ここにしかないもの: コミット { $commits } 件、ファイル { $files } 件
    }
# $files changed; $counts: +3 −1. $commits since the base; $uncommitted: files that are not committed.
cmd-diff-head = タスク { $task }、ブランチ { $branch }：{ $files }ファイル、{ $counts }。{ $commits ->
        [0] コミットなし
       *[other] { $commits }コミット
    }、{ $uncommitted ->
        [0] 未コミットなし
       *[other] 未コミット{ $uncommitted }ファイル
    }
cmd-diff-none = タスク { $task }（ブランチ { $branch }）はまだ何も変更していません。
cmd-diff-fetched = クローンはありません。これは最後に取得されたコミットです。
cmd-diff-left-out = 新しいファイルが多すぎるため、ほかの{ $count }個は省かれています。
# $from: the name before.
cmd-diff-renamed = 旧名 { $from }
cmd-diff-mode = モード { $before } → { $after }
cmd-diff-mark = { $mark ->
    [added] 新規
    [removed] 削除
    [type] 別の種類のファイル
    [submodule] サブモジュール
    [binary] バイナリ
    [unread] 大きすぎるか読めない
    [lock] 省略：ロックファイル
    [generated] 省略：生成物
    [long] 省略：長い
    [undone] コミット済みだが、その後コミットなしで元に戻された
   *[uncommitted] 未コミット
}
cmd-diff-more = `!task diff { $task } [file]` で一つのファイルを読めます。
cmd-diff-stat-next = 続きは `!task diff { $task } stat page { $page }` で読めます。
cmd-diff-next = 続きは `!task diff { $task } { $file } page { $page }` で読めます。
cmd-diff-no-text = 表示できるテキストはありません。
# $name: as it was asked for. $files: those that it may mean.
cmd-diff-several = 「{ $name }」は { $files } のどれかです。
cmd-diff-no-file = タスク { $task } は「{ $name }」というファイルを変更していません。{ $is_near ->
    [yes] { $near } のことですか？
   *[no] {""}
}
cmd-diff-no-page = { $pages }ページしかありません。
cmd-log-empty = **{ $agent }** はまだ何も言っていない。
cmd-log-tools = ツール：{ $tools }
cmd-log-ended = セッション { $session }：{ $how }
cmd-log-more = `@{ $agent } log session { $session }` で全文を読めます。
cmd-log-plan = 計画 { $ask }：{ $text }
cmd-log-page = { $page }/{ $pages }ページ
cmd-log-next = 続きは `@{ $agent } log session { $session } page { $page }` で読めます。
cmd-log-no-session = セッション { $session } で **{ $agent }** は何も言っていません。
cmd-audit-empty = まだ何も命じられていない。
cmd-audit-line = { $name }（{ $identity }、{ $network } { $place }）：{ $text }
cmd-history-empty = まだ何も起きていない。
cmd-looked-back = { $found ->
    [0] { $since } 以降の最新 { $seen } 件にはありません。それより前は見ていません。エクスポートには全部あります。
   *[other] { $since } 以降の最新 { $seen } 件から。それより前は見ていません。エクスポートには全部あります。
}
cmd-unreadable = 読めないエントリ { $count } 件を省きました。理由は herder のログにあります。
cmd-not-reloaded = 🚫 設定は反映されず、何も変わっていません。誤りが{ $count }件あります：
cmd-follow-not = `--follow` は `events` と `log` で使える。
cmd-follow-behind = ジャーナルは { $end } 番で終わっている。別のものか、復元されたものだ。最初からやり直すこと。
cmd-follow-gap = { $numbers } 番の出来事がない。アーカイブが消えたか、読めない。
cmd-history-failed = ジャーナルを読めなかった。原因は herder のログにある。
cmd-whisper-private = ここではみんなが読めます。**{ $agent }** へのささやきは、わたしへの個人メッセージで whisper { $agent } と本文を送ってください。
cmd-until = { $until } まで
cmd-event-by = （{ $name }）
cmd-event = { $what ->
    [added] 追加 { $subject }
    [edited] 変更
    [removed] 削除 { $subject }
    [queued] 待機列へ { $subject }
    [taken] { $subject } をボードから受け取り、依頼者
    [handed-back] { $subject } をボードに返却
    [board-heard] ボードが知らせを記録
    [split-begun] タスク { $subject } を分割中
    [split-ended] 分割 { $subject } が完了
    [split-lapsed] 分割 { $subject } なし
    [board-added] { $subject } をボードに追加
    [board-taken] { $subject } がボードに返却、
    [board-directed] { $subject } を割り当て
    [board-offered] { $subject } を引き渡し
    [board-accepted] { $subject } 到着
    [board-returned] { $subject } がボードに戻る
    [board-split] { $subject } を分割
    [board-part-over] 部分 { $subject }
    [board-awaited-over] { $subject } が待っていたもの
    [board-reopened] { $subject } をやり直す
    [board-cancelling] { $subject } を部分ごと取り消し
    [board-review-asked] { $subject } のレビューを依頼
    [board-review-accepted] レビュー { $subject } 承認
    [board-review-rejected] レビュー { $subject } 差し戻し
    [board-review-ended] レビュー { $subject } 判定なしで終了
    [board-review-given-up] { $subject } のレビューを断念
    [board-review-closed] { $subject } のレビューを閉じた
    [parts-awaited] { $subject } が部分を待つ
    [parked] 部分が終わるまで { $subject } を保留
    [parts-reported] 部分が終わり { $subject } を再開
    [board-part-added] リーダーが追加した部分 { $subject }
    [board-part-cancelled] 部分 { $subject } を取り消し
    [board-lead-ending] { $subject } が終わり、残りの部分を取り消し
    [board-lead-closed] { $subject } の部分がすべて終了
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
    [whispers-anew] ささやき { $subject } を次のターンで伝達（実行中のターンは中断）
    [whispers-dropped] ささやき { $subject } を取り下げ、未伝達
    [discarded] { $subject } を破棄
    [session-started] セッション { $subject } 開始
    [workspace] 作業フォルダーを確認: { $subject }
    [checkout-planned] { $subject } のクローンを作成中
    [checkout-made] { $subject } のクローンの準備完了
    [checkout-reading] { $subject } の作業をリポジトリに保存中
    [checkout-read] { $subject } の作業をリポジトリに保存
    [checkout-removing] { $subject } のクローンを削除中
    [checkout-removed] { $subject } のクローンを削除
    [checkout-checking] { $subject } を検査
    [checkout-checked] { $subject } の検査終了
    [task-in-review] { $subject } が確認待ち
    [task-left] { $subject } は人の判断へ
    [task-accepted] { $subject } を承認
    [task-returned] { $subject } をエージェントに差し戻し
    [task-proposed] { $subject } プルリクエスト
    [task-heard] { $subject } に知らせ
    [task-landed] { $subject } をマージ
    [failed-make] { $subject } のクローンを作成できませんでした
    [failed-read] { $subject } のクローンを読み取れませんでした
    [failed-remove] { $subject } のクローンを削除できませんでした
    [failed-check] { $subject } を検査できませんでした
    [failed-merge] { $subject } をマージできませんでした
    [task-opened] { $subject } を開いた
    [process-started] プロセス { $subject } 起動
    [process-warm] プロセス { $subject } は次のセッションまで残ります
    [process-cool] 残っていたプロセスを終了します
    [ready] セッション { $subject } 準備完了
    [conversation] 会話に名前
    [conversation-lost] 会話はもう再開できません
    [asked] { $subject } を確認
    [asked-again] { $subject } を再度確認
    [ask-reminded] { $subject } を再通知
    [approved] { $subject } を承認
    [denied] { $subject } を拒否
    [answered] { $subject } に回答
    [ask-expired] { $subject } は時間切れ
    [ask-dropped] { $subject } への回答は不要に
    [permission-given] 許可
    [rule-added] ルール { $subject } を作成
    [rule-removed] ルール { $subject } を削除
    [permission-denied] 許可を拒否
    [turn-observed] ターンを確認
    [evaluation-begun] 評価 { $subject } を開始
    [judged-ok] 評価 { $subject }：問題なし
    [judged] 評価 { $subject }
    [not-judged] 評価 { $subject } は成立せず
    [stood-in] 評価 { $subject }：内蔵の検出器が代行
    [escalated] 人を呼び出し { $subject }
    [reminded] 呼び出し { $subject } を再通知
    [acked] 呼び出し { $subject } を確認
    [answered-resume] 呼び出し { $subject } に回答：続行
    [answered-abort] 呼び出し { $subject } に回答：中止
    [answered-moved] 呼び出し { $subject } に回答：タスクを移動
    [marked-right] ささやき { $subject } を正しいと記録
    [marked-wrong] ささやき { $subject } を誤りと記録
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
    [account-exhausted] アカウント { $subject } が上限に到達
    [account-asked] アカウント { $subject } について質問
    [account-tried] アカウント { $subject } を試行
    [account-proved] アカウント { $subject } が復旧
    [linked] { $subject } を結んだ
    [unlinked] { $subject } の結びを解いた
    [reset] カウンターを戻した
    [breaker-opened] { $subject } 回の失敗でブレーカー開
    [clock-set] マシンの時計が { $subject } 変更された
    [breaker-closed] ブレーカー閉
    [degraded] { $subject } 回のクラッシュで縮退
    [panicked] スーパーバイザーを再構築 { $subject }
    [started] herder { $subject } 起動
    [configured] { $subject } を bot.toml から読み込み
    [left-out] { $subject } は bot.toml から外れました
    [stopped] herder 終了
   *[other] { $what } { $subject }
}

## コマンド：エージェント

cmd-agent-name = 「{ $name }」はエージェントの名前にできない：英小文字で始め、英小文字・数字・途中のハイフンで 30 文字まで。例：spark-codex
cmd-agent-name-is-word = 「{ $name }」はエージェントの名前にできない：herder 自身が使う言葉だから。
cmd-agent-name-is-channel = 「{ $name }」はエージェントの名前にできない：#{ $name } は herder 自身のチャンネルだから。
cmd-agent-problems = 「{ $name }」：何もしていない。問題が { $count ->
   *[other] { $count } 件ある：
}
cmd-agent-conversation = 会話 { $conversation }、{ $known ->
    [yes] エージェントの一時停止後に端末で: `{ $line }`
   *[no] 端末で続ける行は知られていません
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
cmd-setting-folder-silent = { $key }：そのフォルダーのファイルシステムが応答しない。マウント元のサーバーが動いているか確かめる
cmd-setting-needs-command = { $key }：runtime command のエージェントには必要。例：command="sh -c 'make test'"
cmd-setting-placeholder = { $key }：prompt=arg はコマンドに {"{"}prompt{"}"} があるとき、prompt=stdin はないとき
cmd-setting-needs-own-home = { $key }：ファイルは専用の HOME のためのもの。own_home=true を加えてください
cmd-setting-needs-machine = { $key }：スタンバイがあるとき、ボット自身のマシンではエージェントは動きません。`runner list` の名前で runner=box4 を加えてください
cmd-setting-no-machine = { $key }：この名前のマシンは加わっていません。`runner list` で確かめられます

## Discord

discord-given-up = ID が { $channel } のチャンネルでは発言が許されていません。1時間以上前からそこへ送るはずだったものは諦めます。
discord-agent-removed = **{ $agent }** は削除されました。ここでの発言は誰にも届きません。履歴は残っています。
# $name: who wrote the message that is replied to. For agents: the quoted message follows.
discord-replied = { $name } への返信：
discord-left-out = メッセージに含まれない、または一部だけのファイル: { $files }。1 つのメッセージで届くのは、それぞれ { $max } MiB までのファイル { $count } 個までです。残りはエージェントの作業フォルダーに置いてください。
file-sent = 📎 { $agent } がファイルを送りました: { $file } ({ $size } バイト)。
file-sent-link = 📎 { $agent } がファイルを送りました: { $file } ({ $size } バイト)、24 時間有効: { $link }
file-sent-first = 📎 { $agent } がファイルを送りました: { $file } ({ $size } バイト)。冒頭:
file-sent-alone = 📎 { $agent } がファイルを送りました: { $file } ({ $size } バイト)。このネットワークではファイルを送れず、受け取れるページもありません。
files-old-runner = メッセージに含まれない、または一部だけのファイル: { $files }。エージェントを動かすプロセスは以前の herder が起動したもので、テキストしか渡しません: `herder runner restart --when-idle`。
files-not-fetched = メッセージに含まれないファイル: { $file } { $why ->
    [private] (アドレスがプライベート、またはウェブのものではありません)
    [redirects] (転送が多すぎます)
    [long] ({ $max } MiB を超えています)
    [refused] (サーバーが拒否しました)
    [unanswered] (サーバーが応答しないか、間に合いませんでした)
   *[failed] (保存できませんでした)
}。
discord-unread = { $what ->
    [poll] エージェントはアンケートを読めません。
    [sticker] エージェントはスタンプを読めません。
   *[forward] 転送された内容には、エージェントが読めるものがありません。
}言葉で書くか、テキストファイルとして添付してください。
discord-unreadable = ここに書かれたものの中に、herder がまったく読めないものがあり、誰にも届いていません。ふつうの文でもう一度書いてください。
discord-no-content = Message Content Intent がオフのため、herder はここに書かれた内容を読めません。スラッシュコマンド、ボタン、個人メッセージ、herder へのメンション付きメッセージは使えますが、エージェントのチャンネルに書いたふつうの文は届きません。オンにするには: Developer Portal → Bot → Privileged Gateway Intents → Message Content Intent。そのあと herder を再起動してください。
discord-post-refused = 🚫 ここに表示するはずの内容を Discord がどの形でも受け付けませんでした。エージェントの発言は `log` に、理由は herder 自身のログにあります。
## 独自のコマンドを持つネットワーク

slash-pause = 一時停止
slash-handoff = 引き継ぎ
slash-resume = 再開
slash-abort = 中止
slash-restart = 再起動
slash-stop-all = 全停止
slash-resume-all = 全再開
slash-status = 状態
slash-usage = 使用量
slash-queue = 待ち行列
slash-clear = 消去
slash-whisper = ささやき
slash-approve = 承認
slash-deny = 拒否
slash-answer = 回答
slash-log = ログ
slash-history = 履歴
slash-audit = 監査
slash-reload = 再読込
slash-help = ヘルプ
slash-link = 連携
slash-whoami = 自分
slash-page = ページ
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
slash-task-assign = 割当
slash-task-split = 分割
slash-task-cancel = 取消
slash-task-new = 新規
slash-task-open = 開く
slash-task-drop = 破棄
slash-accept = 受け入れ
slash-reject = 差し戻し
slash-task-diff = 差分
slash-rule = ルール
slash-rule-list = 一覧
slash-rule-remove = 削除
slash-runner = マシン
slash-runner-list = 一覧
slash-runner-drain = 停止
slash-runner-open = 再開
slash-runner-remove = 削除
slash-ack = 対応
slash-mark = 評価
slash-about-agent = エージェントの一覧と設定
slash-about-task = エージェントにタスクを渡し、様子を見る
slash-about-rule = 確認なしで許可しているものの一覧と取り消し
option-agent = エージェント
option-about-agent = どのエージェントか。その専用チャンネルでは省ける
option-name = 名前
option-about-name = 新しいエージェントの名前：小文字、数字、ハイフン
option-runtime = ランタイム
option-about-runtime = 何で動かすか
option-now = すぐ
option-about-now = セッションの終わりを待たない
option-revoke = 終了
option-about-revoke = ページの自分のセッションを終える
option-n = 件数
option-about-n = いくつ
option-session = セッション
option-about-session = 全文を読むセッション
option-page = ページ
option-about-page = 何ページ目か
option-confirm = 確認
option-about-confirm = 失われるものがあっても実行する
option-file = ファイル
option-about-file = stat、または変更されたファイルの名前かその一部
option-task = タスク
option-about-task = どのタスクか
option-priority = 優先度
option-about-priority = どれだけ急ぐか
option-needs = 条件
option-about-needs = エージェントの条件: 権限とタグ、例: full,rust
option-after = 先行
option-about-after = 先に終わるべきタスク（例：7,8）
option-check = チェック
option-about-check = 完了の前に成功すべきコマンド（例：make test）
option-parts = 部分
option-about-parts = 部分をセミコロンで区切って
option-id = 番号
option-about-id = 確認の番号
option-as = 判定
option-about-as = right：適切だった、wrong：適切でなかった
option-always = 常に
option-about-always = 今後は確認なしで許可する
option-chart = グラフ
option-about-chart = 推移を画像でも表示
option-code = コード
option-about-code = 確認のコード
option-machine = マシン
option-about-machine = どのマシンか
option-text = 内容
option-about-text = やること。省くと長い文章の入る入力欄が開く
option-workspace = フォルダ
option-about-workspace = ルートからのフォルダ。省くと入力欄がすべてを尋ねる
option-settings = 設定
option-about-settings = key=value …（例 model=opus max_turns=20）
option-command = コマンド
option-about-command = コマンド一つ

## 入力欄

form-answer = 回答
form-reject = 直してほしい点
form-task-add = { $agent } へのタスク
form-task-add-auto = ボードへのタスク
form-task-new = { $agent } の新しいタスク
form-agent-add = 新しいエージェント { $name }
form-agent-edit = { $agent } の変更
field-text = やること
field-answer = 回答
field-reject = 直してほしい点
field-workspace = フォルダ（ルートから）
field-model = モデル
field-command = コマンド（ランタイム command のときだけ）
field-instructions = 常に守る指示
field-settings = その他の設定 key=value、一行に一つ
field-example-text = パーサーの失敗しているテストを直し、何が間違っていたか説明して。
field-example-answer = 緑のほうを使って、残りはそのままに。
field-example-reject = メッセージにエラー名を入れ、空のファイルもテストしてください。
field-example-workspace = /srv/agents/spark
field-example-model = opus
field-example-command = sh -c 'make test'
field-example-instructions = 終わったと言う前にテストを走らせること。
field-example-settings = max_turns=20

## ボタン

button-resume = 再開
button-abort = 中止
button-transcript = ログ
button-approve = 承認
button-deny = 拒否
button-always = 常に承認
button-answer = 回答
button-other = その他…
button-accept = 承認
button-reject = 差し戻す…
button-diff = 変更内容
button-expired = 時間切れ
button-remove = 削除
button-keep = 残す
button-again = 直す
button-answered = { $action } · { $name }（{ $network }）
button-kept = 残した · { $name }
button-over = 済み
prompt-late = 手遅れです：{ $name }（{ $network }）が先に答えました：{ $action }。
prompt-over = 手遅れです：もう片付いています。`/status` で **{ $agent }** の様子が見られます。
answer-file = 答えの全文はファイルにあります。
answer-failed = herder の内部で失敗しました。原因はログにあります。
answer-interrupted = ここで答える前に herder が再起動されました。実行されたかどうかを `/status` と `/history` で確かめ、実行されていなければもう一度コマンドを入力してください。
answer-unknown = herder はこれをもう覚えていません。初めからどうぞ。
form-unchanged = 何も変わっていません。
form-gone = 入力した内容はもう残っていません。herder が再起動されたか、新しいフォームに置き換えられました。もう一度コマンドを入力してください。

## 二つのネットワークにいる一人

cmd-link-code = 10 分以内に、サービスにログインした IRC で、できれば個人宛に言ってください：`!link { $code }`。言った人はあなたの権限を、あなたはその人の権限を持ちます。`/link code:remove` で取り消せます。
cmd-link-how = Discord で `/link` と入力すると、ここで言うコードが出ます。`!link remove` で取り消せます。
cmd-link-no-code = 今はコードを作るための乱数がありません。もう一度試してください。
cmd-link-private = ここではコードが他の人にも読まれます。コマンドの `/link` を使うか、個人宛に言ってください。
cmd-link-elsewhere = このコードは IRC で `!link` に続けて言ってください。
cmd-link-no-account = 結んでいません：ここでサービスにログインしていません。コードは使い切りました。ログインしてから `/link` で新しいものを。
cmd-link-wrong = 結んでいません：そのコードは無効か、期限切れです。Discord の `/link` で新しいものが出ます。
cmd-link-none = 誰とも結ばれていません。
cmd-whoami = あなたは { $network } の { $nick } です。役割：{ $role }。
cmd-whoami-no-role = あなたは { $network } の { $nick } です。役割はありません。
cmd-whoami-name = bot.toml の `[access]` に書く名前：`"{ $subject }"`
cmd-whoami-no-name = このネットワークは、`[access]` に書けることを何も証明していません。サービスにログインして、もう一度聞いてください。
cmd-whoami-local = あなたは herder を動かしているユーザーです。管理者です。

## ページ

cmd-page-link = { $good }以内に一度だけ開けます：{ $url }
cmd-page-private = ページへのリンクは本人だけのものです。個別メッセージで、またはシェルで `herder page` と聞いてください。
cmd-page-none = ページはありません。bot.toml の `[http]` で開きます。
cmd-page-busy = 開かれるのを待っているリンクが多すぎます。一分後にもう一度聞いてください。
cmd-page-revoked = { $count ->
    [0] ページのセッションはありませんでした。
   *[other] ページのセッションを { $count } 件終えました。
}
page-title-fleet = エージェント
page-needs-you = 対応が必要
page-needs-nobody = 対応が必要なものはありません。
page-no-agents = エージェントはまだいません。`!agent add` か bot.toml で追加します。
page-summary = エージェント { $agents } · 作業中 { $busy }
page-today = 今日 { $money }
page-agent = エージェント
page-phase = 状態
page-work = 作業
page-tool = ツール · 静止
page-turns = ターン
page-memory = メモリー
page-tokens = トークン
page-cost = 今日の費用
page-queue = 待ち
page-filter = 絞り込み
page-pause = 一時停止
page-pause-now = すぐ停止
page-resume = 再開
page-abort = 中止
page-restart = 再起動
page-stop-all = すべて停止
page-approve = 許可
page-deny = 拒否
page-always = 常に許可
page-answer = 回答
page-ack = 確認
page-other-answer = その他の回答
page-give = 作業を渡す
page-give-label = { $agent } への作業
page-whisper = ささやく
page-whisper-label = { $agent } へのささやき
page-logout = ログアウト
page-waiting = 待っているもの
page-said = 発言
page-said-by = { $agent } の最近の発言
page-happened = 出来事
page-settings = 設定
page-back = すべてのエージェント
page-door-title = ログイン
page-door-text = このリンクは一分以内に一度だけ使えます。
page-door-button = { $name } にログイン
page-door-over = このリンクは使われたか、一分以上前のものです。個別メッセージの `!page` かシェルの `herder page` で新しいリンクを求めてください。
page-locked-title = どなたですか
page-locked-text = herder に個別メッセージで `!page`（Discord では `/page`）と言うか、シェルで `herder page` と打ってください。ログインのリンクが返ります。
page-nowhere = ここには何もありません。
page-refused = 拒否しました
page-other-host = このページのアドレスは違います。シェルの `herder page` が使えるリンクを返します。このホスト名を使うには、`[http]` の `public_url` か `hosts` に書いてください。
page-other-site = 別のサイトのページから送られたため、実行しませんでした。
page-too-slow = リクエストに 30 秒以上かかったため、中止しました。
page-form-old = このフォームは別のセッションのものです。何も行われませんでした。もう一度試してください。
page-cut = このページは最新ではありません。herder が応答していません。自動で再試行しますが、表示は古いかもしれません。
page-live-off = 自動更新は切れています。変化を見るにはページを読み込み直してください。
page-title-board = ボード
page-title-money = 費用
page-title-history = 履歴
page-skip = 本文へ移動
page-views = 表示
page-language = 言語
# The name of this language in itself.
page-language-name = 日本語
page-transcript = 記録
page-transcript-of = { $agent } セッション { $session }
page-mood-needs = 対応が必要
page-mood-failed = 失敗で停止
page-mood-works = 作業中
page-mood-waits = 待機中
page-mood-rests = 休止中
page-row-called = 人を呼んでいます
page-row-asks = 回答待ち { $count } 件
page-row-review = 確認待ちのタスク { $count } 件
page-count-all = すべて { $count }
page-count-needs = 対応が必要 { $count }
page-count-failed = 失敗で停止 { $count }
page-count-works = 作業中 { $count }
page-count-waits = 待機中 { $count }
page-count-rests = 休止中 { $count }
page-crashes = クラッシュ
page-day = 24 時間
page-day-said = 直近 24 時間のうちセッションあり { $busy } 時間、失敗あり { $failed } 時間
page-any-phase = すべての状態
page-tag = タグ
page-any-tag = すべてのタグ
page-find = 表示
page-of-cap = { $limit } のうち { $used }
page-spend = 24 時間で { $money }
page-sessions = セッション
page-no-sessions = 終了したセッションはまだありません。
page-running = 実行中
page-restart-mark = 再起動
page-whisper-mark = ささやき
page-pause-person = 人が一時停止
page-pause-limit = 制限の解除待ち
page-pause-money = 費用のため停止
page-pause-question = 人の回答待ち
page-pause-failure = 失敗のため停止
page-timeline-said = { $span }: セッション { $sessions }、失敗 { $failed }、再起動 { $restarts }、ささやき { $whispers }
page-session = セッション
page-outcome = 結果
page-ended = 終了
page-took = 所要時間
page-spent = 使用量
page-said-nothing = まだ何も言っていません。
page-all-events = すべての出来事
page-new-task = 新しいタスク
page-priority = 優先度
page-priority-high = 高
page-priority-normal = 中
page-priority-low = 低
page-add-task = 追加
page-any-agent = どのエージェントでも
page-column-queued = 待ち
page-column-working = 作業中
page-column-checking = 検査中
page-column-review = 確認待ち
page-column-blocked = ブロック中
page-column-over = 今日終了
page-column-empty = ありません。
page-assign = 割り当て
page-split-parts = 最初の部分; 次の部分
page-split = 分割
page-cancel-task = 取り消し
page-review-change = { $commits } コミット、{ $files } ファイル、+{ $added } −{ $removed }
page-accept = 承認
page-reject = 差し戻す
page-reject-why = 直してほしい点
page-given-by = 依頼者
page-needs = 必要なもの
page-role = { $role ->
    [admin] 管理者
    [operator] オペレーター
    [viewer] 閲覧者
   *[anybody] 誰でも
}
page-permissions = { $permissions ->
    [read-only] 読み取りのみ
    [plan] 承認された計画
    [workspace-write] ワークスペースへの書き込み
   *[full] すべての権限
}
page-part-of = 親タスク
page-parts = 部分
page-tries = 試行
page-why = 理由
page-came-to = 結果
page-evidence = 進み具合
# Read before how long ago: "4 min".
page-in-review = 確認待ち
page-cap-line = 上限 { $limit }
page-caps = 上限
page-money-days = 日別、35 日間（UTC）
page-money-hours = 時間別、24 時間（UTC）
page-others = その他
page-money-show = 図の内容
page-by-agent = エージェント別
page-by-account = アカウント別
page-in-dollars = ドル
page-in-tokens = トークン
page-csv = CSV 形式
page-money-nothing = 使用はありません。
page-by-month = 月別（UTC）
page-month = 月
page-months-kept = 日別の記録は 35 日間です。古い月は一部だけです。
page-by-task = タスク別
page-task = タスク
page-needs-role = { $role } の役割が必要です。
page-search = 検索
page-history-kind = 履歴の種類
page-events = 出来事
page-audit = 操作の記録
page-all-agents = すべてのエージェント
page-from = 開始
page-to = 終了
page-history-nothing = 見つかりませんでした。
page-history-back-to = { $time } までさかのぼりました。
page-history-begins = ここが始まりです。これより古いものはありません。
page-history-from = その日以降で、これより古いものはありません。
page-history-unreadable = 読めない項目が { $count } 件あり、省きました。原因は herder のログにあります。
page-older = さらに古いもの
