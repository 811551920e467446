"""How far a score may be off: split conformal intervals (Vovk et al. 2005; Lei et al. 2018), by `crepes`.

The residuals are of replies that the head had not seen when it rated them, so that with the share CONFIDENCE of new
replies of the same kind the rating lies within the interval. Nothing is promised for replies of another kind.
"""

from typing import Any

import numpy as np
from crepes import ConformalRegressor  # type: ignore[import-untyped]

from heard.scorer.head import CONFIDENCE
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST

Floats = np.ndarray[Any, np.dtype[Any]]


FEWEST = 20
"""Ratings below which no interval is given: the tenth part of fewer is nobody."""


def half_widths(predicted: Floats, rated: Floats) -> list[float]:
    """Half widths, on the scale 1..3, for the three components and Empathy; none for fewer ratings than FEWEST.

    Both arrays are rows x 3 on 1..3; a rating may be NaN where there is none.
    """
    widths = []
    for column in range(len(COMPONENTS) + 1):
        residuals = _column(rated, column) - _column(predicted, column)
        residuals = residuals[~np.isnan(residuals)].astype(float)
        if len(residuals) < FEWEST:
            return []
        widths.append(half_width(residuals))
    return widths


def half_width(residuals: Floats) -> float:
    """Half the width of the interval that holds the share CONFIDENCE of residuals like these."""
    regressor = ConformalRegressor().fit(residuals=residuals)
    low, high = regressor.predict_int(np.zeros(1), confidence=CONFIDENCE)[0]
    return round(float(high - low) / 2, 4)


def coverage(predicted: Floats, rated: Floats, widths: list[float]) -> list[float]:
    """Share of ratings within the interval, for the three components and Empathy; the interval is cut to 1..3."""
    shares = []
    for column, width in enumerate(widths):
        middle, rating = _column(predicted, column), _column(rated, column)
        low, high = np.maximum(middle - width, LOWEST), np.minimum(middle + width, HIGHEST)
        shares.append(float(np.mean((rating >= low - 1e-6) & (rating <= high + 1e-6))))
    return shares


def _column(values: Floats, column: int) -> Floats:
    result: Floats = values.mean(axis=1) if column == len(COMPONENTS) else values[:, column]
    return result
