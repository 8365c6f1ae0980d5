# An agent of the Agent Client Protocol that runs the same command again and again until it is paused for it.
# Arguments: its name, the file in which it notes what it is told, seconds between two calls.
import json
import os
import select
import sys

name, file, pace = sys.argv[1], sys.argv[2], float(sys.argv[3])
said = b""


def say(**line):
    print(json.dumps(dict(jsonrpc="2.0", **line)), flush=True)


def news(update, **more):
    say(method="session/update", params=dict(sessionId="c-1", update=dict(sessionUpdate=update, **more)))


def read(wait):
    """A message; none if nothing comes for so long."""
    global said
    while b"\n" not in said:
        if not select.select([0], [], [], wait)[0]:
            return None
        piece = os.read(0, 65536)
        if not piece:
            sys.exit(0)
        said += piece
    line, _, said = said.partition(b"\n")
    return json.loads(line)


turn, calls = None, 0
while True:
    message = read(None if turn is None else pace)
    if message is None:
        calls += 1
        call = f"call-{calls}"
        news("tool_call", toolCallId=call, title="make bench", kind="execute", status="pending", rawInput=dict(command="make bench"))
        text = dict(type="text", text="make: *** No rule to make target 'bench'.")
        news("tool_call_update", toolCallId=call, status="failed", content=[dict(type="content", content=text)])
        continue
    method = message.get("method")
    if method == "initialize":
        can = dict(loadSession=True)
        say(id=message["id"], result=dict(protocolVersion=1, agentInfo=dict(name=name, version="1"), agentCapabilities=can))
    elif method == "session/new":
        say(id=message["id"], result=dict(sessionId="c-1"))
    elif method == "session/load":
        say(id=message["id"], result=None)
    elif method == "session/prompt":
        turn = message["id"]
        words = message["params"]["prompt"][0]["text"]
        with open(file, "a") as told:
            told.write(words + "\n")
        if "[ESCALATION]" in words:
            news("agent_message_chunk", content=dict(type="text", text="I see."))
            say(id=turn, result=dict(stopReason="end_turn"))
            turn = None
        else:
            # It has read what it was told before it does anything.
            news("agent_thought_chunk", content=dict(type="text", text="Once more."))
    elif method == "session/cancel" and turn is not None:
        say(id=turn, result=dict(stopReason="cancelled"))
        turn = None
