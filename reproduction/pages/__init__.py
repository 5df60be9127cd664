"""One page of all results: claims with verdicts, recorded tables, figures, and where they come from.

`write_page` is ``python -m reproduction report``: a page, whole by itself, of recorded tables and figures.
`write_index` leaves ``index.html`` in a folder of figures or tables.
"""

from reproduction.pages.page import Written, write_index, write_page

__all__ = ["Written", "write_index", "write_page"]
