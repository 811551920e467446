// What Chainlit's page has no setting for. A module, because it imports one.
import * as ballot from "../../static/ballot.js";
import * as handoff from "../../static/handoff.js";
import { foldAnswered, place as placeBar } from "./safety.js";
import { describeParts, directWords, levelHeadings, placeHeader, unnestChats } from "./header.js";
import { placeCount } from "./typing.js";
import { keepFocus } from "./keep_focus.js";

// 0. Chainlit compiles its elements in the browser and lets them import nothing but what it has built in, so the ballot's
// element takes the script that it shares with the survey's page from here. One name, for Chainlit loads one script.
window.heardBallot = ballot;
window.heardHandoff = handoff;

// 0b. Links of ours in what the chat shows begin at the top of this server. Where it is served below a path, put that before them.
const below = (document.querySelector('meta[property="og:root_path"]')?.content ?? "").replace(/\/chat$/, "");
for (const kind of below ? ["click", "auxclick"] : []) {
  window.addEventListener(kind, (event) => {
    const link = event.target.closest?.('a[href^="/"]');
    const href = link?.getAttribute("href");
    if (href && !href.startsWith("//") && !`${href}/`.startsWith(`${below}/`)) link.setAttribute("href", below + href);
  }, true);
}

// 1. Until a visitor has chosen a theme, follow the system's.
try {
  if (!localStorage.getItem("vite-ui-theme")) localStorage.setItem("vite-ui-theme", "system");
} catch {
  // Storage is switched off: the page then opens in its default theme.
}

// 2. Put a new conversation into the address, so that a reload opens it again. Chainlit does so only when it is mounted at "/".
window.addEventListener("message", (event) => {
  if (event.source !== window || event.data?.heard !== "conversation") return;
  const id = String(event.data.id);
  if (!/^[0-9a-f-]{36}$/.test(id)) return;
  const root = document.querySelector('meta[property="og:root_path"]')?.content ?? "";
  const place = `${root}/thread/${id}`;
  if (window.location.pathname !== place) window.history.replaceState(window.history.state, "", place);
});

// Back to an empty chat: Chainlit would leave the conversation that it has shown last.
window.addEventListener("popstate", () => {
  const root = document.querySelector('meta[property="og:root_path"]')?.content ?? "";
  const empty = window.location.pathname.replace(/\/$/, "") === root;
  if (empty && document.querySelector("[data-step-type]")) window.location.reload();
});

// 3. A page that follows a reply stops short of its card, which comes a moment later, and runs past the beginning of a
// hand-off, which is what has to be read first. A reader who has scrolled up is left there.
const HAND_OFF = '.ai-message:has([alt="Avatar for heard safety"])';
const NOTE = '.ai-message:has([alt="Avatar for note"])'; // a line of the program's own under a reply
const NEAR_THE_END = 80; // pixels
let cardParts = 0;
let ballots = 0;
let handOffs = 0;
let following = true;
let place = { top: 0, height: 0 };
document.addEventListener("scroll", (event) => {
  const box = event.target;
  if (!(box instanceof Element) || !box.querySelector(".ai-message")) return;
  // The page itself only scrolls down, or shrinks.
  if (box.scrollTop < place.top - 2 && box.scrollHeight >= place.height) following = false;
  if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_THE_END) following = true;
  place = { top: box.scrollTop, height: box.scrollHeight };
}, { capture: true, passive: true });
function keepInView() {
  const allCards = document.querySelectorAll(".hc-card");
  const allBallots = document.querySelectorAll(".hb-answers");
  if (allBallots.length > ballots && following) allBallots[allBallots.length - 1].closest(".ai-message")?.scrollIntoView({ block: "start" });
  ballots = allBallots.length;
  const allHandOffs = document.querySelectorAll(HAND_OFF);
  const parts = document.querySelectorAll(".hc-card, .hc-words").length; // the words behind a score come after its numbers
  if (parts > cardParts && following) allCards[allCards.length - 1].scrollIntoView({ block: "nearest" });
  if (allHandOffs.length > handOffs) {
    const start = allHandOffs[allHandOffs.length - 1];
    const last = [...document.querySelectorAll(".ai-message")].pop();
    if (start === last) setTimeout(() => start.scrollIntoView({ block: "start" }), 100);
  }
  cardParts = parts;
  handOffs = allHandOffs.length;
}

