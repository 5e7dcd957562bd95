"""trivium-translate: translates documents with a trivium-server."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import grpc

import trivium
from trivium.connection import DEFAULT_ADDRESS
from trivium.documents import DocumentError, TranslatedDocument
from trivium.errors import InvalidArgumentError, TriviumError
from trivium.journal import Journal
from trivium.progress import Progress
from trivium.v1 import inference_pb2

_DESCRIPTION = """\
Translates documents: DOCX, PPTX, XLSX, ODT, ODS, ODP, EPUB, HTML, Markdown,
XLIFF 1.2 and 2, PO, Android's strings.xml, Apple's .strings, .properties, ARB, CSV,
TSV, SRT, VTT, JSON, XML or plain text. Everything except their texts stays, byte
for byte. A run that was stopped continues when the same command is given again:
OUT.trivium-journal has a document's translations until all is done.
"""

_STANDARD = "-"  # standard input or output


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code. 0: done; 1: a document or a text of it failed; 2: the
    command line is wrong; 130: interrupted."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        jobs = _all_jobs(args, parser)
        with trivium.Client(
            args.address, credentials=_credentials(args), tls_server_name=args.tls_server_name
        ) as client:
            return _run_all(client, args, jobs)
    except DocumentError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("stopped; the same command continues from here", file=sys.stderr)
        return 130


def _fail(message: str) -> int:
    print(f"trivium-translate: {message}", file=sys.stderr)
    return 1


def _run_all(client: trivium.Client, args: argparse.Namespace, jobs: list[_Job]) -> int:
    code = 0
    for job in jobs:
        try:
            _run(client, args, job)
        except InvalidArgumentError as error:
            fields = [one.field for one in error.violations]
            if job.of_folder and fields == ["start.file_name"]:
                print(f"{job.source}: left out, its format is not known", file=sys.stderr)
                continue
            code = _fail(f"{job.source}: {_in_words_of_flags(str(error))}")
        except (DocumentError, TriviumError) as error:
            code = _fail(f"{job.source}: {error}")
        except OSError as error:
            code = _fail(f"{error.filename or job.source}: {error.strerror or error}")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "trivium-translate",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "files",
        metavar="FILE",
        nargs="+",
        help="a document, a folder with documents, or - for standard input",
    )
    add(
        "-o",
        "--output",
        metavar="OUT",
        help="a file, - for standard output, or a folder if there are several FILEs; "
        "default: FILE with the language in its name",
    )
    add(
        "--from",
        dest="source_language",
        default="",
        metavar="LANGUAGE",
        help="the document's language, as de; auto detects it",
    )
    add(
        "--to",
        dest="target_language",
        default="",
        metavar="LANGUAGE",
        help="language to translate to, as en",
    )
    add(
        "--format",
        default="",
        metavar="NAME",
        help="docx, html, po...; default: by the end of FILE's name",
    )
    add(
        "--address",
        default=os.environ.get("TRIVIUM_ADDRESS", DEFAULT_ADDRESS),
        metavar="HOST:PORT",
        help="address of the server; default: TRIVIUM_ADDRESS, else %(default)s",
    )
    _add_tls_flags(parser)
    add("--model", default="", help="name of a model; default: the server's first")
    add("--beam-size", type=_positive, metavar="N", help="beams; default: the model's")
    add(
        "--term",
        dest="terms",
        action="append",
        default=[],
        metavar="SOURCE=TARGET",
        type=_term,
        help="translate this term so; may be repeated",
    )
    add(
        "--glossary",
        metavar="FILE",
        help="a file with a term, a tab and its translation on each line",
    )
    add(
        "--inflections",
        action="store_true",
        help="also find other forms of the terms' words",
    )
    add(
        "--encoding",
        metavar="NAME",
        help="encoding of text, SRT, JSON, CSV, TSV and .properties; default: utf-8",
    )
    add(
        "--protect-pattern",
        action="append",
        default=[],
        metavar="REGEX",
        help="what matches stays as it is, besides %%s, {name}, addresses and the "
        "like; may be repeated",
    )
    add(
        "--check",
        action="store_true",
        help="name the places whose translation looks wrong",
    )
    add("--keys", action="store_true", help="JSON: translate keys, too")
    add(
        "--only",
        action="append",
        default=[],
        metavar="KEY",
        help="JSON: translate only values under this key; may be repeated",
    )
    add(
        "--column",
        dest="columns",
        action="append",
        default=[],
        metavar="NAME",
        help="CSV and TSV: translate only this column, by its name in the first row "
        "or its number; may be repeated",
    )
    add(
        "--no-header",
        action="store_true",
        help="CSV and TSV: the first row has no names, so translate it, too",
    )
    add(
        "--retranslate",
        action="store_true",
        help="PO and XLIFF: also translate texts that have a translation",
    )
    add(
        "--mark-fuzzy",
        action="store_true",
        help="PO: mark the entries that get a translation as fuzzy",
    )
    add(
        "--keep-going",
        action="store_true",
        help="write OUT even if some texts failed; those stay as they were",
    )
    return parser


def _add_tls_flags(parser: argparse.ArgumentParser) -> None:
    def add(name: str, **more: Any) -> None:
        variable = "TRIVIUM_CLIENT" + name.removeprefix("-").replace("-", "_").upper()
        more["help"] += f"; or {variable}"
        parser.add_argument(name, default=os.environ.get(variable), **more)

    add("--tls", action="store_const", const="1", help="the server speaks TLS")
    add(
        "--tls-ca",
        metavar="FILE",
        help="certificates (PEM) of authorities that may sign the server's",
    )
    add(
        "--tls-certificate",
        metavar="FILE",
        help="the client's certificate (PEM), for a server that asks for one",
    )
    add("--tls-key", metavar="FILE", help="the key (PEM) of that certificate")
    add(
        "--tls-server-name",
        metavar="NAME",
        help="name in the server's certificate; default: the host of the address",
    )
    add(
        "--token-file",
        metavar="FILE",
        help="file with the token for the server; or the token in TRIVIUM_TOKEN",
    )


def _token(args: argparse.Namespace) -> str | None:
    if args.token_file:
        return pathlib.Path(args.token_file).read_text(encoding="ascii").strip()
    return os.environ.get("TRIVIUM_TOKEN")


def _credentials(args: argparse.Namespace) -> grpc.ChannelCredentials | None:
    files = (args.tls_ca, args.tls_certificate, args.tls_key)
    try:
        token = _token(args)
        if args.tls not in (None, "", "0", "false"):
            return trivium.tls_credentials(*files, token=token or None)
    except (OSError, ValueError) as error:
        raise DocumentError(f"TLS: {error}") from None
    if any(files) or args.tls_server_name or token:
        raise DocumentError("a token and the TLS flags need --tls")
    return None


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("it is at least 1")
    return value


def _term(text: str, between: str = "=") -> dict[str, str]:
    source, found, target = text.partition(between)
    if not found:
        shown = "<TAB>" if between == "\t" else between
        raise argparse.ArgumentTypeError(f"{text!r} is not SOURCE{shown}TARGET")
    return {"source": source, "target": target}


def _glossary(args: argparse.Namespace) -> dict[str, Any] | None:
    terms = list(args.terms)
    if args.glossary:
        path = pathlib.Path(args.glossary)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            terms += [_term(line, "\t") for line in lines if line]
        except (UnicodeDecodeError, argparse.ArgumentTypeError) as error:
            raise DocumentError(f"--glossary {path}: {error}") from None
    if not terms:
        if args.inflections or args.glossary:
            raise DocumentError("the glossary has no terms: give --term, or a file with terms")
        return None
    return {"terms": terms, "inflections": args.inflections}


class _Job:
    """A document and the place of its translation; None: standard input, output."""

    def __init__(
        self,
        source: pathlib.Path | None,
        output: pathlib.Path | None,
        of_folder: bool = False,
    ) -> None:
        self.path = source
        self.source = "standard input" if source is None else str(source)
        self.output = output
        self.of_folder = of_folder

    def read(self) -> bytes:
        return sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()

    def write(self, data: bytes) -> None:
        if self.output is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write(self.output, data)


# The flags of what the API names otherwise, the longer names first.
_FLAGS = {
    "start.options.decoding.beam_size": "--beam-size",
    "start.options.source_language": "--from",
    "start.options.target_language": "--to",
    "start.options.protect.patterns": "--protect-pattern",
    "start.options.glossary": "--term or --glossary",
    "start.options.checks": "--check",
    "start.document.columns": "--column",
    "start.document.encoding": "--encoding",
    "start.document.keys": "--keys",
    "start.document.mark_fuzzy": "--mark-fuzzy",
    "start.document.no_header": "--no-header",
    "start.document.only_keys": "--only",
    "start.document.retranslate": "--retranslate",
    "start.file_name": "FILE",
    "start.format": "--format",
    "start.model": "--model",
}


def _in_words_of_flags(message: str) -> str:
    for field, flag in _FLAGS.items():
        message = re.sub(rf"\b{re.escape(field)}\b", flag, message)
    return message


def _all_jobs(args: argparse.Namespace, parser: argparse.ArgumentParser) -> list[_Job]:
    jobs = list(_jobs(args, parser))
    sources: dict[pathlib.Path, str] = {}
    for job in jobs:
        if job.output is None:
            continue
        other = sources.setdefault(job.output.resolve(), job.source)
        if other != job.source:
            raise DocumentError(
                f"{other} and {job.source} would both become {job.output}: translate them "
                "one by one, each with another -o"
            )
    return jobs


def _jobs(args: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[_Job]:
    language = args.target_language or "translated"
    several = len(args.files) > 1
    if several and args.output == _STANDARD:
        parser.error("standard output takes one document: give one FILE, or a folder as -o")
    for name in args.files:
        if name == _STANDARD:
            if several:
                parser.error("- is standard input, and stands alone")
            if not args.format:
                parser.error("- needs --format")
            named = args.output not in (None, _STANDARD)
            yield _Job(None, pathlib.Path(args.output) if named else None)
            continue
        source = pathlib.Path(name)
        if source.is_dir():
            folder = source.resolve()
            out = source / ".." / f"{folder.name}.{language}"
            if source.name:
                out = source.with_name(f"{folder.name}.{language}")
            if args.output == _STANDARD:
                parser.error("standard output takes one document, and no folder")
            if args.output:
                part = (source.name or folder.name) if several else ""
                out = pathlib.Path(args.output) / part
            if out.resolve() == folder:
                raise DocumentError(
                    f"{name}: its translations would overwrite it: give another -o"
                )
            files = sorted(
                one
                for one in source.rglob("*")
                if one.is_file() and out.resolve() not in one.resolve().parents
            )
            if not files:
                raise DocumentError(f"{name}: has no files")
            for one in files:
                yield _Job(one, out / one.relative_to(source), of_folder=True)
        elif args.output == _STANDARD:
            yield _Job(source, None)
        elif args.output and (several or pathlib.Path(args.output).is_dir()):
            yield _Job(source, pathlib.Path(args.output) / source.name)
        else:
            beside = source.with_name(f"{source.stem}.{language}{source.suffix}")
            yield _Job(source, pathlib.Path(args.output) if args.output else beside)


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the options of all texts."""
    options: dict[str, Any] = {}
    for name in ("source_language", "target_language"):
        if getattr(args, name):
            options[name] = getattr(args, name)
    if args.beam_size:
        options["decoding"] = {"beam_size": args.beam_size}
    if args.protect_pattern:
        options["protect"] = {"patterns": args.protect_pattern}
    if args.check:
        options["checks"] = {}
    glossary = _glossary(args)
    if glossary:
        options["glossary"] = glossary
    return options


