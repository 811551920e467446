// A button that is drawn anew after it was pressed (a thumb, "Write another") has the keyboard again: without this whoever uses no
// mouse would begin at the top of the page after each press.
let held = ""; // id of the button that has the keyboard, or had it when the page took it away

document.addEventListener("focusin", ({ target }) => { held = target.closest(".ai-message") && target.matches("button[id]") ? target.id : ""; });
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (!relatedTarget && target.isConnected && !target.disabled) held = ""; // left on purpose
});
document.addEventListener("pointerdown", ({ target }) => { if (target.closest?.("button")?.id !== held) held = ""; }, true);

export function keepFocus() {
  if (!held || document.activeElement !== document.body) return;
  const button = document.getElementById(held);
  if (button && !button.disabled) button.focus({ preventScroll: true });
}
