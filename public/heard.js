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

// 3. A conversation that is opened again begins at its last exchange; a new one is left where it is.
let shown = 0;
new MutationObserver(() => {
  const asked = document.querySelectorAll('[data-step-type="user_message"]');
  if (shown === 0 && asked.length > 1) asked[asked.length - 1].scrollIntoView({ block: "start" });
  shown = asked.length;
}).observe(document.documentElement, { childList: true, subtree: true });