def _reading(args: argparse.Namespace) -> dict[str, Any]:
    """Returns how to read documents."""
    reading: dict[str, Any] = {
        name: True
        for name in ("keys", "mark_fuzzy", "no_header", "retranslate")
        if getattr(args, name)
    }
    if args.encoding:
        reading["encoding"] = args.encoding
    if args.only:
        reading["only_keys"] = args.only
    if args.columns:
        reading["columns"] = args.columns
    return reading


def _run(client: trivium.Client, args: argparse.Namespace, job: _Job) -> None:
    options = _options(args)
    if job.output is not None and job.path is not None and job.output.exists():
        if job.output.samefile(job.path):
            raise DocumentError("the translation would overwrite it: give another -o")
    data = job.read()
    in_folder = job.of_folder or (len(args.files) > 1 and args.output)
    if job.output is not None and in_folder:
        job.output.parent.mkdir(parents=True, exist_ok=True)
    elif job.output is not None and not job.output.parent.is_dir():
        raise DocumentError(
            f"{job.output}: its folder does not exist: make it, or give another -o"
        )
    journal = _journal(args, options, job)
    if journal is not None and journal.found:
        print(f"{journal.path}: continues after {journal.found} texts", file=sys.stderr)
    progress = Progress(sys.stderr, job.source)
    try:
        document = client.translate_document(
            data,
            file_name="" if job.path is None else job.path.name,
            document_format=args.format,
            document=_reading(args),
            known=journal.known if journal is not None else None,
            on_progress=progress,
            on_text=journal.keep if journal is not None else None,
            model=args.model,
            **options,
        )
    finally:
        progress.end()
        if journal is not None:
            journal.close()
    failed = _tell_notes(job.source, document)
    if failed and not args.keep_going:
        kept = "the others are kept: " if journal is not None else ""
        raise DocumentError(
            f"{failed} of {document.result.text_count} texts failed, and "
            f"{job.output or 'the translation'} was not written; {kept}mend these and "
            "give the same command again, or give --keep-going"
        )
    job.write(document.data)
    if journal is not None:
        journal.remove()


def _journal(args: argparse.Namespace, options: dict[str, Any], job: _Job) -> Journal | None:
    if job.output is None:
        return None
    path = job.output.with_name(job.output.name + ".trivium-journal")
    try:
        return Journal(path, {"model": args.model, "options": options})
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None


def _tell_notes(source: str, document: TranslatedDocument) -> int:
    """Returns the number of texts that failed."""
    result = document.result
    for note in result.notes:
        text = note.text if len(note.text) <= 60 else note.text[:57] + "..."
        what = [inference_pb2.Check.Name(one) for one in note.suspicions]
        what += [f"its translation lacks the term {one!r}" for one in note.missing]
        if note.HasField("error"):
            what = [note.error.message]
        print(f"{source}: {note.place}: {text!r}: {', '.join(what)}", file=sys.stderr)
    if result.left_out_note_count:
        print(f"{source}: {result.left_out_note_count} more", file=sys.stderr)
    return result.untranslated_count


def _write(path: pathlib.Path, data: bytes) -> None:
    """Writes all of the file, or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


if __name__ == "__main__":
    sys.exit(main())
