/// A device nearby, for people and programs.
package struct NearbyDevice: Codable, Equatable, Sendable {
    package enum Link: String, Codable, Sendable {
        case notConnected, connecting, connected
        /// Connected, and silent for a while.
        case away
    }

    /// Of a pair for ever; of another device until its next start.
    package var id: String
    /// One line; empty if the device does not say it.
    package var name: String
    package var isPaired: Bool
    /// `live`, `paused` or `idle`; nil if it is not announced now.
    package var state: String?
    /// Whether it shows a code now.
    package var takesCode: Bool
    /// That have found it, the best one first.
    package var drivers: [String]
    /// Where it is announced, or reached.
    package var addresses: [String]
    /// Of a pair; a stranger is not dialled.
    package var link: Link?
    /// When it was found, in RFC 3339; nil if it is not announced now.
    package var since: String?
    package var codecs: [String]
}
