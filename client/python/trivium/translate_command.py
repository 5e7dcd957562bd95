"""trivium-translate: translates documents with a trivium-server."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import grpc

import trivium
from trivium.connection import DEFAULT_ADDRESS
from trivium.documents import FORMATS, Document, DocumentError, Options, format_of
from trivium.documents.document import Sent
from trivium.documents.translation import Error, Failure, translate
from trivium.errors import TriviumError
from trivium.journal import Journal
from trivium.progress import Progress
from trivium.v1 import inference_pb2

_DESCRIPTION = """\
Translates a document: DOCX, HTML, Markdown, XLIFF 1.2 and 2, PO, SRT, JSON or
plain text. Everything except its texts stays, byte for byte. A run that was
stopped continues when the same command is given again: OUT.trivium-journal has
its translations until all is done.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code. 0: done; 1: the document or a text of it failed; 2: the
    command line is wrong; 130: interrupted."""
    args = _parser().parse_args(arguments)
    source = pathlib.Path(args.file)
    try:
        _run(args, source)
    except DocumentError as error:
        return _fail(f"{source}: {error}")
    except OSError as error:
        return _fail(f"{error.filename or source}: {error.strerror or error}")
    except TriviumError as error:
        return _fail(f"{source}: {error}")
    except KeyboardInterrupt:
        print("stopped; the same command continues from here", file=sys.stderr)
        return 130
    return 0


def _fail(message: str) -> int:
    print(f"trivium-translate: {message}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "trivium-translate",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", metavar="FILE")
    add("-o", "--output", metavar="OUT", help="default: FILE with the language in its name")
    add(
        "--from",
        dest="source_language",
        default="",
        metavar="LANGUAGE",
        help="the document's language, as de",
    )
    add(
        "--to",
        dest="target_language",
        default="",
        metavar="LANGUAGE",
        help="language to translate to, as en",
    )
    add("--format", choices=sorted(FORMATS), help="default: by the end of FILE's name")
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
        help="encoding of text, SRT and JSON; default: utf-8",
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
        "--retranslate",
        action="store_true",
        help="PO and XLIFF: also translate texts that have a translation",
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


# Options that only some formats have.
_OF_FORMATS = {
    "encoding": ("text", "srt", "json"),
    "keys": ("json",),
    "only": ("json",),
    "retranslate": ("po", "xliff"),
}


def _read_document(args: argparse.Namespace, source: pathlib.Path) -> Document:
    name = args.format or format_of(source)
    if name is None:
        raise DocumentError(
            f"its name does not show its format: give --format, one of "
            f"{', '.join(sorted(FORMATS))}"
        )
    for option, formats in _OF_FORMATS.items():
        if getattr(args, option) and name not in formats:
            raise DocumentError(f"--{option} is for {' and '.join(formats)}, this is {name}")
    options = Options(
        target_language=args.target_language,
        encoding=args.encoding or "utf-8",
        retranslate=args.retranslate,
        keys=args.keys,
        only=args.only,
    )
    return FORMATS[name](source.read_bytes(), options)


def _output_path(args: argparse.Namespace, source: pathlib.Path) -> pathlib.Path:
    if args.output:
        return pathlib.Path(args.output)
    language = args.target_language or "translated"
    return source.with_name(f"{source.stem}.{language}{source.suffix}")


def _run(args: argparse.Namespace, source: pathlib.Path) -> None:
    document = _read_document(args, source)
    output = _output_path(args, source)
    if output.exists() and output.samefile(source):
        raise DocumentError("the translation would overwrite it: give another -o")
    glossary = _glossary(args)
    settings = {
        name: getattr(args, name)
        for name in ("source_language", "target_language", "model", "beam_size")
    }
    settings["glossary"] = glossary
    path = output.with_name(output.name + ".trivium-journal")
    try:
        journal = Journal(path, settings)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    if journal.found:
        print(f"{path}: continues after {journal.found} texts", file=sys.stderr)
    progress = Progress(sys.stderr, source.name)
    try:
        with trivium.Client(
            args.address, credentials=_credentials(args), tls_server_name=args.tls_server_name
        ) as client:
            translator = ServerTranslator(client, args, glossary)
            translations, failures = translate(document.segments, translator, journal, progress)
    finally:
        progress.end()
        journal.close()
    for failure in failures:
        _tell_failure(source, failure)
    if failures and not args.keep_going:
        raise DocumentError(
            f"{len(failures)} of {len(document.segments)} texts failed, and {output} "
            "was not written; the others are kept: mend these and give the same "
            "command again, or give --keep-going"
        )
    _write(output, document.render(translations))
    journal.remove()


def _tell_failure(source: pathlib.Path, failure: Failure) -> None:
    text = failure.text if len(failure.text) <= 60 else failure.text[:57] + "..."
    print(f"{source}: {failure.place}: {text!r}: {failure.error}", file=sys.stderr)


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


# Parts of texts that programs read, which a translation must keep: the server's
# kinds, ${name}, %{name} and entities.
PROTECT = {
    "kinds": [
        f"PROTECTED_KIND_{one}" for one in "PRINTF ICU_MESSAGE MUSTACHE URL EMAIL".split()
    ],
    "patterns": [r"[$%#]\{[^{}]*\}", r"&#?\w+;"],
}


class ServerTranslator:
    """Translates with one TranslateStream after another. All texts of a stream have
    the same options."""

    def __init__(
        self,
        client: trivium.Client,
        args: argparse.Namespace,
        glossary: dict[str, Any] | None,
    ) -> None:
        self._client = client
        self._model: str = args.model
        self._options: dict[str, Any] = {"protect": PROTECT}
        if glossary:
            self._options["glossary"] = glossary
        for name in ("source_language", "target_language"):
            if getattr(args, name):
                self._options[name] = getattr(args, name)
        if args.beam_size:
            self._options["decoding"] = {"beam_size": args.beam_size}

    def translate(self, texts: Sequence[Sent]) -> Iterator[tuple[int, str | Error]]:
        groups: dict[str, list[int]] = {}
        for index, sent in enumerate(texts):
            groups.setdefault(sent.format, []).append(index)
        for format, indices in groups.items():
            options = dict(self._options)
            if format != "PLAIN":
                options["format"] = f"TEXT_FORMAT_{format}"
            for outcome in self._client.translate_stream(
                [texts[index].text for index in indices],
                model=self._model,
                ordered=False,
                **options,
            ):
                yield indices[outcome.index], _translation(outcome)


def _translation(outcome: trivium.Outcome[inference_pb2.TranslateResult]) -> str | Error:
    if outcome.result is None:
        assert outcome.error is not None
        return outcome.error
    for one in outcome.result.unkept:
        times = f"{one.count} times" if one.count else "not"
        return DocumentError(f"its translation has {one.text!r} {times}")
    return outcome.result.hypotheses[0].text


if __name__ == "__main__":
    sys.exit(main())
