#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has shunt-verify-plan judge the `program_cases` of a case file.

    run_programs.py SHUNT_OPT CASES.json...        compare every verdict
    run_programs.py SHUNT_OPT CASES.json --show ID print the IR of one case

A program is a list of steps: ["attn"], ["mlp", "D" or "M"], ["norm"],
[collective, groups, counts?, {"skip": ranks}?]. Each becomes a function on one
rank's tensors: compute steps call external functions that carry the marks of
shunt-verify-plan, collectives are shunt.local ops with the counts of the case,
or, where a case leaves them out, those that follow from the rows held. Counts
that a case gives go through a tensor.cast, so that the pass judges them in
program order and not the op's verifier at once.

Where a case says how many rows each rank ends with, the program ends in a slice
over groups of one, which is right for exactly these numbers.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

FAMILIES = {"attn_tp": ("attn", ["tp"]), "dense": ("dense", ["tp"]),
            "moe": ("moe", ["ep", "tp"])}
MESHES = {"attn": "dp-cp-tp", "dense": "dp-tp", "moe": "dp-ep-tp"}
ROW = "tensor<?x8xf32>"


class Mesh:
    """One block's axes, slowest first."""

    def __init__(self, name, sizes, order):
        self.name = name
        self.axes = [(axis, sizes.get(axis, 1)) for axis in order]

    def coordinates(self, rank):
        out = {}
        for axis, size in reversed(self.axes):
            rank, out[axis] = divmod(rank, size)
        return out

    def groups(self, axes, world):
        found = {}
        for rank in range(world):
            at = self.coordinates(rank)
            key = tuple(at[a] for a, _ in self.axes if a not in axes)
            found.setdefault(key, []).append(rank)
        return list(found.values())

    def text(self):
        sizes = ", ".join(f"{axis} = {size}" for axis, size in self.axes)
        return f"  shunt.mesh @{self.name} on @pod <{sizes}>"


def balanced(rows, parts):
    share, extra = divmod(rows, parts)
    return [share + (i < extra) for i in range(parts)]


def dense(rows):
    kind = "x".join(map(str, [len(rows), len(rows[0])]))
    return f"dense<{json.dumps(rows)}> : tensor<{kind}xi64>"


