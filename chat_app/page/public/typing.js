// The message box: what Return does on a touch screen and in an input method, how long a message may be, and what was
// written when it was refused.
const COUNTED_FROM = 0.8; // share of the limit
const JUST_NOW = 100; // milliseconds
const box = () => document.getElementById("chat-input");
const limit = Number(document.querySelector('meta[name="heard:message-limit"]')?.content) || Infinity;
const touch = window.matchMedia("(hover: none) and (pointer: coarse)");

const count = document.createElement("p");
count.id = "heard-count";
count.className = "heard-count";
const complaint = document.createElement("p");
complaint.className = "heard-count";
complaint.setAttribute("role", "alert");

const length = (text) => (text.length < COUNTED_FROM * limit ? text.length : [...text].length); // as the server counts
const number = (n) => n.toLocaleString("en");

let composed = -Infinity;
window.addEventListener("compositionend", (event) => { composed = event.timeStamp; }, true);

// Before the page, which would send: it forgets the input method's own Enter, which Safari reports after its end.
window.addEventListener("keydown", (event) => {
  if (event.target !== box() || event.key !== "Enter" || event.shiftKey) return;
  const chosen = event.isComposing || event.keyCode === 229;
  const late = event.timeStamp - composed < JUST_NOW;
  const line = touch.matches && !event.ctrlKey && !event.metaKey;
  if (chosen || late || line) {
    event.stopImmediatePropagation();
    if (late && !chosen) event.preventDefault();
  } else if (tooLong()) refuse(event);
}, true);
window.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.closest("#chat-submit") && tooLong()) refuse(event);
}, true);
window.addEventListener("input", (event) => {
  if (event.target === box()) {
    complaint.textContent = "";
    placeCount();
  }
}, true);

function tooLong() {
  return length(box()?.value ?? "") > limit;
}

function refuse(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
  complaint.textContent = `Not sent: a message may have ${number(limit)} characters. Shorten it, then send it.`;
  placeCount();
}

// Sent and refused by the server: it comes back for another try. The page may be about to draw another box.
const REDRAWN = 200; // milliseconds
window.addEventListener("message", (event) => {
  if (event.source === window && event.data?.heard === "refused") giveBack(String(event.data.text ?? ""), null, 5);
});

function giveBack(text, filled, looks) {
  const input = box();
  if (input && input !== filled && !input.value) {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (looks) setTimeout(giveBack, REDRAWN, text, input, looks - 1);
}

function placeCount() {
  const input = box();
  const composer = document.getElementById("message-composer");
  if (!input || !composer) return;
  if (touch.matches) input.enterKeyHint = "enter";
  const used = length(input.value);
  const over = used - limit;
  const shown = used >= COUNTED_FROM * limit;
  if (!shown) {
    count.remove();
    complaint.remove();
    return;
  }
  const said = `${number(used)} of ${number(limit)} characters${over > 0 ? `: ${number(over)} too many` : ""}`;
  if (count.textContent !== said) count.textContent = said;
  count.dataset.over = String(over > 0);
  input.setAttribute("aria-describedby", count.id);
  if (composer.nextElementSibling !== count) composer.after(count);
  if (count.nextElementSibling !== complaint) count.after(complaint);
}

export { placeCount };
