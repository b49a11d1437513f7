// Watches a room or a mountpoint of Janus, and begins again when it is lost. The address says what:
// janus.html#server=ws://HOST:8188&room=1234&pin=…, or …&mountpoint=1

const options = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const video = document.querySelector('video');
const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
let pc;

class Session {
  constructor() {
    this.answers = new Map();
    this.isOver = false;
    this.socket = new WebSocket(options.server, 'janus-protocol');
    this.socket.onclose = () => this.end();
    this.socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    this.opened = new Promise((resolve, reject) => {
      this.socket.onopen = resolve;
      this.socket.addEventListener('close', reject);
    });
  }

  end() {
    this.isOver = true;
    for (const { reject } of this.answers.values()) reject(new Error('the connection is lost'));
  }

  take(message) {
    const answer = this.answers.get(message.transaction);
    // Whoever was watched has left.
    const isLost = message.janus === 'hangup' || (!answer && message.plugindata?.data?.videoroom === 'updated');
    if (isLost) return this.end();
    if (!answer || message.janus === 'ack') return;
    this.answers.delete(message.transaction);
    const fault = message.error?.reason ?? message.plugindata?.data?.error;
    if (fault) answer.reject(new Error(fault)); else answer.resolve(message);
  }

  ask(janus, fields = {}) {
    const transaction = `${Math.random()}`;
    this.socket.send(JSON.stringify({ janus, transaction, session_id: this.id, handle_id: this.handle, ...fields }));
    return new Promise((resolve, reject) => this.answers.set(transaction, { resolve, reject }));
  }

  async attach(plugin) {
    await this.opened;
    this.id = (await this.ask('create')).data.id;
    this.handle = (await this.ask('attach', { plugin: `janus.plugin.${plugin}` })).data.id;
  }

  say(body, jsep) { return this.ask('message', jsep ? { body, jsep } : { body }); }

  async room() {
    await this.attach('videoroom');
    const { room: text, pin } = options, room = /^\d+$/.test(text) ? +text : text;
    for (;;) {
      const { participants } = (await this.say({ request: 'listparticipants', room })).plugindata.data;
      const feed = participants.find(({ publisher }) => publisher)?.id;
      if (feed) return this.say({ request: 'join', ptype: 'subscriber', room, pin, streams: [{ feed }] });
      await sleep(20);
    }
  }

  async mountpoint() {
    await this.attach('streaming');
    return this.say({ request: 'watch', id: +options.mountpoint });
  }
}

async function watch() {
  const session = new Session();
  const { jsep } = options.room ? await session.room() : await session.mountpoint();
  pc = new RTCPeerConnection();
  pc.ontrack = ({ track }) => {
    (track.kind === 'video' ? video : document.querySelector('audio')).srcObject = new MediaStream([track]);
  };
  pc.onicecandidate = ({ candidate }) => session.ask('trickle', { candidate: candidate ?? { completed: true } });
  await pc.setRemoteDescription(jsep);
  const answer = await pc.createAnswer();
  // Chromium makes one channel of two otherwise.
  const sdp = answer.sdp.replace('useinbandfec=1', 'useinbandfec=1;stereo=1');
  await pc.setLocalDescription({ type: 'answer', sdp });
  await session.say({ request: 'start' }, { type: 'answer', sdp: pc.localDescription.sdp });
  while (!session.isOver) await sleep(50);
}

// What is decoded of the present connection.
window.state = async () => {
  const reports = [...(await pc?.getStats() ?? new Map()).values()];
  const stream = reports.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video');
  const codec = reports.find(({ id }) => id === stream?.codecId)?.mimeType ?? '';
  return { frames: stream?.framesDecoded ?? 0, keyframes: stream?.keyFramesDecoded ?? 0, width: video.videoWidth, codec };
};

// What is heard, once there is something.
window.sound = () => document.querySelector('audio').srcObject?.getAudioTracks()[0];

// The names of those who are in the room and publish.
window.publishers = async () => {
  const session = new Session();
  await session.attach('videoroom');
  const { participants } = (await session.say({ request: 'listparticipants', room: +options.room })).plugindata.data;
  session.socket.close();
  return participants.map(({ display }) => display);
};

(async () => {
  for (;;) {
    try { await watch(); } catch (error) { console.log(error); }
    pc?.close();
    pc = undefined;
    await sleep(100);
  }
})();
