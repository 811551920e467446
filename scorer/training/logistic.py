"""Logistic regression, by scikit-learn, as plain weights for features as they are."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Floats = np.ndarray[Any, np.dtype[Any]]


def logistic(features: Floats, labels: Floats, strength: float, *, balanced: bool = False) -> Floats:
    """Weights and, last, the bias, float32: one row for two classes' labels 0 and 1, a row a class for more.

    `strength` is scikit-learn's C on features of mean 0 and spread 1; with `balanced` every class counts alike.
    """
    weight = "balanced" if balanced else None
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=3000, class_weight=weight))
    model.fit(features, labels)
    scaler, regression = model[0], model[1]
    weights = regression.coef_ / scaler.scale_
    found = np.column_stack([weights, regression.intercept_ - weights @ scaler.mean_]).astype(np.float32)
    return found[0] if len(found) == 1 else found
