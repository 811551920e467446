// The quiet bar above the input, for the rest of a conversation after a hand-off. What it shows comes from
// chat_app/page/safety_page.py; this file draws, and decides nothing.
const bar = document.createElement("section");
bar.id = "heard-bar";
bar.className = "hs-bar";
let shown = null;

window.addEventListener("message", (event) => {
  if (event.source !== window || event.data?.heard !== "bar") return;
  const next = event.data.bar ?? null;
  if (JSON.stringify(next) === JSON.stringify(shown)) return;
  shown = next;
  fill();
  place();
});

// On a slow machine the page may have been told before this script was there to hear it.
window.postMessage({ heard: "ready" }, window.location.origin);

function fill() {
  bar.replaceChildren();
  if (!shown) return;
  bar.setAttribute("aria-label", shown.name);
  const numbers = document.createElement("span");
  numbers.className = "hs-numbers";
  shown.links.forEach(({ label, href }, number) => {
    if (number) numbers.append(separator());
    const link = document.createElement("a");
    link.href = /^(?:tel:|sms:|\/help$)/.test(href) ? href : "/help";
    if (link.protocol.startsWith("http")) link.target = "_blank"; // the conversation stays open
    link.textContent = label;
    numbers.append(link);
  });
  bar.append(numbers);
  if (!shown.safe) return;
  const safe = document.createElement("button");
  safe.type = "button";
  safe.textContent = shown.safe;
  safe.addEventListener("click", () => {
    if (document.getElementById("stop-button")) return; // a reply is being written
    window.postMessage({ heard: "says", what: "safe" }, window.location.origin);
  });
  bar.append(safe);
}

function separator() {
  const dot = document.createElement("span");
  dot.setAttribute("aria-hidden", "true");
  dot.textContent = "·";
  return dot;
}

// Buttons that a later message has answered, typed or pressed; the page may draw them anew.
export function foldAnswered() {
  const later = [...document.querySelectorAll('[data-step-type="user_message"]')].pop();
  for (const answers of document.querySelectorAll(".hs-answers")) {
    answers.hidden = Boolean(later && answers.compareDocumentPosition(later) & Node.DOCUMENT_POSITION_FOLLOWING);
  }
}

// The page draws its input anew where it likes.
export function place() {
  const input = document.getElementById("message-composer");
  if (!shown || !input) bar.remove();
  else if (bar.nextElementSibling !== input) input.before(bar);
}
