"""What the scripted GitHub knows and does: the repository, pull requests, checks, what people say."""

import functools, os, subprocess
from datetime import datetime, timezone
from urllib.parse import quote

API = "/api/v3"
REPOSITORY = "/repos/{owner}/{repo}"
ACCOUNT = "forge-bot"  # whose token it is


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Answer(Exception):
    """An answer of the API; what goes wrong raises it."""

    def __init__(self, status, body=None, headers=None):
        super().__init__(status)
        self.status, self.body, self.headers = status, body, dict(headers or {})


def error(status, message, errors=None, headers=None):
    body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    if errors:
        body["errors"] = errors
    return Answer(status, body, headers)


def invalid(**what):
    return error(422, "Validation Failed", [{"resource": "PullRequest", **what}])


class Repository:
    """The bare repository."""

    def __init__(self, folder, who):
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        for role in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{role}_NAME": who, f"GIT_{role}_EMAIL": f"{who}@example.com"}

    def git(self, *arguments, input=None, check=True):
        """What git prints; None when it fails and need not succeed."""
        command = ["git", "-C", self.folder, *arguments]
        ran = subprocess.run(command, input=input, capture_output=True, env=self.environment)
        if check and ran.returncode:
            raise ValueError(f"git {' '.join(arguments)}: {ran.stderr.decode(errors='replace').strip()}")
        return ran.stdout.decode(errors="replace").strip() if ran.returncode == 0 else None

    def commit(self, name):
        return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False)

    def branch(self, name):
        return self.commit(f"refs/heads/{name}")

    @functools.lru_cache(maxsize=None)
    def ahead(self, base, head):
        return int(self.git("rev-list", "--count", f"{base}..{head}"))

    @functools.lru_cache(maxsize=None)
    def merged(self, base, head, method, message):
        """A commit that merges head into base; None when they conflict."""
        tree = self.git("merge-tree", "--write-tree", base, head, check=False)
        parents = ["-p", base] + (["-p", head] if method == "merge" else [])
        return tree and self.git("commit-tree", tree, *parents, input=message.encode())


