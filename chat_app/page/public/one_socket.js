// One socket for each page: the newest that it asks for. Chainlit's page asks for a second one while the first is still on its way
// (a reload does), waits for a cookie each time, and keeps the socket whose cookie came last. If the first one's did, the page
// held one session and wrote to another: what buttons said was lost. So an older request is never answered to the page once there is
// a newer one; nothing waits for it then. Runs before Chainlit's script, whose requests all go through here.
const cookie = /\/set-session-cookie(?:\?|$)/;
const plain = window.fetch;
let newest = 0;
window.fetch = async function (resource, options) {
  if (!cookie.test(typeof resource === "string" ? resource : (resource.url ?? String(resource)))) return plain.call(this, resource, options);
  const mine = (newest += 1);
  const overtaken = () => mine !== newest;
  try {
    const answer = await plain.call(this, resource, options);
    return overtaken() ? new Promise(() => {}) : answer;
  } catch (fault) {
    if (overtaken()) return new Promise(() => {});
    throw fault;
  }
};
