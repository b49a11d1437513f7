// A session with the sender by WHEP (draft-ietf-wish-whep-04).

import { goesOn } from './doubt.js';
import { iceServersOf } from './ice-servers.js';
import { PictureWatch } from './picture.js';
import { buffered } from './playback.js';
import { within } from './time.js';

/// A finite number, or null.
const known = number => Number.isFinite(number) ? number : null;

/// By this header extension a browser knows the age of a picture, as far as the two clocks agree.
function offerCaptureTime(transceiver) {
  const extensions = transceiver.getHeaderExtensionsToNegotiate?.() ?? [];
  for (const extension of extensions) {
    if (extension.uri.endsWith('/abs-capture-time')) extension.direction = 'sendrecv';
  }
  if (extensions.length) transceiver.setHeaderExtensionsToNegotiate(extensions);
}

export class Session {
  pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceCandidatePoolSize: 1 });
  firstFrameAt = null;
  onpicture = () => {};     // called when there is a picture
  ondoubt = () => {};       // called with true while it is unclear whether this session goes on, and with false if it does
  picture = new PictureWatch();
  candidates = [];
  answered = new Promise(done => { this.noteAnswer = done; });      // once the sender's answer is applied
  knowsAll = false;         // whether all of the sender's candidates are known
  withdrawal = new AbortController();       // cancels the request of a viewer that waits to be let in
  sample = { timestamp: performance.timeOrigin + performance.now() };
  soundSample = this.sample;

  constructor(sender) {
    this.sender = sender;
    const transceiver = this.pc.addTransceiver('video', { direction: 'recvonly' });
    offerCaptureTime(transceiver);
    this.receiver = transceiver.receiver;
    this.receiver.jitterBufferTarget = 0;
    if ('playoutDelayHint' in this.receiver) this.receiver.playoutDelayHint = 0;

    // If the browser lends a microphone, it can speak later without another offer.
    const direction = navigator.mediaDevices?.getUserMedia ? 'sendrecv' : 'recvonly';
    this.sound = this.pc.addTransceiver('audio', { direction });
    offerCaptureTime(this.sound);
    this.sound.receiver.jitterBufferTarget = 0;

    this.receiver.track.addEventListener('unmute', () => this.onpicture(), { once: true });
    this.pc.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate !== '') this.trickle(candidate?.candidate);      // Firefox reports the end twice
    };
  }

  /// Asks the sender to let this viewer in.
  async join() {
    // The offer is sent before it is applied: gathering begins with setLocalDescription, and needs the ICE servers of
    // the answer.
    const { type, sdp } = await this.pc.createOffer();
    // Chromium mixes two channels into one, and does not request lost sound, unless its own description says so.
    const sound = /^a=fmtp:(\d+) (.*useinbandfec=1)(?!.*stereo)/m;
    this.offer = { type, sdp: sdp.replace(sound, 'a=rtcp-fb:$1 nack\r\na=fmtp:$1 $2;stereo=1') };
    const { knock } = this.sender;
    const headers = { 'Content-Type': 'application/sdp', 'Oriel-Trickle': '1' };
    if (knock) {
      headers['Oriel-Name'] = encodeURIComponent(knock.name);
      headers['Oriel-Note'] = encodeURIComponent(knock.note);
    }
    const request = { method: 'POST', headers, body: this.offer.sdp, signal: knock && this.withdrawal.signal };
    const joining = this.sender.request('whep', request).then(response => {
      this.resource = new URL(response.headers.get('Location'), response.url);
      this.etag = response.headers.get('ETag');
      if (this.left) this.leave();      // the page gave up before the sender let it in
      return response;
    });
    // A viewer that knocks waits for a person.
    this.response = await (knock ? joining : within(10_000, joining));
    this.sender.knock = null;       // a viewer that was let in is known
  }

  /// Shows the sender's picture. Ends only by throwing, when the connection has failed.
  async run() {
    const { pc, offer, response } = this;
    const iceServers = iceServersOf(response);
    if (iceServers.length) pc.setConfiguration({ ...pc.getConfiguration(), iceServers });
    await pc.setLocalDescription(offer);
    const answer = await response.text();
    await pc.setRemoteDescription({ type: 'answer', sdp: answer });
    this.noteAnswer();
    if (!/^a=end-of-candidates/m.test(answer)) this.followCandidates().catch(() => {});
    await this.failure();
  }

  /// Ends only by throwing.
  failure() {
    return new Promise((_, reject) => {
      const lost = () => reject(new Error('The connection is lost.'));
      const doubt = async () => { if (!await goesOn(this, false)) lost(); };
      setTimeout(() => { if (!this.firstFrameAt) lost(); }, 10_000);
      this.watchForSilence(doubt);
      let patience;
      this.receiver.transport.onstatechange = event => {
        if (event.target.state === 'closed') lost();
      };
      this.pc.onconnectionstatechange = () => {
        clearTimeout(patience);
        if (this.pc.connectionState === 'failed') doubt();
        if (this.pc.connectionState === 'disconnected') patience = setTimeout(doubt, 2000);
      };
    });
  }

  /// A picture at rest brings packets once a second too. A viewer on a new network may wait in vain while ICE finds no
  /// fault, as the sender uses the old path.
  watchForSilence(doubt) {
    let packets = 0, since = performance.now();
    const watch = setInterval(async () => {
      if (this.left) return clearInterval(watch);
      const inbound = await this.inbound();
      this.picture.count(inbound);
      const received = inbound.packetsReceived ?? 0;
      if (received !== packets || !this.firstFrameAt) [packets, since] = [received, performance.now()];
      else if (performance.now() - since > 5000) doubt();
    }, 1000);
  }

  /// The browser's statistics of the picture's stream.
  async inbound() {
    const report = await this.receiver.getStats();
    return [...report.values()].find(entry => entry.type === 'inbound-rtp') ?? {};
  }

  /// Sends the candidates of 50 ms as one fragment (RFC 8840). A lost fragment does no harm: this side's checks make
  /// its candidates known as peer-reflexive ones.
  trickle(candidate) {
    if (!this.candidates.length) setTimeout(() => this.sendCandidates(), 50);
    this.candidates.push(candidate ? `a=${candidate}` : 'a=end-of-candidates');
  }

  sendCandidates() {
    const lines = this.candidates.splice(0);
    if (this.resource) this.exchange(lines).catch(() => {});
  }

  /// The sender answers as soon as it knows one of its candidates. An empty fragment waits for further ones.
  async followCandidates() {
    while (!this.left && !this.knowsAll && await this.exchange([]));
  }

  /// Sends lines of a fragment, and adds the sender's candidates from the response. Resolves to whether there were any.
  async exchange(lines) {
    const { sdp } = this.pc.localDescription;
    const line = pattern => sdp.match(pattern)[0];
    const body = [line(/a=ice-ufrag:.*/), line(/a=ice-pwd:.*/), line(/m=video.*/), line(/a=mid:.*/), ...lines, '']
      .join('\r\n');
    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': this.etag };
    const response = await this.sender.request(this.resource, { method: 'PATCH', headers, body });
    if (response.status !== 200) return false;
    const fragment = await response.text();
    await this.answered;
    const [, sdpMid] = fragment.match(/^a=mid:(.*)/m);
    for (const [, candidate] of fragment.matchAll(/^a=(candidate:.*)/gm)) await this.pc.addIceCandidate({ candidate, sdpMid });
    this.knowsAll ||= /^a=end-of-candidates/m.test(fragment);
    return true;
  }

  /// Ends the session at the sender, as soon as it has an address there. The peer connection stays, and with it the
  /// last picture. Resolves, however late, to the reason why the sender had already ended the session; null if there is
  /// none.
  leave() {
    this.left = true;
    this.withdrawal.abort();
    const { resource } = this;
    this.resource = null;
    if (!resource) return Promise.resolve(null);
    const leaving = this.sender.request(resource, { method: 'DELETE', keepalive: true });
    return leaving.then(() => null, ({ reason }) => reason ?? null);
  }

  /// The sender's facts about this session.
  get report() { return `api/viewers/${this.resource.pathname.split('/').pop()}`; }

  /// The sender's facts about the link to this page; null if unknown.
  async link() {
    try {
      return this.resource ? await (await this.sender.request(this.report)).json() : null;
    } catch {
      return null;
    }
  }

  // -- Sound

  /// Whether the sender accepts this viewer's voice.
  canTalk() {
    return ['sendrecv', 'sendonly'].includes(this.sound.currentDirection);
  }

  /// Asks the sender to let this viewer speak.
  async askToTalk() {
    await this.stopping;        // an earlier withdrawal must arrive first
    return (await within(10_000, this.sender.request(`${this.resource}/talk`, { method: 'POST' }))).json();
  }

  /// Asks for more time.
  async extend(seconds) {
    const request = { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ seconds }) };
    return (await within(10_000, this.sender.request(`${this.resource}/lease`, request))).json();
  }

  /// Has something done that all see, or the person who shares.
  async command(command) {
    if (!this.resource) throw new Error('The connection is lost.');
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(command) };
    await within(10_000, this.sender.request(`${this.resource}/command`, request));
  }

  stopTalking() {
    if (!this.resource) return;
    this.stopping = this.sender.request(`${this.resource}/talk`, { method: 'DELETE' }).catch(() => {});
  }

  /// The microphone's level, 0 to 1.
  async microphoneLevel() {
    const report = await this.sound.sender.getStats();
    return [...report.values()].find(entry => entry.type === 'media-source')?.audioLevel ?? 0;
  }

  /// Asks the sender to skip the sound that has piled up here.
  skipSound(milliseconds) {
    const request = { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: `${milliseconds}` };
    return this.sender.request(`${this.resource}/skip`, request);
  }

  async soundStats() {
    const report = await this.sound.receiver.getStats();
    const inbound = [...report.values()].find(entry => entry.type === 'inbound-rtp') ?? {};
    const since = key => inbound[key] - (this.soundSample[key] ?? 0);
    const { buffer, target } = buffered(inbound, this.soundSample);
    const recent = {
      soundBitrateBps: known(8000 * since('bytesReceived') / since('timestamp')),
      soundBufferMs: known(buffer),
      soundTargetMs: known(target),
      soundConcealedRatio: known(since('concealedSamples') / since('totalSamplesReceived')),
    };
    if (since('timestamp') >= 500) this.soundSample = inbound;
    return {
      soundPackets: known(inbound.packetsReceived),
      soundLevel: known(inbound.audioLevel),
      soundLossRatio: known(inbound.packetsLost / (inbound.packetsLost + inbound.packetsReceived)),
      ...recent,
    };
  }

  async stats() {
    const [report, sound] = await Promise.all([this.pc.getStats(), this.soundStats()]);
    const all = [...report.values()];
    const inbound = all.find(entry => entry.type === 'inbound-rtp' && entry.kind === 'video') ?? {};
    const transport = all.find(entry => entry.type === 'transport') ?? {};
    const pair = report.get(transport.selectedCandidatePairId)
      ?? all.find(entry => entry.type === 'candidate-pair' && entry.nominated && entry.state === 'succeeded') ?? {};
    const address = ({ candidateType, protocol, address, port } = {}) =>
      candidateType ? `${candidateType} ${protocol} ${address || '?'}:${port}` : null;

    // Rates are measured over at least the last half second.
    const since = key => inbound[key] - (this.sample[key] ?? 0);
    const recent = {
      bitrateBps: known(8000 * since('bytesReceived') / since('timestamp')),
      jitterBufferDelayMs: known(1000 * since('jitterBufferDelay') / since('jitterBufferEmittedCount')),
    };
    if (since('timestamp') >= 500) this.sample = inbound;

    return {
      framesDecoded: known(inbound.framesDecoded),
      frameWidth: known(inbound.frameWidth),
      frameHeight: known(inbound.frameHeight),
      codec: report.get(inbound.codecId)?.mimeType.replace('video/', '') ?? null,
      fps: known(inbound.framesPerSecond),
      ...recent,
      rttMs: known(1000 * pair.currentRoundTripTime),
      lossRatio: known(inbound.packetsLost / (inbound.packetsLost + inbound.packetsReceived)),
      freezeCount: this.picture.freezes,
      pictureAgeMs: this.picture.age,
      framesDropped: known(inbound.framesDropped),
      nackCount: known(inbound.nackCount),
      pliCount: known(inbound.pliCount),
      localCandidate: address(report.get(pair.localCandidateId)),
      remoteCandidate: address(report.get(pair.remoteCandidateId)),
      dtlsState: transport.dtlsState ?? null,
      dtlsRole: transport.dtlsRole ?? null,
      tlsVersion: transport.tlsVersion ?? null,
      srtpCipher: transport.srtpCipher ?? null,
      ...sound,
    };
  }
}
