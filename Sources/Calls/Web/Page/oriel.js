// Watches a broadcast by WHEP (draft-ietf-wish-whep-04). One turn of `watch` is one connection to the sender: a session
// that brings the picture and a stream of events that tells about the broadcast. Whatever breaks ends the turn, and the
// next one begins a little later.

const root = document.documentElement;
const $ = id => document.getElementById(id);
const stage = $('stage'), video = $('video'), status = $('status'), panel = $('panel'), controls = $('controls');

// -- The sender

let token = location.hash.slice(1);     // stays in the fragment: browsers send that to nobody

class Refusal extends Error {
  constructor(response, sentence) {
    super(sentence);
    this.status = response.status;
    this.retryAfter = Number(response.headers.get('Retry-After')) * 1000 || null;
  }
}

async function request(path, options = {}) {
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  const response = await fetch(path, { cache: 'no-store', ...options, headers });
  if (!response.ok) throw new Refusal(response, await response.text());
  return response;
}

/// Reads `Link: <stun:…>; rel="ice-server", <turn:…>; rel="ice-server"; username="…"; credential="…"`.
function parseIceServers(link) {
  return [...link.matchAll(/<([^>]*)>((\s*;\s*[\w-]+="[^"]*")*)/g)].map(([, urls, text]) => {
    const parameters = Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(match => match.slice(1)));
    return { urls, ...parameters };
  }).filter(server => server.rel === 'ice-server')
    .map(({ urls, username, credential }) => ({ urls, username, credential }));
}

/// By this header extension a browser can tell the age of a picture, as far as the two clocks agree.
function offerCaptureTime(transceiver) {
  const extensions = transceiver.getHeaderExtensionsToNegotiate?.() ?? [];
  for (const extension of extensions) {
    if (extension.uri.endsWith('/abs-capture-time')) extension.direction = 'sendrecv';
  }
  if (extensions.length) transceiver.setHeaderExtensionsToNegotiate(extensions);
}

class Session {
  pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceCandidatePoolSize: 1 });
  firstFrameAt = null;
  candidates = [];
  sample = { timestamp: performance.timeOrigin + performance.now() };

  /// Ends only by throwing, when the connection failed.
  async run(signal) {
    const { pc } = this;
    const transceiver = pc.addTransceiver('video', { direction: 'recvonly' });
    offerCaptureTime(transceiver);
    this.receiver = transceiver.receiver;
    this.receiver.jitterBufferTarget = 0;
    if ('playoutDelayHint' in this.receiver) this.receiver.playoutDelayHint = 0;

    // The old track leaves the stage when the new one has something to show.
    this.receiver.track.addEventListener('unmute', () => present(this), { once: true });
    pc.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate !== '') this.trickle(candidate?.candidate);      // Firefox tells of the end twice
    };

    // The offer is sent before it is applied: gathering begins with setLocalDescription, and by then the answer has
    // told which ICE servers to use.
    const offer = await pc.createOffer();
    const headers = { 'Content-Type': 'application/sdp' };
    const response = await within(10_000, request('/whep', { method: 'POST', headers, body: offer.sdp, signal }));
    this.resource = new URL(response.headers.get('Location'), response.url);
    this.etag = response.headers.get('ETag');
    if (this.left) return this.leave();

    const iceServers = parseIceServers(response.headers.get('Link') ?? '');
    if (iceServers.length) pc.setConfiguration({ ...pc.getConfiguration(), iceServers });
    await pc.setLocalDescription(offer);
    await pc.setRemoteDescription({ type: 'answer', sdp: await response.text() });
    await this.failure();
  }

  failure() {
    return new Promise((_, reject) => {
      const lost = () => reject(new Error('The connection is lost.'));
      setTimeout(() => { if (!this.firstFrameAt) lost(); }, 10_000);
      let patience;
      this.receiver.transport.onstatechange = event => {
        if (event.target.state === 'closed') lost();
      };
      this.pc.onconnectionstatechange = () => {
        clearTimeout(patience);
        if (this.pc.connectionState === 'failed') lost();
        if (this.pc.connectionState === 'disconnected') patience = setTimeout(lost, 2000);
      };
    });
  }

  /// Sends what has gathered within 50 ms as one fragment (RFC 8840). A lost fragment does no harm: this side's checks
  /// make it known as a peer-reflexive candidate.
  trickle(candidate) {
    if (!this.candidates.length) setTimeout(() => this.sendCandidates(), 50);
    this.candidates.push(candidate ? `a=${candidate}` : 'a=end-of-candidates');
  }

  sendCandidates() {
    const lines = this.candidates.splice(0);
    if (!this.resource) return;
    const { sdp } = this.pc.localDescription;
    const line = pattern => sdp.match(pattern)[0];
    const body = [line(/a=ice-ufrag:.*/), line(/a=ice-pwd:.*/), line(/m=video.*/), line(/a=mid:.*/), ...lines, '']
      .join('\r\n');
    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': this.etag };
    request(this.resource, { method: 'PATCH', headers, body }).catch(() => {});
  }

  /// The last picture would go with its peer connection, so that one stays until another picture takes its place.
  leave() {
    this.left = true;
    if (this !== shown) this.pc.close();
    if (this.resource) request(this.resource, { method: 'DELETE', keepalive: true }).catch(() => {});
    this.resource = null;
  }
}

