import Testing

// One promise to users is one folder, and one queue: each test fills the machine for some of its time, and waits for the rest of it.

/// Browsers and other WebRTC stacks see the screen, in its colours, on a page that says how it is.
@Suite(.serialized, .measured) enum Watch {}

/// The user decides who sees the screen.
@Suite(.serialized, .measured) enum Admit {}

/// Media servers get the screen, and calls come and go while it is shared.
@Suite(.serialized, .measured) enum Publish {}

/// Two in a room see each other.
@Suite(.serialized, .measured) enum Meet {}

/// The sound of the machine and the microphone are heard where they may be.
@Suite(.serialized, .measured) enum Hear {}

/// Viewers speak, and are heard.
@Suite(.serialized, .measured) enum Speak {}

/// Nobody sees what was paused.
@Suite(.serialized, .measured) enum Pause {}

/// Processes start, stop, die and come back.
@Suite(.serialized, .measured) enum Recover {}

/// Peers are found behind NATs, through relays and after a change of network.
@Suite(.serialized, .measured) enum Reach {}

/// A bad link gets what fits through, and costs the others nothing.
@Suite(.serialized, .measured) enum ThinLink {}

/// Each change of the shared screen, region or window is in the picture.
@Suite(.serialized, .measured) enum Capture {}

/// Other programs receive plain RTP.
@Suite(.serialized, .measured) enum Receive {}

/// Other programs read the bridge.
@Suite(.serialized, .measured) enum Read {}

/// Bad input, strange machines and intruders get a refusal and nothing else.
@Suite(.serialized, .measured) enum Refuse {}
