// A ballot's logic, once for both of its views: survey.js, and public/elements/HeardBallot.jsx in the chat. A view shows
// the fields of a Ballot, calls its methods and is called back by `changed`; nothing here knows who wrote an answer.

const LONGEST_REASON = 5_000; // characters; as in chat_app/studies/votes.py, which takes no more
const MOST_SECONDS = 30 * 24 * 3600; // as in db/voting.py; a page may stay open for longer
const PATIENCE = 30_000; // milliseconds until an answer counts as lost
const PREFIX = "heard-ballot-"; // of keys in the session storage, which is this tab's own and ends with it
const ADDRESS = new URL("../vote", import.meta.url); // also behind a proxy that serves all this below a path

// The survey's pages bring these sentences in the language of their study; the chat has them in English.
const said = JSON.parse(document.querySelector("[data-words]")?.dataset.words ?? "{}");

/** A sentence in the language of this page, with its {names} filled in. */
export const word = (english, values = {}) =>
  (said[english] ?? english).replace(/\{(\w+)\}/g, (_, name) => values[name]);

const LOST = word("Your vote did not reach the server. Your choice is kept: check the connection and press the button again.");
const LATE = word("The server has not answered within {seconds} seconds. Your choice is kept: wait a moment and "
  + "press the button again; the same vote counts once.", { seconds: PATIENCE / 1000 });
const ODD = word("The server could not take the vote just now. Your choice is kept: wait a moment and press the button again.");
const UNMARKED = word("Mark the most empathetic answer first, or press one of the other buttons.");
const UNMARKED_TWO = word("Mark the most and the least empathetic answer first, or press one of the other buttons.");
const number = (value) => value.toLocaleString(document.documentElement.lang || "en");
const tooLong = (length) => word("The reason has {length} characters, and {most} are allowed. Shorten it and press the "
  + "button again; your choice is kept.", { length: number(length), most: number(LONGEST_REASON) });

/** The class of this page's width: nothing finer is told. */
export const width = () => (innerWidth < 600 ? "phone" : innerWidth < 1024 ? "tablet" : "desktop");

// A browser may refuse to keep anything; then a reload starts anew, and all else works.
function inStorage(use) {
  try { return use(sessionStorage); } catch { return null; }
}

/** Drop what is kept of every ballot: on pages that nobody sees but a person who is not known, or not any more. */
export const forgetAll = () => inStorage((storage) => {
  for (const key of Object.keys(storage)) if (key.startsWith(PREFIX)) storage.removeItem(key);
});

function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is not there on plain HTTP
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Send a vote: {told} when it is stored, else {fault}, a sentence, and `gone` where the ballot or the person is erased. */
async function post(vote) {
  const headers = { "Content-Type": "application/json" };
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(ADDRESS, { method: "POST", headers, body: JSON.stringify(vote), signal });
    const told = await response.json();
    if (response.ok && told?.status === "stored") return { told };
    const sentence = [told?.sentence, told?.detail].find((said) => typeof said === "string");
    return { fault: sentence ?? ODD, gone: response.status === 410 };
  } catch (error) {
    return { fault: { SyntaxError: ODD, TimeoutError: LATE }[error.name] ?? LOST };
  }
}

class Ballot {
  choice = null; // "ranked", "same", "none", "skipped", or null for nothing yet
  most = null; // a letter, as `least`
  least = null;
  reason = "";
  fault = ""; // a sentence to show
  sending = false; // then a view lets nothing be changed
  told = null; // the server's answer to the last vote of this page, with that `vote`
  changed = () => {};
  #id; #asksLeast; #settled; #attempt = null; #before = 0; #since = null; #over = false;

