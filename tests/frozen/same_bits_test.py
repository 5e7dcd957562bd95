#!/usr/bin/env python3
"""Whether the frozen answers have the same bits at each instruction set.

    same_bits_test.py frozen_answers_test ISA...

Runs the program once at each instruction set that this machine has and compares
all ids, texts and numbers of the answers, every bit. f32 has one code for all
instruction sets from avx512 on, so only avx2 and avx512 are asked in f32. Above
vnni, encoders in int8 multiply queries and keys in bf16, so only decoders alone
are asked. Models in four bits, all of which are decoders, are asked everywhere.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
# What is asked; of the others, everything.
FILTERS = {"vnni": "*/int8:FourBitsTest.*",
           "bf16": "*SmolLm2Test.*/int8:FourBitsTest.*",
           "amx": "*SmolLm2Test.*/int8:FourBitsTest.*"}


def answers(program, isa, folder):
    """Returns the lines of each file, or None if this machine lacks the isa."""
    command = [program, f"--isa={isa}"]
    if isa in FILTERS:
        command.append(f"--gtest_filter={FILTERS[isa]}")
    environment = os.environ | {"TRIVIUM_FROZEN_BITS": folder}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                          text=True)
    if done.returncode == SKIPPED:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    return {path.name: path.read_text().splitlines()
            for path in sorted(pathlib.Path(folder).iterdir())}


def differences(first, other):
    """Returns a text for each file whose lines are not those of `first`."""
    texts = []
    for name, lines in other.items():
        pairs = list(zip(first[name], lines, strict=True))
        unequal = [pair for pair in pairs if pair[0] != pair[1]]
        if unequal:
            texts.append(f"{name}: {len(unequal)} of {len(pairs)} lines, such as")
            texts += [f"  {text}" for text in unequal[0]]
    return texts


def main():
    program, *isas = sys.argv[1:]
    first = None
    compared, failed = [], False
    for isa in isas:
        with tempfile.TemporaryDirectory() as folder:
            found = answers(program, isa, folder)
        if found is None:
            continue
        if not found:
            sys.exit(f"{isa}: no answers")
        compared.append(isa)
        first = first or found
        for text in differences(first, found):
            failed = True
            print(f"{compared[0]} and {isa}: {text}")
    if failed:
        sys.exit(1)
    if len(compared) < 2:
        print("skipped: this machine has one of these instruction sets")
        sys.exit(SKIPPED)
    print(f"the same bits with {', '.join(compared)}: {', '.join(first)}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
