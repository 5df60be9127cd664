"""Files of public data sets as arrays."""

import collections
import re

from reproduction.data import conversions


def message(sender: str, subject: str, body: str) -> str:
    return f"From: {sender}\nSubject: {subject}\nOrganization: Acme secret\n\n{body}"


def test_count_words_against_counting() -> None:
    texts = [
        message("ann@mail.example", "Re: the Puck", "The puck, the PUCK! x86 486dx a b2b " + "z" * 25),
        message("bob@mail.example", "goalie", "b2b goalie_puck can't " + "z" * 26 + " acme"),
        message("eve@mail.example", "none", "x86 can't " + "z" * 25 + "\n\nSubject: not a header acme"),
        "Subject: no body at all: puck",
    ]
    counts, vocab = conversions.count_words(texts)
    reference = []
    for text in texts:
        head, _, body = text.partition("\n\n")
        subject = next(line for line in head.split("\n") if line.startswith("Subject:"))[8:]
        runs = re.split("[^a-z0-9]+", (subject + "\n" + body).lower())
        words = [run for run in runs if 2 <= len(run) <= 25 and run[0].isalpha()]
        reference.append(collections.Counter(words))
    often = {word for word in set().union(*reference) if sum(word in part for part in reference) >= 2}
    assert [word.decode() for word in vocab] == sorted(often)
    assert {"acme", "b2b", "can", "x86", "puck", "z" * 25} <= often
    assert not {"secret", "mail", "486dx", "dx"} & often
    for row, part in zip(counts.toarray(), reference, strict=True):
        assert row.tolist() == [part[word] for word in sorted(often)]
