// The page of a room: the other member's picture, and the person's own.

import { count } from './knock.js';
import { buffered, excess, play } from './playback.js';
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
const hasLongName = new TextEncoder().encode(room).length > 128;      // no server accepts more
const url = new URL('socket.io/?EIO=4&transport=websocket', location.href);
url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
const session = new RoomSession(url, room);
window.oriel = session;

const canShareScreen = Boolean(navigator.mediaDevices?.getDisplayMedia), canShareCamera = Boolean(navigator.mediaDevices);

const words = {
  choosing: 'Name a room. You meet whoever enters the same name.',
  connecting: 'Connecting…',
  waiting: 'Nobody else is in the room yet.',
  knocking: 'Ask to be let in, and wait for an answer.',
  asking: 'Waiting to be let in…',
  get talking() {
    if (own.srcObject) return 'You share. The other one shares nothing yet.';
    if (canShareCamera) return 'Nobody shares yet. Share your screen or camera, or wait for the other one.';
    return 'The other one is here, and shares nothing yet.';
  },
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
let reason = null;      // the reason why the other member is gone
let isWithheld = false; // whether sharing has stopped, as another member has come

function tell() {
  const withheld = isWithheld ? 'Somebody else is here now, so your sharing has stopped. ' : '';
  $('status').textContent = theirs.srcObject ? '' : withheld + (reasons[reason] ?? words[root.dataset.state]);
}

session.onstate = state => {
  root.dataset.state = state;
  reason = null;
  const { isInside } = session;
  if (!isInside) show(null);      // without a member, the camera stops
  $('leave').textContent = isInside ? 'Leave' : 'Join again';
  $('leave').classList.toggle('primary', !isInside);
  for (const id of ['screen', 'camera', 'fullscreen']) $(id).hidden = !isInside;
  $('why').hidden = !isInside || !$('why').textContent;
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

// -- Sound

let isBlocked = false;      // whether the browser waits for a click, anywhere
let sample = {};            // the last statistics of the sound

session.onsound = stream => {
  heard.srcObject = stream;
  sample = {};
  if (stream) hear();
  else isBlocked = false;
  showSound();
};

async function hear() {
  isBlocked = await play(heard);
  showSound();
}

/// Only the packets tell whether there is sound: a sender accepts the stream in any case.
function showSound() {
  $('hear').hidden = !(isBlocked && sample.packetsReceived > 0);
}

setInterval(async () => {
  const stream = heard.srcObject, inbound = await session.soundStats();
  if (!stream || stream !== heard.srcObject) return;
  const { buffer, target } = buffered(inbound, sample);
  sample = inbound;
  showSound();
  const length = excess(buffer, target);
  if (length) session.skipSound(length);
}, 1000);

for (const kind of ['pointerup', 'keyup']) addEventListener(kind, () => { if (isBlocked) hear(); });
$('hear').onclick = hear;

// -- Sharing

function show(stream) {
  isWithheld = false;
  for (const track of own.srcObject?.getTracks() ?? []) track.stop();
  own.srcObject = stream;
  own.hidden = $('stop').hidden = stream === null;
  const track = stream?.getVideoTracks()[0] ?? null;
  if (track) track.onended = () => show(null);
  session.show(track);
  tell();
}

async function choose(ask, hint) {
  if (!session.isInside) return;
  try {
    const stream = await ask();
    stream.getVideoTracks()[0].contentHint = hint;
    // The person may have left meanwhile.
    if (session.isInside) show(stream);
    else for (const track of stream.getTracks()) track.stop();
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
  count($('name').value.trim());
  $('cancel').focus();
};
$('cancel').onclick = () => session.leave();
$('fullscreen').onclick = () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen?.();
};

$('screen').disabled = !canShareScreen;
$('camera').disabled = !canShareCamera;
if (!canShareCamera) $('why').textContent = 'To share, open this room by a link that begins with https.';
else if (!canShareScreen) $('why').textContent = 'This browser shares no screen, only a camera.';

// -- The room's name

$('title').textContent = `Room “${room}”`;
$('title').hidden = !room || hasLongName;
$('link').value = location.href;
$('copy').onclick = async () => {
  $('link').select();
  try {
    await navigator.clipboard.writeText($('link').value);
  } catch {
    if (!document.execCommand('copy')) return;      // pages without TLS have no clipboard; a person can copy the selection
  }
  $('copy').textContent = 'Copied';
  setTimeout(() => { $('copy').textContent = 'Copy link'; }, 2000);
};
$('entry').onsubmit = event => {
  event.preventDefault();
  location.assign(encodeURIComponent($('room').value.trim()));
};

addEventListener('pagehide', () => { if (session.isInside) session.leave(); });
addEventListener('pageshow', event => { if (event.persisted && room && !hasLongName) session.join(); });
document.title = room ? `${room} – Oriel` : 'Oriel';
if (!room || hasLongName) session.onstate('choosing');
if (hasLongName) $('status').textContent = 'The name of this room is too long: choose one of 128 bytes at the most.';
else if (room) session.prepare().then(() => session.join());
