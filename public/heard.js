// Three things that Chainlit's page has no setting for.

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

// 3. A page that follows a reply stops short of its card, which comes a moment later, and runs past the beginning of a
// hand-off, which is what has to be read first.
let cards = 0;
let handOffs = 0;
new MutationObserver(() => {
  const allCards = document.querySelectorAll(".hc-card");
  const allHandOffs = document.querySelectorAll('.ai-message:has([alt="Avatar for heard safety"])');
  if (allCards.length > cards) {
    const card = allCards[allCards.length - 1];
    const below = card.getBoundingClientRect().bottom - window.innerHeight;
    // Farther away than this, the reader has scrolled up and is left there.
    if (below < card.offsetHeight + 320) card.scrollIntoView({ block: "nearest" });
  }
  if (allHandOffs.length > handOffs) {
    const start = allHandOffs[allHandOffs.length - 1];
    const last = [...document.querySelectorAll(".ai-message")].pop();
    if (start === last) setTimeout(() => start.scrollIntoView({ block: "start" }), 100);
  }
  cards = allCards.length;
  handOffs = allHandOffs.length;
}).observe(document.documentElement, { childList: true, subtree: true });
