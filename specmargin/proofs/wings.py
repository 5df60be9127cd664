"""What the wings of the package add to proofs, by dotted names: it is loaded where a result asks for it."""

from __future__ import annotations

__all__ = ["BOUND", "CLASSES", "RECORDS", "REPLAYS", "TREES"]

CLASSES = {
    "BoxLog": "specmargin.optima.BoxLog",
    "ProofLog": "specmargin.optima.ProofLog",
    "RowSpace": "specmargin.optima.row_space.RowSpace",
    "S3VMRelaxation": "specmargin.optima.S3VMRelaxation",
}
"""Classes that a file can hold."""
RECORDS = {"S3VMRelaxation": "specmargin.optima.records.relaxation_parts"}
"""What makes records of objectives, by their classes: once it is imported, `translation.parts_of` knows them."""
TREES = "specmargin.optima.records.tree_record_of"
"""What makes records of searches that kept a log."""
BOUND = "specmargin.optima.s3vm_bound"
"""What proves a bound of an S3VM."""
REPLAYS = {
    "s3vm_tree": "specmargin.optima.replay.replay",
    "s3vm_boxes": "specmargin.optima.boxes.replay.replay",
}
"""What verifies records of further kinds."""
