#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds damaged programs to a tool and reports those on which it crashes.

Takes the .mlir files under a folder, cuts them at `// -----`, and damages each
piece by a few random edits. Many mutants go into one process, separated for
`-split-input-file`; when that dies the mutants are tried by halves until the
guilty ones stand alone. An error message is a right answer; a signal or a run
past the time limit is not. The same seed makes the same mutants.
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys

TOKEN = re.compile(r"[A-Za-z_@#%!^][\w.$-]*|-?\d+|\"[^\"]*\"|\S")
NUMBER = re.compile(r"-?\b\d+\b")
NUMBERS = "0 1 -1 2 3 7 64 1024 4294967296 9223372036854775807 -9223372036854775808 99999999999999999999".split()
ATTRIBUTES = [
    "[]", "[[]]", "@nowhere", "unit", '"text"', "dense<1> : tensor<4xi64>",
    "dense<0> : tensor<0x2xi64>", "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>",
    "array<i64>", "array<i64: 1, 2>", "#shunt.auto", "1 : i32", "f32",
    "#shunt.layout<@attn, tokens = [dp]>", "dense_resource<r> : tensor<2x2xi64>",
]


def flip_byte(rng, text):
    at = rng.randrange(len(text))
    return text[:at] + chr(rng.randrange(1, 127)) + text[at + 1 :]


def swap_tokens(rng, text):
    a, b = sorted(rng.sample(list(TOKEN.finditer(text)), 2), key=lambda m: m.start())
    return (text[: a.start()] + b.group() + text[a.end() : b.start()]
            + a.group() + text[b.end() :])


def copy_token(rng, text):
    a, b = rng.sample(list(TOKEN.finditer(text)), 2)
    return text[: a.start()] + b.group() + text[a.end() :]


def drop_token(rng, text):
    a = rng.choice(list(TOKEN.finditer(text)))
    return text[: a.start()] + text[a.end() :]


def change_number(rng, text):
    a = rng.choice(list(NUMBER.finditer(text)))
    return text[: a.start()] + rng.choice(NUMBERS) + text[a.end() :]


def drop_line(rng, text):
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def repeat_line(rng, text):
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


def swap_attribute(rng, text):
    """Puts another attribute where a bracketed one was."""
    places = list(re.finditer(r"\[[^\[\]]*\]|dense<[^>]*> : \w+<[^>]*>|#[\w.]+", text))
    a = rng.choice(places)
    return text[: a.start()] + rng.choice(ATTRIBUTES) + text[a.end() :]


def swap_name(rng, text):
    """Puts another name of the program where one was: parses, means other."""
    kind = rng.choice([r"(?<=[\[ ,])[a-z]{1,3}(?=[\],])", r"@\w+", r"#\w+",
                       r"%\w+", r"shunt\.[\w.]+"])
    names = list(re.finditer(kind, text))
    a, b = rng.choice(names), rng.choice(names)
    return text[: a.start()] + b.group() + text[a.end() :]


# What still parses is worth more than what does not.
EDITS = [flip_byte, swap_tokens, copy_token, drop_token, change_number,
         change_number, change_number, drop_line, repeat_line, swap_attribute,
         swap_name, swap_name, swap_name, swap_name]


def mutate(rng, text):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        try:
            text = rng.choice(EDITS)(rng, text)
        except (IndexError, ValueError):  # nothing left to edit in this way
            pass
    # A mutant stays one piece.
    return text.replace("// -----", "")


def seeds(folder):
    """The pieces of all programs, without their comments."""
    for path in sorted(folder.rglob("*.mlir")):
        for piece in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
            piece = re.sub(r"^\s*//.*\n", "", piece, flags=re.M).strip()
            if piece:
                yield piece


def died(tool, flags, mutants, limit):
    """What the tool died of on these mutants, or None."""
    text = "\n// -----\n".join(mutants)
    try:
        done = subprocess.run(
            [tool, "-", "-split-input-file", "--mlir-disable-threading", *flags],
            input=text.encode(), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"no end within {limit} s"
    if done.returncode in (0, 1):
        return None
    tail = done.stderr.decode(errors="replace").strip().split("\n")[-1]
    return f"exit status {done.returncode}: {tail}"


def guilty(tool, flags, mutants, limit):
    """The mutants on which the tool dies, with the reason."""
    reason = died(tool, flags, mutants, limit)
    if reason is None:
        return []
    if len(mutants) == 1:
        return [(mutants[0], reason)]
    half = len(mutants) // 2
    found = (guilty(tool, flags, mutants[:half], limit)
             + guilty(tool, flags, mutants[half:], limit))
    # Only together: still a failure.
    return found or [("\n// -----\n".join(mutants), reason)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tool", default="shunt-opt")
    parser.add_argument("--mutants", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=75)
    parser.add_argument("--limit", type=int, default=60, help="seconds a process")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--flags", action="append", default=[],
                        help="one more run, with these flags")
    args = parser.parse_args()

    pieces = list(seeds(args.folder))
    rng = random.Random(args.seed)
    mutants = [mutate(rng, rng.choice(pieces)) for _ in range(args.mutants)]
    batches = [mutants[i : i + args.batch]
               for i in range(0, len(mutants), args.batch)]
    tasks = [(flags.split(), batch) for flags in args.flags or [""]
             for batch in batches]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (flags, _), found in zip(tasks, pool.map(
                lambda task: guilty(args.tool, *task, args.limit), tasks)):
            for mutant, reason in found:
                failures += 1
                print(f"FAILED {args.tool} {' '.join(flags)}: {reason}\n{mutant}\n")
    print(f"{len(mutants)} mutants of {len(pieces)} programs, seed {args.seed}, "
          f"{max(1, len(args.flags))} runs: {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
