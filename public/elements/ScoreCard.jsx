// The score card under a reply. `props` come from chat_app/card.py and are shown as they are: this file draws, and decides nothing.
import { useId, useState } from "react";

const EDGES = ["25%", "75%"]; // where Moderate begins (1.5) and where High begins (2.5) on 1..3

function Bar({ share, level }) {
  return (
    <svg className="hc-bar" data-level={level} aria-hidden="true">
      <rect className="hc-rail" width="100%" height="100%" rx="4" />
      <rect className="hc-fill" width={`${Math.max(3, share * 100)}%`} height="100%" rx="4" />
      {EDGES.map((edge) => (
        <line key={edge} className="hc-edge" x1={edge} x2={edge} y1="0" y2="100%" />
      ))}
    </svg>
  );
}

function Row({ bar, main }) {
  return (
    <div className={main ? "hc-row hc-main" : "hc-row"} title={bar.meaning}>
      <span className="hc-label">{bar.label}</span>
      <Bar share={bar.share} level={bar.level} />
      <span className="hc-value">{bar.shown}</span>
      <span className="hc-level" data-level={bar.level}>{bar.level}</span>
    </div>
  );
}

function Drafts({ drafts }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const others = drafts.filter((draft) => !draft.kept);
  if (!others.length) return null;
  const what = others.length === 1 ? "1 other draft" : `${others.length} other drafts`;
  return (
    <div className="hc-drafts">
      <button type="button" className="hc-toggle" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
        <span aria-hidden="true" className="hc-arrow" data-open={open}>›</span> {open ? "Hide" : "Show"} {what}
      </button>
      <div id={id} hidden={!open}>
        {others.map((draft) => (
          <section key={draft.number} className="hc-draft" aria-label={`Draft ${draft.number}`}>
            <p className="hc-draft-head">Draft {draft.number}: {draft.verdict}</p>
            <p className="hc-draft-text">{draft.text}</p>
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

export default function ScoreCard() {
  if (props.pending) return null;
  const { score, improved, note, drafts, limits, stylesheet } = props;
  const root = document.querySelector('meta[property="og:root_path"]')?.content ?? "";
  return (
    <div className="hc-card" role="group" aria-label={score.spoken}>
      {stylesheet ? <link rel="stylesheet" href={root + stylesheet} /> : null}
      {score.scored ? (
        <div className="hc-rows" aria-hidden="true">
          <Row bar={score.empathy} main />
          {score.bars.map((bar) => <Row key={bar.label} bar={bar} />)}
        </div>
      ) : (
        <p className="hc-none"><strong>Not scored.</strong> {score.reason}</p>
      )}
      {improved ? <p className="hc-badge"><span aria-hidden="true">✓</span> Improved: written again, and this draft scored best</p> : null}
      {note ? <p className="hc-note" role="status">{note}</p> : null}
      <Drafts drafts={drafts} />
      {score.scored ? <p className="hc-limits">{limits}</p> : null}
      <Copy />
    </div>
  );
}
