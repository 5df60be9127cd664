"""Headlines: the published numbers are those of the CSV files, ours those of the records, and nothing is guessed."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest

import reproduction.engine.published as published_module
from reproduction import headlines
from reproduction.headlines import HEADLINES, NOT_RECORDED, Count, Number, headline_rows
from reproduction.papers import chapelle_2006, gieseke_2014, tables
from reproduction.papers._claims import shivaswamy_jebara
from reproduction.papers.bibliography import PAPERS
from reproduction.recorded import RecordedTable, recorded_folder, recorded_tables
from reproduction.report import Line, Report, Section
from specmargin.exceptions import InvalidInputError

ROOT = Path(__file__).parents[2]
NUMBERS = [number for headline in HEADLINES for number in headline.numbers if isinstance(number, Number)]


def rows_of_files():
    folder = Path(published_module.__file__).with_name("published_data")
    for file in sorted(folder.glob("*.csv")):
        with file.open(encoding="utf-8") as lines:
            yield from csv.DictReader(lines)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number.dataset}-{number.method}")
def test_published_numbers_are_those_of_the_files(number):
    names = ("paper", "table", "dataset", "method", "quantity", "split", "n_labeled")

    def of(method):
        wanted = dict(zip(names, number.source, strict=False)) | {"method": method}
        (row,) = [row for row in rows_of_files() if all(row.get(key) == value for key, value in wanted.items())]
        return float(row["mean"])

    value = of(number.source[3]) / (of(number.over) if number.over else 1.0)
    assert float(number.published()) == pytest.approx(value, abs=0.5 * 10**-number.decimals + 1e-9)


def test_five_papers_their_pages_and_tables():
    assert [headline.paper for headline in HEADLINES] == [paper.key for paper in PAPERS[:5]]
    for headline in HEADLINES:
        assert (ROOT / "docs" / "papers" / f"{headline.page}.md").is_file()
        # A record is named after its table and the choices of its protocol.
        table = headline.table.partition("-")[0]
        assert table in tables()
        paper = next(paper for paper in PAPERS if paper.key == headline.paper)
        assert table in paper.tables


@pytest.mark.parametrize(("table", "blocks"), [("continuation_s3vm", chapelle_2006), ("qn_s3vm", gieseke_2014)])
def test_a_headline_names_a_line_that_its_table_will_have(table, blocks):
    (headline,) = [headline for headline in HEADLINES if headline.table.partition("-")[0] == table]
    for number in headline.numbers:
        where = (number.section, number.dataset, number.tuning)
        (block,) = [b for b in blocks.blocks() if (b.title, b.dataset, b.tuning) == where]
        assert number.method in block.methods
        # The table itself shows the same number as published.
        assert block.published(number.method, []).mean == pytest.approx(float(number.published()), abs=0.05)


def test_records_of_this_checkout_have_the_lines():
    folder = recorded_folder()
    records = recorded_tables(folder) if folder is not None and folder.is_dir() else {}
    for headline, theirs, ours, why in headline_rows(records):
        record = records.get(headline.table)
        assert (ours == NOT_RECORDED) == (record is None or record.report is None) == (not why)
        assert why == "reproduced" or not why or headline.why in why
        assert len(theirs.split(" / ")) == len(headline.numbers)
        if record is not None and record.report is not None:
            for number, text in zip(headline.numbers, ours.split(" / "), strict=True):
                if isinstance(number, Number):
                    # The line has the number that its paper published, where the two stand in one line.
                    (line,) = {
                        (line.mean, line.published_mean)
                        for section in record.report.sections
                        for line in section.lines
                        if (section.title, line.dataset, line.method, line.tuning)
                        == (number.section, number.dataset, number.method, number.tuning)
                    }
                    assert text == f"{line[0]:.{number.decimals}f}"
                    assert f"{line[1]:.{number.decimals}f}" == number.published()


def report_of(*lines, remarks=()):
    return Report("qn_s3vm", "A table", [Section("Table 2", lines)], remarks=remarks)


def line_of(number, mean, published=math.nan, n=10):
    return Line(number.dataset, number.method, number.tuning, mean, 3.0, n, published)


def test_reproduced_is_what_agrees_and_nothing_else(monkeypatch):
    (headline,) = [headline for headline in HEADLINES if headline.paper == "qn_s3vm"]

    def told(*differences):
        theirs = [float(number.published()) for number in headline.numbers]
        lines = [
            line_of(number, p + d, p, 99) for number, p, d in zip(headline.numbers, theirs, differences, strict=True)
        ]
        record = RecordedTable(headline.table, "qn_s3vm", report=report_of(*lines))
        return headline_rows({headline.table: record})[-1][3]

    assert told(0.0, 0.1, -0.1) == "reproduced"
    assert told(0.0, 4.1, 9.0) == f"1 of 3 reproduced, 1 inconclusive, 1 differs: {headline.why}"
    monkeypatch.setattr(headlines, "HEADLINES", (replace(headline, fitted=True),))
    assert told(0.0, 0.1, -0.1) == f"agree: {headline.why}"
    assert told(0.0, 4.1, 9.0) == f"1 of 3 agree, 1 inconclusive, 1 differs: {headline.why}"


def test_the_only_fit_is_that_of_the_kernels_scale():
    assert [headline.paper for headline in HEADLINES if headline.fitted] == ["manifold_regularization"]


def test_numbers_come_from_the_line_that_is_named():
    (headline,) = [headline for headline in HEADLINES if headline.paper == "qn_s3vm"]
    name = headline.table
    lines = [line_of(number, 10.0 + k) for k, number in enumerate(headline.numbers)]
    other = replace(lines[0], tuning="another choice", mean=99.0)
    record = RecordedTable(name, "qn_s3vm", report=report_of(*lines, other))
    rows = {row[0].table: row for row in headline_rows({name: record})}
    assert rows[name][1:] == ("18.8 / 16.2 / 12.9", "10.0 / 11.0 / 12.0", "")  # nothing can be asked
    assert rows["continuation_s3vm"][2] == NOT_RECORDED
    # A table that is not whole has rows and no report.
    assert headline_rows({name: replace(record, report=None)})[-1][2] == NOT_RECORDED


def test_counts_come_from_the_remark_that_is_named():
    count = Count("it helps", r"lower in (\d+ of \d+)", "it does")
    report = report_of(remarks=["agrees: it helps. Together lower in 9 of 10.", "differs: it hurts, lower in 1 of 10."])
    assert (count.published(), count.ours(report)) == ("it does", ("9 of 10", "agrees"))
    for wrong in (
        ["agrees: it hurts, lower in 1 of 10."],
        ["agrees: it helps."],
        2 * ["agrees: it helps, lower in 1 of 2"],
    ):
        with pytest.raises(InvalidInputError, match="no remark with 'it helps'"):
            count.ours(report_of(remarks=wrong))


def test_a_line_that_is_missing_or_double_is_named():
    number = NUMBERS[-1]
    with pytest.raises(InvalidInputError, match=r"has 0 numbers at 'Table 2 \| mnist_3_8 \| qn_s3vm"):
        number.ours(report_of())
    with pytest.raises(InvalidInputError, match="has 2 numbers"):
        number.ours(report_of(line_of(number, 1.0), line_of(number, 2.0)))
    with pytest.raises(InvalidInputError, match="2 published numbers are at"):
        replace(number, source=number.source[:6]).published()


def test_the_remarks_of_the_spectrum_table_have_the_counts():
    errors = {"STOAM": 2.0, "STORM": 3.0, "MKL-S": 4.0, "MKL-R": 2.5, "KTA-S": 5.0, "KTA-R": 6.0, "SGT": 7.0, "Xu": 8.0}
    cells = [
        (task, {method: {f"s{k}": error + shift + 0.1 * k for k in range(3)} for method, error in errors.items()})
        for task, shift in (("one", 0.0), ("two", 1.0))
    ]
    (headline,) = [headline for headline in HEADLINES if headline.table == "spectrum_learning"]
    report = report_of(remarks=shivaswamy_jebara.sentences(cells, list(errors)))
    # STOAM errs less than MKL-S in both cells, STORM more than MKL-R.
    assert headline.numbers[0].ours(report) == ("2 of 4", "differs")