class Program:
    """The IR of one case."""

    def __init__(self, case, rows=None):
        self.case, self.world = case, case["world"]
        self.meshes = {}
        for name, order in MESHES.items():
            if case.get(name):
                # Case files list axes fastest first, meshes slowest first.
                given = case[name].get("order")
                axes = given.split("-")[::-1] if given else order.split("-")
                self.meshes[name] = Mesh(name, case[name], axes)
        self.lines, self.declared, self.number = [], {}, 0
        self.held = self.first_rows()
        self.value = "%x"
        for step in case["program"]:
            self.step(step)
        if rows is not None:
            singles = [[rank] for rank in range(self.world)]
            table = self.constant([int(n) for n in rows])
            self.collective("slice", singles, table, f"tensor<{self.world}xi64>",
                            [])

    def parts(self):
        """Counts per (dp, cp)."""
        attn, counts = self.case["attn"], self.case["counts"]
        dp, cp = attn["dp"], attn.get("cp", 1)
        layout = self.case.get("counts_layout")
        if layout is None:
            layout = ("rank" if len(counts) == self.world else
                      "dpcp" if len(counts) == dp * cp else "dp")
        if layout == "dp":
            return [counts[d] for d in range(dp) for _ in range(cp)]
        if layout == "dpcp":
            return counts
        out = [0] * (dp * cp)
        for rank in range(self.world):
            at = self.meshes["attn"].coordinates(rank)
            out[at["dp"] * cp + at["cp"]] = counts[rank]
        return out

    def first_rows(self):
        parts, cp = self.parts(), self.case["attn"].get("cp", 1)
        rows = []
        for rank in range(self.world):
            at = self.meshes["attn"].coordinates(rank)
            rows.append(parts[at["dp"] * cp + at["cp"]])
        return rows

    def family(self, name):
        if name == "world":
            return [list(range(self.world))]
        mesh, axes = FAMILIES[name]
        return self.meshes[mesh].groups(axes, self.world)

    def fresh(self):
        self.number += 1
        return f"%{self.number}"

    def emit(self, text):
        self.lines.append("    " + text)

    def constant(self, table):
        name = self.fresh()
        if table and isinstance(table[0], list):
            self.emit(f"{name} = arith.constant {dense(table)}")
        else:
            self.emit(f"{name} = arith.constant dense<{json.dumps(table)}> : "
                      f"tensor<{len(table)}xi64>")
        return name

    def call(self, name, mark):
        self.declared[name] = mark
        result = self.fresh()
        self.emit(f"{result} = func.call @{name}({self.value}) : ({ROW}) -> {ROW}")
        self.value = result

    def step(self, step):
        kind = step[0]
        if kind == "norm":
            return self.call("norm", "shunt.token_wise")
        if kind in ("attn", "mlp"):
            family = {"attn": "attn_tp", "D": "dense", "M": "moe"}[
                step[1] if kind == "mlp" else "attn"]
            name = {"attn_tp": "attention", "dense": "mlp", "moe": "experts"}
            return self.call(name[family],
                             f"shunt.partial = {dense(self.family(family))}")
        groups = self.family(step[1])
        last = step[-1] if isinstance(step[-1], dict) else {}
        given = step[2] if len(step) > 2 and isinstance(step[2], dict) else {}
        counts, kind_of_counts = self.counts(kind, groups, given)
        # A group of which nobody comes waits for nobody; the case format lets
        # it run.
        skip = [rank for group in groups for rank in group
                if rank in last.get("skip", []) and
                not set(group) <= set(last["skip"])]
        self.collective(kind, groups, counts, kind_of_counts, skip)
        return None

    def derived(self, kind, groups):
        lists = []
        for group in groups:
            if kind == "all_gather":
                lists.append([self.held[rank] for rank in group])
            else:
                lists.append(balanced(self.held[group[0]], len(group)))
        return lists

    def counts(self, kind, groups, given):
        """The value that holds the counts, and its type."""
        if kind == "all_reduce":  # takes none
            return None, None
        lists = self.derived(kind, groups)
        if "all" in given:
            lists = given["all"]
        table, columns = [0] * self.world, len(groups[0])
        if "rank" in given:
            rows = [None] * self.world
            for group, list_ in zip(groups, lists):
                named = [given["rank"][str(r)] for r in group
                         if str(r) in given["rank"]]
                for rank in group:
                    own = given["rank"].get(str(rank), named[0] if named else list_)
                    rows[rank] = fit(own, columns, named)
            value, kind_ = self.constant(rows), f"tensor<{self.world}x{columns}xi64>"
        elif all(len(l) == len(g) for l, g in zip(lists, groups)):
            for group, list_ in zip(groups, lists):
                for rank, count in zip(group, list_):
                    table[rank] = count
            value, kind_ = self.constant(table), f"tensor<{self.world}xi64>"
        else:
            # A tensor has rows of one length: the first that is wrong.
            columns = next(len(l) for l, g in zip(lists, groups)
                           if len(l) != len(g))
            # A list with an entry for each rank of the world would be right.
            columns += columns == self.world
            rows = [None] * self.world
            for group, list_ in zip(groups, lists):
                for rank in group:
                    rows[rank] = (list_ + [0] * columns)[:columns]
            kind_ = f"tensor<{self.world}x{columns}xi64>"
            value = self.fresh()
            self.emit(f"{value} = arith.constant dense<{json.dumps(rows)}> : {kind_}"
                      if columns else f"{value} = arith.constant dense<> : {kind_}")
        self.follow(kind, groups, lists)
        if not given:
            return value, kind_
        loose = "tensor<" + "?x" * kind_.count("x") + "i64>"
        cast = self.fresh()
        self.emit(f"{cast} = tensor.cast {value} : {kind_} to {loose}")
        return cast, loose

    def follow(self, kind, groups, lists):
        for group, list_ in zip(groups, lists):
            if kind == "all_gather":
                total = sum(self.held[rank] for rank in group)
                for rank in group:
                    self.held[rank] = total
            else:
                for rank, count in zip(group, list_):
                    self.held[rank] = count

    def collective(self, kind, groups, counts, type_, skip):
        takes = f" counts({counts} : {type_})" if counts else ""
        text = (f"shunt.local.{kind} ins({self.value} : {ROW}) outs(%o : {ROW})"
                f"{takes} groups {dense(groups)} -> {ROW}")
        result = self.fresh()
        if not skip:
            self.emit(f"{result} = {text}")
        else:
            rank, there = self.fresh(), self.fresh()
            mask = ", ".join("true" if r in skip else "false"
                             for r in range(self.world))
            self.emit(f"{rank} = shunt.rank")
            table = self.fresh()
            self.emit(f"{table} = arith.constant dense<[{mask}]> : "
                      f"tensor<{self.world}xi1>")
            self.emit(f"{there} = tensor.extract {table}[{rank}] : "
                      f"tensor<{self.world}xi1>")
            inner = self.fresh()
            self.emit(f"{result} = scf.if {there} -> ({ROW}) {{")
            self.emit(f"  scf.yield {self.value} : {ROW}")
            self.emit("} else {")
            self.emit(f"  {inner} = {text}")
            self.emit(f"  scf.yield {inner} : {ROW}")
            self.emit("}")
        self.value = result

    def text(self):
        owners = "owners = [dp, cp]"
        if self.case.get("cp_mode", "replicate") == "replicate":
            owners += ", replicas = [cp]"
        rows = ", ".join(map(str, self.parts()))
        declared = [f"  func.func private @{name}({ROW}) -> {ROW} attributes "
                    f"{{{mark}}}" for name, mark in self.declared.items()]
        return "\n".join(
            [f"module attributes {{shunt.world = {self.world} : i64}} {{",
             f"  shunt.cluster @pod {{ranks_per_node = {self.world}}}"] +
            [mesh.text() for mesh in self.meshes.values()] + declared +
            [f"  func.func @program(%x: {ROW} {{shunt.layout = "
             f"#shunt.layout<@attn, tokens = [dp, cp]>}}, %o: {ROW}) attributes "
             f"{{shunt.batch = [{{type = !shunt.batch<@attn, {owners}>, "
             f"rows = array<i64: {rows}>}}]}} {{"] +
            self.lines + ["    return", "  }", "}", ""])


