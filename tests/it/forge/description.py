"""GitHub's OpenAPI description, held against what is asked and answered."""

import functools, json, re
from pathlib import Path
from urllib.parse import unquote

import jsonschema_rs

CONTENT = ("content", "application/json", "schema")
SHOWN_BY_ALL = {400, 401, 403, 404, 422, 429}  # GitHub documents these, and 5xx, for all operations in general


class Description:
    """GitHub's OpenAPI description, and the sentences about what broke it."""

    def __init__(self, file):
        self.document = json.loads(Path(file).read_bytes())
        self.violations = []

    def find(self, path):
        """The template that a path fits, and its parameters; of several, the one with the fewest."""
        parts, best = path.split("/"), (None, None)
        for template in self.document["paths"]:
            names = template.split("/")
            if len(names) == len(parts) and all(n == p or n.startswith("{") for n, p in zip(names, parts)):
                found = {n[1:-1]: unquote(p) for n, p in zip(names, parts) if n.startswith("{")}
                if best[0] is None or len(found) < len(best[1]):
                    best = (template, found)
        return best

    def resolve(self, node):
        while "$ref" in node:
            node = functools.reduce(lambda at, key: at[key], node["$ref"][2:].split("/"), self.document)
        return node

    def at(self, *where):
        """What is at this place of the document."""
        return self.resolve(functools.reduce(lambda node, key: self.resolve(node)[key], where, self.document))

    def plain(self, node, needed):
        """A copy as JSON Schema, without OpenAPI's `nullable`; `needed` gets the names of the schemas it needs."""
        if isinstance(node, list):
            return [self.plain(each, needed) for each in node]
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("$ref"), str):
            needed.add(node["$ref"].split("/")[-1])
            return {"$ref": node["$ref"]}
        made = {key: self.plain(value, needed) for key, value in node.items() if key not in ("example", "examples")}
        if node.get("nullable") is not True:
            return made
        if "type" not in made:
            return {"anyOf": [made, {"type": "null"}]}
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = made["enum"] + [None]
        return made

    @functools.lru_cache(maxsize=None)
    def validator(self, *where):
        """The compiled schema at one place of the document, with the schemas that it refers to."""
        schemas, needed = {}, set()
        root = self.plain(self.at(*where), needed)
        while missing := needed - schemas.keys():
            name = missing.pop()
            schemas[name] = self.plain(self.at("components", "schemas", name), needed)
        return jsonschema_rs.Draft4Validator({"allOf": [root], "components": {"schemas": schemas}})

    def complete(self, made, schema):
        """Adds what a schema requires and no test looks at: null where it may be, else the least of its type."""
        schema = self.resolve(schema)
        schema = self.resolve(schema.get("oneOf", [schema])[0])
        if isinstance(made, list):
            for each in made:
                self.complete(each, schema.get("items", {}))
        if isinstance(made, dict):
            properties = schema.get("properties", {})
            for name in [each for each in schema.get("required", ()) if each not in made]:
                wanted = self.resolve(properties[name])
                text = {"uri": "https://example.com", "date-time": "2020-01-01T00:00:00Z"}.get(wanted.get("format"), "")
                least = {"integer": 0, "boolean": False, "array": [], "object": {}}.get(wanted.get("type"), text)
                made[name] = None if wanted.get("nullable") else wanted["enum"][0] if "enum" in wanted else least
            for name, value in made.items():
                self.complete(value, properties.get(name, {}))

    def complain(self, what, problem):
        self.violations.append(f"{what}: {problem}.")

    def hold(self, what, subject, value, *where):
        for broken in self.validator(*where).iter_errors(value):
            place = "/".join(map(str, broken.instance_path))
            self.complain(what, f"{subject}, at '/{place}': {broken.message}")

    def check_request(self, method, template, query, body):
        """What a request breaks; the answer tells whether the operation is known at all."""
        what = f"{method} {template}"
        operation = self.document["paths"].get(template, {}).get(method.lower())
        if operation is None:
            self.complain(what, "the description has no such path and method")
            return False
        parameters = [self.resolve(each) for each in operation.get("parameters", [])]
        known = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
        for name, value in query:
            schema = self.resolve(known.get(name, {}))
            if name not in known:
                self.complain(what, f"the description has no query parameter '{name}'")
            elif schema.get("type") == "integer" and not re.fullmatch(r"-?\d+", value):
                self.complain(what, f"the query parameter '{name}' is no integer: '{value}'")
            elif "enum" in schema and value not in schema["enum"]:
                self.complain(what, f"the query parameter '{name}' is none of {schema['enum']}: '{value}'")
        if "requestBody" in operation:
            where = ("paths", template, method.lower(), "requestBody", *CONTENT)
            self.hold(what, "the request's body", body, *where)
            for name in set(body if isinstance(body, dict) else ()) - self.at(*where).get("properties", {}).keys():
                self.complain(what, f"the description names no '{name}' in the request's body")
        elif body is not None:
            self.complain(what, "the request has a body, the description names none")
        return True

    def finish_answer(self, method, template, answer):
        """Completes an answer's body, and complains of what breaks the description."""
        what, where = f"{method} {template} with {answer.status}", ("components", "schemas", "basic-error")
        described = self.at("paths", template, method.lower(), "responses")
        if str(answer.status) in described:
            where = ("paths", template, method.lower(), "responses", str(answer.status), *CONTENT)
            if "content" not in self.at(*where[:5]):
                if answer.body is not None:
                    self.complain(what, "the answer has a body, the description names none")
                return
        elif answer.status not in SHOWN_BY_ALL and answer.status < 500:
            return self.complain(what, "the description has no such status for this operation")
        self.complete(answer.body, self.at(*where))
        self.hold(what, "the answer's body", answer.body, *where)
