// The page of a room: the other member's picture, and what is shown to it.

import { RoomSession } from './room-session.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const theirs = $('theirs'), own = $('own');

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const room = decoded(location.pathname.split('/').pop());
const url = new URL('socket.io/?EIO=4&transport=websocket', location.href);
url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
const session = new RoomSession(url, room);
window.oriel = session;

const words = {
  connecting: 'Connecting…',
  waiting: 'Nobody else is in the room yet.',
  talking: 'The other one shows nothing yet.',
  full: 'This room is full.',
  left: 'The server has ended the call.',
};

function tell() {
  $('status').textContent = theirs.srcObject ? '' : words[root.dataset.state];
}

session.onstate = state => {
  root.dataset.state = state;
  tell();
};

session.onstream = stream => {
  theirs.srcObject = stream;
  root.toggleAttribute('data-picture', stream !== null);
  tell();
};

// -- What is shown

function show(stream) {
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
$('fullscreen').onclick = () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen?.();
};
// Browsers give pages without TLS neither.
for (const id of ['screen', 'camera']) $(id).disabled = !navigator.mediaDevices;

addEventListener('pagehide', () => session.leave());
addEventListener('pageshow', event => { if (event.persisted && room) session.join(); });
document.title = `${room} – Oriel`;
if (room) session.join();
else $('status').textContent = 'Add the name of a room to the address.';
