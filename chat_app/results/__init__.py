"""What the votes of a study say: shares, strengths, agreement, position bias, leaks, and the trial of improvement."""
