// The header's links, the page's one heading, the direction of words, and what Chainlit nests and should not.
const root = document.querySelector('meta[property="og:root_path"]')?.content ?? "";
const LINKS = [
  ["/you", "Your data", "data"],
  ["/help", "Crisis help", "help"],
  ["/consent", "Consent", "consent"],
];
const nav = document.createElement("nav");
nav.id = "heard-links";
nav.setAttribute("aria-label", "Pages");
const about = document.createElement("button");
about.type = "button";
about.textContent = "About";
about.addEventListener("click", () => document.getElementById("readme-button")?.click());
nav.append(about, ...LINKS.map(([href, label, icon]) => {
  const link = document.createElement("a");
  const picture = document.createElement("img");
  picture.src = `${root}/public/icons/${icon}.svg`;
  picture.alt = "";
  link.href = href;
  if (href === "/help") link.target = "_blank"; // the conversation stays open
  link.append(picture, label);
  return link;
}));
const heading = document.createElement("h1");
heading.className = "heard-unseen";

export function placeHeader() {
  const header = document.getElementById("header");
  if (!header) return;
  if (nav.parentElement !== header) header.append(nav);
  if (heading.parentElement !== header) header.prepend(heading);
  const persona = document.getElementById("chat-profiles")?.textContent;
  const said = persona ? `Chat with ${persona}` : "Chat";
  if (heading.textContent !== said) heading.textContent = said;
}

// A page has one heading of the first level; those that a model writes stand below it, and no level is left out.
export function levelHeadings() {
  for (const words of document.querySelectorAll(".message-content, [role=dialog]")) {
    let level = 1;
    for (const found of words.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
      level = Math.min(Math.max(2, Number(found.tagName[1])), level + 1);
      if (found.getAttribute("aria-level") === String(level)) continue;
      found.setAttribute("role", "heading");
      found.setAttribute("aria-level", level);
    }
  }
}

// Pictures beside the name that they stand for, and parts that a screen reader would not know where to look for.
export function describeParts() {
  for (const picture of document.querySelectorAll("#welcome-screen img:not([alt]), #chat-profiles img, [role=option] img")) {
    if (picture.alt || !picture.hasAttribute("alt")) picture.alt = "";
  }
  for (const words of document.querySelectorAll("[role=listbox] [role=article]")) words.removeAttribute("role"); // a list has options
  document.querySelector("ul:has(> #thread-history):not([role])")?.setAttribute("role", "none");
  for (const list of document.querySelectorAll('[role=dialog][data-sidebar="sidebar"]:not([aria-label])')) { // on a phone
    list.removeAttribute("aria-labelledby"); // what it names is not there
    list.setAttribute("aria-label", "Your chats");
  }
  for (const list of document.querySelectorAll('[data-sidebar="sidebar"]:not([role])')) {
    list.setAttribute("role", "navigation");
    list.setAttribute("aria-label", "Your chats");
  }
}

// Whose words they are decides, paragraph by paragraph, from which side they are read.
const WORDS = [
  "#chat-input",
  ".message-content",
  ".message-content :is(p, ul, ol, li, blockquote, h1, h2, h3, h4, h5, h6, td, th)",
  '[id^="thread-"] .truncate',
  "[cmdk-item] > div",
  "#name",
].join(", ");
export function directWords() {
  for (const found of document.querySelectorAll(`:is(${WORDS}):not([dir])`)) found.dir = "auto";
}

// In the list of chats a button stands in a link, and the menu of a chat in that button. Its parts stand side by side here;
// the page's own handlers go with them.
export function unnestChats() {
  for (const link of document.querySelectorAll('li[id^="thread-"] > a')) {
    const button = link.querySelector(":scope > button");
    if (button) {
      const row = document.createElement("span");
      row.className = button.className;
      row.append(...button.childNodes);
      button.replaceWith(row);
    }
    const menu = link.querySelector('[aria-haspopup="menu"]');
    if (menu) {
      menu.setAttribute("role", "button");
      menu.tabIndex = 0;
      menu.setAttribute("aria-label", `Rename or delete this chat: ${link.textContent.trim()}`);
      link.after(menu);
    }
    const row = link.firstElementChild;
    const active = String(link.pathname === window.location.pathname);
    if (row && row.dataset.active !== active) row.dataset.active = active;
  }
}
