"""Plain text: each line is a segment."""

from __future__ import annotations

import re

from trivium.documents.document import Builder, Options
from trivium.documents.encoding import TextDocument, decode


def read(data: bytes, options: Options) -> TextDocument:
    source = decode(data, options.encoding)
    builder = Builder()
    parts = re.split(r"(\r\n|\r|\n)", source.text)
    for index, part in enumerate(parts):
        if index % 2:
            builder.literal(part)
        else:
            builder.text(part, f"line {index // 2 + 1}")
        builder.close()
    return TextDocument(source, builder)
