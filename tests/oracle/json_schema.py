# SPDX-License-Identifier: Apache-2.0
"""validate(), by what our schemas use of JSON Schema; one that uses more is refused."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}


def is_of(kind, value):
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def validate(schema, value, path, seen):
    """Yields what is wrong. seen: paths of properties that occurred."""
    assert schema.keys() <= {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum"}, schema.keys()
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(kind, value) for kind in kinds):
        yield f"{path}: {value!r} is no {' or '.join(kinds)}"
    if value not in schema.get("enum", [value]):
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, list) and "items" in schema:
        for element in value:
            yield from validate(schema["items"], element, f"{path}[]", seen)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        yield from (f"{path}: without {key}" for key in schema.get("required", []) if key not in value)
        for key, member in value.items():
            inner = properties.get(key, others)
            seen.add(f"{path}.{key}")
            if inner is False:
                yield f"{path}: {key} is not in the schema"
            elif inner is not True:
                yield from validate(inner, member, f"{path}.{key}", seen)
