"""Makes random documents of each format, for tests. A maker writes a document and
applies `change` to its texts. The same seed with another change gives the same
document in another language, which is the expected translation. Without a change the
document is the source: its texts are original, its targets empty."""

import io
import json
import random
import zipfile

WORDS = ("apple", "he", "die", "straße", "ähre", "été", "日本", "naïve", "o'clock",
         "sun-dried", "tree", "x", "ωμέγα", "wait...", "(so)", "yes!", "“quoted”")


class Maker:
    def __init__(self, seed, change):
        self.random = random.Random(seed)
        self.change = change or str
        self.translated = change is not None
        self.eol = self.random.choice(["\n", "\r\n"])

    def one_of(self, *choices):
        return self.random.choice(choices)

    def some(self, make, least=1, most=4):
        return "".join(make() for _ in range(self.random.randint(least, most)))

    def plain(self, most=6):
        count = self.random.randint(1, most)
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def text(self, encode=str, extra=()):
        text = self.plain()
        if extra and self.random.random() < 0.4:
            text += " " + self.random.choice(extra) + " " + self.plain(2)
        return encode(self.change(text))


def text(maker):
    def line():
        body = maker.one_of("", "  ", "---", "12.5", maker.text())
        return maker.one_of("", " ", "\t") + body + maker.one_of("", "  ") + maker.eol
    return maker.some(line, 0, 12) + maker.one_of("", maker.text())


def srt(maker):
    def cue():
        nonlocal number
        number += 1
        rows = maker.eol.join(
            [maker.one_of("- ", "– ", "") + maker.text() for _ in range(2)])
        if "-" not in rows and "–" not in rows:
            rows = maker.text()
        elif not rows.startswith(("-", "–")):
            rows = "- " + rows
        rows = maker.one_of(rows, f"<i>{maker.text()}</i>",
                            "{\\an8}" + maker.text(), f"<b>{maker.text()}</b> {maker.text()}")
        return maker.eol.join(
            [str(number), "00:00:01,000 --> 00:00:02,500", rows, "", ""])
    number = 0
    return maker.some(cue, 1, 6)


def po(maker):
    eol = maker.eol

    def escape(value):
        return value.replace("\\", "\\\\").replace('"', '\\"')

    def entry():
        kind = maker.random.randrange(5)
        context = maker.one_of("", f'msgctxt "{maker.plain()}"{eol}')
        comment = maker.one_of("", f"#: a.c:{maker.random.randrange(99)}{eol}",
                               f"#, c-format{eol}", f'# a "note"{eol}')
        source = maker.plain() + maker.one_of("", ' "q"', " \\table", " \\t")
        head = f'{comment}{context}msgid "{escape(source)}"{eol}'
        target = escape(maker.change(source)) if maker.translated else ""
        first, second = maker.plain(), maker.plain()
        if kind == 0:  # has a translation
            return f'{head}msgstr "{first}"{eol}{eol}'
        if kind == 1:
            plural = maker.change(first) if maker.translated else ""
            return (f'{head}msgid_plural "{first}"{eol}msgstr[0] "{target}"{eol}'
                    f'msgstr[1] "{plural}"{eol}{eol}')
        if kind == 2:
            source = f'"{first}\\n"{eol}"{second}\\n"{eol}'
            target = f'"{maker.change(first)}\\n"{eol}"{maker.change(second)}\\n"{eol}'
            return (f'{comment}{context}msgid ""{eol}{source}msgstr ""{eol}'
                    f'{target if maker.translated else ""}{eol}')
        if kind == 3:
            return f'#, fuzzy{eol}msgid "{first}"{eol}msgstr ""{eol}{eol}'
        return f'{head}msgstr "{target}"{eol}#~ msgid "old"{eol}{eol}'

    head = (f'msgid ""{eol}msgstr ""{eol}'
            f'"Content-Type: text/plain; charset=UTF-8\\n"{eol}{eol}')
    return head + maker.some(entry, 1, 8)


