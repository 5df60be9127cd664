"""Claims of the papers as they were judged: read back from the remarks of tables and from what figures say.

`parse_claims` finds the verdicts among the remarks of a `Report`, which `reproduction.claims` and the papers'
own functions have written, and `figure_claims` those in the sidecar of a figure. Where a table says nothing but has
published numbers, `agreement` counts how many of them came out. All return `Claim` s with one of `VERDICTS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.claims import verdict
from reproduction.report import Line, MarkedSection, Report, Section

__all__ = ["VERDICTS", "Claim", "agreement", "agreement_sentences", "figure_claims", "parse_claims", "parse_sentences"]

VERDICTS = ("reproduced", "partly reproduced", "not reproduced")
"""What a claim can be."""


class Claim(NamedTuple):
    """A claim of a paper, held against our numbers.

    Parameters
    ----------
    verdict : str
        One of `VERDICTS`.
    text : str
        What the paper says.
    reason : str
        The numbers that the verdict rests on.
    context : str
        The setting in which they were counted; empty where there is one setting.
    """

    verdict: str
    text: str
    reason: str = ""
    context: str = ""


_VERDICT_OF = {
    **{name: name for name in VERDICTS},
    "in its sign only": "partly reproduced",
    "reached": "reproduced",
    "missed": "not reproduced",
}
"""What remarks begin with, by the verdict that it is."""

_ANY = "|".join(sorted(_VERDICT_OF, key=len, reverse=True))
_VERDICT = re.compile(rf"(?:(?P<place>[^:.]{{1,60}}), )?(?P<word>{_ANY}): (?P<rest>.+)")
_COUNT = re.compile(r"(?P<text>.+): (?P<part>\d+) of (?P<whole>\d+) within two standard errors\.")
_DECIMAL = re.compile(r"(?P<text>.+?): (?P<reason>.*\d\.\d.*)")
_RULE = re.compile(r" \((?:reproduced|partly)\b[^()]*\)$")
_MISSED = re.compile(r"(?P<what>.+): (?P<ours>-?[\d.]+), published (?P<theirs>-?[\d.]+) - (?P<why>.+)")
_NUMBER = re.compile(r"(?P<text>.+?) (?P<reason>-?\d+\.\d+, published .+)")


def parse_claims(report: Report) -> list[Claim]:
    """Return the claims among the remarks of a report, in their order.

    Examples
    --------
    >>> remarks = ["With D - W:", "partly reproduced: the graph helps. In 5 of 10 pairs.", "ties: 3."]
    >>> parse_claims(Report("t", "T", remarks=remarks))
    [Claim(verdict='partly reproduced', text='the graph helps', reason='In 5 of 10 pairs.', context='With D - W')]
    """
    return parse_sentences(report.remarks)


def parse_sentences(sentences: Iterable[str]) -> list[Claim]:
    """Return the claims among sentences: those that begin with a verdict, and counts of numbers that came out.

    A sentence that ends in a colon is the context of those that follow; what is indented below a count of numbers
    belongs to it.
    """
    claims: list[Claim] = []
    missed: dict[str, list[str]] = {}  # of the last count, by the reason
    context, counted = "", False
    for sentence in [*sentences, ""]:
        text = sentence.strip()
        if counted and sentence.startswith(" ") and text:
            number = _MISSED.fullmatch(text)
            what = f"{number['what']} {number['ours']} (published {number['theirs']})" if number else text
            missed.setdefault(number["why"] if number else "", []).append(what)
            continue
        if counted:
            claims[-1] = claims[-1]._replace(reason=" ".join([claims[-1].reason, *_listed(missed)]))
            missed, counted = {}, False
        judged, count = _VERDICT.fullmatch(text), _COUNT.fullmatch(text)
        if judged:
            claims.append(_claim(judged, context))
        elif count:
            part, whole = int(count["part"]), int(count["whole"])
            reason = f"{part} of {whole} means within two standard errors."
            claims.append(Claim(verdict(part, whole), f"the numbers of {_lowered(count['text'])}", reason, context))
            counted = True
        elif text.endswith(":"):
            context = _RULE.sub("", text[:-1])
        elif not text:
            context = ""
    return claims


def _listed(missed: Mapping[str, Sequence[str]]) -> list[str]:
    """Return sentences on numbers that were missed, one for each reason."""
    return [f"Missed{_because(why)}: {', '.join(each)}." for why, each in missed.items()]


def _because(why: str) -> str:
    return f" ({why.rstrip('.')})" if why else ""


def _lowered(title: str) -> str:
    """Return a title as it stands within a sentence."""
    return title[:1].lower() + title[1:]


def _claim(match: re.Match[str], context: str) -> Claim:
    """Take a sentence apart: the text ends with its first sentence, else where numbers begin."""
    word, rest = match["word"], match["rest"]
    number = _NUMBER.fullmatch(rest) if word in ("reached", "missed") else None
    if number:
        text, reason = f"the error of {number['text']}", number["reason"]
    else:
        text, mark, reason = rest.partition(". ")
        if not mark:
            text, mark, reason = rest.partition(": ")
        early = _DECIMAL.fullmatch(text)
        if mark and early:
            text, reason = early["text"], f"{early['reason']}{mark}{reason}"
    text = text.rstrip(".")
    if match["place"]:
        text = f"{match['place']}, {text}"
    if word == "in its sign only":
        reason = f"In its sign only: {reason}"
    return Claim(_VERDICT_OF[word], text, reason, context)


def figure_claims(results: Any) -> list[Claim]:
    """Return the claims in the results of a figure: whatever stands below a key that begins with "claims".

    Sentences are read as remarks are. A mapping from claims to the tasks where each holds is counted over all the tasks
    that the results have means of.
    """
    if not isinstance(results, Mapping):
        return []
    tasks = next((len(part) for name, part in results.items() if str(name).startswith("mean over")), 0)
    claims: list[Claim] = []
    for name, part in results.items():
        if str(name).startswith("claims"):
            claims += _below(part, str(name).removeprefix("claims").strip(), tasks)
    return claims


def _below(part: Any, context: str, tasks: int) -> Iterator[Claim]:
    if isinstance(part, Mapping):
        for name, inner in part.items():
            listed = isinstance(inner, list) and all(isinstance(each, str) for each in inner)
            if listed and tasks and len(inner) <= tasks and not parse_sentences(inner):
                where = f": {', '.join(inner)}" if inner else ""
                yield Claim(verdict(len(inner), tasks), name, f"In {len(inner)} of {tasks} tasks{where}.", context)
            else:
                yield from _below(inner, f"{context} {name}".strip(), tasks)
    elif isinstance(part, list):
        for claim in parse_sentences(each for each in part if isinstance(each, str)):
            joined = ", ".join(each for each in (context, claim.context) if each)
            yield claim._replace(context=joined)


def agreement(report: Report) -> list[Claim]:
    """Return a claim for each section with published numbers: that the means are the published ones.

    A mean came out if it is within two standard errors of both from the published one, whose deviation is taken over as
    many splits as ours, and to be ours where none is published. Seconds are those of another computer, and left out.

    Examples
    --------
    >>> from reproduction.report import Section
    >>> lines = [Line("g50c", "svm", "", 9.5, 1.2, 10, 9.33, 2.0), Line("uspst", "svm", "", 14.5, 0.3, 10, 24.5)]
    >>> agreement(Report("t", "T", [Section("", lines)]))[0][:2]
    ('partly reproduced', 'the published numbers of this table')
    """
    claims = []
    for section in report.sections:
        held = [line for line in section.lines if not math.isnan(line.difference)]
        if not held or re.search(r"\b(times?|seconds)\b", section.title):
            continue
        missed = [line for line in held if not _agrees(line)]
        part = len(held) - len(missed)
        text = f"the published numbers of {_lowered(section.title) or 'this table'}"
        reason = f"{part} of {len(held)} means within two standard errors"
        far = max(held, key=lambda line: abs(line.difference))
        furthest = f"; furthest off {far.dataset} {far.method}: {far.mean:.2f}, published {far.published_mean:.2f}"
        claims.append(Claim(verdict(part, len(held)), text, f"{reason}{furthest if missed else ''}."))
    return claims


def agreement_sentences(sections: Sequence[Section | MarkedSection]) -> list[str]:
    """Return `agreement` as sentences, verdict first, for tables that judge other claims, too.

    Examples
    --------
    >>> from reproduction.report import Section
    >>> agreement_sentences([Section("", [Line("g50c", "svm", "", 9.5, 1.2, 10, 9.33, 2.0)])])
    ['reproduced: the published numbers of this table. 1 of 1 means within two standard errors.']
    """
    return [f"{each.verdict}: {each.text}. {each.reason}" for each in agreement(Report("", "", sections))]


def _agrees(line: Line) -> bool:
    ours = 0.0 if math.isnan(line.std) else line.std
    theirs = ours if math.isnan(line.published_std) else line.published_std
    return abs(line.difference) <= max(2.0 * math.hypot(ours, theirs) / math.sqrt(max(line.n_splits, 1)), 0.005)
