"""Blind studies: study files, prepared and live answers, assignment, ballots, votes and the survey."""
