// Sliders show their value while they are moved, and are then an answer. Without this the box below each says so.
for (const slider of document.querySelectorAll("[data-slider]")) {
  const range = slider.querySelector("input[type=range]");
  const set = slider.querySelector("input[type=checkbox]");
  const shown = slider.querySelector("output");
  const paint = () => { shown.textContent = set.checked ? range.value : "No answer yet"; };
  range.addEventListener("input", () => { set.checked = true; paint(); });
  set.addEventListener("change", paint);
  paint();
}