class Forge:
    """All that GitHub knows: pull requests, checks, comments, people."""

    def __init__(self, address, owner, name, repository):
        self.address, self.owner, self.name, self.repository = f"https://{address}", owner, name, repository
        self.home = f"{self.address}/{owner}/{name}"
        self.api = f"{self.address}{API}/repos/{owner}/{name}"
        self.pulls, self.comments, self.lines, self.reviews = {}, [], [], []
        self.checks, self.statuses, self.logs = {}, {}, {}  # the first two by commit, then by name
        self.permissions = {owner: "admin", ACCOUNT: "write"}
        self.people = {owner: 1, ACCOUNT: 2}
        self.computed = set()  # pairs of base and head of which mergeability was asked before
        self.failures, self.drops, self.refuse_push = [], [], False
        self.requests, self.last_id, self.started = [], 1000, now()

    def new(self, **fields):
        self.last_id += 1
        return {"id": self.last_id, "node_id": f"N_{self.last_id}", **fields}

    def user(self, login):
        number = self.people.setdefault(login, len(self.people) + 1)
        return {"login": login, "id": number, "type": "Bot" if login.endswith("[bot]") else "User",
                "html_url": f"{self.address}/{quote(login)}"}

    def said(self, by):
        """The fields of anything that a person wrote."""
        trusted = self.permissions.get(by) in ("admin", "write")
        role = "OWNER" if by == self.owner else "COLLABORATOR" if trusted else "NONE"
        return {"user": self.user(by), "author_association": role}

    def shown_repository(self):
        return {"id": 1, "name": self.name, "full_name": f"{self.owner}/{self.name}", "private": True, "url": self.api,
                "owner": self.user(self.owner), "html_url": self.home, "clone_url": f"{self.home}.git",
                "default_branch": self.repository.git("symbolic-ref", "--short", "HEAD"), "pushed_at": self.started}

    # ---- pull requests ----

    def pull(self, number):
        """A pull request as it is now: an open one moves with its branches, and closes when one of them goes."""
        pull = self.pulls.get(int(number)) if str(number).isdigit() else None
        if pull is None:
            raise error(404, "Not Found")
        if pull["state"] == "open":
            head, base = self.repository.branch(pull["head"]), self.repository.branch(pull["base"])
            if head is None or base is None:
                self.close(pull)
            elif (head, base) != (pull["head_sha"], pull["base_sha"]):
                pull |= {"head_sha": head, "base_sha": base, "updated_at": now()}
        return pull

    def close(self, pull):
        pull |= {"state": "closed", "closed_at": now(), "updated_at": now()}

    def open_pull(self, head, base):
        pulls = [self.pull(number) for number in self.pulls]
        return any(p["state"] == "open" and (p["head"], p["base"]) == (head, base) for p in pulls)

    def shown(self, pull, whole, asked=False):
        """A pull request as GitHub shows it: whole when it is a single one. Mergeability is null when first asked."""
        number, pair, mergeable = pull["number"], (pull["base_sha"], pull["head_sha"]), None
        side = lambda at: {"label": f"{self.owner}:{pull[at]}", "ref": pull[at], "sha": pull[f"{at}_sha"],
                           "repo": self.shown_repository(), "user": self.user(self.owner)}
        made = {key: value for key, value in pull.items() if key not in ("head_sha", "base_sha", "by", "merged_by")}
        made |= {"url": f"{self.api}/pulls/{number}", "html_url": f"{self.home}/pull/{number}", "head": side("head"),
                 "base": side("base"), "issue_url": f"{self.api}/issues/{number}", **self.said(pull["by"])}
        if pull["state"] == "open" and pair in self.computed:
            made["merge_commit_sha"] = self.repository.merged(*pair, "merge", f"Merge {pair[1]} into {pair[0]}\n")
            mergeable = made["merge_commit_sha"] is not None
        if asked:
            self.computed.add(pair)
        if whole:
            checks = {check["conclusion"] for check in self.checks.get(pull["head_sha"], {}).values()}
            good = "clean" if checks <= {"success", "neutral", "skipped"} else "unstable"
            count = lambda said: sum(each["number"] == number for each in said)
            made |= {"merged": pull["merged_at"] is not None, "mergeable": mergeable,
                     "mergeable_state": {None: "unknown", True: good, False: "dirty"}[mergeable],
                     "merged_by": self.user(pull["merged_by"]) if pull["merged_by"] else None,
                     "comments": count(self.comments), "review_comments": count(self.lines),
                     "commits": self.repository.ahead(*pair)}
        return made

    def list_pulls(self, query, **_):
        pulls, state = list(map(self.pull, self.pulls)), query.get("state", "open")
        if state != "all":
            pulls = [each for each in pulls if each["state"] == state]
        if ":" in query.get("head", ""):  # GitHub takes no notice of a head without its owner
            pulls = [each for each in pulls if f"{self.owner}:{each['head']}" == query["head"]]
        if query.get("base"):
            pulls = [each for each in pulls if each["base"] == query["base"]]
        pulls.sort(key=lambda each: each["number"], reverse=query.get("direction", "desc") == "desc")
        return [self.shown(each, whole=False) for each in pulls]

    def create_pull(self, body, **_):
        (owner, _, head), base = body["head"].rpartition(":"), body["base"]
        head_sha, base_sha = self.repository.branch(head), self.repository.branch(base)
        if "title" not in body:
            raise invalid(code="missing_field", field="title")
        if base_sha is None:
            raise invalid(code="invalid", field="base")
        if head_sha is None or owner not in ("", self.owner):
            raise invalid(code="invalid", field="head")
        if self.repository.ahead(base_sha, head_sha) == 0:
            raise invalid(code="custom", message=f"No commits between {base} and {head}")
        if self.open_pull(head, base):
            raise invalid(code="custom", message=f"A pull request already exists for {self.owner}:{head}.")
        number = len(self.pulls) + 1
        self.pulls[number] = self.new(
            number=number, state="open", title=body["title"], body=body.get("body"), draft=body.get("draft", False),
            head=head, base=base, head_sha=head_sha, base_sha=base_sha, by=ACCOUNT, created_at=now(), updated_at=now(),
            closed_at=None, merged_at=None, merge_commit_sha=None, merged_by=None)
        shown = self.shown(self.pulls[number], whole=True)
        raise Answer(201, shown, {"Location": shown["url"]})

    def get_pull(self, pull_number, **_):
        return self.shown(self.pull(pull_number), whole=True, asked=True)

    def change_pull(self, pull_number, body, **_):
        pull = self.pull(pull_number)
        if self.repository.branch(body.get("base", pull["base"])) is None:
            raise invalid(code="invalid", field="base")
        if body.get("state") == "closed" and pull["state"] == "open":
            self.close(pull)
        if body.get("state") == "open":
            self.reopen(pull)
        pull |= {key: body[key] for key in ("title", "body", "base") if key in body} | {"updated_at": now()}
        return self.shown(self.pull(pull_number), whole=True)

    def reopen(self, pull):
        if pull["state"] == "open":
            return
        gone = self.repository.branch(pull["head"]) is None
        if pull["merged_at"] or gone or self.open_pull(pull["head"], pull["base"]):
            message = "state cannot be changed. The pull request cannot be reopened."
            raise invalid(code="invalid", field="state", message=message)
        pull |= {"state": "open", "closed_at": None, "updated_at": now()}

    def merge(self, pull, method):
        if pull["state"] != "open":
            raise ValueError(f"pull request {pull['number']} is not open")
        title = f"Merge pull request #{pull['number']} from {self.owner}/{pull['head']}\n\n{pull['title']}\n"
        message = title if method == "merge" else f"{pull['title']} (#{pull['number']})\n"
        made = self.repository.merged(pull["base_sha"], pull["head_sha"], method, message)
        if made is None:
            raise ValueError(f"pull request {pull['number']} has conflicts")
        self.repository.git("update-ref", f"refs/heads/{pull['base']}", made, pull["base_sha"])
        self.close(pull)
        pull |= {"merged_at": now(), "merge_commit_sha": made, "merged_by": self.owner}
        return made

    # ---- the other endpoints ----

    def list_checks(self, ref, query, **_):
        sha = self.repository.commit(ref)
        if sha is None:
            raise error(422, f"No commit found for SHA: {ref}")
        runs = list(self.checks.get(sha, {}).values())
        for name, key in (("check_name", "name"), ("status", "status")):
            runs = [each for each in runs if query.get(name) in (None, each[key])]
        return {"total_count": len(runs), "check_runs": runs}

    def get_status(self, ref, **_):
        sha = self.repository.commit(ref)
        if sha is None:
            raise error(404, "Not Found")
        statuses = list(self.statuses.get(sha, {}).values())
        states = {each["state"] for each in statuses}
        state = "failure" if states & {"error", "failure"} else "success" if states == {"success"} else "pending"
        return {"state": state, "statuses": statuses, "sha": sha, "total_count": len(statuses),
                "repository": self.shown_repository()}

    def of_pull(self, said, number, query=None):
        pull, since = self.pull(number), (query or {}).get("since", "")
        chosen = [each for each in said if each["number"] == pull["number"] and each.get("updated_at", "") >= since]
        return [{key: value for key, value in each.items() if key != "number"} for each in chosen]

    def list_comments(self, issue_number, query, **_):
        return self.of_pull(self.comments, issue_number, query)

    def list_reviews(self, pull_number, **_):
        return self.of_pull(self.reviews, pull_number)

    def list_lines(self, pull_number, query, **_):
        said = self.of_pull(self.lines, pull_number, query)
        return said[::-1] if "sort" in query and query.get("direction") == "desc" else said

    def get_permission(self, username, **_):
        """Who never spoke here is no user, and neither is a bot; who spoke and was given nothing has `none`."""
        if username.endswith("[bot]") or username not in self.permissions.keys() | self.people.keys():
            raise error(404, f"{username} is not a user")
        permission = self.permissions.get(username, "none")
        user = {**self.user(username), "role_name": permission}
        return {"permission": permission, "role_name": permission, "user": user}

    def get_log(self, job_id, **_):
        if job_id not in self.logs:
            raise error(404, "Not Found")
        raise Answer(302, None, {"Location": f"{self.address}/logs/{job_id}"})

    # ---- what the tests do ----

    def commit_named(self, body):
        sha = self.pull(body["number"])["head_sha"] if "number" in body else self.repository.commit(body["sha"])
        if sha is None:
            raise ValueError(f"there is no commit {body['sha']}")
        return sha

    def add_check(self, body):
        sha, done, actions = self.commit_named(body), body["status"] == "completed", "log" in body
        before = self.checks.setdefault(sha, {}).get(body["name"])
        run = self.new(name=body["name"], head_sha=sha, status=body["status"], conclusion=body.get("conclusion"))
        if before and before["status"] != "completed":  # what goes on is the same run, what starts again is a new one
            run["id"] = before["id"]
        page = f"{self.home}/actions/runs/{run['id']}/job/{run['id']}" if actions else f"{self.home}/runs/{run['id']}"
        slug, name = ("github-actions", "GitHub Actions") if actions else ("example-ci", "Example CI")
        run |= {"url": f"{self.api}/check-runs/{run['id']}", "html_url": page, "details_url": page,
                "started_at": None if body["status"] == "queued" else now(), "completed_at": now() if done else None,
                "output": {key: body.get(key) for key in ("title", "summary", "text")},
                "app": {"id": 15368 if actions else 77, "slug": slug, "name": name, "owner": self.user("github")}}
        self.checks[sha][body["name"]] = run
        if actions:
            self.logs[str(run["id"])] = body["log"]
        return run

    def add_status(self, body):
        made = self.new(state=body["state"], context=body["context"], description=body.get("description"),
                        created_at=now(), updated_at=now())
        self.statuses.setdefault(self.commit_named(body), {})[body["context"]] = made
        return made

    def spoken(self, body, page, **fields):
        """Something said about a pull request; `page` is how its place on the pull request's page is called."""
        pull, moment = self.pull(body["number"]), now()
        made = self.new(number=pull["number"], body=body.get("body", ""), created_at=moment, updated_at=moment,
                        commit_id=pull["head_sha"], **self.said(body["by"]), **fields)
        made["html_url"] = f"{self.home}/pull/{pull['number']}#{page}{made['id']}"
        return made

    def add_comment(self, body):
        self.comments.append(self.spoken(body, "issuecomment-"))
        return self.comments[-1]

    def add_review(self, body):
        self.reviews.append(self.spoken(body, "pullrequestreview-", state=body["state"], submitted_at=now()))
        return self.reviews[-1]

    def add_line(self, body):
        """A remark on a line; as on GitHub, a review without words of its own holds it."""
        review = self.add_review({**body, "state": "COMMENTED", "body": ""})
        self.lines.append(self.spoken(
            body, "discussion_r", path=body["path"], line=body["line"], original_line=body["line"], side="RIGHT",
            diff_hunk=f"@@ -{body['line']} +{body['line']} @@", pull_request_review_id=review["id"],
            original_commit_id=review["commit_id"]))
        return self.lines[-1]

    def permit(self, body):
        self.user(body["login"])
        self.permissions[body["login"]] = body["permission"]


