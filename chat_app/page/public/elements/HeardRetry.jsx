// The button under a reply that failed. It only names the message: the server has its text. safety.js hides it once there is
// a later message.
import { useState } from "react";

export default function HeardRetry() {
  const [said, setSaid] = useState(false);
  const retry = () => {
    if (said || document.getElementById("stop-button")) return;
    setSaid(true);
    window.postMessage({ heard: "retry", message: props.message }, window.location.origin);
  };
  return (
    <div className="hs-answers">
      <button type="button" disabled={said} onClick={retry}>{props.label}</button>
    </div>
  );
}
