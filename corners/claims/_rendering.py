"""A ledger as text for a terminal and as Markdown for a report."""

import textwrap

from corners.claims._base import Margin
from corners.claims._ledger import Ledger, Row

WIDTH = 110

INTRODUCTION = """# Claims of the theory, checked

Every sentence below was run, not quoted: `corners verify` computed it on a stated problem, by two ways that share no
formula where there are two, and its verdict follows from the margins alone. *Holds* is a theorem or an identity that
came out; *holds conditionally* names the exact condition; *fails* shows the counterexample. `corners verify CLAIM
--data NAME` runs a claim on the features of a table of yours.
"""


def line(row: Row) -> str:
    """A claim in the list: verdict, name, and what was found, indented below."""
    mark = "" if row.as_expected else f"  (the theory: {row.claim.expected})"
    return f"{row.finding.verdict:<20} {row.claim.name}{mark}\n{_indented(row.finding.sentence)}"


def detail(row: Row) -> str:
    """Everything about one claim, for a terminal."""
    claim, finding = row.claim, row.finding
    lines = [
        claim.name,
        _indented(f'"{claim.statement}"'),
        _indented(claim.formula),
        _indented(f"claimed in: {claim.claimed_in}"),
        _indented(f"checked on: {row.problem}{'' if row.own_data else ' (the stated problem)'}"),
        "",
        f"  verdict: {finding.verdict}" + ("" if row.as_expected else f" (the theory: {claim.expected})"),
        _indented(finding.sentence),
    ]
    if finding.condition is not None:
        lines += [_indented(f"condition: {finding.condition.text}"), _indented(f"here: {said(finding.condition.here)}")]
    return "\n".join([*lines, "", *(f"  - {margin}" for margin in finding.margins)])


def said(margin: Margin) -> str:
    """A condition's margin in words, with how far the problem is from it."""
    side = "met" if margin.met else "not met"
    return f"{margin}".rpartition(":")[0] + f" ({side}, by {abs(margin.distance):.3g})"


def markdown(ledger: Ledger) -> str:
    """The ledger as the committed report: a table, then every claim with its margins."""
    table = ["| claim | verdict | what was found |", "| --- | --- | --- |"]
    table += [
        f"| [`{row.claim.name}`](#{row.claim.name}) | {row.finding.verdict} | {_cell(row.finding.sentence)} |"
        for row in ledger.rows
    ]
    parts = [INTRODUCTION, f"{ledger.summary()}\n", "\n".join(table), ""]
    return "\n".join([*parts, *(_section(row) for row in ledger.rows)])


def _section(row: Row) -> str:
    claim, finding = row.claim, row.finding
    lines = [
        f"## {claim.name}",
        "",
        f"> {claim.statement}",
        "",
        f"`{claim.formula}`",
        "",
        f"Claimed in: {claim.claimed_in}. Checked on: {row.problem}.",
        "",
        f"**{finding.verdict.capitalize()}**: {finding.sentence}.",
        "",
    ]
    if finding.condition is not None:
        lines += [f"Condition: {finding.condition.text}. Here: {said(finding.condition.here)}.", ""]
    rows = [
        f"| {_cell(margin.name)} | {margin.value:.4g} | {margin.unit} | {margin.relation} {margin.bound:.4g} | "
        f"{'yes' if margin.met else 'no'} |"
        for margin in finding.margins
    ]
    return "\n".join([*lines, "| margin | value | unit | bound | kept |", "| --- | --- | --- | --- | --- |", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
