"""protected.py PROGRAMS MODEL [COUNT]: how many of 2,000 interface strings, half
English, half German, have every protected span exactly once when the embedded
model has translated them, beam 4, as served in int8: protected, protected
without pieces, and without any protection.

By hand. Fails where a protected string lacks a span and the result does not say
so.
"""

import sys

from interface_strings import PRESETS, interface_strings
from served import Served


def is_kept(text, spans, translation):
    """By counting bytes, without knowing how spans are found."""
    return all(translation.count(span) == text.count(span) for span in spans)


def main(programs, model, count=2000):
    kinds = ",".join(one.lower().replace("_", "-") for one in PRESETS)
    ways = {
        "protected": ["--protect", kinds],
        "without pieces": ["--protect", kinds, "--no-protect-pieces"],
        "not protected": [],
    }
    silent = 0
    with Served(programs, model) as server:
        for way, flags in ways.items():
            kept = reported = 0
            for source, target in (("en", "de"), ("de", "en")):
                strings = interface_strings(source, count // 2)
                results = server.translate([text for text, _ in strings],
                                           target, flags=flags)
                for (text, spans), made in zip(strings, results, strict=True):
                    result = made["result"]
                    translation = result["hypotheses"][0].get("text", "")
                    if is_kept(text, spans, translation):
                        kept += 1
                    elif flags and result.get("unkept"):
                        reported += 1
                    elif flags:
                        silent += 1
                        print(f"not told: {text} -> {translation}")
            print(f"{way}: {kept} of {count} have every span exactly once, "
                  f"{reported} say what they lack", flush=True)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:4])))
