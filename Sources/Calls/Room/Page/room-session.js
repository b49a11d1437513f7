// A member of a one-to-one room: Socket.IO over a WebSocket, and one peer connection to the other member.

import { iceServersOf } from './ice-servers.js';

const RETRY_MS = 1000, LONGEST_PAUSE_MS = 30_000, SERVERS_MS = 3000;
const FORM_MS = 500;    // a known guest is let in without a name, and sooner
const OTHER_JOINED = new Set(['otherjoin', 'other_joined', 'other_join']);

export class RoomSession {
  pc = null;                // to the other member, while it is there
  track = null;             // the track that the other member gets
  // Called with `connecting`, `waiting`, `knocking` (a name is wanted), `asking`, `talking`; or at the end with `left`,
  // `ended`, `full`, `busy`, `rejected` or `kicked`.
  onstate = () => {};
  onwithheld = () => {};    // called when the track is withheld from a new other member
  onparted = () => {};      // called with the reason why the other member is gone: `hung_up`, `lost`, or `no_answer`
  onstream = () => {};      // called with the other member's picture, or null
  onsound = () => {};       // called with its sound, or null
  #socket = null;
  #silence = null;
  #later = null;            // an offer after the path was lost
  #pause = RETRY_MS;
  #seat = crypto.getRandomValues(new Uint32Array(4)).join('');  // tells the server that a seat is this member's own
  #id = null;               // of this connection to the server
  #introduction = {};       // `{ name, note }`, once the person has given it
  #certificate = null;      // identifies this member later
  #fingerprint = null;
  #other = null;            // the other member, as far as known: `{ isOriel, wasThere }`
  #otherID = null;          // its connection to the server, if known
  #sender = null;           // the sender of the next message; only in a room with more than two seats
  #shownTo = null;          // the certificate of the first member that got the track: nobody else gets it
  #thirds = new Set();      // the connections of members that were told `busy`
  #form = null;
  #candidates = [];         // from before their description

  constructor(url, room) {
    this.url = url;
    this.room = room;
  }

  // -- The server

  /// Call it once, before the first `join`.
  async prepare() {
    this.#certificate = await certificate();
    this.#fingerprint = await fingerprint(this.#certificate);
  }

  get isInside() { return this.#socket !== null; }

  join() {
    const socket = this.#socket = new WebSocket(this.url);
    if (!this.pc) this.onstate('connecting');
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
      // The members need the server only when one of them comes or goes.
      if (!this.pc) this.onstate('connecting');
      setTimeout(() => { if (socket === this.#socket) this.join(); }, RETRY_MS);
    };
  }

  leave(state = 'left') {
    const socket = this.#socket;
    if (state === 'left') this.#tell({ event: 'end', reason: 'hung_up' });
    this.#emit('leave', this.room);
    this.#socket = null;
    socket?.close();
    this.#forget();
    this.#introduction = {};      // a returning member knocks anew
    this.onstate(state);
  }

  #emit(...event) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(`42${JSON.stringify(event)}`);
  }

  /// Other programs ignore this type.
  #tell(message) {
    this.#emit('message', this.room, { type: 'oriel', ...message });
  }

  #introduce() {
    this.#tell({ event: 'hello', ...this.#introduction, asks: false, receives: true, fingerprint: this.#fingerprint });
  }

  #take(text) {
    if (text[0] === '0') return this.#emit('join', this.room);
    if (text[0] === '1' || text[0] === '4') return this.leave('ended');
    if (text[0] !== '2') return;
    const [name, room, data] = JSON.parse(text.replace(/^2(\/[^,]*,)?\d*/, ''));
    if (room !== this.room) return;
    if (OTHER_JOINED.has(name)) return this.#meet(data);
    switch (name) {
      case 'joined':
        this.#forget();
        this.#id = data;
        this.#sender = null;
        this.#introduce();
        this.onstate('waiting');
        break;
      case 'full': this.leave('full'); break;
      case 'leaved': this.leave('ended'); break;
      case 'bye':
        if (this.#thirds.delete(data) || !(this.#other || this.pc)) break;
        if (this.#isThird(data)) break;
        this.#part(this.#other?.isOriel ? 'lost' : 'hung_up');
        break;
      case 'from': this.#sender = data; break;
      case 'message': {
        const sender = this.#sender;
        this.#sender = null;
        if (!this.#isThird(sender)) this.#hear(data, sender);
        break;
      }
    }
  }

  /// Whether a connection is a third member's. It gets all messages. Its own are ignored while two are connected.
  #isThird(id) {
    return id !== null && this.#otherID !== null && id !== this.#otherID && this.pc !== null;
  }

  // -- Presence

  #meet(id) {
    if (this.pc?.connectionState === 'connected') {
      this.#thirds.add(id);
      return this.#tell({ event: 'end', reason: 'busy', to: id });
    }
    this.#forget();
    this.#otherID = id;
    this.#introduce();
    return this.#offer();
  }

