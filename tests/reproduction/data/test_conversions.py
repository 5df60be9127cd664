"""Files of public data sets as arrays."""

import collections
import re

import pytest

from reproduction.data import conversions


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x00\x00\x09\x01\x00\x00\x00\x01a", "unsigned bytes"),
        (b"\x00\x00\x08", "unsigned bytes"),
        (b"\x00\x00\x08\x02\x00\x00\x00\x01", "within its header"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03ab", r"shape \(3,\) but holds 2"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x01ab", r"shape \(1,\) but holds 2"),
    ],
)
def test_read_idx_refuses(content: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        conversions.read_idx(content)


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x1f\x8b\x90abc", b"\x1f\x9d\x89abc"])
def test_uncompress_refuses(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a file of compress"):
        conversions.uncompress(content)


def test_uncompress_notices_damage() -> None:
    with pytest.raises(ValueError, match="code 511 in a table of 257"):
        conversions.uncompress(b"\x1f\x9d\x90\x61\xfe\xff")


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
