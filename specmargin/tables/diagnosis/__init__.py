"""What samples, their graph and a few labels look like before anything is learned: `diagnose` and `Diagnosis`.

`columns` looks at the features, `graph_facts` at the graph of neighbours, `purity` compares labels along edges with
what random labels give, `evidence` decides about labelled samples without their own labels, and `verdict` puts the
numbers into sentences.
"""

from specmargin.tables.diagnosis.report import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
