"""A small table with every flaw."""

import numpy as np
import pytest

from specmargin.tables.assessment import tuned_svm


def messy_columns(n: int = 90, seed: int = 0) -> dict[str, list[str]]:
    """Return cells of a table: two classes and a third of one label, mixed columns, missing entries."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(n) % 2)
    x = np.where(kind, 3.0, 0.0) + rng.normal(size=n)
    words = (("blog", "news", "image"), ("cart", "card", "price"))
    label = [("visitor", "buyer")[k] if i < 24 else "" for i, k in enumerate(kind)]
    label[24] = "bot"
    income = [str(int(20000 + 9000 * value)) for value in rng.normal(size=n) + kind]
    return {
        "customer_id": [str(1000 + i) for i in range(n)],
        "age": ["" if i % 11 == 5 else f"{value:.2f}" for i, value in enumerate(x)],
        "income": income,
        "income_copy": income,
        "town": ["NA" if i % 13 == 4 else ("Oslo", "Rome")[(k + (i % 7 == 0)) % 2] for i, k in enumerate(kind)],
        "comment": [" ".join(["the", "page", *rng.choice(words[k], 3), f"w{i % 40}"]) for i, k in enumerate(kind)],
        "since": [f"2024-0{1 + i % 9}-1{i % 10}" for i in range(n)],
        "country": ["IT"] * n,
        "label": label,
    }


@pytest.fixture(scope="module")
def small_grid():
    """Let the tuned SVM choose from two SVMs only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_svm, "_CS", (10.0, 1.0))
        patch.setattr(tuned_svm, "_WIDTHS", (0.5,))
        yield


@pytest.fixture
def messy() -> dict[str, list[str]]:
    return messy_columns()


@pytest.fixture
def messy_file(tmp_path, messy):
    """Write the table as CSV and return the file."""
    path = tmp_path / "messy.csv"
    lines = [",".join(messy), *(",".join(row) for row in zip(*messy.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
