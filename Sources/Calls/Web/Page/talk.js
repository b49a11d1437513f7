// The viewer's microphone. It is open only while the viewer wants to be heard, and sends only with the sender's
// permission.

import { fill } from './sound.js';

const $ = id => document.getElementById(id);
const button = $('talk'), microphones = $('microphones');

const labels = {
  off: ['Speak', 'Ask to be heard by the person who shares this screen (t)'],
  opening: ['Cancel', 'Close the microphone (t)'],
  asking: ['Cancel request', 'Take the request to speak back (t)'],
  on: ['Stop speaking', 'Close the microphone (t)'],
};
const news = { off: '', opening: 'Opening the microphone…', asking: 'Asked to speak, waiting…', on: 'You can be heard.' };
const unheard = 'The connection is lost. Your microphone is on, but nobody hears it.';
const insecure = 'Your browser lends a microphone only to pages by HTTPS: ask for a link that begins with https.';
const unanswered = 'Nobody answers, so your microphone is off.';
const troubles = {
  NotAllowedError: 'Your browser does not lend the microphone to this page.',
  NotFoundError: 'There is no microphone.',
  NotReadableError: 'Another program holds the microphone.',
  TimeoutError: unanswered,
  TypeError: unanswered,        // the request did not reach the sender
};
const refusals = {
  403: 'Your request to speak was refused.',
  409: 'This connection carries no sound from you. Load the page again.',
  429: 'You have asked too often.',
};

/// How long the microphone stays open without a connection, and without an answer.
const longestGap = 15_000, longestWait = 120_000;

const root = document.documentElement;
let say;
let session = null;
let state = 'off';          // off, opening the microphone, asking the sender, or on
let microphone = null;      // its track, while it is open
let turn = 0;               // counts the viewer's decisions
let opening = 0;            // counts the openings and closings of the microphone
let number;                 // of the events; changes with viewers' rights to speak. Undefined if no viewer can speak
let liveAt = 0;             // when the connection was last there, by the wall clock, which continues while a machine sleeps
let askedAt = 0;

export function setUpTalk(itsSay) {
  say = itsSay;
}

function become(next) {
  state = next;
  root.dataset.talk = next;
  const [label, title] = labels[next];
  button.lastElementChild.textContent = label;
  button.title = title;
  $('speech').textContent = news[next];
}

/// Learns from the events whether a right to speak has changed, for this viewer or another one.
export function noteTalk(another) {
  if (another === number) return;
  number = another;
  show();
  follow().catch(() => {});       // asks again soon
}

/// If the browser lends no microphone, the button says so.
function show() {
  button.hidden = number === undefined || navigator.mediaDevices && !session?.canTalk();
  if (!button.hidden) $('devices').hidden = false;
}

/// Continues in another session, where the viewer has to be let in to speak again.
export function talkIn(another) {
  session = another;
  show();
  if (isForgotten()) giveUp();
  else if (state !== 'off') ask().catch(fail);
}

export function toggleTalk() {
  return state === 'off' ? begin() : end();
}

async function begin() {
  if (!navigator.mediaDevices) return say(insecure);
  const mine = ++turn;
  liveAt = Date.now();
  become('opening');
  try {
    if (!await open() || mine !== turn) return;
    await ask();
  } catch (failure) {
    if (mine === turn) fail(failure);
  }
}

function fail(failure) {
  end();
  const again = failure.retryAfter ? ` You can ask again in ${failure.retryAfter / 1000} s.` : '';
  const sentence = failure.reason === 'talk_off' ? 'No viewer can speak here.' : refusals[failure.status];
  say(sentence ? sentence + again : troubles[failure.name] ?? 'The microphone does not work.');
}

/// Resolves to whether it is open. Meanwhile it may have been closed, or another one opened.
async function open() {
  close();
  const mine = opening;
  const constraints = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  if (microphones.value) constraints.deviceId = { exact: microphones.value };
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: constraints });
  } catch (failure) {
    if (mine !== opening) return false;      // another one is being opened
    throw failure;
  }
  const [track] = stream.getAudioTracks();
  if (mine !== opening) {
    track.stop();
    return false;
  }
  microphone = track;
  microphone.onended = stopTalk;
  return true;
}

function close() {
  opening += 1;
  microphone?.stop();
  microphone = null;
}

/// Asks the sender to let this viewer speak.
async function ask() {
  become('opening');
  const asked = session;
  try {
    const { talk } = await asked.askToTalk();
    if (state !== 'opening' || asked !== session) return;
    wait();
    heed(talk);
  } catch (failure) {
    // Another session asks by itself.
    if (asked === session) throw failure;
  }
}

function wait() {
  askedAt = Date.now();
  become('asking');
}

function end() {
  turn += 1;
  become('off');
  close();
  session.sound.sender.replaceTrack(null).catch(() => {});      // the session may be over
  session.stopTalking();
}

/// Closes the microphone once nobody can hear it.
export function stopTalk() {
  if (state !== 'off') end();
}

function send() {
  if (state === 'on') session.sound.sender.replaceTrack(microphone);
}

/// The sender's state of this viewer: `off`, `none`, `asked`, `granted` or `speaking`.
function heed(talk) {
  const granted = talk === 'granted' || talk === 'speaking';
  if (state === 'asking' && granted) {
    become('on');
    send();
  } else if (state === 'on' && talk === 'asked') {
    wait();
    session.sound.sender.replaceTrack(null).catch(() => {});
  } else if ((state === 'asking' || state === 'on') && !granted && talk !== 'asked') {
    const sentence = state === 'on' ? 'You can no longer be heard.' : refusals[403];
    end();
    say(sentence);
  }
}

/// Checks whether the viewer may still speak. Without a wish to speak, the sender is not asked.
async function follow() {
  if (state !== 'asking' && state !== 'on') return;
  const asked = session, mine = turn;
  const [link, level] = await Promise.all([asked.link(), state === 'on' ? asked.microphoneLevel() : 0]);
  if (asked !== session || mine !== turn) return;
  if (link) heed(link.talk);
  button.style.setProperty('--level', level ?? 0);
}

// -- The time that it stays open

const isForgotten = () => state !== 'off' && Date.now() - liveAt > longestGap;

function giveUp() {
  end();
  say('The connection was lost, so your microphone is off.');
}

/// Call it each second, with whether there is a connection.
export async function tickTalk(isLive) {
  if (isForgotten()) return giveUp();
  $('speech').textContent = isLive || state === 'off' ? news[state] : unheard;
  if (!isLive) return;
  liveAt = Date.now();
  if (state === 'asking' && Date.now() - askedAt > longestWait) {
    end();
    return say(unanswered);
  }
  await follow();
}

// -- The device

export async function listMicrophones(devices) {
  const inputs = devices.filter(({ kind }) => kind === 'audioinput');
  $('microphone-choice').hidden = button.hidden || !inputs.length;
  fill(microphones, inputs, microphone?.getSettings().deviceId);
}

microphones.onchange = async () => {
  if (state === 'off') return;
  const mine = turn;
  try {
    if (!await open() || mine !== turn) return;
    // A viewer that chooses another one before the first is open has not asked yet.
    if (state === 'opening') await ask();
    else send();
  } catch (failure) {
    if (mine === turn) fail(failure);
  }
};
become('off');
