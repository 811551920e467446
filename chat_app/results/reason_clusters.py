"""A machine's first suggestion for codes: reasons that lie near each other, named by the words that set them apart.

Ward's (1963) clustering of the encoder's vectors; a cluster's words are those with the highest ratio of their frequency
in it to that in the others, with half a reason added to each. It knows words and not what people meant.
"""

import re
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage  # type: ignore[import-untyped]

FEWEST = 10
"""Reasons under which there is nothing to cluster."""
MOST_CLUSTERS = 12
WORDS = 4
"""Words of a cluster's name."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def suggested(vectors: "np.ndarray[Any, Any]", texts: Sequence[str]) -> list[str]:
    """Return the name of each text's cluster. N vectors for N texts, FEWEST or more.

    There are about as many clusters as the root of half the texts (Mardia, Kent & Bibby 1979), 2 to MOST_CLUSTERS.
    """
    wanted = min(MOST_CLUSTERS, max(2, round(sqrt(len(texts) / 2))))
    cluster = fcluster(linkage(vectors, method="ward"), wanted, criterion="maxclust")
    words = [set(_WORD.findall(text.casefold())) for text in texts]
    everywhere = Counter(word for one in words for word in one)
    names = {}
    for number in np.unique(cluster):
        inside = [one for one, of in zip(words, cluster, strict=True) if of == number]
        here = Counter(word for one in inside for word in one)
        outside = len(texts) - len(inside)
        ratio = {
            word: ((count + 0.5) / (len(inside) + 1)) / ((everywhere[word] - count + 0.5) / (outside + 1))
            for word, count in here.items()
            if count > 1 or len(inside) == 1
        }
        typical = sorted(ratio, key=lambda word: (-ratio[word], word))[:WORDS]
        names[number] = f"{number}: {', '.join(typical)}" if typical else str(number)
    return [names[number] for number in cluster]
