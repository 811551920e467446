// The hand-off's country picker and its way out, on every page that shows a hand-off. Without this script the picker is a
// form that opens the page with the chosen country's numbers, and the way out is a link.
const chosen = new Map(); // "language danger" -> HTML with the numbers of the country that was chosen on this page

export function current(language, danger) {
  return chosen.get(`${language} ${danger}`);
}

function nameOf(code, card) {
  try {
    return new Intl.DisplayNames([card.lang, "en"], { type: "region" }).of(code);
  } catch {
    return null; // an old browser: the English name stands
  }
}

// The countries in the language of the hand-off, and the browser's region as a guess, labelled as one.
function prepare(card) {
  const picker = card.querySelector(".hh-picker");
  if (!picker || picker.dataset.ready) return;
  picker.dataset.ready = "yes";
  const select = picker.querySelector("select");
  const [none, ...options] = select.options;
  for (const option of options) option.textContent = nameOf(option.value, card) ?? option.textContent;
  options.sort((one, other) => one.textContent.localeCompare(other.textContent, card.lang));
  const picked = select.value;
  select.replaceChildren(none, ...options);
  select.value = picked;
  picker.querySelector(".hh-show").hidden = true; // choosing is enough
  const codes = new Set(options.map((option) => option.value));
  const guess = navigator.languages.map(regionOf).find((code) => codes.has(code));
  let button = card.querySelector(".hh-guess button");
  if (!button && guess) {
    const form = document.createElement("form");
    form.className = "hh-guess";
    button = document.createElement("button");
    button.name = "country";
    button.value = guess;
    form.append(button);
    picker.after(form);
  }
  if (button) {
    const name = nameOf(button.value, card) ?? options.find((option) => option.value === button.value)?.textContent;
    button.textContent = picker.dataset.guess.replace("{country}", () => name);
  }
}

function regionOf(language) {
  try {
    return new Intl.Locale(language).region;
  } catch {
    return undefined;
  }
}

async function choose(card, country) {
  if (!country || card.getAttribute("aria-busy")) return;
  card.setAttribute("aria-busy", "true");
  const danger = card.dataset.danger;
  const body = new URLSearchParams({ country, language: card.lang, danger });
  try {
    const answer = await fetch(new URL("../help/country", import.meta.url), { method: "POST", body, headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const { html } = await answer.json();
    chosen.set(`${card.lang} ${danger}`, html);
    const box = card.parentElement;
    card.outerHTML = html;
    const first = box.querySelector(".hh-way");
    first?.focus({ preventScroll: true });
    box.querySelector(".hh")?.scrollIntoView({ block: "nearest" });
    // The chat keeps the choice with the conversation, as its settings panel does.
    window.postMessage({ heard: "country", country }, window.location.origin);
  } catch {
    card.removeAttribute("aria-busy");
    location.assign(new URL(`../help?country=${encodeURIComponent(country)}`, import.meta.url)); // the numbers, by the plain way
  }
}

document.addEventListener("change", (event) => {
  if (event.target.matches?.(".hh-country")) choose(event.target.closest(".hh"), event.target.value);
});
document.addEventListener("submit", (event) => {
  const card = event.target.closest?.(".hh");
  if (!card) return;
  event.preventDefault();
  choose(card, event.submitter?.value || new FormData(event.target).get("country"));
});
document.addEventListener("click", (event) => {
  const way = event.target.closest?.(".hh-leave");
  if (!way) return;
  event.preventDefault();
  document.documentElement.hidden = true; // at once, however long the other page takes
  location.replace(way.href); // so that "back" does not come here
});

export function look() {
  for (const card of document.querySelectorAll(".hh")) prepare(card);
}
look();
new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
