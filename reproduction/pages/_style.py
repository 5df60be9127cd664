"""The look of the page of all results: that of every page, and what is this one's own."""

from specmargin.markup import STYLE

__all__ = ["CSS"]

CSS = f"""{STYLE}
html{{scroll-behavior:smooth}}
main{{max-width:1120px}}
h2{{font-size:1.35rem}}
h3{{font-size:1.12rem;margin:26px 0 4px;overflow-wrap:anywhere}}
h4{{font-size:.95rem;margin:14px 0 4px}}
h2+h3{{margin-top:10px}}
.paper{{color:var(--soft);margin:0 0 10px}}
nav ul{{list-style:none;padding-left:0;margin:4px 0}}
nav ul ul{{display:flex;flex-wrap:wrap;gap:0 14px;padding-left:1em;font-size:.88rem}}
nav a,.top{{text-decoration:none}}
.thumbnails{{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:14px}}
.thumbnails img{{display:block;width:100%;aspect-ratio:8/5;object-fit:contain;background:#fff;
border:1px solid var(--line);border-radius:6px;margin-bottom:4px}}
.thumbnails a{{font-size:.88rem}}
.top{{float:right;font-size:.85rem}}
article{{border-top:1px solid var(--line);margin-top:18px}}
article:target{{outline:2px solid var(--blue);outline-offset:8px;border-radius:2px}}
.badge{{display:inline-block;border:1px solid currentColor;border-radius:99px;padding:0 9px;margin:2px 6px 2px 0;
font-size:.8rem;font-weight:600;white-space:nowrap}}
.good{{color:var(--good)}}.bad{{color:var(--bad)}}.partly{{color:var(--partly)}}.plain{{color:var(--soft)}}
.note{{font-size:.82rem;color:var(--soft);margin:2px 0;overflow-wrap:anywhere}}
.missing{{border-left:3px solid var(--partly);padding:2px 10px;margin:10px 0;overflow-wrap:anywhere}}
.under{{margin-left:1.2em;font-size:.92em}}
.claims{{table-layout:fixed}}
.claims th,.claims td{{text-align:left;white-space:normal;overflow-wrap:anywhere;border-top:1px solid var(--line)}}
.claims thead th{{border-top:0}}
.claims tbody th{{background:var(--page);font-weight:600;color:var(--soft)}}
.claims col.v{{width:10.5rem}}.claims col.c{{width:34%}}
.claims td:nth-child(2){{font-weight:600}}
.picture{{background:#fff;border-radius:8px;padding:6px;overflow-x:auto}}
.picture img{{display:block;max-width:100%;margin:0 auto}}
section figure{{max-width:none;margin:10px 0}}
figcaption{{font-size:.9rem;max-width:52rem;margin-top:6px}}
figcaption b{{color:var(--text)}}
figcaption p{{margin:4px 0}}
summary b{{color:var(--text);font-weight:600}}
.scroll td.text,.scroll th.text{{max-width:22rem;white-space:normal;min-width:7rem}}
@media (max-width:720px){{
.picture.wide img{{max-width:none;width:42rem}}
.claims,.claims tbody,.claims tr,.claims td,.claims th{{display:block;width:100%}}
.claims thead,.claims colgroup{{display:none}}
.claims td{{border:0;padding:2px 8px}}
.claims tr{{border-top:1px solid var(--line);padding:6px 0}}
.claims td:first-child{{padding-top:6px}}
nav ul ul{{display:block}}
nav ul ul li{{padding:3px 0}}
}}
@media print{{nav,.top{{display:none}}section{{border:0;padding:0}}.picture.wide img{{max-width:100%;width:auto}}
.scroll table{{font-size:7pt}}.scroll th,.scroll td{{white-space:normal!important;padding:1px 3px}}}}
"""