/// Reads the events by fetch, because EventSource cannot send the token. Ends only by throwing.
async function followEvents(signal) {
  try {
    const response = await within(10_000, request('/api/events', { signal }));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { done, value } = await within(40_000, reader.read());      // a comment is due every 15 s
      if (done) throw new Error('The sender has gone.');
      const events = (text + value).split('\n\n');
      text = events.pop();
      for (const event of events) {
        if (event.startsWith('data:')) hear(JSON.parse(event.slice(5)));
      }
    }
  } catch (failure) {
    if (!signal.aborted && source !== 'stopped') source = null;
    throw failure;
  }
}

// -- The state

const sentences = {
  connecting: 'Connecting…',
  live: 'You are watching live.',
  paused: 'The broadcast is paused.',
  ended: 'The broadcast has ended.',
  reconnecting: 'The connection is lost. Reconnecting…',
  denied: 'This link is wrong or no longer valid. Please ask for a new one.',
  full: 'All places are taken. You will join as soon as one is free.',
};

const troubles = {
  starting: 'The broadcast is starting…',
  source_lost: 'The shared screen has gone. Waiting for it to come back…',
  error: 'The screen cannot be captured. Waiting for that to pass…',
  stalled: 'The picture has stalled. Waiting for it to go on…',
  dead: 'The capture has stopped. Waiting for it to start again…',
};

let link = 'connecting';    // how the way to the sender is: connecting, live, reconnecting, denied or full
let source = null;          // how the broadcast itself is, from the events
let viewers = null;
let seen = false;           // whether there ever was a picture
let said = null;            // a passing remark that takes the place of the sentence

function hear(event) {
  // Whoever waits for a picture may ask again as soon as there is one.
  const shows = state => state === 'active' || state === 'paused';
  if (source && !shows(source) && shows(event.state)) wake();
  source = event.state;
  viewers = event.viewers;
  render();
}

function render() {
  let state = link, sentence = sentences[link];
  if (link !== 'denied' && link !== 'full') {
    if (source === 'stopped') state = 'ended';
    else if (source in troubles) state = seen || source !== 'starting' ? 'reconnecting' : 'connecting';
    else if (source === 'paused' && link === 'live') state = 'paused';
    sentence = troubles[source] ?? sentences[state];
  }
  root.dataset.state = state;
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
  setTimeout(() => { said = null; render(); }, 4000);
}

// -- The connection

const shortestDelay = 250, longestDelay = 4000;
let delay = shortestDelay;
let wake = () => {};
let connection, session;

function sleep(milliseconds) {
  return new Promise(resolve => {
    wake = resolve;
    if (milliseconds < Infinity) setTimeout(resolve, milliseconds);
  });
}

function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(reject, milliseconds, new Error('No answer.')); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function watch() {
  for (;;) {
    connection = new AbortController();
    session = new Session();
    try {
      await Promise.race([session.run(connection.signal), followEvents(connection.signal)]);
    } catch (failure) {
      session.leave();
      console.info(String(failure));
      // The events go on meanwhile; they tell why there is no picture.
      if (!connection.signal.aborted) await sleep(pauseAfter(failure));
    }
    connection.abort();
  }
}

/// Shows what went wrong and tells how long to wait.
function pauseAfter({ status, retryAfter, message }) {
  if (status === 401) {
    become('denied');
    return Infinity;
  }
  if (status === 503 && /viewers/i.test(message)) become('full');
  else become(status === 503 && !seen ? 'connecting' : 'reconnecting');
  if (status === 429) say(message);
  const backoff = delay * (0.8 + 0.4 * Math.random());
  delay = Math.min(delay * 2, longestDelay);
  return retryAfter ?? (source === 'stopped' ? longestDelay : backoff);
}

addEventListener('hashchange', () => {
  session.leave();
  connection.abort();
  token = location.hash.slice(1);
  delay = shortestDelay;
  source = null;
  become('connecting');
  wake();
});
addEventListener('online', () => { if (link !== 'denied') wake(); });
addEventListener('pagehide', () => session.leave());
addEventListener('pageshow', event => { if (event.persisted) connection.abort(); });

