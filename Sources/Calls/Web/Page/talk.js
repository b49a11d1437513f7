// The viewer's microphone. It is open only while the viewer wants to be heard, and sends only while the sender lets it.

import { fill } from './sound.js';

const $ = id => document.getElementById(id);
const button = $('talk'), microphones = $('microphones');

const labels = { off: 'Speak', asking: 'Take the request to speak back', on: 'Stop speaking' };
const insecure = 'Your browser lends a microphone only to pages by HTTPS: ask for a link that begins with https.';
const refusals = {
  NotAllowedError: 'Your browser does not lend the microphone to this page.',
  NotFoundError: 'There is no microphone.',
  NotReadableError: 'Another program holds the microphone.',
};

const root = document.documentElement;
let say;
let session = null;
let state = 'off';          // off, asking, or on
let microphone = null;      // its track, while it is open
let turn = 0;               // counts the changes of mind

export function setUpTalk(itsSay) {
  say = itsSay;
}

function become(next) {
  state = next;
  root.dataset.talk = next;
  button.setAttribute('aria-pressed', next === 'on');
  button.setAttribute('aria-label', labels[next]);
  button.title = `${labels[next]} (t)`;
}

/// Goes on in another session, where the viewer has to be let in to speak again.
export function talkIn(another) {
  session = another;
  if (state === 'off') showTalk();
  else ask().catch(end);
}

export function toggleTalk() {
  return state === 'off' ? begin() : end();
}

async function begin() {
  if (!navigator.mediaDevices) return say(insecure);
  const mine = ++turn;
  become('asking');
  try {
    await open();
    if (mine !== turn) return close();
    await ask();
  } catch (failure) {
    end();
    say(refusals[failure.name] ?? (failure.status ? failure.message : 'The microphone does not work.'));
  }
}

async function open() {
  close();
  const constraints = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  if (microphones.value) constraints.deviceId = { exact: microphones.value };
  const stream = await navigator.mediaDevices.getUserMedia({ audio: constraints });
  [microphone] = stream.getAudioTracks();
  microphone.onended = () => { if (state !== 'off') end(); };
}

function close() {
  microphone?.stop();
  microphone = null;
}

/// Asks the sender to let this viewer speak.
async function ask() {
  become('asking');
  follow((await session.askToTalk()).talk);
}

function end() {
  turn += 1;
  become('off');
  close();
  const { sender } = session.sound;
  sender.replaceTrack(null);
  session.stopTalking();
}

function send() {
  if (state === 'on') session.sound.sender.replaceTrack(microphone);
}

/// What the sender says of this viewer: `off`, `none`, `asked`, `granted` or `speaking`.
function follow(talk) {
  button.hidden = !talk || talk === 'off' || navigator.mediaDevices && !session.canTalk();
  if (!button.hidden) $('devices').hidden = false;
  const granted = talk === 'granted' || talk === 'speaking';
  if (state === 'asking' && granted) {
    become('on');
    send();
    say('You can be heard.');
  } else if (state !== 'off' && !granted && talk !== 'asked') {
    end();
    say('You are not heard any more.');
  }
}

async function showTalk() {
  const [link, level] = await Promise.all([session.link(), state === 'on' ? session.microphoneLevel() : 0]);
  if (link) follow(link.talk);
  button.style.setProperty('--level', level ?? 0);
}

/// Looks whether the viewer may still speak. Without a wish to speak, the sender is not asked.
export async function tickTalk() {
  if (state !== 'off') await showTalk();
}

export async function listMicrophones(devices) {
  const inputs = devices.filter(({ kind }) => kind === 'audioinput');
  $('microphone-choice').hidden = button.hidden || !inputs.length;
  fill(microphones, inputs, microphone?.getSettings().deviceId);
}

microphones.onchange = () => {
  if (state !== 'off') open().then(send, end);
};
become('off');
