// Watches a broadcast. One turn of `watch` is one session with the picture, and streams of events about the broadcast.
// When the session breaks, or the sender no longer knows it, the turn ends, and the next one begins a little later.

import { findCommands, noteView } from './command.js';
import { setUpControls } from './controls.js';
import { goesOn } from './doubt.js';
import { setUpKnock } from './knock.js';
import { beginLease, isLookedAt, leaseLeft, setUpLease } from './lease.js';
import { noteRecorders } from './record.js';
import { Sender } from './sender.js';
import { Session } from './session.js';
import { hear as hearSound, showSound } from './sound.js';
import { noteTalk, setUpTalk, stopTalk, talkIn, tickTalk } from './talk.js';
import { pause } from './time.js';

const root = document.documentElement;
const $ = id => document.getElementById(id);
const video = $('video'), status = $('status');

// -- The state

const sentences = {
  connecting: 'Connecting…',
  live: 'You are watching live.',
  paused: 'The broadcast is paused. It goes on by itself.',
  ended: 'The broadcast has ended.',
  reconnecting: 'The connection is lost. Reconnecting…',
  unable: 'This browser has no WebRTC, or it is switched off. Please open the link in another one.',
  denied: 'This link is wrong or no longer valid. Please ask for a new one.',
  busy: 'All places are taken. You will join as soon as one is free.',
  no_relay: 'The relay to this screen does not work now. You will join as soon as it does.',
  kicked: 'You were sent away.',
  link_taken: 'This link is for one person, who has come. Please ask for a link of your own.',
  lease_expired: 'Nobody looked for a while, so the view has ended.',
  knocking: 'Ask to look in, and wait for an answer.',
  asking: 'Waiting to be let in…',
  no_answer: 'Nobody has answered. You can ask again.',
  rejected: 'You were not let in.',
};

const troubles = {
  starting: 'The broadcast is starting…',
  source_lost: 'The shared screen has gone. Waiting for it to come back…',
  error: 'The screen cannot be captured. Waiting for that to pass…',
  stalled: 'The picture has stalled. Waiting for it to go on…',
  dead: 'The capture has stopped. Waiting for it to start again…',
};

let link = 'connecting';    // the state of the connection to the sender: connecting, live, reconnecting, or one of `stops`
const waits = ['denied', 'kicked', 'knocking', 'lease_expired', 'link_taken', 'no_answer', 'rejected'];      // for a decision of the viewer
const stops = [...waits, 'unable', 'busy', 'no_relay', 'asking'];
const reasons = [...waits, 'unable', 'busy', 'no_relay', 'ended'];      // the reasons for no picture; no remark hides these
let source = null;          // the state of the broadcast itself, from the events
let viewers = null, people = null;       // how many look in, and their names where viewers see these
let seen = false;           // whether there ever was a picture
let said = null;            // a passing remark in place of the sentence, until the state changes
let hush;

function hear(event) {
  // A page that waits for a picture asks again as soon as there is one.
  const shows = state => state === 'active' || state === 'paused';
  if (source && !shows(source) && shows(event.state) && !waits.includes(link)) wake();
  source = event.state;
  ({ viewers, people } = event);
  noteRecorders(event, sender);
  noteTalk(event.talk);
  noteView(event);
  render();
}

function render() {
  let state = link, sentence = sentences[link];
  if (!stops.includes(link)) {
    if (source === 'stopped') state = 'ended';
    else if (source in troubles) state = seen || source !== 'starting' ? 'reconnecting' : 'connecting';
    else if (source === 'paused' && link === 'live') state = 'paused';
    sentence = troubles[source] ?? sentences[state];
  }
  if (state !== root.dataset.state || reasons.includes(state)) said = null;
  root.dataset.state = state;
  if (stops.includes(state) || state === 'ended') stopTalk();
  root.toggleAttribute('data-picture', seen && ['live', 'paused', 'reconnecting'].includes(state));
  sentence = said ?? sentence;
  status.classList.toggle('said', said !== null);
  if (status.textContent !== sentence) status.textContent = sentence;
}

function become(state) {
  link = state;
  render();
}

function say(sentence) {
  said = sentence;
  render();
  clearTimeout(hush);
  hush = setTimeout(() => { said = null; render(); }, 4000);
}

// -- The connection

const shortestDelay = 250, longestDelay = 4000;
let delay = shortestDelay;
let wake = () => {};
let sender = new Sender(location.hash.slice(1));     // browsers never send the fragment
let connection, session;

function sleep(milliseconds) {
  return new Promise(resolve => {
    wake = resolve;
    if (milliseconds < Infinity) setTimeout(resolve, milliseconds);
  });
}

async function watch() {
  for (;;) {
    if (['kicked', 'knocking', 'lease_expired'].includes(link)) await sleep(Infinity);
    connection = new AbortController();
    session = new Session(sender);
    session.onpicture = present.bind(null, session);
    session.ondoubt = isDoubtful => become(isDoubtful ? 'reconnecting' : 'live');
    try {
      await Promise.race([...attend(session, connection.signal), abortion(connection.signal)]);
    } catch (failure) {
      console.info(String(failure));
      await Promise.race([heed(drop(session), failure), pause(1000)]);
      // The events continue meanwhile, and give the reason for no picture.
      if (!connection.signal.aborted) await sleep(pauseAfter(failure));
    }
    connection.abort();
  }
}

/// Stops trying if this viewer was sent away, or its time is over. On a slow link, the page learns that only when it
/// already tries again.
async function heed(leaving, failure) {
  const { sender: asked } = session;
  const reason = await leaving ?? failure.reason;
  if (!['kicked', 'lease_expired'].includes(reason) || sender !== asked || link === reason) return;
  if (reason === 'lease_expired' && isLookedAt()) return;       // this machine has slept
  seen = false;
  become(reason);
  connection.abort();
  shown?.pc.close();        // the sender would continue if the DELETE was lost too
}

