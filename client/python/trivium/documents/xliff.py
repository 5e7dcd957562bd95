"""XLIFF 1.2 and 2: fills targets that are missing or empty. They get the inline codes
of the source."""

from __future__ import annotations

import re
from typing import NamedTuple

from trivium.documents import xml_tokens
from trivium.documents.document import (
    Builder,
    DocumentError,
    Item,
    Lines,
    Options,
    escape,
    joined,
)
from trivium.documents.encoding import (
    XML_DECLARATION,
    TextDocument,
    declared,
    decode,
)
from trivium.documents.xml_tokens import Token

_UNITS = ("trans-unit", "segment")
# Inline codes. In 1.2 their contents belong to the native format and are not
# texts. They begin or end something, or stand for a word.
_BEGINS = frozenset(["bpt", "bx", "sc"])
_ENDS = frozenset(["ept", "ex", "ec"])
_NATIVE = frozenset(["ph", "it", "x", "cp"]) | _BEGINS | _ENDS


class _Element(NamedTuple):
    """A source, a segmented source or a target, as places in the tokens."""

    open: int
    close: int  # equal to the opening place for <target/>


class _Edit(NamedTuple):
    first: int  # the replaced tokens; an empty range: insertion
    last: int
    before: str
    content: list[Token]
    after: str


def read(data: bytes, options: Options) -> TextDocument:
    source = decode(data, declared(data, XML_DECLARATION, "utf-8"))
    xml_tokens.check(source.text)
    reader = _Reader(source.text, options)
    reader.read()
    return TextDocument(source, reader.builder, "xmlcharrefreplace")


class _Reader:
    def __init__(self, text: str, options: Options) -> None:
        self.builder = Builder(joined(escape))
        self._options = options
        self._lines = Lines(text)
        self._tokens = list(xml_tokens.tokens(text))
        self._edits: list[_Edit] = []
        self._changed_tags: dict[int, str] = {}  # new texts of changed tags

    def read(self) -> None:
        roots = [t for t in self._tokens if t.kind in ("open", "empty")]
        if roots[0].name.rpartition(":")[2] != "xliff":
            raise DocumentError(
                f"{self._place(roots[0])}: this is not XLIFF: <{roots[0].name}>"
            )
        self._find_units()
        at = 0
        for edit in self._edits:
            self._copy(at, edit.first)
            self.builder.literal(edit.before)
            self.builder.close()
            self._write_content(edit.content)
            self.builder.literal(edit.after)
            at = edit.last
        self._copy(at, len(self._tokens))

    def _place(self, token: Token) -> str:
        return self._lines.place(token.begin)

    def _copy(self, first: int, last: int) -> None:
        for at in range(first, last):
            self.builder.literal(self._changed_tags.get(at, self._tokens[at].raw))

    def _find_units(self) -> None:
        path: list[tuple[str, int, bool]] = []  # name, token, is it translated
        found: dict[str, _Element] = {}
        for at, token in enumerate(self._tokens):
            name = token.name.rpartition(":")[2]
            if token.kind in ("open", "empty"):
                told = token.attributes().get("translate")
                wanted = path[-1][2] if path else True
                if told is not None:
                    wanted = told != "no"
                if name in ("xliff", "file"):
                    self._name_language(at, name, token)
                if name in _UNITS:
                    found = {}
                path.append((name, at, wanted))
            if token.kind in ("close", "empty"):
                _, opened, wanted = path.pop()
                if path and path[-1][0] in _UNITS:
                    found[name] = _Element(opened, at)
                if name in _UNITS and wanted:
                    self._unit(found)

    def _name_language(self, at: int, name: str, token: Token) -> None:
        """Writes the targets' language, which XLIFF 2 requires and 1.2 allows."""
        attributes = token.attributes()
        version = attributes.get("version", "")
        language = self._options.target_language
        if name == "xliff":
            attribute = "trgLang" if version.startswith("2") else ""
        else:
            attribute = "target-language" if "source-language" in attributes else ""
        if language and attribute and attribute not in attributes:
            end = "/>" if token.kind == "empty" else ">"
            head = token.raw[: -len(end)].rstrip()
            tail = token.raw[len(head) :]
            self._changed_tags[at] = f'{head} {attribute}="{escape(language)}"{tail}'

    def _unit(self, found: dict[str, _Element]) -> None:
        source = found.get("seg-source") or found.get("source")
        if source is None:
            return
        tokens = self._tokens
        content = tokens[source.open + 1 : source.close]
        if not any(t.kind in ("text", "cdata") and t.raw.strip() for t in content):
            return
        target = found.get("target")
        prefix = tokens[source.open].name.rpartition(":")[0]
        name = f"{prefix}:target" if prefix else "target"
        if target is None:
            before = tokens[source.open - 1]
            indent = re.search(r"[\r\n]\s*$", before.raw) if before.kind == "text" else None
            head = f"{indent.group() if indent else ''}<{name}>"
            end = source.close + 1
            self._edits.append(_Edit(end, end, head, content, f"</{name}>"))
            return
        inner = tokens[target.open + 1 : target.close]
        if any(t.kind != "text" or t.raw.strip() for t in inner):
            if not self._options.retranslate:
                return
        opened = tokens[target.open].raw
        if target.open == target.close:
            opened = opened[:-2].rstrip() + ">"
        self._edits.append(_Edit(target.open, target.close + 1, opened, content, f"</{name}>"))

    def _write_content(self, content: list[Token]) -> None:
        skipped: list[Token] = []  # tokens of an element that is not text
        depth = 0
        for token in content:
            name = token.name.rpartition(":")[2]
            if skipped or _is_native(token, name):
                skipped.append(token)
                depth += {"open": 1, "close": -1}.get(token.kind, 0)
                if depth == 0:
                    self._native(skipped)
                    skipped = []
                continue
            if token.kind in ("text", "cdata"):
                self._text(token)
                continue
            kind = token.kind if token.kind in ("open", "close") else "void"
            self.builder.mark(kind, [token.raw], name)
            if name == "mrk" and token.attributes().get("mtype") == "seg":
                self.builder.close()
        self.builder.close()

    def _native(self, tokens: list[Token]) -> None:
        name = tokens[0].name.rpartition(":")[2]
        attributes = tokens[0].attributes()
        kind = "open" if name in _BEGINS else "close" if name in _ENDS else "kept"
        key = attributes.get("startRef") or attributes.get("rid") or attributes.get("id", "")
        self.builder.mark(kind, ["".join(token.raw for token in tokens)], f"#{key}")

    def _text(self, token: Token) -> None:
        place = self._place(token)
        if token.kind == "text":
            self.builder.text(token.raw, place, xml_tokens.unescape)
        else:
            self.builder.item(Item("text", [token.raw], token.raw[9:-3]), place)


def _is_native(token: Token, name: str) -> bool:
    attributes = token.attributes()
    return token.kind in ("open", "empty") and (
        name in _NATIVE
        or attributes.get("translate") == "no"
        or (name == "mrk" and attributes.get("mtype") == "protected")
    )
