#!/usr/bin/env python3
"""Cuts Discord's published OpenAPI document down to what the simulator checks requests against.

    trim_openapi.py openapi.json > tests/fixtures/discord-openapi.json

The document is at https://github.com/discord/discord-api-spec (specs/openapi.json, MIT). Kept are the routes below, of
each its parameters and its request body, and the schemas they lead to; descriptions and answers are left out.
Mended is what the document says otherwise than the service: permission bits are strings as well as numbers, and ids
are numbers as well as strings.
"""

import json
import sys

ROUTES = """
/applications/@me
/applications/{application_id}/commands
/applications/{application_id}/commands/{command_id}
/applications/{application_id}/guilds/{guild_id}/commands
/applications/{application_id}/guilds/{guild_id}/commands/permissions
/applications/{application_id}/guilds/{guild_id}/commands/{command_id}
/channels/{channel_id}
/channels/{channel_id}/messages
/channels/{channel_id}/messages/{message_id}
/channels/{channel_id}/messages/{message_id}/reactions
/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}
/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me
/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/{user_id}
/channels/{channel_id}/messages/pins
/channels/{channel_id}/messages/pins/{message_id}
/channels/{channel_id}/permissions/{overwrite_id}
/channels/{channel_id}/pins
/channels/{channel_id}/pins/{message_id}
/channels/{channel_id}/threads/archived/public
/channels/{channel_id}/typing
/gateway
/gateway/bot
/guilds/{guild_id}
/guilds/{guild_id}/channels
/guilds/{guild_id}/members
/guilds/{guild_id}/members/@me
/guilds/{guild_id}/members/search
/guilds/{guild_id}/members/{user_id}
/guilds/{guild_id}/roles
/guilds/{guild_id}/roles/{role_id}
/interactions/{interaction_id}/{interaction_token}/callback
/oauth2/applications/@me
/users/@me
/users/@me/channels
/users/@me/guilds
/users/{user_id}
/webhooks/{webhook_id}/{webhook_token}
/webhooks/{webhook_id}/{webhook_token}/messages/@original
/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}
""".split()

PERMISSIONS = {"allow", "deny", "permissions", "default_member_permissions"}

METHODS = {"get", "put", "post", "patch", "delete"}


def without_words(value):
    """The same without what only a person reads; a property that is called `description` stays."""
    if isinstance(value, list):
        return [without_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        if key == "properties":
            kept[key] = {name: without_words(schema) for name, schema in item.items()}
        elif key in {"description", "title", "examples", "example"} or key.startswith("x-"):
            continue
        else:
            kept[key] = without_words(item)
    return kept


def with_permission_strings(value):
    """Bit fields of permissions as clients send them."""
    if isinstance(value, list):
        return [with_permission_strings(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: with_permission_strings(item) for key, item in value.items()}
    for name in PERMISSIONS & set(kept.get("properties", {})):
        if "integer" in kept["properties"][name].get("type", []):
            kept["properties"][name] = {"pattern": "^(0|[1-9][0-9]*)$", "type": ["string", "integer", "null"]}
    return kept


def request(body):
    """A form carries the same body in its `payload_json`, so JSON is enough."""
    return {"schema": body["content"]["application/json"]["schema"], "required": body.get("required", False)}


def references(value, found):
    if isinstance(value, list):
        for item in value:
            references(item, found)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                found.add(item.removeprefix("#/components/schemas/"))
            else:
                references(item, found)


def main():
    whole = json.load(open(sys.argv[1], encoding="utf-8"))
    schemas = whole["components"]["schemas"]
    paths = {}
    for route in ROUTES:
        item = {"parameters": whole["paths"][route].get("parameters", [])}
        for method in METHODS & set(whole["paths"][route]):
            operation = whole["paths"][route][method]
            item[method] = {"parameters": operation.get("parameters", [])}
            if "requestBody" in operation:
                item[method]["body"] = request(operation["requestBody"])
        paths[route] = with_permission_strings(without_words(item))
    needed, missing = {}, set()
    references(paths, missing)
    while missing:
        name = missing.pop()
        needed[name] = with_permission_strings(without_words(schemas[name]))
        led = set()
        references(needed[name], led)
        missing |= led - set(needed)
    needed["SnowflakeType"]["type"] = ["string", "integer"]
    trimmed = {
        "openapi": whole["openapi"],
        "info": {"title": whole["info"]["title"], "license": whole["info"].get("license")},
        "paths": paths,
        "components": {"schemas": dict(sorted(needed.items()))},
    }
    json.dump(trimmed, sys.stdout, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    print()


main()