  /// Reports why the other member is gone, once.
  #part(reason) {
    const wasThere = this.#other?.wasThere;
    this.#forget();
    this.onstate('waiting');
    if (wasThere) this.onparted(reason);
  }

  #forget() {
    clearTimeout(this.#form);
    this.#closePeer();
    this.#other = null;
    this.#otherID = null;
  }

  #hearOfOriel({ event, asks, reason, to }) {
    if (event === 'hello' && this.pc?.connectionState !== 'connected') {
      this.#other = { isOriel: true, wasThere: false };
      clearTimeout(this.#form);
      if (!asks) return;
      if ('name' in this.#introduction) this.onstate('asking');
      else this.#form = setTimeout(() => this.onstate('knocking'), FORM_MS);
    }
    if (event !== 'end' || (to ?? this.#id) !== this.#id) return;
    if (reason === 'hung_up' && !this.#thirds.size) this.#part(reason);
    else if (reason === 'no_answer') {
      this.#introduction = {};
      this.onstate('knocking');
      this.onparted(reason);
    } else if (['rejected', 'kicked', 'busy'].includes(reason)) this.leave(reason);
  }

  /// Asks the other member to let this one in.
  knock(name, note) {
    this.#introduction = { name, note };
    this.#introduce();
    this.onstate('asking');
  }

  /// The browser's statistics of the received sound; empty without sound.
  async soundStats() {
    const receiver = this.pc?.getReceivers().find(({ track }) => track.kind === 'audio');
    const report = await receiver?.getStats() ?? new Map();
    return [...report.values()].find(({ type }) => type === 'inbound-rtp') ?? {};
  }

  /// Asks the other member to skip the sound that has piled up here. Only Oriel can do that.
  skipSound(milliseconds) {
    if (this.#other?.isOriel) this.#tell({ event: 'skip', milliseconds });
  }

  // -- The other member

  #openPeer() {
    this.#closePeer();
    const pc = this.pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle', certificates: [this.#certificate] });
    pc.onicecandidate = ({ candidate }) => {
      if (pc !== this.pc || !candidate?.candidate) return;
      const { candidate: line, sdpMid, sdpMLineIndex } = candidate;
      this.#emit('message', this.room, { type: 'candidate', label: sdpMLineIndex, id: sdpMid, candidate: line });
    };
    pc.ontrack = ({ track, receiver }) => {
      receiver.jitterBufferTarget = 0;
      const show = track.kind === 'video' ? this.onstream : this.onsound;
      track.onunmute = () => { if (pc === this.pc) show(new MediaStream([track])); };
    };
    pc.onconnectionstatechange = () => {
      if (pc !== this.pc) return;
      if (pc.connectionState === 'connected') {
        this.#other = { isOriel: this.#other?.isOriel ?? false, wasThere: true };
        this.#pause = RETRY_MS;
        this.onstate('talking');
      }
      if (pc.connectionState === 'failed') {
        this.#closePeer();
        this.onstate('waiting');
        // The other member may be there, but no path leads to it.
        this.#later = setTimeout(() => this.#offer(), 1.5 * this.#pause);
        this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
      }
    };
    return pc;
  }

  /// Uses the page's STUN and TURN servers, with fresh logins.
  async #useServers(pc) {
    const options = { cache: 'no-store', signal: AbortSignal.timeout(SERVERS_MS) };
    const response = await fetch(location.href, options).catch(() => null);
    const iceServers = response ? iceServersOf(response) : [];
    if (iceServers.length && pc === this.pc) pc.setConfiguration({ ...pc.getConfiguration(), iceServers });
  }

  #closePeer() {
    clearTimeout(this.#later);
    this.pc?.close();
    this.pc = null;
    this.#candidates = [];
    this.onstream(null);
    this.onsound(null);
  }

  async #offer() {
    const pc = this.#openPeer();
    pc.addTransceiver('video', { direction: 'sendrecv' });
    pc.addTransceiver('audio', { direction: 'recvonly' });
    await this.#useServers(pc);
    if (pc !== this.pc) return;
    await pc.setLocalDescription(hearing(await pc.createOffer()));
    if (pc === this.pc) this.#emit('message', this.room, { type: 'offer', sdp: pc.localDescription.sdp });
  }

  async #answer(sdp, sender) {
    // An offer beside the connected member is a third member's.
    if (this.pc?.connectionState === 'connected' && certificateIn(sdp) !== certificateOf(this.pc)) return;
    clearTimeout(this.#form);
    const pc = this.#openPeer();
    this.#otherID = sender ?? this.#otherID;
    await this.#useServers(pc);
    if (pc !== this.pc) return;
    await pc.setRemoteDescription({ type: 'offer', sdp });
    for (const transceiver of pc.getTransceivers()) {
      if (transceiver.receiver.track.kind !== 'video') continue;
      // The other member may decline it.
      transceiver.direction = 'sendrecv';
      break;
    }
    this.#showTrack();
    await pc.setLocalDescription(hearing(await pc.createAnswer()));
    if (pc !== this.pc) return;
    this.#emit('message', this.room, { type: 'answer', sdp: pc.localDescription.sdp });
    await this.#addCandidates(pc);
  }

  async #hear(message, sender) {
    try {
      switch (message?.type) {
        case 'offer': await this.#answer(message.sdp, sender); break;
        case 'answer':
          clearTimeout(this.#form);
          await this.pc?.setRemoteDescription({ type: 'answer', sdp: message.sdp });
          this.#showTrack();
          await this.#addCandidates(this.pc);
          break;
        case 'candidate':
          this.#candidates.push({
            candidate: message.candidate ?? message.sdp, sdpMid: message.id ?? null,
            sdpMLineIndex: message.label === undefined ? null : Number(message.label),
          });
          await this.#addCandidates(this.pc);
          break;
        case 'oriel': this.#hearOfOriel(message); break;
      }
    } catch (error) {
      console.warn('A message of the other member cannot be used:', error);
    }
  }

  async #addCandidates(pc) {
    if (!pc?.remoteDescription) return;
    for (const candidate of this.#candidates.splice(0)) await pc.addIceCandidate(candidate).catch(() => {});
  }

  /// Shows another track to the other member; null for none. If nobody is there, the next member gets it.
  show(track) {
    this.track = track;
    this.#shownTo = null;
    this.#showTrack();
  }

  /// The track is for the first member that got it. Another one gets it when the person shows it again.
  #showTrack() {
    const certificate = this.pc && certificateOf(this.pc);
    if (!certificate) return;
    if (this.track) this.#shownTo ??= certificate;
    const isMeant = this.#shownTo === certificate;
    if (this.track && !isMeant) this.onwithheld();
    const track = isMeant ? this.track : null;
    const transceiver = this.pc?.getTransceivers().find(one => one.receiver.track.kind === 'video');
    transceiver?.sender.replaceTrack(track);
  }
}

