"""The scorer inside other programs: a LangChain Runnable, and a score card for other Chainlit apps."""
