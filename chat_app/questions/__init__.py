"""Questions asked on pages round the ballots: their files, answers, branching and scores."""
