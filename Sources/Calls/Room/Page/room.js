// The page of a room: the other member's picture, and what is shown to it.

import { RoomSession } from './room-session.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const theirs = $('theirs'), heard = $('heard'), own = $('own');

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const room = decoded(location.pathname.split('/').pop());
const hasLongName = new TextEncoder().encode(room).length > 128;      // no server takes that
const url = new URL('socket.io/?EIO=4&transport=websocket', location.href);
url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
const session = new RoomSession(url, room);
window.oriel = session;

const words = {
  connecting: 'Connecting…',
  waiting: 'Nobody else is in the room yet.',
  knocking: 'The other one lets people in one by one.',
  asking: 'Waiting to be let in…',
  talking: 'The other one shows nothing yet.',
  full: 'This room is full.',
  busy: 'Those in this room have a call already.',
  rejected: 'You were not let in.',
  kicked: 'You were sent away.',
  left: 'You have left the room.',
  ended: 'The server has ended the call.',
};

const reasons = {
  hung_up: 'The other one has hung up.',
  lost: 'The other one is lost.',
  no_answer: 'Nobody has answered.',
};
let reason = null;      // why the other one is not there any more
let isWithheld = false; // whether what was shown to one was stopped, as another one has come

function tell() {
  const withheld = isWithheld ? 'Somebody else is here now, so your sharing has stopped. ' : '';
  $('status').textContent = theirs.srcObject ? '' : withheld + (reasons[reason] ?? words[root.dataset.state]);
}

session.onstate = state => {
  root.dataset.state = state;
  reason = null;
  $('leave').textContent = session.isInside ? 'Leave' : 'Join again';
  tell();
};

session.onparted = why => {
  reason = why;
  tell();
};

session.onwithheld = () => {
  show(null);
  isWithheld = true;
  tell();
};

session.onstream = stream => {
  theirs.srcObject = stream;
  root.toggleAttribute('data-picture', stream !== null);
  tell();
};

session.onsound = stream => {
  heard.srcObject = stream;
  // Some browsers let a page sound only after a click.
  if (stream) heard.play().catch(() => addEventListener('pointerup', () => heard.play().catch(() => {}), { once: true }));
};

// -- What is shown

function show(stream) {
  isWithheld = false;
  for (const track of own.srcObject?.getTracks() ?? []) track.stop();
  own.srcObject = stream;
  own.hidden = $('stop').hidden = stream === null;
  const track = stream?.getVideoTracks()[0] ?? null;
  if (track) track.onended = () => show(null);
  session.show(track);
}

async function choose(ask, hint) {
  try {
    const stream = await ask();
    stream.getVideoTracks()[0].contentHint = hint;
    show(stream);
  } catch (error) {
    if (error.name !== 'NotAllowedError') $('status').textContent = `That cannot be shared: ${error.message}`;
  }
}

$('screen').onclick = () => choose(() => navigator.mediaDevices.getDisplayMedia({ video: true }), 'detail');
$('camera').onclick = () => choose(() => navigator.mediaDevices.getUserMedia({ video: true }), 'motion');
$('stop').onclick = () => show(null);
$('leave').onclick = () => session.isInside ? session.leave() : session.join();
$('leave').disabled = hasLongName;
$('knock').onsubmit = event => {
  event.preventDefault();
  session.knock($('name').value.trim(), $('note').value.trim());
};
$('fullscreen').onclick = () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen?.();
};
// Browsers give pages without TLS neither.
for (const id of ['screen', 'camera']) $(id).disabled = !navigator.mediaDevices;

addEventListener('pagehide', () => { if (session.isInside) session.leave(); });
addEventListener('pageshow', event => { if (event.persisted && room && !hasLongName) session.join(); });
document.title = `${room} – Oriel`;
if (hasLongName) $('status').textContent = 'The name of this room is too long: choose one of 128 bytes at the most.';
else if (room) session.prepare().then(() => session.join());
else $('status').textContent = 'Add the name of a room to the address.';
