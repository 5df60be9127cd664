"""Tables of one's own: from a file with some labels to a comparison of methods, predictions, a model and a page.

`compare` and `compare_file` do all of it; `fit_table` fits one method, `load_model` and `predict_file` use it later.
`read_table` and `split_target` get features and labels from a file. `specmargin.AutoSSL`, which is compared with all
others, `specmargin.diagnose` and the command line live here, too; nothing outside of this wing imports it but
``python -m specmargin``.

In `specmargin.tables.assessment`, `preparation` makes features of columns, `flaws` names what is wrong with a table,
`evaluation` lets each of the `methods` decide about left-out labels, `comparison` puts the differences into words, and
`page` draws them. Names load when they are first used, so that the command line answers at once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
