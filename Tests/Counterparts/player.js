// Plays by WHEP in the manners of players that others wrote, from another origin than the sender's:
//   early   the offer is sent before it is applied; candidates of the first description follow, without If-Match
//   late    OPTIONS with the token, the offer is applied and sent, candidates of all descriptions follow for any generation;
//           the session's own requests come without the token
//   whole   the offer is sent when all candidates are in it

const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
const line = (sdp, name) => sdp.match(new RegExp(`a=${name}:(.*)\r\n`))[1];

class Player {
  constructor({ url, token, order, bundlePolicy, manner }) {
    Object.assign(this, { url, token, manner, candidates: [] });
    this.pc = new RTCPeerConnection({ bundlePolicy });
    this.pc.ontrack = ({ track }) => {
      if (track.kind === 'video') document.querySelector('video').srcObject = new MediaStream([track]);
    };
    this.pc.onicecandidate = ({ candidate }) => {
      if (!candidate?.candidate || manner === 'whole' || (manner === 'early' && candidate.sdpMLineIndex > 0)) return;
      this.candidates.push(candidate);
      if (this.resource && !this.isRestarting) this.trickle();
    };
    for (const kind of order) this.pc.addTransceiver(kind, { direction: 'recvonly' });
  }

  async request(address, method, headers = {}, body) {
    if (this.token && (address === this.url || this.manner !== 'late')) headers = { ...headers, Authorization: `Bearer ${this.token}` };
    const response = await fetch(address, { method, headers, body });
    if (!response.ok) throw new Error(`${method}: ${response.status} ${await response.text()}`);
    return response;
  }

  async join() {
    const { pc, manner } = this;
    if (manner === 'late') this.links = (await this.request(this.url, 'OPTIONS')).headers.get('Link');
    const offer = await pc.createOffer();
    if (manner !== 'early') await pc.setLocalDescription(offer);
    while (manner === 'whole' && pc.iceGatheringState !== 'complete') await sleep(20);
    const { sdp } = manner === 'whole' ? pc.localDescription : offer;
    const response = await this.request(this.url, 'POST', { 'Content-Type': 'application/sdp' }, sdp);
    this.resource = new URL(response.headers.get('Location'), this.url);
    this.fields = ['ETag', 'Accept-Patch', 'Link'].map(name => response.headers.get(name));
    const answer = await response.text();
    if (manner === 'early') await pc.setLocalDescription(offer);
    this.credentials = sdp;
    await pc.setRemoteDescription({ type: 'answer', sdp: answer });
    await this.trickle();
  }

  patch(condition, lines) {
    const headers = { 'Content-Type': 'application/trickle-ice-sdpfrag', ...(condition && { 'If-Match': condition }) };
    const credentials = ['ice-ufrag', 'ice-pwd'].map(name => `a=${name}:${line(this.credentials, name)}`);
    return this.request(this.resource, 'PATCH', headers, [...credentials, ...lines, ''].join('\r\n'));
  }

  async trickle() {
    const candidates = this.candidates.splice(0);
    if (!candidates.length || !this.resource) return;
    const lines = candidates.flatMap(({ sdpMid, candidate }) => [
      'm=audio 9 UDP/TLS/RTP/SAVPF 0', `a=mid:${sdpMid}`, `a=${candidate}`,
    ]);
    await this.patch(this.manner === 'late' && '*', lines);
  }

  async restart() {
    const { pc } = this;
    // Candidates of the new generation wait for it: the request that begins it tells the sender's credentials.
    this.isRestarting = true;
    const offer = await pc.createOffer({ iceRestart: true });
    this.credentials = offer.sdp;
    await pc.setLocalDescription(offer);
    const fragment = await (await this.patch('*', [])).text();
    let { sdp } = pc.remoteDescription;
    for (const name of ['ice-ufrag', 'ice-pwd']) {
      sdp = sdp.replace(new RegExp(`a=${name}:.*\r\n`, 'g'), `a=${name}:${line(fragment, name)}\r\n`);
    }
    await pc.setRemoteDescription({ type: 'answer', sdp });
    this.isRestarting = false;
    await this.trickle();
  }

  async frames() {
    const reports = [...(await this.pc.getStats()).values()];
    return reports.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video')?.framesDecoded ?? 0;
  }

  async watch(count) {
    for (const end = (await this.frames()) + count; await this.frames() < end;) {
      if (this.pc.connectionState === 'failed') throw new Error('the connection failed');
      await sleep(50);
    }
  }

  async leave() {
    await this.request(this.resource, 'DELETE');
    this.pc.close();
  }
}

// Joins, watches, restarts ICE, watches on and leaves; tells what it saw.
window.play = async options => {
  const player = new Player(options);
  await player.join();
  await player.watch(10);
  const { pc, fields, links } = player;
  const fragments = [line(pc.remoteDescription.sdp, 'ice-ufrag')];
  await player.restart();
  fragments.push(line(pc.remoteDescription.sdp, 'ice-ufrag'));
  // A new path has been found when the transport says so; the old one carries the picture until then.
  while (!['connected', 'completed'].includes(pc.iceConnectionState)) await sleep(20);
  await player.watch(30);
  const directions = pc.getTransceivers().map(transceiver => transceiver.currentDirection ?? 'stopped');
  await player.leave();
  return { fields, links, directions, isRestarted: fragments[0] !== fragments[1] };
};
