// The recorders of the sender: the badge, and the button that keeps the last minute.

const $ = id => document.getElementById(id);
const button = $('keep');

let sender;                 // where the recorders are
let number;                 // of the events; changes with the recorders. Undefined if viewers may not command them
let kept = [];              // the recorders that have the last time in memory

/// Learns from the events whether what is shown is recorded, and whether the recorders have changed.
export function noteRecorders(event, itsSender) {
  $('recording').hidden = !event.recording;
  if (event.record === number && sender === itsSender) return;
  [number, sender] = [event.record, itsSender];
  if (number !== undefined) find().catch(() => {});      // without an answer all stays as it was
  else button.hidden = true;
}

async function find() {
  const [asked, mine] = [sender, number];
  const recorders = await (await sender.request('api/recorders')).json();
  if (asked !== sender || mine !== number) return;
  kept = recorders.filter(({ replay_s }) => replay_s);
  button.hidden = !kept.length;
}

/// Has each recorder write what it has in memory. Returns a sentence.
export async function keep() {
  const asked = kept.map(({ id }) => sender.request(`api/recorders/${id}/replay`, { method: 'POST' }));
  const answers = await Promise.allSettled(asked);
  if (!answers.some(({ status }) => status === 'fulfilled')) throw answers[0].reason;
  const longest = Math.max(...kept.map(({ replay_s }) => replay_s));
  return `The last ${longest} seconds are kept by the person who shares.`;
}
