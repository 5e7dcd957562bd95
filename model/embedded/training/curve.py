"""The learning curve of a log, as an SVG without further libraries.

    python curve.py FOLDER       draws FOLDER/log.jsonl to FOLDER/curve.svg
"""

import json
import pathlib
import sys

WIDTH, HEIGHT, EDGE = 720, 360, 50
COLORS = {"loss": "#bbbbbb", "validation loss": "#444444",
          "BLEU to German": "#0b6e99", "BLEU to English": "#c1440e"}


def series(log):
    """name -> [(million target tokens, value)]"""
    # A run that was killed repeats the steps after its checkpoint.
    lines = {(line["step"], "bleu" in line): line
             for line in map(json.loads, log.read_text().splitlines())}
    found = {name: [] for name in COLORS}
    for line in lines.values():
        x = line["tokens"] / 1e6
        if "loss" in line:
            found["loss"].append((x, line["loss"]))
        if "bleu" in line:
            found["validation loss"].append((x, line["validation_loss"]))
            found["BLEU to German"].append((x, line["bleu"]["de"]))
            found["BLEU to English"].append((x, line["bleu"]["en"]))
    return {name: points for name, points in found.items() if points}


def draw(folder):
    log = pathlib.Path(folder, "log.jsonl")
    if not log.is_file():
        return
    found = series(log)
    right = max((x for points in found.values() for x, _ in points), default=0)
    tops = {False: 10, True: 50}  # of losses, of BLEU
    for name, points in found.items():
        is_bleu = name.startswith("BLEU")
        highest = max(y for _, y in points)
        tops[is_bleu] = max(tops[is_bleu], 10 * -(-highest // 10))
    inner = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE

    def place(x, y, top):
        return (EDGE + inner[0] * x / (right or 1),
                HEIGHT - EDGE - inner[1] * y / top)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for i in range(6):
        _, y = place(0, i, 5)
        out.append(f'<path d="M{EDGE} {y:.1f}H{WIDTH - EDGE}" '
                   'stroke="#eeeeee"/>')
        out.append(f'<text x="{EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">'
                   f'{tops[False] * i / 5:g}</text>')
        out.append(f'<text x="{WIDTH - EDGE + 6}" y="{y + 4:.1f}">'
                   f'{tops[True] * i / 5:g}</text>')
        x, _ = place(right * i / 5, 0, 1)
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - EDGE + 16}" '
                   f'text-anchor="middle">{right * i / 5:.3g}</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
               'million target tokens (left: loss, right: BLEU)</text>')
    for i, (name, points) in enumerate(found.items()):
        top = tops[name.startswith("BLEU")]
        path = " ".join("{:.1f},{:.1f}".format(*place(x, y, top))
                        for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke-width="2" '
                   f'stroke="{COLORS[name]}"/>')
        out.append(f'<text x="{EDGE + i * 150}" y="{EDGE - 20}" '
                   f'fill="{COLORS[name]}">{name}</text>')
    out.append("</svg>")
    pathlib.Path(folder, "curve.svg").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    draw(sys.argv[1])
