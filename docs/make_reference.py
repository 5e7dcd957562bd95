#!/usr/bin/env python3
"""Makes the reference pages of what the programs and the API say of themselves.

usage: make_reference.py PROGRAMS [--check]

PROGRAMS is the folder of the built programs. Writes

  docs/flags.md   the programs' flags, from their --help
  docs/calls.md   the calls and messages of the API, from the comments of
                  proto/trivium/v1
  docs/http.md    the paths of the HTTP port, from docs/openapi.json
  docs/metrics.md what /metrics of a running server says of its series

With --check it writes nothing and exits with 1 if a page is not up to date.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOTE = "<!-- Made by docs/make_reference.py. Edit what it reads, not this page. -->\n"


def escaped(text):
    """Text whose < begins no tag. Code in backticks stays."""
    parts = text.split("`")
    return "`".join(re.sub(r"<(?=[\w/|])", r"\\<", part) if i % 2 == 0 else part
                    for i, part in enumerate(parts))


def cell(text):
    """Text as it may stand in a cell of a table."""
    return escaped(re.sub(r"\s+", " ", text).strip()).replace("|", "\\|")


def prose(comment):
    """The lines of a comment as Markdown: its paragraphs, lists and tables."""
    blocks, kind = [], ""  # of the last block: "text", "list" or "table"
    for line in comment:
        if not line:
            kind = ""
        elif line.startswith("- "):
            if kind == "list":
                blocks[-1].append(line)
            else:
                blocks.append([line])
            kind = "list"
        elif line.startswith("  ") and kind == "list":
            blocks[-1][-1] += line[1:]
        elif line.startswith("  "):
            if kind == "table":
                blocks[-1].append(line[2:])
            else:
                blocks.append(["```text", line[2:]])
            kind = "table"
        elif kind == "text":
            blocks[-1][-1] += " " + line
        else:
            blocks.append([line])
            kind = "text"
    texts = ["\n".join(block + ["```"] if block[0] == "```text"
                       else map(escaped, block)) for block in blocks]
    return "\n\n".join(texts) + "\n"


# --- Flags.

OPTION = re.compile(
    r"^  (?P<names>-[^ ]+)(?: (?P<type>\S.*?))?(?: \(Env:(?P<twin>\w+)\))?$")
# The text behind the last '=' of a type, not one in brackets:
# "INT:SIZE [b, kb(=1024b), ...]=4096".
DEFAULT = re.compile(
    r"=([^=()\[\]]+?)(?: (?:\(Env:|Needs:|Excludes:|REQUIRED|\.\.\.).*)?$")


def parse_help(text):
    """The sections of CLI11's help: [(title, [(names, default, text)])]."""
    sections, rows = [], None
    for line in text.splitlines():
        if re.match(r"^[A-Z][\w ,]*:$", line):
            rows = []
            sections.append((line[:-1], rows))
        elif rows is None:
            continue
        elif (match := OPTION.match(line.split("   ")[0].rstrip())
              ) and line.startswith("  -"):
            kind = match["type"] or ""
            found = DEFAULT.search(kind)
            default = found[1] if found else ""
            inline = line[len(line.split("   ")[0]):].strip()
            rows.append([match["names"], default, inline])
        elif line.startswith("   ") and rows:
            rows[-1][2] += " " + line.strip()
    return [(title, rows) for title, rows in sections
            if rows and title != "Positionals"]


def flags_page(programs):
    lines = [NOTE, "# Flags\n",
             "Each flag of `trivium-server` has a twin in the environment: "
             "`--max-isa` is `TRIVIUM_MAX_ISA`. The flag wins.\n"]
    for program in ("trivium-server", "trivium-load"):
        text = subprocess.run([programs / program, "--help"], check=True,
                              capture_output=True, text=True).stdout
        lines.append(f"## {program}\n\n{cell(text.splitlines()[0])}\n")
        for title, rows in parse_help(text):
            lines.append(f"### {title} of {program}\n")
            lines.append("| flag | default | what it does |\n|---|---|---|")
            lines += [f"| `{names}` | {f'`{default}`' if default else ''} "
                      f"| {cell(what)} |" for names, default, what in rows]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


# --- Calls.