// -- The picture

// One stream for all sessions, in which only the track changes: the video element keeps the last picture, full screen
// and picture-in-picture over any number of reconnections.
const stream = new MediaStream();
let shown = null;           // the session whose picture is on the stage
let pictureAge = null;      // milliseconds from the capture of the frame on display to its display
const since1900 = Date.UTC(1970) - Date.UTC(1900);      // abs-capture-time counts from there, as NTP does

function present(presented) {
  for (const track of stream.getTracks()) stream.removeTrack(track);
  stream.addTrack(presented.receiver.track);
  video.srcObject ??= stream;           // not before there is a picture: the page counts as loading until it comes
  pictureAge = null;
  play();

  // A hidden page is told of no frames; there the count of the decoder has to do.
  const poll = setInterval(async () => {
    if (presented === session && !presented.firstFrameAt && (await stats()).framesDecoded) begin(presented);
    if (presented !== session || presented.firstFrameAt) clearInterval(poll);
  }, 500);
}

function begin(presented) {
  presented.firstFrameAt = performance.now();
  shown?.pc.close();
  shown = presented;
  delay = shortestDelay;
  seen = true;
  become('live');
}

function onFrame(now, { captureTime, expectedDisplayTime }) {
  if (!session.firstFrameAt && stream.getTracks().includes(session.receiver?.track)) begin(session);
  const captureTimestamp = shown?.receiver.getSynchronizationSources()[0]?.captureTimestamp;
  if (captureTime) pictureAge = expectedDisplayTime - captureTime;
  else if (captureTimestamp) pictureAge = Date.now() + since1900 + expectedDisplayTime - now - captureTimestamp;
  video.requestVideoFrameCallback(onFrame);
}

function play() {
  video.play().catch(failure => { $('play').hidden = failure.name !== 'NotAllowedError'; });
}

video.requestVideoFrameCallback?.(onFrame);
video.onplaying = () => { $('play').hidden = true; };
video.onpause = () => { $('play').hidden = video.ended; };
$('play').onclick = play;

// -- Statistics

async function stats() {
  const current = session;
  const report = await current.pc.getStats();
  const all = [...report.values()];
  const inbound = all.find(entry => entry.type === 'inbound-rtp' && entry.kind === 'video') ?? {};
  const transport = all.find(entry => entry.type === 'transport') ?? {};
  const pair = report.get(transport.selectedCandidatePairId)
    ?? all.find(entry => entry.type === 'candidate-pair' && entry.nominated && entry.state === 'succeeded') ?? {};
  const address = ({ candidateType, protocol, address, port } = {}) =>
    candidateType ? `${candidateType} ${protocol} ${address || '?'}:${port}` : null;
  const known = number => Number.isFinite(number) ? number : null;

  // What changes with time is taken over the last half second at least.
  const since = key => inbound[key] - (current.sample[key] ?? 0);
  const recent = {
    bitrateBps: known(8000 * since('bytesReceived') / since('timestamp')),
    jitterBufferDelayMs: known(1000 * since('jitterBufferDelay') / since('jitterBufferEmittedCount')),
  };
  if (since('timestamp') >= 500) current.sample = inbound;

  return {
    framesDecoded: known(inbound.framesDecoded),
    frameWidth: known(inbound.frameWidth),
    frameHeight: known(inbound.frameHeight),
    codec: report.get(inbound.codecId)?.mimeType.replace('video/', '') ?? null,
    fps: known(inbound.framesPerSecond),
    ...recent,
    rttMs: known(1000 * pair.currentRoundTripTime),
    lossRatio: known(inbound.packetsLost / (inbound.packetsLost + inbound.packetsReceived)),
    pictureAgeMs: known(pictureAge),
    freezeCount: known(inbound.freezeCount),
    framesDropped: known(inbound.framesDropped),
    nackCount: known(inbound.nackCount),
    pliCount: known(inbound.pliCount),
    localCandidate: address(report.get(pair.localCandidateId)),
    remoteCandidate: address(report.get(pair.remoteCandidateId)),
    dtlsState: transport.dtlsState ?? null,
    dtlsRole: transport.dtlsRole ?? null,
    tlsVersion: transport.tlsVersion ?? null,
    srtpCipher: transport.srtpCipher ?? null,
  };
}