ENDPOINTS = {
    ("GET", REPOSITORY): lambda forge, **_: forge.shown_repository(),
    ("GET", f"{REPOSITORY}/pulls"): Forge.list_pulls,
    ("POST", f"{REPOSITORY}/pulls"): Forge.create_pull,
    ("GET", f"{REPOSITORY}/pulls/{{pull_number}}"): Forge.get_pull,
    ("PATCH", f"{REPOSITORY}/pulls/{{pull_number}}"): Forge.change_pull,
    ("GET", f"{REPOSITORY}/commits/{{ref}}/check-runs"): Forge.list_checks,
    ("GET", f"{REPOSITORY}/commits/{{ref}}/status"): Forge.get_status,
    ("GET", f"{REPOSITORY}/issues/{{issue_number}}/comments"): Forge.list_comments,
    ("GET", f"{REPOSITORY}/pulls/{{pull_number}}/comments"): Forge.list_lines,
    ("GET", f"{REPOSITORY}/pulls/{{pull_number}}/reviews"): Forge.list_reviews,
    ("GET", f"{REPOSITORY}/collaborators/{{username}}/permission"): Forge.get_permission,
    ("GET", f"{REPOSITORY}/actions/jobs/{{job_id}}/logs"): Forge.get_log,
}

CONTROLS = {
    "check": Forge.add_check,
    "status": Forge.add_status,
    "comment": Forge.add_comment,
    "line": Forge.add_line,
    "review": Forge.add_review,
    "permission": Forge.permit,
    "merge": lambda forge, body: {"sha": forge.merge(forge.pull(body["number"]), body.get("method", "merge"))},
    "close": lambda forge, body: forge.close(forge.pull(body["number"])),
    "reopen": lambda forge, body: forge.reopen(forge.pull(body["number"])),
    "fail": lambda forge, body: forge.failures.append(body),
    "drop": lambda forge, body: forge.drops.append(body),
    "refuse_push": lambda forge, body: setattr(forge, "refuse_push", body["on"]),
}