def fit(list_, columns, named):
    """`list_` as a row of `columns` entries that differs from the others of
    `named` as it did."""
    row = (list_ + [0] * columns)[:columns]
    for other in named:
        cut = (other + [0] * columns)[:columns]
        if other != list_ and cut == row and other < list_:
            row[-1] += 1
    return row


def judge(shunt_opt, case):
    expect = case["expect"]
    text = Program(case["case"], expect.get("rows")).text()
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as file:
        file.write(text)
    try:
        done = subprocess.run(
            [shunt_opt, "--shunt-verify-plan", file.name, "-o", os.devnull],
            capture_output=True, text=True, timeout=120, check=False)
    finally:
        os.unlink(file.name)
    codes = re.findall(r"error: .*\[([EXW]_[A-Z_]+)\]$", done.stderr, re.M)
    if done.returncode == 0:
        got = "ok"
    elif codes:
        got = codes[0]
    else:
        got = f"exit {done.returncode}"
    want = "ok" if expect["ok"] else expect["error"]
    # What the reference calls a partial residual is a partial input.
    want = {"X_PARTIAL_RESIDUAL": "X_PARTIAL_INPUT"}.get(want, want)
    return case["id"], got, want, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shunt_opt")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--show", metavar="ID")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cases = []
    for path in args.cases:
        with open(path, encoding="utf-8") as file:
            cases += json.load(file)["program_cases"]
    if args.show:
        for case in cases:
            if case["id"] == args.show:
                print(Program(case["case"], case["expect"].get("rows")).text())
                return 0
        print(f"no case {args.show}", file=sys.stderr)
        return 1
    if not cases:
        print("no program cases", file=sys.stderr)
        return 1
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, got, want, log in pool.map(
                lambda case: judge(args.shunt_opt, case), cases):
            if got != want:
                bad += 1
                print(f"{name}: expected {want}, got {got}\n{log}")
    print(f"{len(cases)} programs, {bad} judged wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
