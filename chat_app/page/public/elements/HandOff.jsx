// The hand-off. `props.html` comes from chat_app/safety/handoff_pages.py; what its buttons and its country picker do is in
// chat_app/web/pages/static/handoff.js, which the other pages run too.
import { useState } from "react";

export default function HandOff() {
  // Made anew now and then: a country that was chosen meanwhile stays chosen. Read once, so that drawing it again touches
  // neither the focus nor what a screen reader has heard.
  const [html] = useState(() => window.heardHandoff?.current(props.language, props.danger) ?? props.html);
  return <div className="hh-box" role="alert" dangerouslySetInnerHTML={{ __html: html }} />;
}