const unit = (number, name, digits = 0) => number === null ? '–' : `${number.toFixed(digits)} ${name}`;
const rows = {
  'Frame rate': s => unit(s.fps, 'fps'),
  'Resolution': s => s.frameWidth ? `${s.frameWidth} × ${s.frameHeight}` : '–',
  'Codec': s => s.codec ?? '–',
  'Bitrate': s => unit(s.bitrateBps && s.bitrateBps / 1e6, 'Mb/s', 2),
  'Round trip': s => unit(s.rttMs, 'ms'),
  'Loss': s => unit(s.lossRatio && s.lossRatio * 100, '%', 1),
  'Picture age': s => unit(s.pictureAgeMs, 'ms'),
  'Jitter buffer': s => unit(s.jitterBufferDelayMs, 'ms'),
  'Freezes': s => s.freezeCount ?? '–',
  'Viewers': () => viewers ?? '–',
};
const cells = Object.keys(rows).map(name => {
  const term = document.createElement('dt'), cell = document.createElement('dd');
  term.textContent = name;
  panel.firstElementChild.append(term, cell);
  return cell;
});
let refresh;

async function showStatistics() {
  const current = await stats();
  Object.values(rows).forEach((format, index) => { cells[index].textContent = format(current); });
}

// -- Controls

const press = (id, pressed) => $(id).setAttribute('aria-pressed', pressed);

function resize() {
  const actual = root.dataset.scale === 'actual';
  stage.tabIndex = actual ? 0 : -1;       // for the arrow keys
  video.style.width = actual ? `${video.videoWidth / devicePixelRatio}px` : '';
  video.style.height = actual ? `${video.videoHeight / devicePixelRatio}px` : '';
}

const actions = {
  scale() {
    root.dataset.scale = root.dataset.scale === 'actual' ? 'fit' : 'actual';
    press('scale', root.dataset.scale === 'actual');
    resize();
  },
  async fullscreen() {
    if (document.fullscreenElement) await document.exitFullscreen();
    else if (root.requestFullscreen) await root.requestFullscreen();
    else video.webkitEnterFullscreen();     // iPhones let only the video fill the screen
  },
  async pip() {
    if (document.pictureInPictureElement) await document.exitPictureInPicture();
    else if (document.pictureInPictureEnabled) await video.requestPictureInPicture();
  },
  statistics() {
    panel.hidden = !panel.hidden;
    press('statistics', !panel.hidden);
    clearInterval(refresh);
    if (panel.hidden) return;
    refresh = setInterval(showStatistics, 1000);
    showStatistics();
  },
  async snapshot() {
    const response = await request('/snapshot.png');
    const anchor = document.createElement('a');
    anchor.href = URL.createObjectURL(await response.blob());
    anchor.download = `oriel-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.png`;
    anchor.click();
    setTimeout(URL.revokeObjectURL, 10_000, anchor.href);
  },
};

async function perform(action) {
  try {
    await actions[action]();
  } catch (failure) {
    say(failure instanceof Refusal && failure.message || 'That did not work.');
  }
}

const keys = { 1: 'scale', f: 'fullscreen', p: 'pip', s: 'statistics', c: 'snapshot' };
addEventListener('keydown', event => {
  const action = keys[event.key.toLowerCase()];
  if (action && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey) perform(action);
});
for (const button of controls.children) button.onclick = () => perform(button.id);
stage.ondblclick = () => perform('fullscreen');
video.onresize = resize;
addEventListener('resize', resize);     // zooming changes devicePixelRatio

$('pip').hidden = !document.pictureInPictureEnabled;
document.onfullscreenchange = () => press('fullscreen', document.fullscreenElement !== null);
video.onenterpictureinpicture = () => press('pip', true);
video.onleavepictureinpicture = () => press('pip', false);

// A mouse drags the picture when it is larger than the window; fingers scroll it anyway.
stage.onpointermove = event => {
  if (event.pointerType === 'mouse' && event.buttons === 1) stage.scrollBy(-event.movementX, -event.movementY);
};

// The controls go when the mouse rests. Under a finger they stay until the picture is tapped.
let rest, touched = matchMedia('(hover: none)').matches;

function stir() {
  delete root.dataset.idle;
  clearTimeout(rest);
  if (!touched) rest = setTimeout(settle, 2500);
}

function settle() {
  if (!controls.querySelector(':focus-visible') && !controls.matches(':hover')) root.dataset.idle = '';
}

addEventListener('pointermove', event => {
  if (event.pointerType === 'touch') return;
  touched = false;
  stir();
});
stage.onpointerup = event => {
  if (event.pointerType !== 'touch') return;
  touched = true;
  const idle = 'idle' in root.dataset;
  stir();
  if (!idle) root.dataset.idle = '';
};
controls.addEventListener('focusin', stir);
controls.addEventListener('focusout', stir);
stir();

window.oriel = {
  get state() { return root.dataset.state; },
  get firstFrameAt() { return session.firstFrameAt; },
  get pc() { return session.pc; },
  stats,
};
watch();
