"""The look of the page of a comparison."""

CSS = """
:root{color-scheme:light dark;--page:#f4f5f7;--panel:#fff;--text:#1b1f24;--soft:#59626d;--line:#d9dde3;--axis:#59626d;
--grid:#e6e8ec;--blue:#0072b2;--red:#c24a00;--good:#0a7a55;--bad:#b3261e;--chosen:#eaf3fb;--on:#fff}
@media (prefers-color-scheme:dark){:root{--page:#14171b;--panel:#1d2126;--text:#e7eaee;--soft:#a3acb8;--line:#353b44;
--axis:#a3acb8;--grid:#333942;--blue:#58b4ee;--red:#ff9a5c;--good:#4cc796;--bad:#ff8a80;--chosen:#20303f;--on:#0b1a26}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:960px;margin:0 auto;padding:16px}
header,section{background:var(--panel);border:1px solid var(--line);border-radius:10px;
padding:16px 20px;margin:0 0 16px}
h1{font-size:1.5rem;margin:0 0 8px;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:4px 0 8px}
h3{font-size:1rem;margin:20px 0 4px}
p,ul{margin:6px 0}
ul{padding-left:1.2em}
li{overflow-wrap:anywhere}
.lead{font-size:1.08rem}
.facts{display:flex;flex-wrap:wrap;gap:10px 28px;color:var(--soft);font-size:.9rem}
.facts b{display:block;font-size:1.4rem;color:var(--text)}
.inline{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px}
.flaws li{margin:4px 0}
figure{margin:12px 0;max-width:520px}
figure.wide{max-width:680px}
figcaption{color:var(--soft);font-size:.85rem}
svg{width:100%;display:block;color:var(--text);fill:currentColor}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:8px 24px}
.pair figure{margin:4px 0}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;white-space:nowrap;padding:5px 8px;vertical-align:top}
th:first-child,td:first-child{text-align:left}
thead th{white-space:normal;font-weight:600;color:var(--soft);border-bottom:1px solid var(--line);vertical-align:bottom}
.methods tbody tr:nth-child(odd) th,.methods tbody tr:nth-child(odd) td{border-top:1px solid var(--line)}
.methods td.verdict{text-align:left;white-space:normal;padding-top:0;color:var(--soft);overflow-wrap:anywhere}
.verdict .good{color:var(--good);font-weight:600}
.verdict .bad{color:var(--bad);font-weight:600}
.verdict .plain{color:var(--text)}
tr.chosen{background:var(--chosen)}
table.small{width:auto;max-width:100%}
table.small td{white-space:normal;border-top:1px solid var(--line);overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:.9rem;margin:8px 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
pre.report{white-space:pre-wrap;overflow-wrap:anywhere;
font:.82rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
background:var(--page);border-radius:8px;padding:12px;margin:8px 0}
details{margin:8px 0}
summary{cursor:pointer;color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;text-align:center;padding:4px}
@media (max-width:720px){
main{padding:8px}
header,section{padding:12px 14px}
dl{display:block}
dd{margin:0 0 6px}
.methods thead{display:none}
.methods,.methods tbody,.methods tr,.methods th,.methods td{display:block;width:100%}
.methods tbody tr:nth-child(odd) td{border:0}
.methods th{padding-top:12px;font-size:1rem}
.methods td{display:flex;justify-content:space-between;gap:12px;padding:2px 8px;text-align:right}
.methods td::before{content:attr(data-label);color:var(--soft);text-align:left}
.methods td.verdict{display:block;padding:6px 8px 12px}
.methods td.verdict::before{content:""}
}
@media print{body{background:#fff}header,section{break-inside:avoid}}
"""
