"""Claims of the papers that no row of a table of claims can say."""
