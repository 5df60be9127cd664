"""Claims as they were judged, read back from the remarks of tables and of figures, and counts of published numbers.

A sentence of `reproduction.judging.judge` begins with its verdict; `parse_sentences` takes it apart. Published numbers
are no claims: each line of a table asks whether ours is that number, and `told_numbers` counts the answers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.engine.equivalence import ANSWERS, NOT_JUDGED, counted
from reproduction.report import Line, MarkedSection, Report, Section

VERDICTS = (*ANSWERS, NOT_JUDGED)
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
        Test, range, intervals and numbers that the verdict rests on.
    context : str
        The setting in which they were found; empty where there is one setting.
    """

    verdict: str
    text: str
    reason: str = ""
    context: str = ""


_SENTENCE = re.compile(rf"(?P<verdict>{'|'.join(VERDICTS)}): (?P<text>.+?)\. (?P<reason>.+)")


def tally(verdicts: Iterable[str]) -> str:
    """Return how often each verdict is given, in words.

    Examples
    --------
    >>> tally(["agrees", "differs", "agrees"])
    '2 agree, 1 differs, 0 inconclusive, 0 not judged'
    """
    count = Counter(verdicts)
    return ", ".join(counted(count[name], name) for name in VERDICTS)


def parse_claims(report: Report) -> list[Claim]:
    """Return the claims among the remarks of a report, in their order.

    Examples
    --------
    >>> remarks = ["With D - W:", "agrees: the graph helps. Gain in points, at least 0: 2.1.", "ties: 3."]
    >>> parse_claims(Report("t", "T", remarks=remarks))[0][1:]
    ('the graph helps', 'Gain in points, at least 0: 2.1.', 'With D - W')
    """
    return list(parse_sentences(report.remarks))


def parse_sentences(sentences: Iterable[str]) -> Iterator[Claim]:
    """Yield the claims among sentences; one that ends in a colon is the context of those that follow."""
    context = ""
    for sentence in sentences:
        text = sentence.strip()
        judged = _SENTENCE.fullmatch(text)
        if judged:
            yield Claim(**judged.groupdict(), context=context)
        elif text.endswith(":") or not text:
            context = text[:-1]


def figure_claims(results: Any) -> list[Claim]:
    """Return the claims in the results of a figure: the sentences below a key that begins with "claims"."""
    if not isinstance(results, Mapping):
        return []
    found: list[Claim] = []
    for name, part in results.items():
        if str(name).startswith("claims"):
            found += _below(part, str(name).removeprefix("claims").strip())
    return found


def _below(part: Any, context: str) -> Iterator[Claim]:
    if isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _below(inner, f"{context} {name}".strip())
    elif isinstance(part, list):
        sentences = [sentence for each in part for sentence in (each if isinstance(each, list) else [each])]
        for claim in parse_sentences(each for each in sentences if isinstance(each, str)):
            yield claim._replace(context=", ".join(each for each in (context, claim.context) if each))


def number_counts(sections: Iterable[Section | MarkedSection]) -> Counter[str]:
    """Return how many of the published errors of sections ours agree with, differ from, and so on."""
    return Counter(line.agreement for section in sections for line in section.compared)


def told_numbers(
    sections: Sequence[Section | MarkedSection], why: Callable[[Line], str] = lambda line: ""
) -> list[str]:
    """Say of each section how many of its published numbers agree, and list those that differ, with a reason.

    Examples
    --------
    >>> lines = [Line("g50c", "svm", "", 19.5, 1.2, 10, 9.33, 2.0)]
    >>> told_numbers([Section("Table 4", lines)], lambda line: "unknown")  # doctest: +ELLIPSIS
    ['Table 4: of 1 published numbers 0 agree, 1 differs, 0 inconclusive, 0 not judged.', '  g50c svm: 19.50, ...']
    """
    told = []
    for section in sections:
        compared = section.compared
        if compared:
            title = section.title or "This table"
            told.append(f"{title}: of {len(compared)} published numbers {tally(line.agreement for line in compared)}.")
        for line in compared:
            if line.agreement == ANSWERS[1]:
                reason = f" - {why(line)}" if why(line) else ""
                told.append(
                    f"  {line.dataset} {line.method}: {line.mean:.2f}, published {line.published_mean:.2f}{reason}"
                )
    return told
