import Posix

/// How long a test waits for what must come: it keeps a broken test from hanging, and lets a busy machine take its time.
package let patience = Duration.seconds(300)

/// A condition that never came true.
package struct WaitTimeout: Error, CustomStringConvertible {
    package let what: String
    package var description: String { "waited in vain until \(what)" }
}

/// Polls `condition` every few milliseconds, and one that takes long less often: it rests nine times as long as a try takes, and 200 ms at
/// most. A try may start programs, and what it waits for needs the processor too.
///
/// - Parameters:
///   - what: is told if that never comes true, with the values of the end.
///   - restsBetween: false where the condition itself does a part of what must come, so that resting would only delay that.
package func wait(
    until what: @autoclosure () throws -> String,
    timeout: Duration = patience,
    restsBetween: Bool = true,
    _ condition: () throws -> Bool
) throws {
    let (least, most) = (Duration.milliseconds(5), Duration.milliseconds(200))
    let end = ContinuousClock.now + timeout
    while true {
        let begin = ContinuousClock.now
        if try condition() { return }
        let now = ContinuousClock.now
        if now > end { throw try WaitTimeout(what: what()) }
        MonotonicClock.sleep(for: restsBetween ? min(max(least, (now - begin) * 9), most) : least)
    }
}