FIELD = re.compile(r"^\s*(?P<label>optional |repeated )?"
                   r"(?P<type>map<[^>]*>|[\w.]+) (?P<name>\w+) = (?P<number>\d+)"
                   r"[^;]*;\s*(?://\s*(?P<comment>.*))?$")
VALUE = re.compile(r"^\s*(?P<name>[A-Z][A-Z0-9_]*) = (?P<number>\d+);"
                   r"\s*(?://\s*(?P<comment>.*))?$")
OPENING = re.compile(r"^\s*(?P<kind>message|enum|service|oneof) (?P<name>\w+) \{")
RPC = re.compile(r"rpc (?P<name>\w+)\((?P<request>[^)]*)\)\s*"
                 r"returns \((?P<response>[^)]*)\)")


class Block:
    """A message, enum or service, with the comment above it."""

    def __init__(self, kind, name, comment):
        self.kind, self.name, self.comment = kind, name, comment  # lines
        self.rows = []  # (name, type, comment), or (call, types, comment)


def parse_proto(text):
    """The blocks of a file, nested ones by their full names."""
    blocks, stack, comment, pending = [], [], [], ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            comment.append(stripped[3:])
            continue
        said = " ".join(comment)
        if pending:  # a declaration of several lines
            stripped, said, pending = pending[0] + " " + stripped, pending[1], ""
        if stripped.startswith("rpc ") and "returns" not in stripped or (
                re.match(r"(optional |repeated )?[\w.<>, ]+ = ?$", stripped)):
            pending = (stripped, said)
            comment = []
            continue
        if match := OPENING.match(stripped):
            names = [one.name for one in stack if one.kind != "oneof"]
            name = match["name"]
            if match["kind"] != "oneof":
                name = ".".join(names + [name])
            block = Block(match["kind"], name, comment)
            stack.append(block)
            if match["kind"] == "oneof":
                if said:
                    owner(stack).rows.append(("one of:", "", said))
            else:
                blocks.append(block)
            if stripped.endswith("{}") or stripped.endswith("}"):
                stack.pop()
        elif stripped.startswith("}"):
            if stack:
                stack.pop()
        elif stack and (match := RPC.search(stripped)):
            owner(stack).rows.append(
                (match["name"], (match["request"], match["response"]), said))
        elif stack and (match := VALUE.match(stripped) if owner(stack).kind == "enum"
                        else FIELD.match(stripped)):
            kind = "" if owner(stack).kind == "enum" else (
                (match["label"] or "") + match["type"])
            both = " ".join(filter(None, (said, match["comment"] or "")))
            owner(stack).rows.append((match["name"], kind, both))
        comment = []
    return blocks


def owner(stack):
    return next(one for one in reversed(stack) if one.kind != "oneof")


def anchor(name):
    return name.lower().replace(".", "")


def calls_page():
    lines = [NOTE, "# Calls\n",
             "The services, messages and fields of `trivium.v1`, as "
             "[proto/trivium/v1](../proto/trivium/v1) has them. An unset option "
             "means what the model's own folder says.\n"]
    blocks = []
    for name in ("inference", "models", "common"):
        path = ROOT / "proto" / "trivium" / "v1" / f"{name}.proto"
        blocks += parse_proto(path.read_text(encoding="utf-8"))
    known = {block.name for block in blocks}

    def link(kind, scope=""):
        label, _, base = kind.rpartition(" ")
        full = next((one for one in (f"{scope}.{base}", base) if one in known), None)
        return f"{label} [{base}](#{anchor(full)})".strip() if full else kind

    for block in blocks:
        if block.kind != "service":
            continue
        lines += [f"## {block.name}\n", prose(block.comment),
                  "| call | takes | gives | what it does |\n|---|---|---|---|"]
        lines += [f"| {name} | {link(types[0])} | {link(types[1])} | {cell(said)} |"
                  for name, types, said in block.rows]
        lines.append("")
    lines.append("# Messages\n")
    for block in blocks:
        if block.kind == "service":
            continue
        lines.append(f"## {block.name}\n")
        if block.comment:
            lines.append(prose(block.comment))
        if not block.rows:
            continue
        if block.kind == "enum":
            lines.append("| value | meaning |\n|---|---|")
            lines += [f"| `{name}` | {cell(said)} |" for name, _, said in block.rows]
        else:
            lines.append("| field | type | meaning |\n|---|---|---|")
            lines += [f"| {f'`{name}`' if kind else name} | "
                      f"{cell(link(kind, block.name))} | {cell(said)} |"
                      for name, kind, said in block.rows]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


