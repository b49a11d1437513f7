import TestTraits
import Testing

// One promise to users is one folder, and one queue: each test fills the machine for some of its time, and waits for the rest of it. The seconds
// are sums over a promise of what `tools/test` leaves in `.build/test-times`, by which all queues end at about the same time.

/// Browsers and other WebRTC stacks see the screen, on a page that says how it is.
@Suite(.serialized, .waits(seconds: 360))
enum Watch {}

/// Viewers see the colours of the screen.
@Suite(.serialized, .waits(seconds: 180))
enum Colours {}

/// The user decides who sees the screen.
@Suite(.serialized, .waits(seconds: 120))
enum Admit {}

/// Viewers with the right command what all see, and reach the user.
@Suite(.serialized, .waits(seconds: 60))
enum Command {}

/// Media servers get the screen, and calls come and go while it is shared.
@Suite(.serialized, .waits(seconds: 330))
enum Publish {}

/// Two in a room see each other.
@Suite(.serialized, .waits(seconds: 200))
enum Meet {}

/// The sound of the machine and the microphone are heard where they may be.
@Suite(.serialized, .waits(seconds: 380))
enum Hear {}

/// Viewers speak, and are heard.
@Suite(.serialized, .waits(seconds: 150))
enum Speak {}

/// What was shown is kept, whatever dies.
@Suite(.serialized, .waits(seconds: 300))
enum Keep {}

/// Devices that were paired once know each other from then on.
@Suite(.serialized, .waits(seconds: 60))
enum Find {}

/// Nobody sees what was paused.
@Suite(.serialized, .waits(seconds: 30))
enum Pause {}

/// Processes start, stop, die and come back.
@Suite(.serialized, .waits(seconds: 60))
enum Recover {}

/// Peers are found behind NATs, through relays and after a change of network.
@Suite(.serialized, .waits(seconds: 310))
enum Reach {}

/// A bad link gets what fits through, and costs the others nothing.
@Suite(.serialized, .waits(seconds: 50))
enum ThinLink {}

/// Each change of the shared screen, region or window is in the picture.
@Suite(.serialized, .waits(seconds: 80))
enum Capture {}

/// Other programs receive plain RTP.
@Suite(.serialized, .waits(seconds: 110))
enum Receive {}

/// Other programs read the bridge.
@Suite(.serialized, .waits(seconds: 100))
enum Read {}

/// Bad input, strange machines and intruders get a refusal and nothing else.
@Suite(.serialized, .waits(seconds: 120))
enum Refuse {}
