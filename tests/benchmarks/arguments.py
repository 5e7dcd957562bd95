"""Arguments of a command line that several benchmarks take."""

import argparse
import pathlib


def integers(text):
    return [int(number) for number in text.split(",") if number]


def numbers(text):
    return [float(number) for number in text.split(",") if number]


def texts(text):
    return [part.strip() for part in text.split(",") if part.strip()]


def precisions(text):
    names = [name for name in text.split(",") if name]
    unknown = set(names) - {"f32", "bf16", "int8"}
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not made of f32, bf16 and int8, as f32,int8")
    return names


def add_report(parser):
    parser.add_argument("--json", help="write the report there, too")


def add_programs(parser):
    parser.add_argument("--programs", type=pathlib.Path, required=True,
                        help="folder of the programs, which the command builds")
