"""What a person sees, and one turn of the conversation. Read `turn.py` first, then by what you want to change:

- a turn: `turn`, `drafts`, `records`, `services`, `settings`, `text`
- safety: `safety` (the check and the hand-off), `safety_normalise`, `safety_unicode`, `safety_patterns`,
  `safety_match`, `safety_measure`; the words themselves are in `prompts/safety/`
- models: `model_files`, `llm`, `reply_stream`, `failures`, `embedded`, `engine`, `waiting_line`, `echo`, `weights`,
  `bundles`
- the chat page: `app` (Chainlit), `live`, `bubble`, `page`, `card`, `wording`, `choices`, `panel`, `reopen`,
  `data_layer`, `history_rows`, `element_files`
- the server round it: `server`, `gate`, `identity`, `api`, `health`, `logs`, `runtime`, `pages/`, `flag_table`
- the scorer for other programs: over HTTP `score_calls`, `score_line`, `score_json`, `api_description`; in a LangChain
  chain `runnable`; in another Chainlit app `plugin`, `card_files`; `opening` opens it for the last two
- the command line: `cli`, `commands/`, `hints`
"""
