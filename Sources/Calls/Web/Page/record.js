// The recorders of the sender: the badge, and the button that keeps the last minute.

const $ = id => document.getElementById(id);
const button = $('keep');

let sender;                 // where the recorders are
let isOn = false;           // whether any of them keeps what is shown
let kept = [];              // the recorders that have the last time in memory

/// Learns from the events whether what is shown is recorded, and whether viewers may command recorders.
export function noteRecorders(event, itsSender) {
  const isNews = Boolean(event.recording) !== isOn || sender !== itsSender;
  [isOn, sender] = [Boolean(event.recording), itsSender];
  $('recording').hidden = !isOn;
  if (!isNews) return;
  kept = [];
  button.hidden = true;
  if (isOn && event.record) find().catch(() => {});      // without an answer there is no button
}

async function find() {
  const asked = sender;
  const recorders = await (await sender.request('api/recorders')).json();
  if (asked !== sender || !isOn) return;
  kept = recorders.filter(({ replay_s }) => replay_s);
  button.hidden = !kept.length;
}

/// Has each recorder write what it has in memory. Returns a sentence.
export async function keep() {
  if (button.hidden) return;
  const asked = kept.map(({ id }) => sender.request(`api/recorders/${id}/replay`, { method: 'POST' }));
  await Promise.all(asked);
  const longest = Math.max(...kept.map(({ replay_s }) => replay_s));
  return `The last ${longest} seconds are kept by the person who shares.`;
}
