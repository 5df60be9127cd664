"""The classes of scikit-learn that estimators derive from, with the types that it does not publish.

A class with an untyped base has every attribute and takes every argument, as far as a type checker knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from specmargin.typing import AnyArray

    class BaseEstimator:
        """Parameters by name."""

        n_features_in_: int
        feature_names_in_: AnyArray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...

    class ClassifierMixin:
        """Accuracy."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        """Coefficient of determination."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ClusterMixin:
        """Clusters of the training samples."""

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any: ...

    class TransformerMixin:
        """Mark of what has `transform`."""

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the coordinates."""

        def get_feature_names_out(self, input_features: Any = None) -> AnyArray: ...

    class MetaEstimatorMixin:
        """Mark of what holds an estimator."""

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MetaEstimatorMixin,
        RegressorMixin,
        TransformerMixin,
    )

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "MetaEstimatorMixin",
    "RegressorMixin",
    "TransformerMixin",
]
