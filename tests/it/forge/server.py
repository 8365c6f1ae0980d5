"""A scripted GitHub for tests: REST and git's smart HTTP over TLS, and a plain HTTP server that steers it."""

import argparse, base64, binascii, fcntl, hashlib, json, os, ssl, subprocess, sys, threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from description import CONTENT, Description
from forge import ACCOUNT, API, CONTROLS, ENDPOINTS, Answer, Forge, Repository, error


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def send(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.serve(self.read_body())

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET


def take(scripted, method, path):
    """One use of the first scripted answer that fits a request; None when none does."""
    for each in scripted:
        if each["count"] > 0 and each.get("path", "") in path and each.get("method", method) == method:
            each["count"] -= 1
            return each
    return None


class Public(Handler):
    """What the bot, gh and git see."""

    def serve(self, body):
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        prefix = f"/{options.owner}/{options.name}.git/"
        if path.startswith(f"{API}/"):
            self.serve_api(path.removeprefix(API), parse_qsl(query, keep_blank_values=True), body)
        elif path.startswith(prefix):
            self.serve_git(path.removeprefix(prefix), query, body)
        elif path.startswith("/logs/") and path.removeprefix("/logs/") in forge.logs:
            log = forge.logs[path.removeprefix("/logs/")].encode()
            self.answer(200, log, {"Content-Type": "text/plain; charset=utf-8"})
        else:
            self.answer(404, b"Not Found", {"Content-Type": "text/plain"})

    def answer(self, status, body=b"", headers=None):
        with lock:
            forge.requests.append({"method": self.command, "path": self.path, "status": status})
        self.send(status, body, headers)

    def serve_api(self, path, query, body):
        with lock:
            drop = take(forge.drops, self.command, self.path)
            try:
                answer = self.respond(path, query, body)
            except Answer as raised:
                answer = raised
        if drop:
            forge.requests.append({"method": self.command, "path": self.path, "status": None})
            self.close_connection = True
            return
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        headers = {"Content-Type": "application/json; charset=utf-8", "X-GitHub-Media-Type": "github.v3; format=json",
                   "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", **answer.headers}
        self.answer(answer.status, content, headers)

    def respond(self, path, query, body):
        """The answer to a request of the API, with both held against the description."""
        template, parameters = description.find(path)
        sent = parsed(body)
        known = description.check_request(self.command, template or path, query, sent)
        if known and (self.command, template) not in ENDPOINTS:
            description.complain(f"{self.command} {template}", "this server does not serve it")
        try:
            answer = self.result(template, parameters, dict(query), sent)
        except Answer as raised:
            answer = raised
        if known:
            description.finish_answer(self.command, template, answer)
        if answer.status == 200 and self.command == "GET":
            tag = hashlib.sha256(json.dumps([answer.body, answer.headers], sort_keys=True).encode()).hexdigest()
            answer.headers["ETag"] = f'"{tag}"'
            asked = [each.strip().removeprefix("W/") for each in self.headers.get("If-None-Match", "").split(",")]
            if answer.headers["ETag"] in asked:
                return Answer(304, None, answer.headers)
        return answer

    def result(self, template, parameters, query, sent):
        failure = take(forge.failures, self.command, self.path)
        if failure:
            reset = str(int(datetime.now().timestamp()) + 60)
            limits = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "Retry-After": "60"}
            if failure["status"] in (403, 429):
                raise error(failure["status"], "API rate limit exceeded for user ID 2.", headers=limits)
            raise error(failure["status"], "Server Error")
        if self.headers.get("Authorization") not in (f"token {options.token}", f"Bearer {options.token}"):
            raise error(401, "Bad credentials" if "Authorization" in self.headers else "Requires authentication")
        endpoint = ENDPOINTS.get((self.command, template))
        if endpoint is None or (parameters.pop("owner"), parameters.pop("repo")) != (options.owner, options.name):
            raise error(404, "Not Found")
        if self.command != "GET":
            if sent is None:
                raise error(400, "Problems parsing JSON")
            where = ("paths", template, self.command.lower(), "requestBody", *CONTENT)
            if not description.validator(*where).is_valid(sent):
                raise error(422, "Invalid request.")
        made = endpoint(forge, query=query, body=sent, **parameters)
        return Answer(200, made, self.page(made, query))

    def page(self, made, query):
        """Keeps one page of a list, and gives the Link header that leads to the others."""
        items = made if isinstance(made, list) else made.get("check_runs", made.get("statuses"))
        if items is None:
            return {}
        given = {name: int(query[name]) for name in ("per_page", "page") if query.get(name, "").isdigit()}
        size, page = min(given.get("per_page") or 30, 100), given.get("page") or 1
        last = max(1, -(-len(items) // size))
        items[:] = items[(page - 1) * size:page * size]
        pages = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        wanted = [name for name in pages if (page > 1 if name in ("prev", "first") else page < last)]
        address = f"{forge.address}{urlsplit(self.path).path}"
        links = [f'<{address}?{urlencode({**query, "page": pages[name]})}>; rel="{name}"' for name in wanted]
        return {"Link": ", ".join(links)} if links else {}

    def serve_git(self, path, query, body):
        """git's smart HTTP by `git http-backend`, which unpacks gzip by itself."""
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        try:
            password = base64.b64decode(value).decode().partition(":")[2] if kind == "Basic" else None
        except (binascii.Error, UnicodeDecodeError):
            password = None
        if password != options.token:
            return self.answer(401, b"Authentication required\n", {"WWW-Authenticate": 'Basic realm="GitHub"'})
        if forge.refuse_push and "git-receive-pack" in path + query:
            refusal = f"Permission to {options.owner}/{options.name}.git denied to {ACCOUNT}.\n"
            return self.answer(403, refusal.encode(), {"Content-Type": "text/plain; charset=utf-8"})
        environment = {
            **repository.environment, "GIT_PROJECT_ROOT": repository.folder, "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": ACCOUNT, "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command, "PATH_INFO": f"/{path}", "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.receivepack", "GIT_CONFIG_VALUE_0": "true"}
        ran = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=environment)
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = headers.pop("Status", "200" if ran.returncode == 0 else "500")
        self.answer(int(status.split(" ")[0]), content, headers)


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Says nothing of a client that broke off, or that does not trust the certificate."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Control(Handler):
    """What the tests steer it by."""

    def serve(self, body):
        name = urlsplit(self.path).path.strip("/")
        try:
            with lock:
                status, made = 200, self.result(name, json.loads(body or b"{}"))
        except Answer as raised:
            status, made = 400, {"error": raised.body["message"]}
        except (KeyError, TypeError, ValueError) as wrong:
            status, made = 400, {"error": f"{type(wrong).__name__}: {wrong}"}
        self.send(status, json.dumps(made).encode(), {"Content-Type": "application/json"})

    def result(self, name, body):
        if self.command == "GET" and name == "pulls":
            return [forge.shown(forge.pull(number), whole=True) for number in forge.pulls]
        if self.command == "GET" and name in ("requests", "violations"):
            return forge.requests if name == "requests" else description.violations
        if self.command != "POST" or name not in CONTROLS:
            raise ValueError(f"there is no {self.command} /{name}")
        return CONTROLS[name](forge, body) or {}


def parsed(body):
    """The JSON of a body; None when there is none."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def certificates(folder):
    """Makes a CA and a certificate for this machine, once: others that want the same wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if (folder / "server.pem").exists():
            return
        (folder / "openssl.cnf").write_text(
            "[req]\ndistinguished_name = name\n[name]\n"
            "[ca]\nbasicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign\n"
            "subjectKeyIdentifier = hash\n"
            "[server]\nbasicConstraints = CA:FALSE\nextendedKeyUsage = serverAuth\n"
            "subjectAltName = IP:127.0.0.1, DNS:localhost\n")
        new = "openssl req -config openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()
        sign = "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650".split()
        for command in (
            new + "-x509 -days 3650 -extensions ca -subj /CN=forge-ca -keyout ca.key -out ca.pem".split(),
            new + "-subj /CN=localhost -keyout server.key -out server.csr".split(),
            sign + "-extfile openssl.cnf -extensions server -out server.new".split(),
        ):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        os.rename(folder / "server.new", folder / "server.pem")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("repository", "owner", "name", "openapi", "certificates", "token"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


options = arguments()
repository = Repository(os.path.abspath(options.repository), options.owner)
lock = threading.RLock()
description = Description(options.openapi)
certificates(Path(options.certificates))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(Path(options.certificates) / "server.pem", Path(options.certificates) / "server.key")
public, control = (Server(("127.0.0.1", 0), each) for each in (Public, Control))
# Each connection's own thread greets, so that one that says nothing keeps no other waiting.
public.socket = context.wrap_socket(public.socket, server_side=True, do_handshake_on_connect=False)
forge = Forge(f"127.0.0.1:{public.server_port}", options.owner, options.name, repository)
for server in (public, control):
    threading.Thread(target=server.serve_forever, daemon=True).start()
ca = os.path.abspath(os.path.join(options.certificates, "ca.pem"))
print(json.dumps({"port": public.server_port, "control": control.server_port, "ca": ca}), flush=True)
sys.stdin.read()