# --- HTTP.


def type_of(schema):
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(type_of, schema[several])))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def http_page():
    api = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    lines = [NOTE, "# HTTP paths\n",
             "The paths of `--http-listen`, as [openapi.json](openapi.json) "
             "describes them for programs.\n",
             "| path | what it gives | body |\n|---|---|---|"]
    bodies = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            names = {one.get("$ref", "").rpartition("/")[2]
                     for each in content.values()
                     for one in each["schema"].get("oneOf", [each["schema"]])}
            names -= {""}
            for name in sorted(names):
                bodies[name] = api["components"]["schemas"][name]
            said = ", ".join(f"[{one}](#{anchor(one)})" for one in sorted(names))
            lines.append(f"| {method.upper()} `{path}` | "
                         f"{cell(operation.get('summary', ''))} | {said} |")
    lines.append("")
    for name, schema in bodies.items():
        lines += [f"## {name}\n", "| member | type | meaning |\n|---|---|---|"]
        required = schema.get("required", [])
        for member, value in schema.get("properties", {}).items():
            said = value.get("description", "")
            if member in required:
                said = f"Required. {said}"
            lines.append(f"| `{member}` | {cell(type_of(value))} | {cell(said)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


# --- Metrics.

SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? ")
LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')
HEAD = re.compile(r"^# (HELP|TYPE) (\w+) (.*)$")
LONGEST = 60  # seconds that a server takes to start, to answer or to end


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}",
                                timeout=LONGEST) as answer:
        return answer.read().decode()


def scrape(programs):
    """/metrics of a server that has answered a call: some series begin with
    the first call of their kind."""
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder) / "ports"
        server = subprocess.Popen(
            [programs / "trivium-server", "--listen", "127.0.0.1:0",
             "--http-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
             "--log-level", "error", "--port-file", ports])
        try:
            end = time.monotonic() + LONGEST
            while not ports.exists():
                if server.poll() is not None:
                    sys.exit(f"trivium-server ended with {server.returncode}")
                if time.monotonic() > end:
                    sys.exit(f"trivium-server did not serve within {LONGEST} s")
                time.sleep(0.05)
            # The server renames a whole file to this name.
            port = dict(line.split() for line in ports.read_text().splitlines())
            fetch(port["http"], "/v1/models")
            return fetch(port["metrics"], "/metrics")
        finally:
            server.terminate()
            try:
                server.wait(LONGEST)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def metrics_page(programs):
    texts = {"HELP": {}, "TYPE": {}}
    labels = {}
    name = ""
    for line in scrape(programs).splitlines():
        if head := HEAD.match(line):
            name = head[2]
            texts[head[1]][name] = head[3]
        elif sample := SAMPLE.match(line):
            # A histogram's samples are NAME_bucket, NAME_sum and NAME_count.
            labels.setdefault(name, {}).update(
                dict.fromkeys(LABEL.findall(sample["labels"] or "")))
    lines = [NOTE, "# Metrics\n",
             "What `/metrics` says of its own series. "
             "[Operating](operating.md#probes-and-figures) has what to watch and the "
             "alerts.\n",
             "| series | kind | labels | what it is |\n|---|---|---|---|"]
    for name, kind in sorted(texts["TYPE"].items()):
        names = ", ".join(f"`{one}`" for one in labels.get(name, {})
                          if one not in ("le", "quantile"))
        lines.append(f"| `{name}` | {kind} | {names} | {cell(texts['HELP'][name])} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = [one for one in sys.argv[1:] if one != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    programs = pathlib.Path(arguments[0]).absolute()
    stale = []
    for name, page in (("flags.md", flags_page(programs)), ("calls.md", calls_page()),
                       ("http.md", http_page()),
                       ("metrics.md", metrics_page(programs))):
        path = ROOT / "docs" / name
        if path.exists() and path.read_text(encoding="utf-8") == page:
            continue
        stale.append(f"docs/{name}")
        if "--check" not in sys.argv:
            path.write_text(page, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(stale)}; run docs/make_reference.py "
                 "build/dev/bin")


if __name__ == "__main__":
    main()
