import Posix

/// How long a test waits for what must come: it keeps a broken test from hanging, and lets a busy machine take its time.
package let patience = Duration.seconds(300)

/// A condition that never came true.
package struct WaitTimeout: Error, CustomStringConvertible {
    package let what: String
    package var description: String { "waited in vain until \(what)" }
}

/// Polls `condition` every few milliseconds.
///
/// - Parameter what: is told if that never comes true, with the values of the end.
package func wait(
    until what: @autoclosure () throws -> String,
    timeout: Duration = patience,
    _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + timeout
    while try !condition() {
        if ContinuousClock.now > end { throw try WaitTimeout(what: what()) }
        MonotonicClock.sleep(for: .milliseconds(5))
    }
}