def json_document(maker):
    def string():
        kind = maker.random.randrange(4)
        if kind == 0:
            return json.dumps(maker.change(maker.plain()), ensure_ascii=False)
        if kind == 1:
            lines = [maker.change(maker.plain()) for _ in range(2)]
            return json.dumps("\n".join(lines), ensure_ascii=False)
        if kind == 2:
            return f'"{maker.text()} <b>{maker.text()}</b>"'
        return json.dumps(maker.one_of("", "12", " ", "https://a.b/c?d", "{x}"))

    def value(depth=0):
        space = maker.one_of("", " ", maker.eol + "  ")
        kind = maker.random.randrange(6 if depth < 3 else 3)
        if kind < 2:
            return string()
        if kind == 2:
            return maker.one_of("1", "-2.5e3", "true", "null", "[]", "{}")
        if kind < 5:
            entries = [f'{space}"{maker.plain(2)}"{maker.one_of("", " ")}: {value(depth + 1)}'
                       for _ in range(maker.random.randint(1, 3))]
            return "{" + ",".join(entries) + space + "}"
        return "[" + ",".join(space + value(depth + 1) for _ in range(2)) + "]"
    return value() + maker.one_of("", maker.eol)


def escape_html(value):
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html(maker):
    eol = maker.eol
    extra = ("&", "<", ">")

    def words():
        return (maker.one_of("", " ", eol + "  ", "&nbsp;") + maker.text(escape_html, extra) +
                maker.one_of("", " ", eol))

    def attribute():
        return maker.one_of(
            "", ' class="a > b"', f' title="{maker.text(escape_html)}"', " hidden",
            " data-x='" + maker.plain().replace("'", "") + "'")

    def inline(depth=0):
        kind = maker.random.randrange(7)
        if kind == 0 and depth < 3:
            name = maker.one_of("b", "i", "a", "SPAN")
            return f"<{name}{attribute()}>{inline(depth + 1)}</{name}>"
        if kind == 1:
            return f'<img src=x alt="{maker.text(escape_html)}">'
        if kind == 2:
            return maker.one_of("<br>", "<br/>", "<!-- no <b>text -->")
        if kind == 3:
            return f"<code>{maker.plain()}</code>"
        return words()

    def block(depth=0):
        kind = maker.random.randrange(8)
        if kind == 0:
            return f"<script>if (a<b) x = '<p>{maker.plain()}'</script>{eol}"
        if kind == 1:
            return f"<pre>{maker.plain()}{eol}<b>{maker.plain()}</b></pre>"
        if kind == 2:
            return f'<div translate="no"><div>{maker.plain()}</div>{maker.plain()}</div>{eol}'
        name = maker.one_of("p", "div", "li", "td", "h1", "x-y")
        inside = "<wbr>".join(inline() for _ in range(maker.random.randint(1, 4)))
        if kind == 3 and depth < 3:
            inside += block(depth + 1)
        return f"<{name}{attribute()}>{inside}</{name}>{eol}"

    head = (f'<!DOCTYPE html>{eol}<html lang="en"><head><meta charset="utf-8">'
            f"<title>{maker.text(escape_html, extra)}</title>"
            f"<style>p > a {{}}</style></head><body>{eol}")
    return head + maker.some(block, 1, 6) + "</body></html>" + eol


def markdown(maker):
    eol = maker.eol

    def inline():
        part = maker.one_of(
            maker.text(), maker.text(), f"**{maker.text()}**", f"`{maker.plain()}`",
            f"[{maker.text()}](http://a.b/c_(d) \"t\")", f"_{maker.text()}_",
            f"![{maker.text()}](a.png)", f"<b>{maker.text()}</b>", "<http://a.b>",
            f"~~{maker.text()}~~", "[^1]")
        return part + maker.one_of(" ", ", ")

    def row():
        return maker.some(inline).strip(" ,")

    def block():
        return maker.one_of(
            lambda: f"{'#' * maker.random.randint(1, 6)} {row()}{maker.one_of('', ' ##')}",
            lambda: f"{row()}{eol}===",
            lambda: row(),
            lambda: f"- {row()}{eol}- {row()}{eol}  1. {row()}",
            lambda: f"> {row()}{eol}>{eol}> {row()}",
            lambda: f"```{eol}{maker.plain()}{eol}{eol}# {maker.plain()}{eol}```",
            lambda: f"~~~~ py{eol}```{eol}{maker.plain()}{eol}~~~~",
            lambda: f"<div>{eol}{maker.plain()}{eol}</div>",
            lambda: f"| {row()} | {row()} |{eol}|---|:-:|{eol}| {row()} | {row()} |",
            lambda: f"[{maker.plain(1)}]: http://a.b \"{maker.plain()}\"",
            lambda: f"{row()}  {eol}{row()}",
            lambda: f"- [x] {row()}",
            lambda: "---",
        )() + eol + eol
    front = maker.one_of("", f"---{eol}title: {maker.plain()}{eol}---{eol}")
    return front + maker.some(block, 1, 8)


