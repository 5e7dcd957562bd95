"""gettext PO: fills empty translations. The header, obsolete and fuzzy entries stay.
The first plural form is translated from the singular, the others from the plural."""

from __future__ import annotations

import dataclasses
import re

from trivium.documents.document import Builder, DocumentError, Options, joined
from trivium.documents.encoding import TextDocument, declared, decode
from trivium.documents.escapes import add_string, split_lines

_CHARSET = rb"charset=([\w.:-]+)"
_LINE = re.compile(
    r"""(?P<keyword>[ \t]*(?:msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*)?
        (?P<indent>[ \t]*)"(?P<raw>(?:[^"\\]|\\.)*)"[ \t]*(?P<end>\r\n|\r|\n|$)""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclasses.dataclass
class _String:
    keyword: str
    line: int
    lines: list[str]  # unchanged, beginning with the keyword's line
    raw: str  # the text between the quotes
    end: str  # line end of the first line


def read(data: bytes, options: Options) -> TextDocument:
    encoding = declared(data, _CHARSET, "utf-8")
    if encoding == "CHARSET":  # the value in templates
        encoding = "utf-8"
    source = decode(data, encoding)
    builder = Builder(joined(_escape))
    entry: list[_String] = []
    fuzzy = False
    for number, line in enumerate(source.text.splitlines(keepends=True), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            # A comment belongs to the next entry and so ends this one.
            _write(builder, entry, fuzzy, options)
            if entry:
                entry, fuzzy = [], False
            fuzzy |= stripped.startswith("#,") and "fuzzy" in stripped
            builder.literal(line)
            continue
        found = _LINE.fullmatch(line)
        if found is None or not (found["keyword"] or entry):
            raise DocumentError(f"line {number}: this is not a line of a PO file")
        keyword = (found["keyword"] or "").strip()
        if keyword in ("msgctxt", "msgid") and _has_translation(entry):
            _write(builder, entry, fuzzy, options)
            entry, fuzzy = [], False
        if keyword:
            entry.append(_String(keyword, number, [line], found["raw"], found["end"]))
        else:
            entry[-1].lines.append(line)
            entry[-1].raw += found["raw"]
    _write(builder, entry, fuzzy, options)
    return TextDocument(source, builder)


def _has_translation(entry: list[_String]) -> bool:
    return any(one.keyword.startswith("msgstr") for one in entry)


def _write(builder: Builder, entry: list[_String], fuzzy: bool, options: Options) -> None:
    sources = {one.keyword: one for one in entry if not one.keyword.startswith("msgstr")}
    singular = sources.get("msgid")
    plural = sources.get("msgid_plural")
    forms = [one for one in entry if one.keyword.startswith("msgstr")]
    for one in entry:
        missing = one in forms and (options.retranslate or not (one.raw or fuzzy))
        if not missing or singular is None or not singular.raw:
            builder.literal("".join(one.lines))
            continue
        first = one.keyword in ("msgstr", "msgstr[0]") and (plural is None or len(forms) > 1)
        _fill(builder, one, singular if first or plural is None else plural)


def _fill(builder: Builder, form: _String, source: _String) -> None:
    place = f"line {source.line}"
    first = form.lines[0]
    builder.literal(first[: first.index('"')] + '"')
    end = form.end or "\n"
    parts = split_lines(source.raw)
    while len(parts) > 2 and not parts[-1]:
        # A line break at the end stays in the last line.
        text, newline, _ = parts[-3:]
        parts[-3:] = [text + newline]
    if len(parts) > 1:
        builder.literal(f'"{end}"')
    for index in range(0, len(parts), 2):
        add_string(builder, parts[index], place, _unescape)
        if index + 1 < len(parts):
            builder.literal(f'{parts[index + 1]}"{end}"')
    builder.literal('"')
    # The text after the last quote of the form.
    last = form.lines[-1]
    builder.literal(last[last.rindex('"') + 1 :])


def _unescape(raw: str) -> str:
    return re.sub(
        r"\\([0-7]{1,3}|.)",
        lambda found: (
            chr(int(found[1], 8))
            if found[1][0] in "01234567"
            else _ESCAPES.get(found[1], found[1])
        ),
        raw,
    )


def _escape(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
