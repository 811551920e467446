// One ballot: marks the answers, keeps what was chosen and written until it is stored, and sends the vote.
(() => {
  "use strict";
  const form = document.getElementById("ballot");
  if (!form || !document.getElementById("save")) return; // a vote that is final is only shown
  const LOST = "Your vote did not reach the server. Your choice is kept: check the connection and press the button again.";
  const ODD = "The server could not take the vote just now. Your choice is kept: wait a moment and press the button again.";
  const UNMARKED = form.hasAttribute("data-least")
    ? "Mark the most and the least empathetic answer first, or press one of the other buttons."
    : "Mark the most empathetic answer first, or press one of the other buttons.";
  const PATIENCE = 30000; // milliseconds until an answer counts as lost
  const LONGEST = 30 * 24 * 3600; // seconds; the server takes no more, and a page may stay open for longer
  const save = document.getElementById("save");
  const problem = document.getElementById("problem");
  const reason = document.getElementById("reason");
  const others = [...form.querySelectorAll(".other")];
  const radios = [...form.querySelectorAll("input[type=radio]")];
  const key = "heard-ballot-" + form.dataset.ballot;
  let attempt = null; // the last vote that was sent, with its request id
  let before = 0; // seconds on this ballot before a reload
  let since = null;
  let sending = false;

  // Counted from the first picture: a page that is loaded in a hidden tab has not been shown.
  requestAnimationFrame(() => { since = performance.now(); });
  const seconds = () => Math.min(LONGEST, before + (since === null ? 0 : (performance.now() - since) / 1000));

  const uuid = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is not there on plain HTTP
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  };
  let request = uuid();

  const marked = (name) => form.querySelector(`input[name=${name}]:checked`)?.value ?? null;
  const other = () => others.find((button) => button.getAttribute("aria-pressed") === "true")?.value ?? null;
  const vote = () => {
    const instead = other();
    return {
      choice: instead ?? "ranked",
      most: instead ? null : marked("most"),
      least: instead ? null : marked("least"),
      reason: reason && reason.value.trim() ? reason.value : null,
    };
  };

  // A browser may refuse to keep anything; then a reload starts anew, and all else works.
  const keep = () => {
    try {
      sessionStorage.setItem(key, JSON.stringify({ vote: vote(), text: reason?.value, attempt, seconds: seconds() }));
    } catch { /* see above */ }
  };
  const kept = () => {
    try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; }
  };
  const forget = () => {
    try { sessionStorage.removeItem(key); } catch { /* see above */ }
  };

  const paint = () => {
    const instead = other();
    for (const card of form.querySelectorAll(".answer")) {
      card.classList.toggle("most", !instead && card.dataset.letter === marked("most"));
      card.classList.toggle("least", !instead && card.dataset.letter === marked("least"));
    }
  };
  const press = (value) => {
    for (const button of others) button.setAttribute("aria-pressed", String(button.value === value));
    if (value) for (const radio of radios) radio.checked = false;
  };

  const back = kept();
  if (back) {
    press(back.vote.choice === "ranked" ? null : back.vote.choice);
    for (const radio of radios) radio.checked = back.vote[radio.name] === radio.value;
    if (reason && typeof back.text === "string") reason.value = back.text;
    attempt = back.attempt;
    request = attempt?.request ?? request;
    before = Number(back.seconds) || 0;
  }
  paint();
  save.disabled = false;
  for (const button of others) button.disabled = false;

  form.addEventListener("input", (event) => {
    const { name, value, type } = event.target;
    if (type === "radio") {
      press(null);
      // The same answer cannot be both.
      const twin = radios.find((radio) => radio.name !== name && radio.value === value);
      if (twin) twin.checked = false;
    }
    problem.textContent = "";
    paint();
    keep();
  });
  for (const button of others) {
    button.addEventListener("click", () => {
      press(button.getAttribute("aria-pressed") === "true" ? null : button.value);
      problem.textContent = "";
      paint();
      keep();
    });
  }

  const fail = (sentence) => {
    sending = false;
    save.removeAttribute("aria-disabled");
    save.textContent = "Save and go on";
    problem.textContent = sentence;
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending) return;
    const chosen = vote();
    const needsLeast = form.hasAttribute("data-least") && !chosen.least;
    if (chosen.choice === "ranked" && (!chosen.most || needsLeast)) {
      fail(UNMARKED);
      radios.find((radio) => radio.name === (chosen.most ? "least" : "most"))?.focus();
      return;
    }
    sending = true;
    save.setAttribute("aria-disabled", "true");
    save.textContent = "Saving…";
    problem.textContent = "";
    // The same vote again is the same request, so that a lost answer makes no second one; another vote is another.
    const content = JSON.stringify(chosen);
    if (attempt && attempt.content !== content) request = uuid();
    attempt = { content, request };
    keep();
    const width = innerWidth < 600 ? "phone" : innerWidth < 1024 ? "tablet" : "desktop";
    const body = JSON.stringify({ ballot: form.dataset.ballot, ...chosen, seconds: seconds(), width, request });
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), PATIENCE);
    let answer = null;
    let told = null;
    try {
      answer = await fetch("/vote", {
        method: "POST", body, headers: { "Content-Type": "application/json" }, signal: abort.signal,
      });
      told = await answer.json().catch(() => null);
    } catch {
      fail(LOST);
      return;
    } finally {
      clearTimeout(timer);
    }
    if (!answer.ok || told?.status !== "stored") {
      fail(told?.sentence ?? ODD);
      return;
    }
    forget();
    location.assign(told.crisis ? `${form.dataset.help}?language=${encodeURIComponent(told.crisis)}` : form.dataset.after);
  });

  // Back may bring the page as it was left; then the stored vote is asked for anew.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
