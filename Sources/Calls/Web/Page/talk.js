// The viewer's microphone. It is open only while the viewer wants to be heard, and sends only while the sender lets it.

import { fill } from './sound.js';

const $ = id => document.getElementById(id);
const button = $('talk'), microphones = $('microphones');

const labels = {
  off: ['Speak', 'Ask to be heard by the person who shares this screen (t)'],
  opening: ['Cancel', 'Close the microphone (t)'],
  asking: ['Cancel request', 'Take the request to speak back (t)'],
  on: ['Stop speaking', 'Close the microphone (t)'],
};
const insecure = 'Your browser lends a microphone only to pages by HTTPS: ask for a link that begins with https.';
const refusals = {
  NotAllowedError: 'Your browser does not lend the microphone to this page.',
  NotFoundError: 'There is no microphone.',
  NotReadableError: 'Another program holds the microphone.',
};

const root = document.documentElement;
let say;
let session = null;
let state = 'off';          // off, opening the microphone, asking the sender, or on
let microphone = null;      // its track, while it is open
let turn = 0;               // counts the changes of mind
let opening = 0;            // counts the microphones that were opened or closed
let news;                   // a number of the events that changes with what viewers may say; undefined where none may say anything

export function setUpTalk(itsSay) {
  say = itsSay;
}

function become(next) {
  state = next;
  root.dataset.talk = next;
  const [label, title] = labels[next];
  button.lastElementChild.textContent = label;
  button.title = title;
}

/// Hears of the events whether something has changed, for this viewer or another one.
export function noteTalk(number) {
  if (number === news) return;
  news = number;
  show();
  tickTalk().catch(() => {});       // asks again soon
}

/// Where the browser lends no microphone, the button says so.
function show() {
  button.hidden = news === undefined || navigator.mediaDevices && !session?.canTalk();
  if (!button.hidden) $('devices').hidden = false;
}

/// Goes on in another session, where the viewer has to be let in to speak again.
export function talkIn(another) {
  session = another;
  show();
  if (state !== 'off') ask().catch(end);
}

export function toggleTalk() {
  return state === 'off' ? begin() : end();
}

async function begin() {
  if (!navigator.mediaDevices) return say(insecure);
  const mine = ++turn;
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
  say(refusals[failure.name] ?? (failure.status ? failure.message : 'The microphone does not work.'));
}

/// Tells whether it is open: meanwhile it may have been closed, or another one opened.
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
    become('asking');
    follow(talk);
  } catch (failure) {
    // Another session asks for itself.
    if (asked === session) throw failure;
  }
}

function end() {
  turn += 1;
  become('off');
  close();
  session.sound.sender.replaceTrack(null).catch(() => {});      // the session may be over
  session.stopTalking();
}

/// Closes the microphone, where there is nobody any more who hears it.
export function stopTalk() {
  if (state !== 'off') end();
}

function send() {
  if (state === 'on') session.sound.sender.replaceTrack(microphone);
}

/// What the sender says of this viewer: `off`, `none`, `asked`, `granted` or `speaking`.
function follow(talk) {
  const granted = talk === 'granted' || talk === 'speaking';
  if (state === 'asking' && granted) {
    become('on');
    send();
    say('You can be heard.');
  } else if (state === 'on' && talk === 'asked') {
    become('asking');
    session.sound.sender.replaceTrack(null).catch(() => {});
  } else if (state !== 'off' && !granted && talk !== 'asked') {
    end();
    say('You are not heard any more.');
  }
}

async function showTalk() {
  const asked = session;
  const [link, level] = await Promise.all([asked.link(), state === 'on' ? asked.microphoneLevel() : 0]);
  if (asked !== session) return;
  if (link) follow(link.talk);
  button.style.setProperty('--level', level ?? 0);
}

/// Looks whether the viewer may still speak. Without a wish to speak, the sender is not asked.
export async function tickTalk() {
  if (state === 'asking' || state === 'on') await showTalk();
}

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
    // Whoever chooses another one before the first is open has not asked yet.
    if (state === 'opening') await ask();
    else send();
  } catch (failure) {
    if (mine === turn) fail(failure);
  }
};
become('off');
