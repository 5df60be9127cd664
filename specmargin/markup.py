"""Pages of HTML: frame, look, tables, pictures. They load nothing, and suit phones, desktops, print, light and dark.

`document` is a page, `table` a table that scrolls inside a box of its own, `captioned` a picture with its caption.
Texts are escaped here; what is called a body or a picture is HTML already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import NamedTuple

from specmargin.checks import visible

__all__ = ["STYLE", "Cell", "captioned", "document", "escape", "items", "table"]

STYLE = """
:root{color-scheme:light dark;--page:#f4f5f7;--panel:#fff;--text:#1b1f24;--soft:#59626d;--line:#d9dde3;--axis:#59626d;
--grid:#e6e8ec;--blue:#0072b2;--red:#c24a00;--good:#0a7a55;--bad:#b3261e;--partly:#8a5a00;--chosen:#eaf3fb;--on:#fff;
--best:#b4b9c1;--near:#e3e6ea}
@media (prefers-color-scheme:dark){:root{--page:#14171b;--panel:#1d2126;--text:#e7eaee;--soft:#a3acb8;--line:#353b44;
--axis:#a3acb8;--grid:#333942;--blue:#58b4ee;--red:#ff9a5c;--good:#4cc796;--bad:#ff8a80;--partly:#f0b95a;
--chosen:#20303f;--on:#0b1a26;--best:#59626d;--near:#323841}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:960px;margin:0 auto;padding:16px}
main>header,section{background:var(--panel);border:1px solid var(--line);border-radius:10px;
padding:16px 20px;margin:0 0 16px}
h1{font-size:1.5rem;margin:0 0 8px;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:4px 0 8px}
h3{font-size:1rem;margin:20px 0 4px}
p,ul{margin:6px 0}
ul{padding-left:1.2em}
li{overflow-wrap:anywhere}
a{color:var(--blue)}
.lead{font-size:1.08rem}
.inline{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px}
figure{margin:12px 0;max-width:520px}
figure.wide{max-width:680px}
figcaption{color:var(--soft);font-size:.85rem}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;white-space:nowrap;padding:5px 8px;vertical-align:top}
th:first-child,td:first-child{text-align:left}
thead th{white-space:normal;font-weight:600;color:var(--soft);border-bottom:1px solid var(--line);vertical-align:bottom}
.scroll{overflow-x:auto;max-width:100%;margin:8px 0;border:1px solid var(--line);border-radius:8px}
.scroll table{width:auto;min-width:100%;border-collapse:separate;border-spacing:0}
.scroll th[scope=row]{font-weight:400}
.scroll th:first-child,.scroll td:first-child{position:sticky;left:0;z-index:1;background:var(--panel);
border-right:1px solid var(--line);white-space:normal;max-width:min(20rem,44vw);overflow-wrap:break-word}
.scroll .text{text-align:left}
.scroll tr.group>th{position:static;max-width:none;text-align:left;font-weight:600;border-right:0;white-space:nowrap;
border-top:1px solid var(--line);background:var(--page)}
.scroll tbody tr>*{border-top:1px solid var(--grid)}
.scroll tr.group span{position:sticky;left:8px}
td.best{background:var(--best);font-weight:700}
td.light{background:var(--near);font-style:italic}
small{color:inherit;font-weight:400}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:.9rem;margin:8px 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{font:.88em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
details{margin:8px 0}
summary{cursor:pointer;color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;text-align:center;padding:4px}
@media (max-width:720px){
main{padding:8px}
main>header,section{padding:12px 14px}
dl{display:block}
dd{margin:0 0 6px}
}
@media print{body{background:#fff}main{max-width:none}figure,tr{break-inside:avoid}.scroll{overflow:visible;border:0}
h2,h3,h4{break-after:avoid}details::details-content{content-visibility:visible;block-size:auto;opacity:1}}
"""
"""Of every page: colours, text, tables, pictures."""


class Cell(NamedTuple):
    """A cell of `table`: its text, a smaller part after it, and the kind and the words that a mark stands for."""

    text: str
    small: str = ""
    kind: str = ""
    title: str = ""


def escape(text: str) -> str:
    r"""Return a text as HTML: letter by letter, with controls written out.

    Examples
    --------
    >>> print(escape("<b> \x1b[31m"))
    &lt;b&gt; \x1b[31m
    """
    return escape_html(visible(text))


def document(title: str, body: str, style: str = STYLE) -> str:
    """Return a page with this title and body.

    Examples
    --------
    >>> print(document("a < b", "<p>so it is</p>", "p{margin:0}"))
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <title>a &lt; b</title><style>p{margin:0}</style></head>
    <body><main>
    <p>so it is</p>
    </main></body></html>
    <BLANKLINE>
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def table(
    head: Sequence[str],
    body: Iterable[Sequence[str | Cell]],
    *,
    label: str,
    texts: Iterable[int] = (),
    grouped: bool = False,
) -> str:
    """Return a table whose first column stays in sight while the others scroll.

    Parameters
    ----------
    head : sequence of str
        Column heads.
    body : iterable of sequences of str or Cell
        Rows.
    label : str
        What the table shows, for who does not see it.
    texts : iterable of int, default ()
        Columns of words, which are set to the left.
    grouped : bool, default False
        Write what stands in the first column above its rows, and once, where it mostly repeats.

    Examples
    --------
    >>> table(["set", "error"], [["g50c", Cell("9.5", "(1.2)", "best", "least")]], label="errors").count("<td")
    1
    """
    left, rows = set(texts), list(body)
    firsts = [_cell(row[0]).text for row in rows]
    changes = [k == 0 or first != firsts[k - 1] for k, first in enumerate(firsts)]
    under = grouped and len(head) > 2 and 2 * sum(changes) <= len(rows)
    names = head[1:] if under else head
    top = "".join(
        f"<th scope=col{' class=text' if k in left else ''}>{escape(name)}</th>"
        for k, name in enumerate(names, int(under))
    )
    lines = []
    for row, first, changed in zip(rows, firsts, changes, strict=True):
        if under and changed:
            lines.append(
                f"<tr class=group><th colspan={len(names)} scope=rowgroup><span>{escape(first)}</span></th></tr>\n"
            )
        shown = row[1:] if under else row
        cells = "".join(
            _td(_cell(cell), "text" if k in left else "") for k, cell in enumerate(shown[1:], 1 + int(under))
        )
        lines.append(f"<tr><th scope=row>{_breaking(_cell(shown[0]).text)}</th>{cells}</tr>\n")
    return (
        f'<div class=scroll role=region tabindex=0 aria-label="{escape(label)}"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _breaking(name: str) -> str:
    """Escape a name, which may be broken after an underscore."""
    return escape(name).replace("_", "_<wbr>")


def _cell(cell: str | Cell) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _td(cell: Cell, more: str) -> str:
    kinds = " ".join(kind for kind in (cell.kind, more) if kind)
    marks = (f' class="{escape(kinds)}"' if kinds else "") + (f' title="{escape(cell.title)}"' if cell.title else "")
    small = f" <small>{escape(cell.small)}</small>" if cell.small else ""
    return f"<td{marks}>{escape(cell.text)}{small}</td>"


def captioned(picture: str, caption: str, wide: bool = False) -> str:
    """Return a picture, which is HTML, with its caption below."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure{' class=wide' if wide else ''}>{picture}{below}</figure>"


def items(texts: Iterable[str], kind: str = "") -> str:
    """Return a list of texts; nothing where there are none.

    Examples
    --------
    >>> items(["a & b"]), items([])
    ('<ul><li>a &amp; b</li></ul>', '')
    """
    lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul{f' class={kind}' if kind else ''}>{lines}</ul>" if lines else ""
