// Sliders show their value while they are moved, and are then an answer; without this the box below each says so. What
// is not sent yet is kept over a reload, in the session storage of this one tab.
const PREFIX = "heard-ballot-questions-"; // goes with what ballot.js keeps of a person
const form = document.querySelector("form.questions");
const key = PREFIX + form.getAttribute("action");

// A browser may refuse to keep anything; then a reload starts anew, and all else works.
function inStorage(use) {
  try { return use(sessionStorage); } catch { return null; }
}

const kept = inStorage((storage) => {
  for (const other of Object.keys(storage)) {
    if (other.startsWith(PREFIX) && other !== key) storage.removeItem(other); // sent, or this page would not be here
  }
  return JSON.parse(storage.getItem(key));
});
if (kept) {
  for (const field of form.elements) {
    const values = kept.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "radio" || field.type === "checkbox") field.checked = values.includes(field.value);
    else if (values.length) field.value = values[0];
  }
}
form.addEventListener("input", () => inStorage((storage) => storage.setItem(key, JSON.stringify([...new FormData(form)]))));

for (const slider of form.querySelectorAll("[data-slider]")) {
  const range = slider.querySelector("input[type=range]");
  const set = slider.querySelector("input[type=checkbox]");
  const shown = slider.querySelector("output");
  const paint = () => { shown.textContent = set.checked ? range.value : "No answer yet"; };
  range.addEventListener("input", () => { set.checked = true; paint(); });
  set.addEventListener("change", paint);
  paint();
}
