"""The registry of the data sets."""

from reproduction import data as datasets
from reproduction.data import registry


def test_registry_is_complete() -> None:
    for name, entry in registry.REGISTRY.items():
        assert entry.name == name
        assert entry.summary
        assert entry.scaling
        assert entry.layout in registry.LAYOUTS
        assert entry.source in ("archive", "download", "formula", "bundled")
        assert (entry.sha256 is None) == (name == "digits")
        assert entry.sha256 is None or (len(entry.sha256) == 64 and int(entry.sha256, 16))
        assert name in datasets.load.__doc__
