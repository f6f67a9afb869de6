"""Rewriting on the command line, and against another e-graph. HEADRACE_BIN is the program's path."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
EXAMPLES = Path(__file__).parents[2] / "examples" / "accelerators"
FC1 = "map[relu](dense(tensor[w, 120, 256], tensor[x, 256], tensor[b, 120]))"


def rewrite(*arguments: object) -> subprocess.CompletedProcess:
    command = [BIN, "rewrite", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_shipped_rules_pass_their_check():
    done = rewrite("--check-rules", "--seed", 3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"\d+ rules hold on \d+ random examples\n", done.stdout)


def test_an_unsound_rule_is_named_with_its_counter_example(tmp_path):
    rules = written(
        tmp_path / "user.rules",
        "level algorithm\nrule twice map[relu](map[relu](?x)) => map[relu](?x)\n"
        "rule minus zip[sub](?x, ?y) => zip[sub](?y, ?x)\n",
    )
    done = rewrite("--check-rules", rules)
    assert done.returncode == 1
    assert f"{rules}:3:6: rule 'minus': at [" in done.stdout
    assert "where ?f" not in done.stdout and "?x has shape [" in done.stdout
    assert "twice" not in done.stdout


def test_a_mistake_in_a_rule_shows_its_place(tmp_path):
    rules = written(tmp_path / "user.rules", "level algorithm\nrule r mop[relu](?x) => ?x\n")
    done = rewrite("--check-rules", rules)
    assert done.returncode == 1
    assert "user.rules:2:8: there is no operator 'mop'" in done.stderr
    assert "    ^" in done.stderr


def test_a_layer_maps_to_the_operators_of_a_machine(tmp_path):
    term = written(tmp_path / "fc1.term", FC1)
    done = rewrite(term, "--accelerator", EXAMPLES / "vector-64.json", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["operations"]["MVMul[64, 64]"] <= 8
    assert report["operations"]["VVAdd[64]"] <= 8
    assert report["operations"]["VVRelu[64]"] <= 2
    assert report["left_over"] == []
    assert report["extraction"] == "exact"
    assert report["cost"] - 0.256 <= report["least_cost"] <= report["cost"]


def test_rules_are_tested_before_they_are_used(tmp_path):
    term = written(tmp_path / "fc1.term", FC1)
    machine = EXAMPLES / "vector-64.json"
    wrong = "level algorithm\nrule no-relu map[relu](?x) => ?x\n"
    rules = written(tmp_path / "wrong.rules", wrong)
    done = rewrite(term, "--accelerator", machine, "--rules", rules)
    assert done.returncode == 1 and not done.stdout
    assert f"{rules}:2:6: rule 'no-relu': at [" in done.stderr
    assert "1 of 1 rules failed; --trust-rules takes them all the same" in done.stderr
    trusted = rewrite(term, "--accelerator", machine, "--rules", rules, "--trust-rules", "--json")
    assert trusted.returncode == 0, trusted.stderr
    assert "VVRelu[64]" not in json.loads(trusted.stdout)["operations"]
    right = written(tmp_path / "right.rules", wrong.replace("=> ?x", "=> map[relu](map[relu](?x))"))
    assert rewrite(term, "--accelerator", machine, "--rules", right).returncode == 0


def test_an_operator_that_the_machine_lacks_is_left_over_alone(tmp_path):
    machine = json.loads((EXAMPLES / "vector-64.json").read_text())
    machine["operators"] = [op for op in machine["operators"] if op["name"] != "VVMax"]
    file = written(tmp_path / "no-max.json", json.dumps(machine))
    layers = "map[relu](maxpool[2, 2](map[relu](conv[1, 1](tensor[x, 1, 12, 12], tensor[w, 6, 1, 5, 5]))))"
    term = written(tmp_path / "layers.term", layers)
    done = rewrite(term, "--accelerator", file, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (left,) = report["left_over"]
    assert left.startswith(("maxpool[2, 2] of ", "reduce[max, 2] of "))
    assert 0 < report["least_cost"] <= report["cost"] < 1e6
    text = rewrite(term, "--accelerator", file).stdout
    assert f"{report['cost']:.2f} without unmapped operators, extraction" in text


def test_usage_is_explained():
    assert rewrite().returncode == 2
    assert rewrite("nowhere.term", "--accelerator", EXAMPLES / "vector-64.json").returncode == 1


# --- against egglog ------------------------------------------------------------------------------

RULES = """level algorithm
rule swap-add add(?a, ?b) => add(?b, ?a)
rule left-add add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))
rule swap-mul mul(?a, ?b) => mul(?b, ?a)
rule factor add(mul(?a, ?b), mul(?a, ?c)) => mul(?a, add(?b, ?c))
rule cancel neg(neg(?a)) => ?a
rule neg-mul mul(neg(?a), ?b) => neg(mul(?a, ?b))
rule neg-add add(neg(?a), neg(?b)) => neg(add(?a, ?b))
rule same most(?a, ?a) => ?a
rule swap-most most(?a, ?b) => most(?b, ?a)
rule most-add most(add(?a, ?b), add(?a, ?c)) => add(?a, most(?b, ?c))
"""
LEAVES = ["x", "y"]


def random_term(source: random.Random, leaves: int) -> str:
    if leaves == 1:
        leaf = source.choice(LEAVES)
        return f"neg({leaf})" if source.random() < 0.3 else leaf
    left = source.randint(1, leaves - 1)
    operands = f"{random_term(source, left)}, {random_term(source, leaves - left)}"
    return f"{source.choice(['add', 'add', 'mul', 'most'])}({operands})"


def as_lisp(text: str) -> str:
    """`add(?a, x)` as `(Add a (X))`: egglog has functions of its own in small letters."""
    text = text.replace("?", "").strip()
    match = re.fullmatch(r"(\w+)\((.*)\)", text)
    if not match:
        return f"({text.upper()})" if text in LEAVES else text
    operands, depth, start = [], 0, 0
    inner = match[2]
    for i, c in enumerate(inner + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            operands.append(as_lisp(inner[start:i]))
            start = i + 1
    return f"({match[1].title()} {' '.join(operands)})"


def test_the_least_cost_is_that_of_egglog(tmp_path):
    from egglog import bindings  # takes seconds

    tool = Path(BIN).parents[1] / "test" / "rewrite" / "best_tree"
    source = random.Random(19)
    terms = [random_term(source, source.randint(5, 9)) for _ in range(20)]
    rules = written(tmp_path / "r.rules", RULES)
    lines = written(tmp_path / "terms", "".join(term + "\n" for term in terms))
    done = subprocess.run([tool, rules, lines], capture_output=True, text=True, check=True)
    ours = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert len(ours) == len(terms)
    rewrites = ""
    for line in RULES.splitlines()[1:]:
        left, right = line.split(" ", 2)[2].split(" => ")
        rewrites += f"(rewrite {as_lisp(left)} {as_lisp(right)})\n"
    improved = 0
    for term, (cost, _, reason) in zip(terms, ours):
        assert reason == "nothing new follows"
        program = "(datatype T (Add T T) (Mul T T) (Most T T) (Neg T) " + " ".join(
            f"({x.upper()})" for x in LEAVES
        )
        program += f")\n{rewrites}(let $root {as_lisp(term)})\n(run-schedule (saturate (run)))\n"
        graph = bindings.EGraph()
        outputs = graph.run_program(*graph.parse_program(program + "(extract $root)"))
        best = next(out for out in outputs if type(out).__name__ == "ExtractBest")
        assert best.cost == float(cost), term
        improved += best.cost < len(re.findall(r"\w+", term))
    assert improved >= 5


def test_the_derivation_is_replayed_step_by_step(tmp_path):
    term = written(tmp_path / "fc1.term", FC1)
    machine = EXAMPLES / "vector-64.json"
    done = rewrite(term, "--accelerator", machine, "--replay", "--seed", 5)
    assert done.returncode == 0, done.stderr
    assert "    1 dense-is-product-and-bias " in done.stdout
    assert "dense(w, x, b) => zip[add](mv(w, x), b)\n" in done.stdout
    assert "replayed: every step follows by its rule" in done.stdout
    report = json.loads(rewrite(term, "--accelerator", machine, "--replay", "--json").stdout)
    assert report["replay_error"] < 1e-9
    assert report["derivation"][0] == {
        "rule": "dense-is-product-and-bias",
        "level": "language",
        "backwards": False,
        "change": "dense(w, x, b) => zip[add](mv(w, x), b)",
    }
    levels = [step["level"] for step in report["derivation"]]
    assert set(levels) == {"language", "algorithm", "hardware"}
