"""Results of a study: shares, strengths, agreement, position bias, leaks, and the trial of improvement."""
