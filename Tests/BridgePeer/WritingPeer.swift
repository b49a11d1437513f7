import FrameBridge
import Glibc
import Posix
import Time

/// Publishes what the words say, one after the other: `WxH*N` is so many frames of a size, for ever if `N` is 0; `hold` waits
/// for ever, with heartbeats, and does what it is asked; a state's name is that state; `slate` is a picture that leaves
/// nothing else; `stop` says goodbye.
///
/// - Parameter options: `storage`, `pattern`, and `rate` in frames a second, as fast as it goes if it is 0. `verbose=1` tells of
///   every frame.
func write(to directory: BridgeDirectory, _ options: Options) throws {
    let storage = options["storage"].flatMap { FrameStorage(rawValue: $0) } ?? .file
    let pattern = options["pattern"].flatMap { Pattern(rawValue: $0) } ?? .solid
    let rate = options["rate", default: 0]
    var writer = try FrameWriter(directory: directory, source: "peer", framesPerSecond: 30, storage: storage)
    say("began=\(writer.state.name)")
    var number: UInt64 = 0
    for word in options.rest {
        if let state = BroadcastState.allCases.first(where: { $0.name == word }) {
            say("says=")
            try writer.setState(state)
            say("says=\(state.name)")
        } else if word == "slate" {
            number += 1
            let info = pattern.info(64, 64, number: number)
            try writer.publish(info, leavingNothingElse: true) { pattern.draw(&$0, number: number, half: crashPoint) }
            say("slate=\(info.capturedAt.nanoseconds)")
        } else if word == "stop" {
            try writer.stop()
            say("stopped=\(number)")
            return
        } else if word == "hold" {
            while true {
                _ = writer.heartbeat()
                if let request = writer.takeRequest() {
                    try? writer.setState(request == .pause ? .paused : .active)
                    if request == .stop { return try writer.stop() }
                    writer.answer(.granted)
                }
                MonotonicClock.sleep(for: .milliseconds(20))
            }
        } else {
            let (width, height, count) = frames(word)
            let start = now()
            var published: UInt64 = 0
            while published < count {
                number += 1
                let info = pattern.info(width, height, number: number)
                try writer.publish(info) { pattern.draw(&$0, number: number, half: crashPoint) }
                published += 1
                if number == 1 || options["verbose"] != nil { say("published=\(number)") }
                guard rate > 0 else { continue }
                _ = writer.heartbeat()
                MonotonicClock.sleep(until: start + .nanoseconds(published * 1_000_000_000 / rate))
            }
        }
    }
    say("published=\(number)")
}

private func frames(_ word: String) -> (width: Int, height: Int, count: UInt64) {
    let numbers = word.split(whereSeparator: { "x*".contains($0) }).compactMap { UInt64($0) }
    guard numbers.count == 3 else { exit(64) }
    return (Int(numbers[0]), Int(numbers[1]), numbers[2] == 0 ? .max : numbers[2])
}
