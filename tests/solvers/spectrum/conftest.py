"""The spectra of the objectives' tests serve those of the solvers, too."""

import importlib.util
from pathlib import Path

# In importlib mode a neighbouring folder cannot be imported by name.
_spec = importlib.util.spec_from_file_location(
    "specmargin_objective_fixtures", Path(__file__).parents[2] / "objectives" / "conftest.py"
)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
spectrum_data = _module.spectrum_data
