"""A frozen BERT encoder with a small trained head: text in, `EmpathyScore` out. Knows nothing of the chat."""
