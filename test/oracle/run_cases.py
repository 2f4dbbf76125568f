#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds shunt-plan against cases with known answers.

  run_cases.py CASES.json --shunt-plan build/dev/bin/shunt-plan [--shunt-run …]

Each case states parallel sizes and counts, and either what must come out
(counts, groups, ops of each step, warnings) or the code of the diagnostic.
With --shunt-run the right ones are executed too and compared with the
one-rank reference. Prints every mismatch; exit code 1 if there is one.
"""
import argparse
import json
import subprocess
import sys

SPLITS = {"base_rem": "balanced", "ceil_pad": "ceil", "align": "align"}
PER = {"dp": "dp", "dpcp": "cp", "rank": "rank"}
BLOCKS = {"D": "dense", "M": "moe"}


def sizes(mesh):
    return ",".join(f"{axis}={size}" for axis, size in mesh.items()
                    if axis != "order")


def arguments(case):
    """The command line that states `case`."""
    args = ["--world", str(case["world"])]
    for name in ("attn", "moe", "dense"):
        mesh = case.get(name)
        if not mesh:
            continue
        args += [f"--{name}", sizes(mesh)]
        if "order" in mesh:  # the cases list axes fastest first
            args += [f"--{name}-order",
                     ",".join(reversed(mesh["order"].split("-")))]
    counts = case.get("counts")
    if counts is not None:
        args += ["--tokens", ",".join(str(count) for count in counts)]
        if case.get("counts_layout"):
            args += ["--tokens-per", PER[case["counts_layout"]]]
    args += ["--cp-mode", case.get("cp_mode", "replicate")]
    args += ["--split", SPLITS[case.get("split", "base_rem")]]
    pad = case.get("pad")
    if pad is not None:
        args += ["--pad", "max" if pad == "max_dp" else str(pad)]
    if case.get("capacity_rows") is not None:
        args += ["--capacity", str(case["capacity_rows"])]
    if case.get("backend"):
        args += ["--backend-caps", case["backend"]]
    stack = case.get("stack") or ("M" if case.get("moe") else "D")
    args += ["--blocks", ",".join("attn," + BLOCKS[b] for b in stack)]
    args += ["--hidden", "8"]
    return args


def mode_of(plan):
    ops = [c["op"] for c in plan["collectives"]
           if c["block"] in (0, 1) and c["step"] != "pre_attention"]
    if not ops:
        return "none"
    return "all_reduce" if "all_reduce" in ops else "rsag"


def check_steps(expect, plan, problems):
    """The op of each step of each layer, where communication is left."""
    ops = {(c["step"], c["block"]): c["op"] for c in plan["collectives"]}
    for step in expect:
        if step["layer"] == "final":
            got = next((op for (name, _), op in ops.items()
                        if name == "final"), "none")
            if got != step["op"]:
                problems.append(f"final: {got}, want {step['op']}")
            continue
        kind = BLOCKS[step["kind"]]
        attn, mlp = 2 * step["layer"], 2 * step["layer"] + 1
        for name, key in (("pre_attn", ("pre_attention", attn)),
                          ("post_attn", ("post_attention", attn)),
                          ("pre_mlp", ("pre_" + kind, mlp)),
                          ("post_mlp", ("post_" + kind, mlp))):
            want, got = step.get(name, "none"), ops.get(key, "none")
            if got != want:
                problems.append(f"layer {step['layer']} {name}: {got}, "
                                f"want {want}")


def check_plan(expect, case, plan):
    problems = []

    def compare(what, got, want):
        if got != want:
            problems.append(f"{what}: {got}, want {want}")

    stack = case.get("stack") or ("M" if case.get("moe") else "D")
    kind = BLOCKS[stack[0]]
    compare("mode", mode_of(plan), expect["mode"])
    compare("attention rows", plan["tokens"]["attention"],
            expect["per_rank_attn"])
    compare("scattered rows", plan["tokens"]["scattered"],
            expect["per_rank_scattered"])
    compare(f"{kind} rows", plan["tokens"][kind], expect["per_rank_mlp_in"])
    by_step = {(c["step"], c["block"]): c for c in plan["collectives"]}

    def groups(step, block):
        collective = by_step.get((step, block))
        return collective and [(g["ranks"], g["counts"])
                               for g in collective["groups"]]

    scatter = groups("post_attention", 0)
    want = [(g["ranks"], g["counts"])
            for g in expect["collectives"]["attn_tp"]]
    if scatter is not None and expect["mode"] == "rsag":
        compare("post_attention", scatter, want)
    if expect["mode"] == "rsag":
        want = [(g["ranks"], g["counts"])
                for g in expect["collectives"]["mlp"]]
        for step in ("pre_" + kind, "post_" + kind):
            got = groups(step, 1)
            if len(want[0][0]) == 1:
                want_step = None
            else:
                want_step = want
            compare(step, got, want_step)
    warnings = []
    for warning in plan["warnings"]:
        code, message = warning["code"], warning["message"]
        if code == "W_CP_DUP":
            code += " " + message.split(":")[0]
        elif code == "W_EMPTY_RANKS":
            code += " " + message.split()[1]
        warnings.append(code)
    compare("warnings", warnings, expect["warn"])
    compare("proof", plan["proof"], {"status": "proved"})
    if "steps" in expect:
        check_steps(expect["steps"], plan, problems)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("--shunt-plan", required=True)
    parser.add_argument("--shunt-run")
    options = parser.parse_args()
    cases = json.load(open(options.cases))["cases"]
    wrong = executed = 0
    for entry in cases:
        case, expect = entry["case"], entry["expect"]
        command = [options.shunt_plan] + arguments(case)
        run = subprocess.run(command + ["--format", "json"], text=True,
                             capture_output=True, timeout=60)
        problems = []
        try:
            plan = json.loads(run.stdout)
        except json.JSONDecodeError:
            plan = {}
            problems.append(f"no JSON; exit {run.returncode}: {run.stderr}")
        if plan and expect["ok"]:
            if run.returncode or "error" in plan:
                problems.append(f"exit {run.returncode}: {run.stderr}")
            else:
                problems += check_plan(expect, case, plan)
        elif plan:
            code = plan.get("error", {}).get("code")
            if code != expect["error"] or run.returncode != 1:
                problems.append(f"error {code}, exit {run.returncode}, want "
                                f"{expect['error']}, exit 1")
            elif not (run.stderr.count("\n") == 1 and code in run.stderr):
                problems.append(f"stderr is not one line: {run.stderr!r}")
        if not problems and expect["ok"] and options.shunt_run:
            executed += 1
            program = subprocess.run(
                command + ["--format", "mlir", "--level", "logical"],
                text=True, capture_output=True, timeout=60, check=True).stdout
            checked = subprocess.run(
                [options.shunt_run, "--check", "--json"], input=program,
                text=True, capture_output=True, timeout=120)
            if checked.returncode:
                problems.append(f"shunt-run: {checked.stdout}{checked.stderr}")
        if problems:
            wrong += 1
            print(f"{entry['id']}: {' '.join(command)}")
            for problem in problems:
                print(f"    {problem}")
    print(f"{len(cases)} cases, {executed} executed, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
