// A blind ballot. `props` come from chat_app/studies/ballot_view.py: letters and texts, and after the vote what it reveals.
import { useEffect, useId, useRef, useState } from "react";
import { Markdown } from "@/components/markdown";

// The page draws elements anew now and then: what a person has marked, and what the server has answered, outlives that.
const memory = (window.heardBallots ??= new Map());

const root = () => (document.querySelector('meta[property="og:root_path"]')?.content ?? "").replace(/\/chat\/?$/, "");
// The same limits as in chat_app/web/pages/static/survey.js: a study may have both.
const width = () => (window.innerWidth < 600 ? "phone" : window.innerWidth < 1024 ? "tablet" : "desktop");
const NO_ANSWER = "The server did not answer, so your vote was not stored. It is still marked here: try again.";

function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function Mark({ pressed, disabled, onClick, children, label }) {
  return (
    <button type="button" className="hb-mark" aria-pressed={pressed} aria-label={label} disabled={disabled} onClick={onClick}>
      <span aria-hidden="true" className="hb-tick">{pressed ? "✓" : ""}</span>{children}
    </button>
  );
}

function Text({ answer }) {
  if (!answer.text) return <p className="hb-missing">{answer.reason}</p>;
  return <div className="hb-text"><Markdown allowHtml={false} latex={false}>{answer.text}</Markdown></div>;
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
function HandOff({ markdown }) {
  const place = useRef(null);
  useEffect(() => { place.current?.scrollIntoView({ block: "start" }); }, []);
  return (
    <div ref={place} className="hb-handoff" role="alert">
      <Markdown allowHtml={false} latex={false}>{markdown}</Markdown>
      <p>What you wrote as your reason was not stored; your vote is, without it.</p>
    </div>
  );
}

function Over({ answers, stands, vote, reveal, sentence, handoff, onChange }) {
  const rows = new Map((reveal ?? []).map((row) => [row.letter, row]));
  const first = answers.filter((answer) => answer.letter === stands);
  const others = answers.filter((answer) => answer.letter !== stands);
  const marks = (letter) => [
    vote?.most === letter ? "most empathetic" : null,
    vote?.least === letter ? "least empathetic" : null,
  ].filter(Boolean).join(", ");
  return (
    <div className="hb-over">
      {handoff ? <HandOff markdown={handoff} /> : null}
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
      {sentence ? <p className="hb-note" role="status">{sentence}</p> : null}
      {onChange ? <button type="button" className="hb-quiet" onClick={onChange}>{vote?.choice === "skipped" ? "Vote after all" : "Change my vote"}</button> : null}
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
  const { ballot, answers, least, askReason, closed, stylesheet } = props;
  const kept = memory.get(ballot) ?? { start: performance.now(), choice: null, most: null, worst: null, reason: "" };
  memory.set(ballot, kept);
  const [, draw] = useState(0);
  const [sending, setSending] = useState(false);
  const [fault, setFault] = useState(null);
  const [again, setAgain] = useState(false);
  const place = useRef(null);
  const reasonId = useId();
  const titleId = useId();
  const set = (changes) => {
    Object.assign(kept, changes, { request: null });
    setFault(null);
    draw((n) => n + 1);
  };
  useEffect(() => {
    window.postMessage({ heard: "width", width: width() }, window.location.origin);
  }, []);

  const done = kept.done ?? (props.vote ? { vote: props.vote, stands: props.stands, reveal: props.reveal } : null);
  const mayMark = answers.filter((answer) => answer.votable);
  const rank = (letter, key, other) => set({
    choice: "ranked",
    [key]: kept[key] === letter ? null : letter,
    [other]: kept[other] === letter ? null : kept[other],
  });
  const ready = kept.choice === "same" || kept.choice === "none" || (kept.choice === "ranked" && kept.most && (!least || kept.worst));

  async function send(choice) {
    setSending(true);
    setFault(null);
    const ranked = choice === "ranked";
    const vote = {
      choice,
      most: ranked ? kept.most : null,
      least: ranked && least ? kept.worst : null,
      reason: kept.reason.trim() || null,
    };
    kept.request = kept.sent === choice && kept.request ? kept.request : fresh();
    kept.sent = choice;
    try {
      const response = await fetch(`${root()}/vote`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        credentials: "same-origin",
        body: JSON.stringify({
          ballot,
          ...vote,
          seconds: (performance.now() - kept.start) / 1000,
          width: width(),
          request: kept.request,
        }),
      });
      const said = await response.json();
      if (response.ok && said.status === "stored") {
        const stands = kept.done?.stands ?? props.stands ?? vote.most ?? mayMark[0]?.letter;
        kept.done = { vote, stands: said.stands ?? stands, reveal: said.reveal, sentence: said.sentence, handoff: said.handoff };
        if (said.handoff) vote.reason = kept.reason = "";
        kept.request = null;
        setAgain(false);
        setTimeout(() => { // the ballot has become shorter: what was chosen may stand above the window now
          const start = place.current;
          if (start && !said.handoff && start.getBoundingClientRect().top < 64) start.scrollIntoView({ block: "start" });
        }, 50);
      } else {
        setFault(said.sentence ?? said.detail ?? NO_ANSWER);
      }
    } catch {
      setFault(NO_ANSWER);
    }
    setSending(false);
  }

  const style = stylesheet ? <link rel="stylesheet" href={root() + stylesheet} /> : null;
  const name = `Ballot: answers ${answers[0].letter} to ${answers[answers.length - 1].letter}`;
  if (closed) {
    return (
      <div ref={place} className="hb-ballot" role="group" aria-label={name}>
        {style}
        <p className="hb-note">{closed}</p>
        <Over answers={answers} stands={props.stands} />
      </div>
    );
  }
  if (done && !again) {
    const sentence = done.vote.choice === "skipped" ? SAID.skipped : (SAID[done.vote.choice] ?? done.sentence);
    return (
      <div ref={place} className="hb-ballot" role="group" aria-label={name}>
        {style}
        <Over answers={answers} {...done} sentence={sentence} onChange={done.reveal ? null : () => setAgain(true)} />
      </div>
    );
  }
  return (
    <div ref={place} className="hb-ballot" role="group" aria-labelledby={titleId}>
      {style}
      <p id={titleId} className="hb-title">
        {least ? "Which answer is the most empathetic, and which the least?" : "Which answer is the most empathetic?"}
      </p>
      <div className="hb-answers" data-count={answers.length}>
        {answers.map((answer) => (
          <section
            key={answer.letter}
            className="hb-answer"
            aria-label={`Answer ${answer.letter}`}
            data-marked={kept.choice !== "ranked" ? null : kept.most === answer.letter ? "most" : kept.worst === answer.letter ? "least" : null}
          >
            <p className="hb-head"><span className="hb-letter">{answer.letter}</span></p>
            <Text answer={answer} />
            {answer.votable ? (
              <div className="hb-marks">
                <Mark
                  pressed={kept.choice === "ranked" && kept.most === answer.letter}
                  disabled={sending}
                  label={`Answer ${answer.letter} is the most empathetic`}
                  onClick={() => rank(answer.letter, "most", "worst")}
                >
                  Most
                </Mark>
                {least ? (
                  <Mark
                    pressed={kept.choice === "ranked" && kept.worst === answer.letter}
                    disabled={sending}
                    label={`Answer ${answer.letter} is the least empathetic`}
                    onClick={() => rank(answer.letter, "worst", "most")}
                  >
                    Least
                  </Mark>
                ) : null}
              </div>
            ) : answer.text ? <p className="hb-missing">{answer.reason}</p> : null}
          </section>
        ))}
      </div>
      <div className="hb-ways" role="group" aria-label="Instead of marking answers">
        {[["same", "About the same"], ["none", "None of these"]].map(([choice, words]) => (
          <Mark
            key={choice}
            pressed={kept.choice === choice}
            disabled={sending}
            onClick={() => set({ choice: kept.choice === choice ? null : choice, most: null, worst: null })}
          >
            {words}
          </Mark>
        ))}
      </div>
      {askReason ? (
        <div className="hb-why">
          <label htmlFor={reasonId}>Why? <span className="hb-soft">You may leave this empty.</span></label>
          <textarea
            id={reasonId}
            rows={2}
            maxLength={5000}
            defaultValue={kept.reason}
            disabled={sending}
            onChange={(event) => { kept.reason = event.target.value; kept.request = null; }}
          />
        </div>
      ) : null}
      {fault ? <p className="hb-fault" role="alert">{fault}</p> : null}
      <div className="hb-send">
        <button type="button" className="hb-vote" disabled={!ready || sending} onClick={() => send(kept.choice)}>
          {sending ? "Sending…" : "Vote"}
        </button>
        {again ? (
          <button type="button" className="hb-quiet" disabled={sending} onClick={() => setAgain(false)}>Leave it as it is</button>
        ) : (
          <button type="button" className="hb-quiet" disabled={sending} onClick={() => send("skipped")}>Skip</button>
        )}
      </div>
    </div>
  );
}