// 4. Names for buttons that show only a picture.
const NAMES = {
  "#sidebar-trigger-button": "Show or hide the list of chats",
  "#search-chats-button": "Search in your chats",
  "#new-chat-button": "New chat",
  "#chat-settings-open-modal": "Settings",
  "#chat-submit": "Send",
  "#stop-button": "Stop",
  "#user-nav-button": "You: menu",
  "button:has(> .lucide-arrow-down)": "Go to the end of the conversation",
  "#chat-settings [role=slider]": "Empathy under which a reply is written again",
};
function nameButtons() {
  for (const [button, name] of Object.entries(NAMES)) {
    for (const found of document.querySelectorAll(button)) label(found, name);
  }
  const persona = document.getElementById("chat-profiles");
  if (persona) label(persona, `Who answers: ${persona.textContent}`);
}
function label(element, name) {
  // Compared each time: the page makes the Stop button out of the Send button.
  if (element.getAttribute("aria-label") !== name) element.setAttribute("aria-label", name);
}

// 5. A screen reader hears a reply once, when it is whole, with its score; and a hand-off at once.
const spoken = document.createElement("div");
spoken.setAttribute("role", "status");
spoken.className = "heard-unseen";
const ELEMENT_TIME = 1500; // milliseconds in which an element has loaded
let writing = false;
function speak() {
  if (document.body && !spoken.isConnected) document.body.append(spoken);
  for (const handOff of document.querySelectorAll(HAND_OFF)) {
    // Its element is an alert itself; where that could not be loaded, its text is one.
    const words = handOff.querySelector(".message-content:not([data-heard])");
    if (!words) continue;
    words.dataset.heard = "yes";
    setTimeout(() => { if (!words.querySelector(".hh")) words.setAttribute("role", "alert"); }, ELEMENT_TIME);
  }
  const now = document.getElementById("stop-button") !== null;
  if (writing && !now) setTimeout(speakLast, 300); // the card comes with the end
  writing = now;
}
function speakLast() {
  const all = [...document.querySelectorAll(".ai-message")];
  const notes = [];
  while (all.at(-1)?.matches(NOTE)) notes.unshift(all.pop());
  const last = all.pop();
  const asked = [...document.querySelectorAll('[data-step-type="user_message"]')].pop();
  while (asked && all.at(-1)?.matches(NOTE) && asked.compareDocumentPosition(all.at(-1)) & Node.DOCUMENT_POSITION_FOLLOWING) {
    notes.unshift(all.pop()); // one that stands before this reply
  }
  if (!last || last.matches(HAND_OFF)) return;
  const card = last.querySelector(".hc-card, .hb-ballot"); // of a ballot its name: the answers are for reading one by one
  const parts = [...(last.querySelector(".message-content")?.children ?? [])].filter((part) => !part.contains(card));
  const words = notes.map((note) => note.querySelector(".message-content")?.innerText ?? "");
  spoken.textContent = [...parts.map((part) => part.innerText), card?.getAttribute("aria-label") ?? "", ...words].join(" ").trim();
}

function look() {
  placeHeader();
  levelHeadings();
  describeParts();
  unnestChats();
  directWords();
  placeBar();
  placeCount();
  foldAnswered();
  keepInView();
  nameButtons();
  speak();
  keepFocus();
}
look(); // this script may come after the page's last change
new MutationObserver(look).observe(document.documentElement, { childList: true, subtree: true });
new MutationObserver(keepFocus).observe(document.documentElement, { attributeFilter: ["disabled"], subtree: true });
