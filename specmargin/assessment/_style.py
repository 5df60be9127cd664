"""The look of the page of a comparison: that of every page, and what is this one's own."""

from specmargin.markup import STYLE

CSS = f"""{STYLE}
.facts{{display:flex;flex-wrap:wrap;gap:10px 28px;color:var(--soft);font-size:.9rem}}
.facts b{{display:block;font-size:1.4rem;color:var(--text)}}
.flaws li{{margin:4px 0}}
svg{{width:100%;display:block;color:var(--text);fill:currentColor}}
.pair{{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:8px 24px}}
.pair figure{{margin:4px 0}}
.methods tbody tr:nth-child(odd) th,.methods tbody tr:nth-child(odd) td{{border-top:1px solid var(--line)}}
.methods td.verdict{{text-align:left;white-space:normal;padding-top:0;color:var(--soft);overflow-wrap:anywhere}}
.verdict .good{{color:var(--good);font-weight:600}}
.verdict .bad{{color:var(--bad);font-weight:600}}
.verdict .plain{{color:var(--text)}}
tr.chosen{{background:var(--chosen)}}
table.small{{width:auto;max-width:100%}}
table.small td{{white-space:normal;border-top:1px solid var(--line);overflow-wrap:anywhere}}
@media (max-width:720px){{
.methods thead{{display:none}}
.methods,.methods tbody,.methods tr,.methods th,.methods td{{display:block;width:100%}}
.methods tbody tr:nth-child(odd) td{{border:0}}
.methods th{{padding-top:12px;font-size:1rem}}
.methods td{{display:flex;justify-content:space-between;gap:12px;padding:2px 8px;text-align:right}}
.methods td::before{{content:attr(data-label);color:var(--soft);text-align:left}}
.methods td.verdict{{display:block;padding:6px 8px 12px}}
.methods td.verdict::before{{content:""}}
}}
@media print{{header,section{{break-inside:avoid}}}}
"""