  constructor(id, asksLeast, vote) {
    this.#id = id;
    this.#asksLeast = asksLeast;
    this.#take(vote ?? {});
    this.#settled = this.#marks();
    const kept = inStorage((storage) => JSON.parse(storage.getItem(PREFIX + id)));
    if (kept) {
      this.#take(kept);
      this.#attempt = kept.attempt ?? null;
      this.#before = Number(kept.seconds) || 0;
      this.keep(); // or not: the vote may have been stored, and its answer lost
    }
    // Counted from the first picture: a page that is loaded in a hidden tab has not been shown.
    requestAnimationFrame(() => { this.#since = performance.now(); });
  }

  /** Mark an answer as "most" or "least" empathetic; null takes the mark away. */
  mark(name, letter) {
    const twin = name === "most" ? "least" : "most";
    if (this[twin] === letter) this[twin] = null; // the same answer cannot be both
    this[name] = letter;
    this.choice = this.most || this.least ? "ranked" : null;
    this.#edited();
  }

  /** Press one of the buttons instead of marking; pressed again it comes up. */
  press(choice) {
    this.choice = this.choice === choice ? null : choice;
    this.most = this.least = null;
    this.#edited();
  }

  /** Take the reason as it is being typed; the view need not be drawn for that. */
  write(reason) {
    this.reason = reason;
    this.#edited(this.fault !== "");
  }

  /** The mark without which nothing can be sent: "most", "least" or null. */
  get missing() {
    if ((this.choice ?? "ranked") !== "ranked") return null;
    return !this.most ? "most" : this.#asksLeast && !this.least ? "least" : null;
  }

  /** Whether there is anything here that the server has not got. */
  get unsent() {
    return this.#marks() !== this.#settled;
  }

  /** Go back to what the server has. */
  reset() {
    this.#take(JSON.parse(this.#settled));
    this.#edited();
  }

  /** Send the vote, or "skipped" in its place. Gives the server's answer; null with a `fault`, and all is unlocked. */
  async send(choice = this.choice) {
    if (this.sending) return null;
    const ranked = (choice ?? "ranked") === "ranked";
    if (ranked && this.missing) return this.#fail(this.#asksLeast ? UNMARKED_TWO : UNMARKED);
    const length = [...this.reason].length; // characters as the server counts them
    if (length > LONGEST_REASON) return this.#fail(tooLong(length));
    const vote = {
      choice,
      most: ranked ? this.most : null,
      least: ranked ? this.least : null,
      reason: this.reason.trim() ? this.reason : null,
    };
    // The same vote again is the same request, so that a lost answer makes no second one; another vote is another.
    const content = JSON.stringify(vote);
    if (this.#attempt?.content !== content) this.#attempt = { content, request: uuid() };
    this.sending = true;
    this.#edited();
    const { request } = this.#attempt;
    const answer = await post({ ballot: this.#id, ...vote, seconds: this.#seconds(), width: width(), request });
    this.sending = false;
    if (answer.gone) this.close();
    if (answer.fault) return this.#fail(answer.fault);
    if (answer.told.crisis) this.reason = vote.reason = ""; // it was not stored, and so it stands nowhere
    this.told = { ...answer.told, vote };
    this.#attempt = null;
    this.#settled = this.#marks();
    this.#edited();
    return this.told;
  }

  /** Keep nothing of it from now on: its vote is final, or it takes none any more. */
  close() {
    this.#over = true;
    this.keep();
  }

  /** Write down what the server has not got, and drop what it has. */
  keep() {
    const key = PREFIX + this.#id;
    inStorage((storage) => {
      if (this.#over || !this.unsent) return storage.removeItem(key);
      const kept = { ...JSON.parse(this.#marks()), seconds: this.#seconds(), attempt: this.#attempt };
      return storage.setItem(key, JSON.stringify(kept));
    });
  }

  #take({ choice = null, most = null, least = null, reason = null }) {
    Object.assign(this, { choice, most, least, reason: reason ?? "" });
  }

  #marks() {
    const { choice, most, least, reason } = this;
    return JSON.stringify({ choice, most, least, reason });
  }

  #seconds() {
    return Math.min(MOST_SECONDS, this.#before + (this.#since === null ? 0 : (performance.now() - this.#since) / 1000));
  }

  #edited(drawn = true) {
    this.fault = "";
    this.keep();
    if (drawn) this.changed();
  }

  #fail(sentence) {
    this.fault = sentence;
    this.changed();
    return null;
  }
}

const opened = new Map();

/** The ballot with this id, the same one every time. `vote` is what the server has of this person, if anything. */
export function ballotOf(id, asksLeast, vote = null) {
  if (!opened.has(id)) opened.set(id, new Ballot(id, asksLeast, vote));
  return opened.get(id);
}

addEventListener("pagehide", () => opened.forEach((ballot) => ballot.keep())); // with the seconds until then