def xliff(maker):
    eol = maker.eol
    two = maker.one_of(True, False)

    def content(change):
        parts = []
        for kind, one in pieces:
            made = escape_html(change(one))
            parts.append({
                "text": made,
                "g": f'<pc id="1">{made}</pc>' if two else f'<g id="1">{made}</g>',
                "x": f'<ph id="2"/>{made}' if two else f'<ph id="2">&lt;b&gt;</ph>{made}',
                "kept": f'<mrk id="3" translate="no">{escape_html(one)}</mrk>'
                        if two else
                        f'<mrk mtype="protected">{escape_html(one)}</mrk>',
            }[kind])
        return maker_space.join(parts)

    def unit():
        nonlocal pieces, maker_space, number
        number += 1
        maker_space = maker.one_of("", " ")
        pieces = [(maker.one_of("text", "g", "x", "kept"), maker.plain())
                  for _ in range(maker.random.randint(1, 4))]
        if all(kind in ("text", "kept") for kind, _ in pieces):
            pieces = [("g", maker.plain())]
        # Two neighbouring texts are one.
        pieces = [one for at, one in enumerate(pieces)
                  if at == 0 or one[0] != "text" or pieces[at - 1][0] != "text"]
        source = content(str)
        had = maker.random.randrange(4)
        target = ""
        other = maker.plain()
        if had == 0:
            target = f"<target>{other}</target>"
        elif had == 1:
            filled = content(maker.change) if maker.translated else ""
            target = f'<target state="new">{filled}</target>'
        elif maker.translated:
            target = f"<target>{content(maker.change)}</target>"
        indent = maker.one_of("", eol + "    ")
        if target:
            target = indent + target
        body = f"{indent}<source>{source}</source>{target}{eol}"
        if two:
            return f'<unit id="{number}"><segment>{body}</segment></unit>{eol}'
        return f'<trans-unit id="{number}">{body}</trans-unit>{eol}'

    pieces, maker_space, number = [], "", 0
    declaration = f'<?xml version="1.0" encoding="UTF-8"?>{eol}<!-- <source> -->{eol}'
    if two:
        return (f'{declaration}<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" '
                f'version="2.0" srcLang="en" trgLang="de"><file id="f">{eol}'
                f"{maker.some(unit)}</file></xliff>{eol}")
    return (f'{declaration}<xliff version="1.2"><file source-language="en" '
            f'target-language="de" datatype="x" original="a"><body>{eol}'
            f"{maker.some(unit)}</body></file></xliff>{eol}")


def docx(maker):
    """Makes a DOCX whose document.xml has runs that are split anywhere."""
    def runs(formatting, parts):
        """Makes several runs of one text. The first gets the whole translation."""
        out = []
        changed = maker.change("".join(parts))
        moved = changed != "".join(parts)
        for at, part in enumerate(parts):
            if moved:
                body = ("<w:t xml:space=\"preserve\">" + escape_html(changed) + "</w:t>"
                        if at == 0 else '<w:t xml:space="preserve"></w:t>')
            else:
                body = f'<w:t xml:space="preserve">{escape_html(part)}</w:t>'
            language = maker.one_of("", '<w:lang w:val="en-US"/>')
            out.append(f"<w:r><w:rPr>{formatting}{language}</w:rPr>{body}</w:r>")
            if at + 1 < len(parts):
                out.append(maker.one_of("", "<w:proofErr w:type=\"spellStart\"/>"))
        return "".join(out)

    def group(formatting):
        words = maker.plain()
        cut = maker.random.randint(0, len(words))
        return runs(formatting, [words[:cut], words[cut:]] if 0 < cut < len(words) else [words])

    def paragraph():
        body = group("")
        if maker.one_of(True, False):
            body += group("<w:b/>")
        body += maker.one_of(
            "", "<w:r><w:tab/></w:r>", '<w:r><w:footnoteReference w:id="2"/></w:r>',
            f"<w:r><w:instrText>{maker.plain()}</w:instrText></w:r>",
            f"<w:del><w:r><w:delText>{maker.plain()}</w:delText></w:r></w:del>",
            f'<w:hyperlink r:id="rId1">{group("<w:u/>")}</w:hyperlink>')
        return f"<w:p><w:pPr><w:jc w:val=\"left\"/></w:pPr>{body}</w:p>"

    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    part = ('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
            f'<w:document xmlns:w="{namespace}" xmlns:r="r"><w:body>'
            f"{maker.some(paragraph)}<w:sectPr/></w:body></w:document>")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in (("[Content_Types].xml", "<Types/>"),
                              ("word/document.xml", part), ("word/styles.xml", "<x/>")):
            entry = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def table(maker, separator=","):
    """Makes a table whose second column alone is text, and that needs quotes where a
    cell has them, the separator or a line break."""
    def quoted(value):
        return '"' + value.replace('"', '""') + '"'

    def cell():
        text = maker.plain(3) + maker.one_of("", f"{separator}x", ' "q"')
        source_quoted = any(c in text for c in f'"{separator}') or maker.one_of(True, False)
        text = maker.change(text)
        return quoted(text) if source_quoted else text

    def row():
        return separator.join([f"k{maker.random.randrange(99)} key", cell(),
                               maker.one_of("", "12", quoted('a ""b'))]) + maker.eol
    return separator.join(["id", "text", "note"]) + maker.eol + maker.some(row, 1, 8)


