// Whether a session goes on when its packets or its events have ended. A sender that is out of reach, as it may be on its
// way to another network, gives no other session. Then the session goes on as soon as packets come.

import { pause, within } from './time.js';

const noticeDelay = 2000;       // ms until a page whose events have ended says so
const doubts = new WeakMap();   // the running doubt of each session

/// Resolves once there is an answer. The sender is asked until then, and packets are waited for.
///
/// - session: without a picture yet, it does not go on.
/// - isByName: whether it also goes on if the sender answers that it knows the session.
export async function goesOn(session, isByName) {
  if (!session.firstFrameAt) return false;
  if (!doubts.has(session)) doubts.set(session, doubt(session, isByName).finally(() => doubts.delete(session)));
  return doubts.get(session);
}

async function doubt(session, isByName) {
  const end = new AbortController();
  const notice = setTimeout(() => session.left || session.ondoubt(true), isByName ? noticeDelay : 0);
  try {
    const answer = await Promise.race([
      isKnown(session, end.signal).then(known => known && isByName),
      furtherPackets(session, end.signal),
    ]);
    if (answer && !session.left) session.ondoubt(false);
    return answer;
  } catch {
    return false;       // the connection is closed
  } finally {
    clearTimeout(notice);
    end.abort();
  }
}

/// Resolves to whether the sender knows the session, once it answers.
async function isKnown(session, signal) {
  for (let delay = 100; !signal.aborted && !session.left; delay = Math.min(2 * delay, 2000)) {
    try {
      await within(5000, session.sender.request(session.report, { signal }));
      return true;
    } catch ({ status }) {
      if (status < 500) return false;       // a proxy answers with others for a sender that is out of reach
    }
    await pause(delay);
  }
}

/// Resolves to true once packets come. Those that were under way at the beginning do not count.
async function furtherPackets(session, signal) {
  await pause(500);
  const { packetsReceived } = await session.inbound();
  while (!signal.aborted && !session.left) {
    await pause(500);
    if ((await session.inbound()).packetsReceived > packetsReceived) return true;
  }
}
