// Says so when the page stays blank, instead of leaving somebody in front of nothing. A script by itself, that needs nothing
// but the document: what fails may be any other one.
const EACH = 5000; // milliseconds
const PATIENCE = 3; // looks in a row that find nothing
const notice = document.createElement("section");
notice.id = "heard-blank";
notice.setAttribute("role", "alert");
notice.style.cssText =
  "position:fixed;inset:0;z-index:99;display:grid;place-content:center;gap:1rem;padding:1.5rem;font:1rem/1.5 system-ui,sans-serif;" +
  "background:Canvas;color:CanvasText;color-scheme:light dark;text-align:center";
const said = document.createElement("p");
said.textContent = "The chat has not come up. What you have written before is stored.";
const again = document.createElement("button");
again.type = "button";
again.textContent = "Load it again";
again.style.cssText = "justify-self:center;padding:.5rem 1rem;font:inherit;border:1px solid;border-radius:.5rem";
again.addEventListener("click", () => window.location.reload());
const help = document.createElement("p");
const link = document.createElement("a");
link.href = "/help";
link.textContent = "Crisis help";
link.style.color = "LinkText";
help.append("In danger? ", link);
notice.append(said, again, help);

let blank = 0;
function look() {
  if (document.getElementById("chat-input")) {
    blank = 0;
    notice.remove();
  } else if (!document.hidden && (blank += 1) >= PATIENCE && !notice.isConnected) document.body.append(notice);
}
setInterval(look, EACH);
// The chat may come up after all.
new MutationObserver(() => { if (notice.isConnected) look(); }).observe(document.documentElement, { childList: true, subtree: true });
