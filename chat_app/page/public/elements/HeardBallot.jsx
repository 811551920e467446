// A blind ballot. `props` come from chat_app/studies/ballot_view.py: letters and texts, and after the vote what it reveals.
// Draws only: what may be marked and sent, and what outlives a reload, is in chat_app/web/pages/static/ballot.js.
import { useEffect, useId, useRef, useState } from "react";
import { Markdown } from "@/components/markdown";

function Mark({ pressed, disabled, onClick, children }) {
  return (
    <button type="button" className="hb-mark" aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <span aria-hidden="true" className="hb-tick">{pressed ? "✓" : ""}</span>{children}
    </button>
  );
}

// One question over all answers: it stays in view while they are read, however much longer one is than another.
function Pick({ ballot, name, answers }) {
  const id = useId();
  return (
    <div className="hb-pick" role="radiogroup" aria-labelledby={id} data-name={name}>
      <span id={id}>{name === "most" ? "Most empathetic" : "Least empathetic"}</span>
      <div className="hb-marks">
        {answers.map(({ letter, votable }) => votable ? (
          <label key={letter} className="hb-radio">
            <input
              type="radio"
              name={id}
              aria-label={`Answer ${letter} is the ${name} empathetic`}
              checked={ballot[name] === letter}
              disabled={ballot.sending}
              onChange={() => ballot.mark(name, letter)}
            />
            <span aria-hidden="true">{letter}</span>
          </label>
        ) : <span key={letter} className="hb-radio hb-shut" aria-hidden="true">{letter}</span>)}
      </div>
    </div>
  );
}

function Text({ answer }) {
  if (!answer.text) return <p className="hb-missing">{answer.reason}</p>;
  return <div className="hb-text" dir="auto"><Markdown allowHtml={false} latex={false}>{answer.text}</Markdown></div>;
}

function Revealed({ row }) {
  const scores = row.scores;
  const one = (name) => Number(scores[name]).toFixed(1);
  return (
    <dl className="hb-reveal">
      <div><dt>Written by</dt><dd className="hb-source">{row.source}</dd></div>
      {row.model ? <div><dt>Model</dt><dd>{row.model}</dd></div> : null}
      {row.persona ? <div><dt>Persona</dt><dd>{row.persona}</dd></div> : null}
      {row.strategy ? <div><dt>Strategy</dt><dd>{row.strategy}</dd></div> : null}
      {scores ? (
        <div>
          <dt>Estimated</dt>
          <dd>cognitive {one("cognitive")}, emotional {one("emotional")}, behavioral {one("behavioral")} of 3</dd>
        </div>
      ) : null}
      {row.seconds ? <div><dt>Took</dt><dd>{Number(row.seconds).toFixed(1)} s{row.improved ? ", written again" : ""}</dd></div> : null}
    </dl>
  );
}

// What somebody has written as their reason reads like a crisis: people and numbers come before anything else.
function HandOff({ html, language, danger }) {
  const place = useRef(null);
  const [shown] = useState(() => window.heardHandoff?.current(language, danger) ?? html);
  useEffect(() => { place.current?.scrollIntoView({ block: "start" }); }, []);
  return (
    <div ref={place} className="hb-handoff" role="alert">
      <div className="hh-box" dangerouslySetInnerHTML={{ __html: shown }} />
      <p>What you wrote as your reason was not stored; your vote is, without it.</p>
    </div>
  );
}

function Over({ answers, stands, told, onChange }) {
  const { vote, reveal, handoff } = told ?? {};
  const rows = new Map((reveal ?? []).map((row) => [row.letter, row]));
  const first = answers.filter((answer) => answer.letter === stands);
  const others = answers.filter((answer) => answer.letter !== stands);
  const marks = (letter) => [
    vote?.most === letter ? "most empathetic" : null,
    vote?.least === letter ? "least empathetic" : null,
  ].filter(Boolean).join(", ");
  return (
    <div className="hb-over">
      {handoff ? <HandOff {...handoff} /> : null}
      {first.map((answer) => (
        <section key={answer.letter} className="hb-answer" data-stands="true" aria-label={`Answer ${answer.letter}`}>
          <p className="hb-head">
            <span className="hb-letter">{answer.letter}</span>
            <span className="hb-said">{["the conversation goes on from here", marks(answer.letter)].filter(Boolean).join(" · ")}</span>
          </p>
          <Text answer={answer} />
          {rows.has(answer.letter) ? <Revealed row={rows.get(answer.letter)} /> : null}
        </section>
      ))}
      {others.map((answer) => (
        <details key={answer.letter} className="hb-folded">
          <summary>
            <span className="hb-letter">{answer.letter}</span>
            <span className="hb-said">{[marks(answer.letter), rows.get(answer.letter)?.source].filter(Boolean).join(" · ") || "another answer"}</span>
          </summary>
          <Text answer={answer} />
          {rows.has(answer.letter) ? <Revealed row={rows.get(answer.letter)} /> : null}
        </details>
      ))}
      {vote ? <p className="hb-note" role="status">{SAID[vote.choice]}</p> : null}
      {onChange ? <button type="button" className="hb-quiet" onClick={onChange}>{vote.choice === "skipped" ? "Vote after all" : "Change my vote"}</button> : null}
    </div>
  );
}

