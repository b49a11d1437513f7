/// Whether dark pictures without contrast are brightened for all who see them.
package enum Legibility: String, Codable, Sendable, CaseIterable {
    case off
    /// All pictures.
    case on
    /// Only pictures that are dark and have nothing bright in them.
    case auto
}
