"""Lists on a command line."""

import argparse


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
