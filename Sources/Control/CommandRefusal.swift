/// Why a command is not done.
package struct CommandRefusal: Error, Codable, Equatable, Sendable {
    /// Gets the refusal, or nil if the command is done. Called once, on any thread.
    package typealias Completion = @Sendable (CommandRefusal?) -> Void

    /// For programs, such as `outside`.
    package let reason: String
    package let sentence: String

    package init(_ reason: String, _ sentence: String) { (self.reason, self.sentence) = (reason, sentence) }
}
