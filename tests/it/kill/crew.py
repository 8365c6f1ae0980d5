# An agent that speaks Claude Code's wire format, and does as each message says until it is told to end. It notes what it
# was told, what its calls returned, and what it has done, each in a file of its own. Argument: its name.
import fcntl
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

name = sys.argv[1]
messages, heard, answered = 0, queue.Queue(), set()


def note(kind, text):
    with open(f"{name}.{kind}", "a") as notes:
        notes.write(text + "\n")


def violation(text):
    with open("violations", "a") as notes:
        notes.write(f"{name} {text}\n")


def say(**line):
    print(json.dumps(dict(line, session_id=f"c-{name}")), flush=True)


def message(**block):
    global messages
    messages += 1
    say(type="assistant", message=dict(id=f"msg_{messages}", model="scripted", content=[block]))


def told(text):
    """Notes each message and whisper in a text for the model."""
    for token in re.findall(r"\b[mw]-\d+\b", text):
        note("told", token)


def listen():
    for line in sys.stdin:
        heard.put(json.loads(line))
    heard.put(None)


def next_line(wanted, later=[]):
    """The next line of this type; the others wait."""
    for at, line in enumerate(later):
        if line["type"] == wanted:
            return later.pop(at)
    while True:
        line = heard.get()
        if line is None:
            sys.exit(0)
        if line["type"] == "control_request":
            about = dict(subtype="success", request_id=line["request_id"], response={})
            say(type="control_response", response=about)
        elif line["type"] == wanted:
            return line
        else:
            later.append(line)


def permission(number):
    """Asks whether it may push; each request is answered once."""
    request = dict(subtype="can_use_tool", tool_name="Bash", input=dict(command=f"git push {number}"))
    say(type="control_request", request_id=f"r-{number}", request=request)
    while True:
        response = next_line("control_response")["response"]
        if response["request_id"] == f"r-{number}":
            answered.add(number)
            return response["response"]["behavior"]
        violation(f"is answered once more: {response}")


calls = 0


def ask(method, **params):
    global calls
    calls += 1
    print(json.dumps(dict(jsonrpc="2.0", id=calls, method=method, params=params)), file=server.stdin, flush=True)
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == calls:
            return answer["result"]


def call(tool, **arguments):
    """Calls a tool of herder's, again if no herder was there or it did not answer."""
    while True:
        answer = ask("tools/call", name=tool, arguments=arguments)
        text = "\n".join(block["text"] for block in answer["content"])
        told(text)
        for token in re.findall(r"\bm-\d+\b", text):
            # A message that was taken for the answer to its question.
            note("did", token)
        if "not there at the moment" not in text and "in time; try again" not in text:
            return answer["isError"] is False, text
        if "in time" in text:
            note("repeated", tool)
        time.sleep(0.1)


def act(kind, number):
    if kind == "push":
        return permission(number)
    if kind == "say":
        done, text = call("irc_send", text=f"sent {number}.")
        return "said" if done else "unsure" if "may have been said" in text else text
    if kind == "look":
        done, text = call("irc_channels")
        return "seen" if done else text
    if kind == "ask":
        done, text = call("irc_ask", question=f"What about {number}?")
        while done and "Nobody has answered" in text:
            done, text = call("irc_ask", id=int(re.search(r'"id": (\d+)', text).group(1)))
        return "answered" if done and "answered question" in text else text
    return "gone"


note("begun", f"{os.getpid()} {os.environ['HERDER_SESSION']}")
lock = open(f"lock.{name}", "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    violation("runs twice")
tools = json.loads(sys.argv[sys.argv.index("--mcp-config") + 1])["mcpServers"]["herder"]
server = subprocess.Popen(
    [tools["command"], *tools["args"]],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    env=os.environ | tools["env"],
)
about = dict(capabilities={}, clientInfo=dict(name="test", version="1"))
ask("initialize", protocolVersion="2025-06-18", **about)
print(json.dumps(dict(jsonrpc="2.0", method="notifications/initialized")), file=server.stdin, flush=True)
threading.Thread(target=listen, daemon=True).start()
# Its task.
next_line("user")
say(type="system", subtype="init")
message(type="text", text="ready.")
while True:
    words = next_line("user")["message"]["content"]
    asked = re.search(r"\bm-(\d+) (\w+)", words)
    told(words)
    use = f"t-{messages}"
    message(type="tool_use", id=use, name="Bash", input=dict(command=words))
    number, kind = (int(asked.group(1)), asked.group(2)) if asked else (0, "")
    returned = act(kind, number)
    result = dict(type="tool_result", tool_use_id=use, content=returned, is_error=False)
    say(type="user", message=dict(role="user", content=[result]))
    if asked:
        note("calls", f"{kind} {number} {returned}")
        note("did", f"m-{number}")
    done = asked.group(0).split()[0] if asked else re.search(r"\bw-\d+\b", words).group(0)
    message(type="text", text=f"did {done}.")
    note("posts", f"did {done}.")
    if asked and asked.group(2) == "end":
        break
say(type="result", subtype="success", is_error=False, num_turns=1, result="over.", terminal_reason="completed")
while heard.get() is not None:
    pass
