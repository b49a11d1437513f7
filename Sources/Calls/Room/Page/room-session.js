// A member of a one-to-one room: Socket.IO over a WebSocket, and one connection to the other member.

const RETRY_MS = 1000, LONGEST_PAUSE_MS = 30_000;
const OTHER_JOINED = new Set(['otherjoin', 'other_joined', 'other_join']);

export class RoomSession {
  pc = null;                // to the other member, while it is there
  track = null;             // what is shown to it
  onstate = () => {};       // called with `connecting`, `waiting`, `talking`, `full` or `left`
  onstream = () => {};      // called with what the other member shows, or null
  #socket = null;
  #silence = null;
  #later = null;            // an offer after the path was lost
  #pause = RETRY_MS;
  #seat = crypto.getRandomValues(new Uint32Array(4)).join('');  // by it, the server knows that a seat is this member's own
  #candidates = [];         // that came before the description that they belong to

  constructor(url, room) {
    this.url = url;
    this.room = room;
  }

  // -- The server

  join() {
    if (!this.pc) this.onstate('connecting');
    const socket = this.#socket = new WebSocket(this.url);
    let patience = 45_000;
    const expect = () => {
      clearTimeout(this.#silence);
      this.#silence = setTimeout(() => socket.close(), patience);
    };
    expect();
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket || typeof data !== 'string') return;
      switch (data[0]) {
        case '0': {
          const { pingInterval, pingTimeout } = JSON.parse(data.slice(1));
          patience = pingInterval + pingTimeout;
          expect();
          socket.send(`40${JSON.stringify({ token: this.#seat })}`);
          break;
        }
        case '2':
          expect();
          socket.send('3');
          break;
        case '4': this.#take(data.slice(1)); break;
      }
    };
    socket.onclose = () => {
      clearTimeout(this.#silence);
      if (socket !== this.#socket) return;
      // The two need the server no more until one of them comes or goes.
      if (!this.pc) this.onstate('connecting');
      setTimeout(() => { if (socket === this.#socket) this.join(); }, RETRY_MS);
    };
  }

  leave(state = 'left') {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#closePeer();
    this.onstate(state);
  }

  #emit(...event) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(`42${JSON.stringify(event)}`);
  }

  #take(text) {
    if (text[0] === '0') return this.#emit('join', this.room);
    if (text[0] === '1' || text[0] === '4') return this.leave();
    if (text[0] !== '2') return;
    const [name, room, data] = JSON.parse(text.replace(/^2(\/[^,]*,)?\d*/, ''));
    if (room !== this.room) return;
    if (OTHER_JOINED.has(name)) return this.#offer();
    switch (name) {
      case 'joined':
        this.#closePeer();
        this.onstate('waiting');
        break;
      case 'full': this.leave('full'); break;
      case 'leaved': this.leave(); break;
      case 'bye':
        this.#closePeer();
        this.onstate('waiting');
        break;
      case 'message': this.#hear(data); break;
    }
  }

  // -- The other member

  #openPeer() {
    this.#closePeer();
    const pc = this.pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
    pc.onicecandidate = ({ candidate }) => {
      if (pc !== this.pc || !candidate?.candidate) return;
      const { candidate: line, sdpMid, sdpMLineIndex } = candidate;
      this.#emit('message', this.room, { type: 'candidate', label: sdpMLineIndex, id: sdpMid, candidate: line });
    };
    pc.ontrack = ({ track, receiver }) => {
      receiver.jitterBufferTarget = 0;
      track.onunmute = () => { if (pc === this.pc) this.onstream(new MediaStream([track])); };
    };
    pc.onconnectionstatechange = () => {
      if (pc !== this.pc) return;
      if (pc.connectionState === 'connected') this.onstate('talking');
      if (pc.connectionState === 'connected') this.#pause = RETRY_MS;
      if (pc.connectionState === 'failed') {
        this.#closePeer();
        this.onstate('waiting');
        // The other one may be there, though no path led to it.
        this.#later = setTimeout(() => this.#offer(), 1.5 * this.#pause);
        this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
      }
    };
    return pc;
  }

  #closePeer() {
    clearTimeout(this.#later);
    this.pc?.close();
    this.pc = null;
    this.#candidates = [];
    this.onstream(null);
  }

  async #offer() {
    const pc = this.#openPeer();
    pc.addTransceiver('video', { direction: 'sendrecv' }).sender.replaceTrack(this.track);
    await pc.setLocalDescription();
    if (pc === this.pc) this.#emit('message', this.room, { type: 'offer', sdp: pc.localDescription.sdp });
  }

  async #answer(sdp) {
    const pc = this.#openPeer();
    await pc.setRemoteDescription({ type: 'offer', sdp });
    for (const transceiver of pc.getTransceivers()) {
      if (transceiver.receiver.track.kind !== 'video') continue;
      // The other member takes it, or it does not.
      transceiver.direction = 'sendrecv';
      transceiver.sender.replaceTrack(this.track);
      break;
    }
    await pc.setLocalDescription();
    if (pc !== this.pc) return;
    this.#emit('message', this.room, { type: 'answer', sdp: pc.localDescription.sdp });
    await this.#addCandidates(pc);
  }

  async #hear(message) {
    try {
      switch (message?.type) {
        case 'offer': await this.#answer(message.sdp); break;
        case 'answer':
          await this.pc?.setRemoteDescription({ type: 'answer', sdp: message.sdp });
          await this.#addCandidates(this.pc);
          break;
        case 'candidate':
          this.#candidates.push({
            candidate: message.candidate ?? message.sdp, sdpMid: message.id ?? null,
            sdpMLineIndex: message.label === undefined ? null : Number(message.label),
          });
          await this.#addCandidates(this.pc);
          break;
      }
    } catch (error) {
      console.warn('The other member sent what is of no use:', error);
    }
  }

  async #addCandidates(pc) {
    if (!pc?.remoteDescription) return;
    for (const candidate of this.#candidates.splice(0)) await pc.addIceCandidate(candidate).catch(() => {});
  }

  /// Shows another track to the other member from now on; null for none.
  show(track) {
    this.track = track;
    const transceiver = this.pc?.getTransceivers().find(one => one.receiver.track.kind === 'video');
    transceiver?.sender.replaceTrack(track);
  }
}
