"""What a person sees, and one turn of the conversation. Read `conversation/turn.py` first.

A room imports only from rooms below it (tests/test_layering.py has the table). From the top down:

- `cli`: the command line's entry point
- `commands/`: one file a command of `heard`
- `startup`: the composition root: builds the services from the settings and closes them
- `web/`: the FastAPI server around the chat: consent gate, pages, JSON API, health and logs
- `integrations/`: the scorer in other people's programs: LangChain Runnable, Chainlit plug-in
- `page/`: the chat page on Chainlit: what is drawn, chosen, and drawn again from the history
- `voice/`: how the chat talks, measured: a set of messages, the replies judged, sheets for reading by hand
- `comparing/`: models, strategies and policies compared on a file of questions
- `studies/`: blind studies: study files, prepared and live answers, assignment, ballots, votes, the survey
- `conversation/`: one turn from the message to the stored reply: drafts, scores, rewriting, summaries
- `rating/`: other raters in the scorer's place: a language model as judge
- `results/`: a study's statistics
- `questions/`: questions round the ballots: their files, answers, branching and scores
- `export/`: a study's data as CSV and Parquet with codebook and manifest
- `models/`: language models: catalogue, client, providers, engines, downloads
- `safety/`: the crisis check and the hand-off; the words it looks for are in `prompts/safety/`
- `common/`: settings, identity, texts, background work: known to all rooms, knowing none
"""
