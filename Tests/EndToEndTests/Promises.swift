import Testing

// One promise to users is one folder, and one queue: each test fills the machine for some of its time, and waits for the rest of it. The longest
// queue is to end when the others do.

/// Browsers and other WebRTC stacks see the screen, on a page that says how it is.
@Suite(.serialized, .drivesPrograms) enum Watch {}

/// Viewers see the colours of the screen.
@Suite(.serialized, .drivesPrograms) enum Colours {}

/// The user decides who sees the screen.
@Suite(.serialized, .drivesPrograms) enum Admit {}

/// Media servers get the screen, and calls come and go while it is shared.
@Suite(.serialized, .drivesPrograms) enum Publish {}

/// Two in a room see each other.
@Suite(.serialized, .drivesPrograms) enum Meet {}

/// The sound of the machine and the microphone are heard where they may be.
@Suite(.serialized, .drivesPrograms) enum Hear {}

/// Viewers speak, and are heard.
@Suite(.serialized, .drivesPrograms) enum Speak {}

/// Nobody sees what was paused.
@Suite(.serialized, .drivesPrograms) enum Pause {}

/// Processes start, stop, die and come back.
@Suite(.serialized, .drivesPrograms) enum Recover {}

/// Peers are found behind NATs, through relays and after a change of network.
@Suite(.serialized, .drivesPrograms) enum Reach {}

/// A bad link gets what fits through, and costs the others nothing.
@Suite(.serialized, .drivesPrograms) enum ThinLink {}

/// Each change of the shared screen, region or window is in the picture.
@Suite(.serialized, .drivesPrograms) enum Capture {}

/// Other programs receive plain RTP.
@Suite(.serialized, .drivesPrograms) enum Receive {}

/// Other programs read the bridge.
@Suite(.serialized, .drivesPrograms) enum Read {}

/// Bad input, strange machines and intruders get a refusal and nothing else.
@Suite(.serialized, .drivesPrograms) enum Refuse {}
