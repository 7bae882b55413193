"""Writes src/evenhand/types.py and src/evenhand/operations.py from the server's openapi.json.

Run without arguments to write them, with --check to fail when they are stale.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SPECIFICATION = HERE.parent.parent / "openapi.json"
PACKAGE = HERE / "src" / "evenhand"
HEADER = (
    '"""Generated from openapi.json by generate.py; not edited by hand."""\n\nfrom __future__ import annotations\n\n'
)
PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "Dict[str, Any]",
}


def reference(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[1]


def union(members: list[str]) -> str:
    seen = list(dict.fromkeys(members))
    optional = "None" in seen
    seen = [member for member in seen if member != "None"]
    inner = seen[0] if len(seen) == 1 else f"Union[{', '.join(seen)}]" if seen else "None"
    return f"Optional[{inner}]" if optional and seen else inner


def annotation(schema: dict[str, Any], prefix: str = "") -> str:
    """The Python type of a schema; `prefix` stands before the names of other schemas."""
    if "$ref" in schema:
        return prefix + reference(schema)
    if "oneOf" in schema:
        return union([annotation(member, prefix) for member in schema["oneOf"]])
    if "enum" in schema:
        words = [json.dumps(word) for word in schema["enum"] if word is not None]
        literal = f"Literal[{', '.join(words)}]"
        return f"Optional[{literal}]" if None in schema["enum"] else literal
    kinds = schema.get("type")
    if kinds is None:
        return "Any"
    found = []
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "array":
            found.append(f"List[{annotation(schema.get('items', {}), prefix)}]")
        elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            found.append(f"Dict[str, {annotation(schema['additionalProperties'], prefix)}]")
        else:
            found.append(PLAIN[kind])
    return union(found)


def comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 118, initial_indent=indent + "# ", subsequent_indent=indent + "# ")


def fields(properties: dict[str, Any]) -> list[str]:
    lines = []
    for name, schema in properties.items():
        if schema.get("description"):
            lines += comment(schema["description"], "    ")
        lines.append(f"    {name}: {annotation(schema)}")
    return lines or ["    pass"]


def typed_dict(name: str, schema: dict[str, Any]) -> list[str]:
    """TypedDicts say with a class which keys are needed: a base class holds those, for Python 3.9 has no Required."""
    properties = schema.get("properties", {})
    required = {key: properties[key] for key in properties if key in schema.get("required", [])}
    optional = {key: properties[key] for key in properties if key not in required}
    described = comment(schema["description"], "") if schema.get("description") else []
    if not optional:
        return [*described, f"class {name}(TypedDict):", *fields(required), "", ""]
    if not required:
        return [*described, f"class {name}(TypedDict, total=False):", *fields(optional), "", ""]
    base = [f"class _{name}Required(TypedDict):", *fields(required), "", ""]
    return [*base, *described, f"class {name}(_{name}Required, total=False):", *fields(optional), "", ""]


def flat(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A schema made of others, as one: a later part may say more about a field than an earlier one."""
    if "$ref" in schema:
        return flat(schemas[reference(schema)], schemas)
    if "allOf" not in schema:
        return schema
    parts = [flat(part, schemas) for part in schema["allOf"]]
    return {
        "description": schema.get("description"),
        "properties": {key: value for part in parts for key, value in part.get("properties", {}).items()},
        "required": [key for part in parts for key in part.get("required", [])],
    }


def types(schemas: dict[str, Any]) -> str:
    lines = ["from typing import Any, Dict, List, Literal, Optional, TypedDict, Union", "", ""]
    # Sets of words first: those are values, which must be there before they are used.
    for name in sorted(schemas, key=lambda name: ("enum" not in schemas[name], name)):
        schema = flat(schemas[name], schemas)
        if "properties" in schema or (schema.get("type") == "object" and "additionalProperties" not in schema):
            lines += typed_dict(name, schema)
        else:
            described = comment(schema["description"], "") if schema.get("description") else []
            lines += [*described, f"{name} = {annotation(schema)}", ""]
    return HEADER + "\n".join(lines).rstrip() + "\n"


def answer(operation: dict[str, Any]) -> str:
    for status in ("200", "202"):
        content = operation["responses"].get(status, {}).get("content", {})
        if "application/json" in content:
            return annotation(content["application/json"]["schema"], "types.")
    return "bytes"


def method(path: str, verb: str, operation: dict[str, Any], awaited: bool) -> list[str]:
    parameters = operation.get("parameters", [])
    in_path = [parameter for parameter in parameters if parameter["in"] == "path"]
    in_query = [parameter for parameter in parameters if parameter["in"] == "query"]
    arguments = ["self", *(f"{parameter['name']}: str" for parameter in in_path)]
    sent = ""
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        arguments.append(f"body: {annotation(body, 'types.')}")
        sent = ", body=body"
    needed = [parameter for parameter in in_query if parameter.get("required")]
    if in_query:
        arguments.append("*")
        for parameter in needed + [parameter for parameter in in_query if parameter not in needed]:
            kind = annotation(parameter["schema"], "types.")
            arguments.append(
                f"{parameter['name']}: {kind}"
                if parameter in needed
                else f"{parameter['name']}: Optional[{kind}] = None"
            )
        sent += ", query={" + ", ".join(f'"{parameter["name"]}": {parameter["name"]}' for parameter in in_query) + "}"
    result = answer(operation)
    if result == "bytes":
        sent += ", raw=True"
    address = re.sub(r"\{(\w+)\}", r"{quote(\1, safe='')}", path)
    text = f'f"{address}"' if in_path else f'"{address}"'
    call = f'{"await " if awaited else ""}self._call("{verb.upper()}", {text}{sent})'
    summary = operation.get("summary", "").replace('"""', "'''")
    return [
        f"    {'async ' if awaited else ''}def {operation['operationId']}(",
        *(f"        {argument}," for argument in arguments),
        f"    ) -> {result}:",
        f'        """{summary}"""' if summary else "",
        f"        return cast({json.dumps(result)}, {call})",
        "",
    ]


def operations(paths: dict[str, Any]) -> str:
    lines = [
        "from typing import Any, Awaitable, Callable, List, Literal, Optional, Union, cast",
        "from urllib.parse import quote",
        "",
        "from . import types",
        "",
        "",
    ]
    for name, awaited in (("Operations", False), ("AsyncOperations", True)):
        kind = "Callable[..., Awaitable[Any]]" if awaited else "Callable[..., Any]"
        lines += [
            f"class {name}:",
            '    """Every operation of the server, one method each; a refusal raises `ApiError`."""',
            "",
            f"    def __init__(self, call: {kind}) -> None:",
            "        self._call = call",
            "",
        ]
        for path, verbs in paths.items():
            # OTLP is another protocol, whose exporters are its clients.
            if path.startswith("/v1/"):
                continue
            for verb, operation in verbs.items():
                lines += method(path, verb, operation, awaited)
        lines.append("")
    return HEADER + re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip() + "\n"


def main() -> int:
    specification = json.loads(SPECIFICATION.read_text("utf-8"))
    made = {
        PACKAGE / "types.py": types(specification["components"]["schemas"]),
        PACKAGE / "operations.py": operations(specification["paths"]),
    }
    stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(HERE)} is stale: run python sdk/python/generate.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(made[path], "utf-8")
        print(f"wrote {path.relative_to(HERE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