def properties(maker):
    def escape(value):
        return "".join(c if c < "\x7f" else "".join(
            f"\\u{int.from_bytes(unit, 'big'):04X}"
            for unit in (c.encode("utf-16-be")[i:i + 2]
                         for i in range(0, len(c.encode("utf-16-be")), 2)))
            for c in value.replace("\\", "\\\\"))

    def entry():
        nonlocal number
        number += 1
        key = f"a\\ key{number}" + maker.one_of("=", " = ", ": ", " ", "=\\" + maker.eol + "  ")
        value = maker.one_of(
            lambda: maker.text(escape), lambda: "12.5",
            lambda: "\\n".join(maker.text(escape) for _ in range(2)),
            lambda: f"<b>{maker.text(escape)}</b>")()
        return maker.one_of("", "# a comment" + maker.eol, maker.eol) + key + value + maker.eol
    number = 0
    return maker.some(entry, 1, 8)


def android(maker):
    eol = maker.eol

    def escape(value):
        return escape_html(value.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"'))

    def content():
        return maker.one_of(
            lambda: maker.text(escape), lambda: f"<b>{maker.text(escape)}</b>",
            lambda: "\\n".join(maker.text(escape) for _ in range(2)),
            lambda: "@string/other")()

    def string():
        nonlocal number
        number += 1
        return maker.one_of(
            lambda: f'  <string name="s{number}">{content()}</string>{eol}',
            lambda: f'  <string name="s{number}" translatable="false">{maker.plain()}</string>{eol}',
            lambda: f'  <plurals name="s{number}"><item quantity="one">{content()}</item>'
                    f'<item quantity="other">{content()}</item></plurals>{eol}',
            lambda: f'  <string-array name="s{number}">{eol}    <item>{content()}</item>{eol}'
                    f"  </string-array>{eol}",
            lambda: f'  <color name="c{number}">#fff</color>{eol}')()
    number = 0
    return (f'<?xml version="1.0" encoding="utf-8"?>{eol}<!-- {maker.plain()} -->{eol}'
            f"<resources>{eol}{maker.some(string, 1, 8)}</resources>{eol}")


def odt(maker):
    """Makes an ODT with notes and tables."""
    def words():
        return maker.text(escape_html)

    def paragraph(depth=0):
        body = maker.one_of(
            words, lambda: f'<text:span text:style-name="B">{words()}</text:span>',
            lambda: f"{words()}<text:tab/>{words()}",
            lambda: f"{words()}<text:line-break/>{words()}",
            lambda: f"<text:bookmark text:name=\"b\"/>{words()}")()
        if depth == 0 and maker.one_of(True, False):
            body += ("<text:note><text:note-citation>1</text:note-citation><text:note-body>"
                     f"{paragraph(1)}</text:note-body></text:note>")
        return f"<text:p>{body}</text:p>"

    def block():
        return maker.one_of(
            paragraph, lambda: f"<text:h>{words()}</text:h>",
            lambda: '<table:table-cell office:value-type="date"><text:p>1 May</text:p>'
                    "</table:table-cell>")()
    part = ('<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content '
            'xmlns:office="o" xmlns:table="t" '
            'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
            f"{maker.some(block)}</office:document-content>")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in (("mimetype", "application/vnd.oasis.opendocument.text"),
                              ("content.xml", part), ("meta.xml", "<x/>")):
            entry = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            entry.compress_type = zipfile.ZIP_STORED
            archive.writestr(entry, content)
    return out.getvalue()
