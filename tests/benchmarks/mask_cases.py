"""Schemas and texts of them, for compare_masks."""

import json
import random

WORDS = ("alpha beta gamma weather Zürich report the of a river night light "
         "blue 2024 house machine to \"quoted\" line\nbreak データ").split(" ")


class Texts:
    """Random values of the schemas below."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def words(self, least, most):
        return " ".join(self.random.choice(WORDS) for _ in
                        range(self.random.randint(least, most)))

    def date(self):
        return (f"20{self.random.randint(10, 29)}-"
                f"{self.random.randint(1, 12):02}-"
                f"{self.random.randint(1, 28):02}")

    def person(self):
        return {"name": self.words(1, 3), "age": self.random.randint(0, 120),
                "email": f"{self.random.choice('abcde')}@example.org",
                "born": self.date(),
                "role": self.random.choice(["admin", "user", "guest"]),
                "tags": [self.words(1, 2)
                         for _ in range(self.random.randint(0, 5))]}

    def order(self):
        return {"id": self.random.randint(1, 10**6),
                "lines": [{"sku": f"AB-{self.random.randint(1000, 9999)}",
                           "count": self.random.randint(1, 99),
                           "price": round(self.random.uniform(0, 500), 2),
                           "note": self.random.choice(
                               [None, self.words(1, 8)])}
                          for _ in range(self.random.randint(1, 6))],
                "state": self.random.choice(["open", "paid", "sent"])}

    def tree(self, depth=0):
        return {"value": self.random.randint(-99, 99),
                "children": [] if depth > 3 else
                [self.tree(depth + 1)
                 for _ in range(self.random.randint(0, 2))]}

    def essay(self):
        return {"title": self.words(2, 8), "text": self.words(80, 200)}

    def free(self):
        return {self.words(1, 2): self.random.choice(
            [1, 2.5, None, True, self.words(1, 9), [1, 2, 3], {"a": {}}])
            for _ in range(self.random.randint(1, 8))}

    def call(self, tools):
        tool = self.random.choice(tools)
        properties = tool["properties"]["arguments"]["properties"]
        arguments = {}
        for name, schema in properties.items():
            if "enum" in schema:
                arguments[name] = self.random.choice(schema["enum"])
            elif schema["type"] == "integer":
                arguments[name] = self.random.randint(0, 100)
            elif schema["type"] == "array":
                arguments[name] = [self.words(1, 2)]
            else:
                arguments[name] = self.words(1, 12)
        return {"name": tool["properties"]["name"]["const"],
                "arguments": arguments}


def closed(properties, required=None):
    return {"type": "object", "properties": properties,
            "required": list(properties) if required is None else required,
            "additionalProperties": False}


PERSON = closed({
    "name": {"type": "string", "maxLength": 100},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "email": {"type": "string", "pattern": "^[a-z.]+@[a-z.]+$"},
    "born": {"type": "string", "format": "date"},
    "role": {"enum": ["admin", "user", "guest"]},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 20}})
ORDER = closed({
    "id": {"type": "integer"},
    "lines": {"type": "array", "minItems": 1, "items": closed({
        "sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "note": {"type": ["string", "null"]}})},
    "state": {"enum": ["open", "paid", "sent"]}})
TREE = {"$ref": "#/$defs/node", "$defs": {"node": closed({
    "value": {"type": "integer"},
    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})}}
ESSAY = closed({"title": {"type": "string"}, "text": {"type": "string"}})


def tools_of(size):
    """Tools whose schemas are of about so many bytes together."""
    texts, tools, length = Texts("tools"), [], 0
    while True:
        number = len(tools)
        properties = {
            f"query_{number}": {"type": "string",
                                "description": texts.words(5, 25)},
            "limit": {"type": "integer", "description": texts.words(3, 12)},
            "order": {"enum": ["rising", "falling", f"by_{number}"]},
            "fields": {"type": "array", "items": {"type": "string"},
                       "description": texts.words(3, 12)},
            "filter": {"type": "string", "description": texts.words(3, 20)}}
        tool = closed({"name": {"const": f"search_{number}"},
                       "arguments": closed(properties)})
        length += len(json.dumps(tool, ensure_ascii=False).encode()) + 1
        if length > size:
            return tools
        tools.append(tool)


def cases(texts_each, tools_bytes):
    """(name, schema, texts) each."""
    texts = Texts("texts")
    tools = tools_of(tools_bytes)
    return [
        (name, schema, [make() for _ in range(texts_each)])
        for name, schema, make in (
            ("person", PERSON, texts.person),
            ("order", ORDER, texts.order),
            ("tree", TREE, texts.tree),
            ("essay", ESSAY, texts.essay),
            ("any object", {"type": "object"}, texts.free),
            (f"{tools_bytes // 1000} KB of tools", {"anyOf": tools},
             lambda: texts.call(tools)))]
