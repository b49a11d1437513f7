/// How bright the frame around what is shared is, on the screen of the person who shares.
package enum StatusFrame: String, Codable, Sendable, CaseIterable {
    case off, low, medium, high
    /// Medium while somebody watches, and otherwise off.
    case auto
}
