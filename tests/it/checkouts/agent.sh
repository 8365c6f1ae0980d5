# An agent that speaks claude's wire format. It notes the folder and the conversation that it is started with, and does
# what its work says last: "commit <name>", "write <name>", "files", "wait <name>" or "fail".
given=none before=
for word; do
  [ "$before" = --resume ] && given=$word
  before=$word
done
while read -r line; do
  case $line in *'"type":"user"'*) break ;; esac
done
echo "$PWD $given" >> "$NOTES"
conversation=$given
[ "$given" = none ] && conversation=about-${PWD##*/}
echo '{"type":"system","subtype":"init","session_id":"'$conversation'"}'
work=$(echo "$line" | grep -oE '(commit|write|wait) [a-z]+|files|fail' | tail -n 1)
# What a check has missed is what it does next.
missing=$(echo "$line" | grep -oE 'missing: [a-z]+' | tail -n 1)
[ -n "$missing" ] && work="commit ${missing#* }"
said="did $work"
case $work in
  commit*) echo "${work#* }" > "${work#* }" && git add "${work#* }" && git commit --quiet -m "$work" 2> "$NOTES.error" || said="could not $work" ;;
  write*) echo "${work#* }" > "${work#* }" ;;
  wait*) while [ ! -e "$NOTES.${work#* }" ]; do sleep 0.02; done ;;
  files) said="sees $(echo $(LC_ALL=C ls -A | grep -v '^\.git$'))" ;;
  fail) exit 3 ;;
esac
case $line in *stray*) git checkout --quiet --detach HEAD~1 ;; esac
echo '{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"'$said'"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'$said'","session_id":"'$conversation'"'${COST:+,\"total_cost_usd\":$COST}',"terminal_reason":"completed"}'
while read -r line; do :; done
