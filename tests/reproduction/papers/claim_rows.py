"""Rows whose verdicts are known, and the sentence among those of a paper that is looked at."""

SPLITS = ("s0", "s1", "s2")


def rows_of(dataset, numbers, **steps):
    """Return a row for each method and split.

    `numbers` has those of each method, in the order of `steps`: a column's name, and what it grows by from split to
    split, far less than methods are apart.
    """
    return [
        {
            "status": "ok",
            "dataset": dataset,
            "method": method,
            "split": split,
            **{column: number + k * step for (column, step), number in zip(steps.items(), own, strict=True)},
        }
        for method, own in numbers.items()
        for k, split in enumerate(SPLITS)
    ]


def line_on(text, judged):
    """Return the one sentence that has this text."""
    (line,) = [line for line in judged if text in line]
    return line
