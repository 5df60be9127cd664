"""Methods compared on a table, from its cells to the page; `specmargin.tables` has the names that users type."""
