/// An answer of the nearby process: one JSON object on one line.
package enum NearbyReply: Codable, Equatable, Sendable {
    package static let limit = 1 << 16

    /// A device that is new, or has changed.
    case device(NearbyDevice)
    case lost(id: String)
    /// All that is known now was listed.
    case listed
    /// What a driver cannot do; nil once it can.
    case problem(driver: String, sentence: String?)
    /// The code to show, and for how long.
    ///
    /// - links: for a camera, or to be typed where the device is not found.
    case code(text: String, links: [String], seconds: Int)
    /// A code was wrong. Where it was shown, the next one follows.
    case wrongCode
    case found(NearbyDevice)
    /// A line for the person, of a pair.
    case message(from: String, DeviceMessage)
    case note(String)
    /// A file that comes.
    case file(NearbyFile)
    /// How much of a file was sent, in bytes.
    case progress(done: UInt64, size: UInt64)
    /// - isConfirmed: whether the other side is known to have stored it.
    case paired(name: String, isConfirmed: Bool)
    case done
    case failed(NearbyFailure, sentence: String)
}

package enum NearbyFailure: String, Codable, Sendable {
    case refused
    case unavailable
    case failed
}
