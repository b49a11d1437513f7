import Posix

/// A condition that never came true.
package struct WaitTimeout: Error, CustomStringConvertible {
    package let what: String
    package var description: String { "waited in vain until \(what)" }
}

/// Polls `condition` every few milliseconds. The deadline is generous: it only keeps a broken test from hanging.
package func wait(
    until what: String,
    timeout: Duration = .seconds(30),
    _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + timeout
    while try !condition() {
        if ContinuousClock.now > end { throw WaitTimeout(what: what) }
        MonotonicClock.sleep(for: .milliseconds(5))
    }
}