const SAID = {
  ranked: "Your vote is stored.",
  same: "Your vote is stored: about the same.",
  none: "Your vote is stored: none of these.",
  skipped: "You went on without a vote.",
};

export default function HeardBallot() {
  if (window.heardBallot) return <Ballot />;
  return <p className="hb-note">The ballot could not be loaded. Reload the page to vote.</p>;
}

function Ballot() {
  const { answers, least, askReason, closed } = props;
  // A skip is no answer of one's own to go back to.
  const ballot = window.heardBallot.ballotOf(props.ballot, least, props.vote?.choice === "skipped" ? null : props.vote);
  const [, draw] = useState(0);
  const [again, setAgain] = useState(() => ballot.unsent && Boolean(props.vote) && props.vote.choice !== "skipped");
  const place = useRef(null);
  const reasonId = useId();
  const titleId = useId();
  useEffect(() => {
    window.postMessage({ heard: "width", width: window.heardBallot.width() }, window.location.origin);
    // The page draws elements anew now and then; the ballot stays, and calls the newest one.
    ballot.changed = () => draw((n) => n + 1);
  }, []);

  const told = ballot.told ?? (props.vote ? props : null);
  // A vote that is changed later does not change what the conversation has gone on from.
  if (ballot.told) ballot.stands ??= props.stands ?? told.vote.most ?? answers.find((answer) => answer.votable)?.letter;
  const over = Boolean(closed || told?.reveal);
  useEffect(() => { if (over) ballot.close(); }, [over]);

  async function send(choice) {
    const answer = await ballot.send(choice);
    if (!answer) return;
    setAgain(false);
    setTimeout(() => { // the ballot has become shorter: what was chosen may stand above the window now
      const start = place.current;
      if (start && !answer.handoff && start.getBoundingClientRect().top < 64) start.scrollIntoView({ block: "start" });
    }, 50);
  }

  const name = `Ballot: answers ${answers[0].letter} to ${answers[answers.length - 1].letter}`;
  if (over || (told && !again)) {
    return (
      <div ref={place} className="hb-ballot" role="group" aria-label={name}>
        {closed ? <p className="hb-note">{closed}</p> : null}
        <Over
          answers={answers}
          told={closed ? null : told}
          stands={ballot.stands ?? props.stands}
          onChange={over ? null : () => setAgain(true)}
        />
      </div>
    );
  }
  return (
    <div ref={place} className="hb-ballot" role="group" aria-labelledby={titleId}>
      <p id={titleId} className="hb-title">
        {least ? "Which answer is the most empathetic, and which the least?" : "Which answer is the most empathetic?"}
      </p>
      <div className="hb-answers" data-count={answers.length}>
        {answers.map((answer) => (
          <section
            key={answer.letter}
            className="hb-answer"
            aria-label={`Answer ${answer.letter}`}
            data-marked={["most", "least"].find((name) => ballot[name] === answer.letter) ?? null}
          >
            <p className="hb-head"><span className="hb-letter">{answer.letter}</span></p>
            <Text answer={answer} />
            {!answer.votable && answer.text ? <p className="hb-missing">{answer.reason}</p> : null}
          </section>
        ))}
      </div>
      <div className="hb-picks">
        {(least ? ["most", "least"] : ["most"]).map((name) => <Pick key={name} ballot={ballot} name={name} answers={answers} />)}
      </div>
      <div className="hb-ways" role="group" aria-label="Instead of marking answers">
        {[["same", "About the same"], ["none", "None of these"]].map(([choice, words]) => (
          <Mark key={choice} pressed={ballot.choice === choice} disabled={ballot.sending} onClick={() => ballot.press(choice)}>
            {words}
          </Mark>
        ))}
      </div>
      {askReason ? (
        <div className="hb-why">
          <label htmlFor={reasonId}>Why? <span className="hb-soft">You may leave this empty.</span></label>
          <textarea
            id={reasonId}
            dir="auto"
            rows={2}
            defaultValue={ballot.reason}
            disabled={ballot.sending}
            onChange={(event) => ballot.write(event.target.value)}
          />
        </div>
      ) : null}
      {ballot.fault ? <p className="hb-fault" role="alert">{ballot.fault}</p> : null}
      <div className="hb-send">
        <button type="button" className="hb-vote" disabled={ballot.missing !== null || ballot.sending} onClick={() => send()}>
          {ballot.sending ? "Sending…" : "Vote"}
        </button>
        {again ? (
          <button type="button" className="hb-quiet" disabled={ballot.sending} onClick={() => { ballot.reset(); setAgain(false); }}>Leave it as it is</button>
        ) : (
          <button type="button" className="hb-quiet" disabled={ballot.sending} onClick={() => send("skipped")}>Skip</button>
        )}
      </div>
    </div>
  );
}
