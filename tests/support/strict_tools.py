"""Which tools and calls of a request OpenAI refuses, in its own words. Pure; of both APIs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

Kind = Literal["chat", "responses"]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}


class Refused(Exception):
    """Ends a check with the words of the refusal."""


def check_tools(kind: Kind, tools: object) -> None:
    if not isinstance(tools, list):
        raise Refused("Invalid type for 'tools': expected an array of objects.")
    if tools == [] and kind == "chat":
        raise Refused("[] is too short - 'tools'")
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise Refused(f"Invalid value for 'tools[{at}].type'. Supported values: 'function'.")
        function = tool.get("function") if kind == "chat" else tool
        if not isinstance(function, dict):
            raise Refused(f"Missing required parameter: 'tools[{at}].function'.")
        name = function.get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Refused(
                f"Invalid 'tools[{at}].name': string does not match pattern. Expected a string "
                "that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )
        if name in seen:
            raise Refused(f"Duplicate function name: '{name}'.")
        seen.add(name)
        schema = function.get("parameters", {"type": "object", "properties": {}})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            got = schema.get("type") if isinstance(schema, dict) else schema
            raise Refused(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of "
                f"'type: \"object\"', got 'type: \"{got}\"'."
            )
        _schema(name, schema, schema.get("$defs", {}))


def _schema(name: str, node: object, definitions: Mapping[str, Any]) -> None:
    if isinstance(node, bool):
        return
    if not isinstance(node, dict):
        raise Refused(f"Invalid schema for function '{name}': {node!r} is not a schema.")
    types = node.get("type", [])
    for each in types if isinstance(types, list) else [types]:
        if each not in _TYPES:
            raise Refused(f"Invalid schema for function '{name}': {each!r} is not valid.")
    if node.get("type") == "array" and "items" not in node:
        raise Refused(f"Invalid schema for function '{name}': array schema missing items.")
    reference = node.get("$ref")
    if reference is not None and str(reference).removeprefix("#/$defs/") not in definitions:
        raise Refused(f"Invalid schema for function '{name}': {reference!r} leads nowhere.")
    properties = node.get("properties", {})
    for wanted in node.get("required", []):
        if wanted not in properties:
            raise Refused(f"Invalid schema for function '{name}': 'required' names {wanted!r}.")
    children: list[object] = [*properties.values(), *node.get("$defs", {}).values()]
    children += [node[key] for key in ("items", "additionalProperties") if key in node]
    for key in ("anyOf", "oneOf", "allOf"):
        children += node.get(key, [])
    for child in children:
        _schema(name, child, definitions)


def check_format(body: dict[str, Any]) -> None:
    """What goes with tools, or in their place: `tool_choice`, `response_format`."""
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and "tools" not in body:
            raise Refused(f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are.")
    if "response_format" not in body:
        return
    wanted = body["response_format"]
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in ("text", "json_object", "json_schema"):
        raise Refused(f"Invalid value: '{kind}'. Supported values are: 'json_object', ….")
    if kind == "json_schema":
        said = wanted.get("json_schema")
        if not isinstance(said, dict) or not NAME.fullmatch(str(said.get("name", ""))):
            raise Refused("Missing required parameter: 'response_format.json_schema.name'.")
        schema = said.get("schema")
        if not isinstance(schema, dict):
            raise Refused("Missing required parameter: 'response_format.json_schema.schema'.")
        _schema(said["name"], schema, schema.get("$defs", {}))


def check_arguments(arguments: object, where: str) -> None:
    """Arguments that a chat template could not parse."""
    try:
        parsed = (
            json.loads(arguments, parse_constant=_no_constant)
            if isinstance(arguments, str)
            else None
        )
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refused(f"Invalid '{where}': 'arguments' is not a JSON object.")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def check_call_id(call_id: object, seen: Collection[str], longest: int) -> str:
    """The id of a call, a new one."""
    if not isinstance(call_id, str) or not call_id:
        raise Refused(f"Invalid call id {call_id!r}: expected a string.")
    if len(call_id) > longest:
        raise Refused(
            f"Invalid call id: string too long. Expected a string with maximum length {longest}, "
            f"but got a string with length {len(call_id)} instead."
        )
    if call_id in seen:
        raise Refused(f"Duplicate value for 'tool_call_id' of '{call_id}'.")
    return call_id
