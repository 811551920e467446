// The score card under a reply. `props` come from chat_app/page/score_card.py and are shown as they are: this file draws, and decides nothing.
import { useId, useState } from "react";

const EDGES = ["25%", "75%"]; // where Moderate begins (1.5) and where High begins (2.5) on 1..3

// What a reader has opened stays open when the page draws the card anew, as it does with each message.
function useFold(reply, part) {
  const opened = (window.heardOpened ??= new Set());
  const key = `${reply} ${part}`;
  const [open, setOpen] = useState(() => opened.has(key));
  const fold = () => {
    if (open || !reply) opened.delete(key);
    else opened.add(key);
    setOpen(!open);
  };
  return [open, fold];
}

function Bar({ share, level, range }) {
  return (
    <svg className="hc-bar" data-level={level} aria-hidden="true">
      <rect className="hc-rail" width="100%" height="100%" rx="4" />
      <rect className="hc-fill" width={`${Math.max(3, share * 100)}%`} height="100%" rx="4" />
      {EDGES.map((edge) => (
        <line key={edge} className="hc-edge" x1={edge} x2={edge} y1="0" y2="100%" />
      ))}
      {range ? <line className="hc-range" x1={`${range[0] * 100}%`} x2={`${range[1] * 100}%`} y1="50%" y2="50%" /> : null}
    </svg>
  );
}

function Row({ bar, main }) {
  return (
    <div className={main ? "hc-row hc-main" : "hc-row"} title={bar.meaning}>
      <span className="hc-label">{bar.label}</span>
      <Bar share={bar.share} level={bar.level} range={bar.range} />
      <span className="hc-value">{bar.shown}</span>
      <span className="hc-level" data-level={bar.level}>{bar.level}</span>
    </div>
  );
}

function Words({ words, reply }) {
  const [open, fold] = useFold(reply, "words");
  const id = useId();
  if (!words?.length) return null;
  return (
    <div className="hc-words">
      <button type="button" className="hc-toggle" aria-expanded={open} aria-controls={id} onClick={fold}>
        <span aria-hidden="true" className="hc-arrow" data-open={open}>›</span> {open ? "Hide" : "Show"} the words behind it
      </button>
      <dl id={id} hidden={!open}>
        {words.map(({ label, pieces }) => (
          <div key={label} className="hc-carried">
            <dt>{label}</dt>
            <dd>
              {pieces.map((piece, place) => (
                <mark key={place} dir="auto" style={{ "--hc-strength": Math.min(1, 0.25 + piece.weight) }}>{piece.text}</mark>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Drafts({ drafts, reply }) {
  const [open, fold] = useFold(reply, "drafts");
  const id = useId();
  const others = drafts.filter((draft) => !draft.kept);
  if (!others.length) return null;
  const what = others.length === 1 ? "1 other draft" : `${others.length} other drafts`;
  return (
    <div className="hc-drafts">
      <button type="button" className="hc-toggle" aria-expanded={open} aria-controls={id} onClick={fold}>
        <span aria-hidden="true" className="hc-arrow" data-open={open}>›</span> {open ? "Hide" : "Show"} {what}
      </button>
      <div id={id} hidden={!open}>
        {others.map((draft) => (
          <section key={draft.number} className="hc-draft" aria-label={`Draft ${draft.number}`}>
            <p className="hc-draft-head">Draft {draft.number}: {draft.verdict}</p>
            <p className="hc-draft-text" dir="auto">{draft.text}</p>
          </section>
        ))}
      </div>
    </div>
  );
}

function Copy() {
  const [said, setSaid] = useState("Copy reply");
  if (!navigator.clipboard) return null; // a page without TLS on a foreign host
  const copy = async (event) => {
    const card = event.currentTarget.closest(".hc-card");
    const parts = [...(card.closest(".message-content")?.children ?? [])].filter((part) => !part.contains(card));
    try {
      await navigator.clipboard.writeText(parts.map((part) => part.innerText).join("\n\n"));
      setSaid("Copied");
    } catch {
      setSaid("The browser did not allow copying");
    }
    setTimeout(() => setSaid("Copy reply"), 2000);
  };
  return (
    <div className="hc-foot">
      <button type="button" className="hc-toggle" aria-live="polite" onClick={copy}>{said}</button>
    </div>
  );
}

// One line until it is opened. What it says of itself to a screen reader is the card's own name, which tells all numbers.
function Line({ score, improved, open, details, onClick }) {
  return (
    <button type="button" className="hc-line" aria-expanded={open} aria-controls={details} onClick={onClick}>
      <span className="hc-summary">
        <span className="hc-said">{score.line}</span>
        {score.scored ? <Bar share={score.empathy.share} level={score.empathy.level} /> : null}
      </span>
      <span aria-hidden="true" className="hc-arrow" data-open={open}>›</span>
      {improved ? <span className="hc-badge">{improved}</span> : null}
    </button>
  );
}

export default function ScoreCard() {
  if (props.pending) return null;
  return <Card {...props} />;
}

function Card({ score, improved, note, drafts, limits, stylesheet, reply }) {
  const [open, fold] = useFold(reply, "card");
  const details = useId();
  const root = document.querySelector('meta[property="og:root_path"]')?.content ?? "";
  return (
    <div className="hc-card" role="group" aria-label={score.spoken}>
      {stylesheet ? <link rel="stylesheet" href={root + stylesheet} /> : null}
      <Line score={score} improved={improved} open={open} details={details} onClick={fold} />
      <div id={details} className="hc-details" hidden={!open}>
        {score.scored ? (
          <div className="hc-rows" aria-hidden="true">
            <Row bar={score.empathy} main />
            {score.bars.map((bar) => <Row key={bar.label} bar={bar} />)}
          </div>
        ) : (
          <p className="hc-none">{score.reason}</p>
        )}
        {score.perceived ? <p className="hc-people" aria-hidden="true">{score.perceived}</p> : null}
        {note ? <p className="hc-note">{note}</p> : null}
        {(score.notes ?? []).map((said) => <p key={said} className="hc-note">{said}</p>)}
        <Words words={score.words} reply={reply} />
        <Drafts drafts={drafts} reply={reply} />
        {score.scored ? (
          <p className="hc-limits">
            {score.range ? `The thin line is the doubt: raters would plausibly give an Empathy of ${score.range}. ` : null}
            {limits}
          </p>
        ) : null}
        <Copy />
      </div>
    </div>
  );
}
