"""Logistic regression, by scikit-learn, as plain weights for features as they are."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

Floats = np.ndarray[Any, np.dtype[Any]]


def logistic(
    features: Floats, labels: Floats, strength: float, *, balanced: bool = False, scale: Floats | float = 1.0
) -> Floats:
    """Weights and, last, the bias, float32: one row for two classes' labels 0 and 1, a row a class for more.

    `strength` is scikit-learn's C on features of mean 0 and spread 1; with `balanced` every class counts alike. A
    feature whose `scale` is below 1 is trusted less than others.
    """
    weight = "balanced" if balanced else None
    scaler = StandardScaler().fit(features)
    regression = LogisticRegression(C=strength, max_iter=3000, class_weight=weight)
    regression.fit(scaler.transform(features) * scale, labels)
    weights = regression.coef_ * scale / scaler.scale_
    found = np.column_stack([weights, regression.intercept_ - weights @ scaler.mean_]).astype(np.float32)
    return found[0] if len(found) == 1 else found