/// The certificate in a description, by all its hashes.
function certificateIn(sdp) {
  return [...new Set(sdp.match(/^a=fingerprint:[^\r\n]*/gm))].join(' ');
}

/// The certificate of the other side; null before its description.
function certificateOf(pc) {
  return pc.remoteDescription && certificateIn(pc.remoteDescription.sdp);
}

/// Chromium mixes two channels into one, and does not request lost sound, unless its own description says so.
function hearing({ type, sdp }) {
  const sound = /^a=fmtp:(\d+) (.*useinbandfec=1)(?!.*stereo)/m;
  return { type, sdp: sdp.replace(sound, 'a=rtcp-fb:$1 nack\r\na=fmtp:$1 $2;stereo=1') };
}

// -- The certificate

function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/// This browser's certificate at this address. If the browser stores nothing, as in a private window, it is a new one.
async function certificate() {
  const fresh = () => RTCPeerConnection.generateCertificate({ name: 'ECDSA', namedCurve: 'P-256' });
  try {
    const opening = indexedDB.open('oriel', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('certificates');
    const database = await result(opening);
    const store = mode => database.transaction('certificates', mode).objectStore('certificates');
    const known = await result(store('readonly').get('own'));
    if (known?.expires > Date.now() + 24 * 3600 * 1000) return known;
    const made = await fresh();
    await result(store('readwrite').put(made, 'own'));
    return made;
  } catch {
    return fresh();
  }
}

/// In the form of session descriptions.
async function fingerprint(certificate) {
  const pc = new RTCPeerConnection({ certificates: [certificate] });
  pc.createDataChannel('');
  const { sdp } = await pc.createOffer();
  pc.close();
  return sdp.match(/^a=fingerprint:([^\r\n]*)/m)?.[1];
}
