// The sound of the broadcast. It has a stream and an element of its own, so that the picture never waits for it.

import { excess, play as playOrMute } from './playback.js';

const $ = id => document.getElementById(id);
const button = $('sound'), pill = $('hear'), element = $('heard'), speakers = $('speakers');

// One stream for all sessions, in which only the track changes: a browser that allowed its sound once asks for no
// second click.
const stream = new MediaStream();
let session = null;
let wanted = true;          // whether the viewer wants sound
let blocked = false;        // whether the browser waits for a click
let audible = false;        // whether there was audible sound

/// Continues with the sound of another session.
export function hear(another) {
  session = another;
  for (const track of stream.getTracks()) stream.removeTrack(track);
  stream.addTrack(session.sound.receiver.track);
  element.srcObject ??= stream;
  play();
}

function play() {
  playOrMute(element, wanted).then(isBlocked => {
    blocked = isBlocked;
    render();
  });
}

/// Turns the sound on or off. If the browser waits for a click, this was it.
export function toggleSound() {
  wanted = blocked || !wanted;
  play();
}

function render() {
  const on = wanted && !blocked;
  document.documentElement.dataset.sound = on ? 'on' : wanted ? 'blocked' : 'off';
  button.hidden = !audible;
  pill.hidden = !(audible && wanted && blocked);
  button.lastElementChild.textContent = on ? 'Mute' : 'Unmute';
  button.title = on ? 'Turn the sound off (m)' : 'Turn the sound on (m)';
}

/// Only the packets tell whether there is sound: a sender accepts the stream in any case.
export async function showSound() {
  const { soundPackets, soundLevel, soundBufferMs, soundTargetMs } = await session?.soundStats() ?? {};
  if (soundPackets > 0 && !audible) {
    audible = true;
    $('devices').hidden = false;
    render();
  }
  button.style.setProperty('--level', soundLevel ?? 0);
  const length = excess(soundBufferMs, soundTargetMs);
  if (length) session.skipSound(length).catch(() => {});      // the session may just have ended
}

pill.onclick = play;

// Any click will do for a browser that waits for one.
for (const kind of ['pointerup', 'keyup']) {
  addEventListener(kind, event => { if (blocked && wanted && !button.contains(event.target)) play(); });
}

// -- The device

/// Lists the speakers, if the browser lets a page choose.
export async function listSpeakers(devices) {
  const outputs = devices.filter(({ kind }) => kind === 'audiooutput');
  $('speaker-choice').hidden = !element.setSinkId || !outputs.length;
  fill(speakers, outputs, element.sinkId);
}

/// Fills a list with devices, the browser's own choice first.
export function fill(list, devices, chosen) {
  list.replaceChildren(new Option('As the system chooses', ''));
  devices.filter(({ deviceId }) => !['', 'default', 'communications'].includes(deviceId)).forEach(
    ({ label, deviceId }, index) => list.append(new Option(label || `Device ${index + 1}`, deviceId)));
  list.value = [...list.options].some(({ value }) => value === chosen) ? chosen : '';
}

speakers.onchange = () => element.setSinkId(speakers.value).catch(() => { speakers.value = element.sinkId; });
$('volume').oninput = ({ target }) => { element.volume = target.value / 100; };
render();