/// The picture, and the events as soon as the token is known to be right. Both end only by throwing.
function attend(session, signal) {
  const joining = session.join();
  joining.then(() => {
    if (session.left) return;
    beginLease(session);
    findCommands(session);
  }, () => {});
  const admitted = joining.catch(failure => { if (isDenied(failure)) throw failure; });
  return [joining.then(() => session.run()), admitted.then(() => followEvents(session, signal))];
}

const isDenied = ({ status }) => status === 401 || status === 429;

const abortion = signal => new Promise((_, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason));
});

/// The events may end before the session, as when the sender comes to another network, and are followed anew.
async function followEvents(session, signal) {
  for (;;) {
    try {
      await sender.followEvents(signal, hear);
    } catch (failure) {
      if (signal.aborted || source === 'stopped') throw failure;
      if (isDenied(failure) || !await goesOn(session, true)) {
        source = null;
        throw failure;
      }
      await pause(1000);
    }
  }
}

/// The last picture ends with its peer connection. So that connection stays until another picture replaces it.
function drop(session) {
  if (session !== shown) session.pc.close();
  return session.leave();
}

/// Shows the failure. Returns how long to wait.
function pauseAfter({ status, reason, retryAfter, message }) {
  if (status === 401) {
    become('denied');
    return Infinity;
  }
  if (['knock', 'link_taken', 'no_answer', 'rejected'].includes(reason)) {
    sender.knock = null;
    become(reason === 'knock' ? 'knocking' : reason);
    return Infinity;
  }
  if (reason === 'busy' || reason === 'no_relay') become(reason);
  else if (!sender.knock) become(status === 503 && !seen ? 'connecting' : 'reconnecting');
  if (status === 429) say(message);
  const backoff = delay * (0.8 + 0.4 * Math.random());
  delay = Math.min(delay * 2, longestDelay);
  // Pages that were refused together must not return together.
  if (retryAfter) return retryAfter * (1 + Math.random() / 3);
  return source === 'stopped' ? longestDelay : backoff;
}

function followTheBrowser() {
  addEventListener('hashchange', () => {
    drop(session);
    connection.abort();
    sender = new Sender(location.hash.slice(1));
    delay = shortestDelay;
    source = null;
    become('connecting');
    wake();
  });
  addEventListener('online', () => {
    if (link === 'asking') connection.abort();      // the request is lost with the network, and is made again
    if (!waits.includes(link)) wake();
  });
  // Whoever comes back to the page wants to look.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible' || link !== 'lease_expired') return;
    become('connecting');
    wake();
  });
  setUpKnock({
    ask(knock) {
      sender.knock = knock;
      become('asking');
      wake();
    },
    cancel() {
      sender.knock = null;
      become('knocking');
      connection.abort();
    },
  });
  $('again').onclick = () => {
    if (link === 'rejected') {
      become('knocking');
      return $('name').focus();
    }
    become('connecting');
    wake();
  };
  addEventListener('pagehide', () => {
    stopTalk();
    drop(session);
  });
  addEventListener('pageshow', event => { if (event.persisted) connection.abort(); });
}

// -- The picture

// One stream for all sessions. Only its track changes: so the video element keeps the last picture, full screen and
// picture-in-picture over any number of reconnections.
const stream = new MediaStream();
let shown = null;           // the session whose picture is on the stage

/// Replaces the old track once the new one has a picture.
function present(presented) {
  for (const track of stream.getTracks()) stream.removeTrack(track);
  stream.addTrack(presented.receiver.track);
  video.srcObject ??= stream;           // not before there is a picture: until then the page counts as loading
  play();

  // A hidden page gets no frame callbacks, so the decoder's count is used there.
  const poll = setInterval(async () => {
    if (presented === session && !presented.firstFrameAt && (await presented.stats()).framesDecoded) begin(presented);
    if (presented !== session || presented.left || presented.firstFrameAt) clearInterval(poll);
  }, 500);
}

function begin(presented) {
  if (connection.signal.aborted) return;
  presented.firstFrameAt = performance.now();
  shown?.pc.close();
  shown = presented;
  delay = shortestDelay;
  seen = true;
  become('live');
  hearSound(presented);
  talkIn(presented);
}

function onFrame(_, metadata) {
  if (!session.firstFrameAt && stream.getTracks().includes(session.receiver?.track)) begin(session);
  shown?.picture.show(metadata, shown.receiver);
  video.requestVideoFrameCallback(onFrame);
}

function play() {
  video.play().catch(failure => { $('play').hidden = failure.name !== 'NotAllowedError'; });
}

video.requestVideoFrameCallback?.(onFrame);
video.onplaying = () => { $('play').hidden = true; };
video.onpause = () => { $('play').hidden = video.ended; };
$('play').onclick = play;

// -- Sound

setUpTalk(say);
setUpLease();
setInterval(() => {
  const isLive = link === 'live';
  Promise.all([isLive && showSound(), tickTalk(isLive)]).catch(() => {});      // the session may just have ended
}, 1000);

// -- For the controls, and for tests

const stats = () => session.stats();

setUpControls({
  say, stats, leaseLeft,
  request: path => sender.request(path),
  link: () => session?.link(),
  viewers: () => viewers,
  people: () => people,
});

window.oriel = {
  get state() { return root.dataset.state; },
  get firstFrameAt() { return session.firstFrameAt; },
  get pc() { return session.pc; },
  get resource() { return session.resource?.href; },
  get leaseLeft() { return leaseLeft(); },
  stats,
};
if (window.RTCPeerConnection) {
  followTheBrowser();
  watch();
} else {
  become('unable');
}
