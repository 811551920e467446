// The two buttons under a check-in. `props` come from chat_app/page/reopen.py. A button only names itself to the server;
// safety.js hides both once there is a later message.
import { useState } from "react";

export default function HeardCheckIn() {
  const [said, setSaid] = useState(null);
  const say = (what) => {
    if (said || document.getElementById("stop-button")) return;
    setSaid(what);
    window.postMessage({ heard: "says", what }, window.location.origin);
  };
  if (said) return <div className="hs-answers"><p role="status">{props.answered}</p></div>;
  return (
    <div className="hs-answers" role="group" aria-label={props.name}>
      <button type="button" onClick={() => say("yes")}>{props.yes}</button>
      <button type="button" onClick={() => say("no")}>{props.no}</button>
    </div>
  );
}
