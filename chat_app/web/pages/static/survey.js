// The survey's view of a ballot: paints the form that the server has made, and goes on once the vote is stored.
import { ballotOf, word } from "./ballot.js";

const form = document.getElementById("ballot");
const save = document.getElementById("save");
if (save) open();
else if (form) ballotOf(form.dataset.ballot).close(); // a vote that is final is only shown

function open() {
  const problem = document.getElementById("problem");
  const reason = document.getElementById("reason");
  const others = [...form.querySelectorAll(".other")];
  const radios = [...form.querySelectorAll("input[type=radio]")];
  const cards = [...form.querySelectorAll(".answer")];

  const marked = (name) => radios.find((radio) => radio.name === name && radio.checked)?.value ?? null;
  const pressed = others.find((button) => button.getAttribute("aria-pressed") === "true")?.value;
  const most = marked("most");
  const stored = { choice: pressed ?? (most && "ranked"), most, least: marked("least"), reason: reason?.value };
  const ballot = ballotOf(form.dataset.ballot, form.hasAttribute("data-least"), stored);

  function paint() {
    for (const radio of radios) radio.checked = ballot[radio.name] === radio.value;
    for (const button of others) button.setAttribute("aria-pressed", String(ballot.choice === button.value));
    for (const card of cards) {
      for (const name of ["most", "least"]) card.classList.toggle(name, ballot[name] === card.dataset.letter);
    }
    for (const control of [...radios, ...others, reason]) if (control) control.disabled = ballot.sending;
    save.setAttribute("aria-disabled", String(ballot.sending)); // it keeps the focus meanwhile
    save.textContent = word(ballot.sending ? "Saving…" : "Save and go on");
    problem.textContent = ballot.fault;
  }
  ballot.changed = paint;
  if (reason) reason.value = ballot.reason;
  save.disabled = false;
  paint();

  for (const radio of radios) radio.addEventListener("change", () => ballot.mark(radio.name, radio.value));
  for (const button of others) button.addEventListener("click", () => ballot.press(button.value));
  reason?.addEventListener("input", () => ballot.write(reason.value));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // Pressed once more after the vote is stored, because the next page did not come, it only asks for that again.
    const told = (!ballot.unsent && ballot.told) || (await ballot.send());
    if (told) {
      const { help, after } = form.dataset;
      location.assign(told.crisis ? `${help}?language=${encodeURIComponent(told.crisis)}` : after);
    } else if (ballot.missing) {
      radios.find((radio) => radio.name === ballot.missing)?.focus();
    }
  });
  // Back may bring the page as it was left; then the stored vote is asked for anew.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
