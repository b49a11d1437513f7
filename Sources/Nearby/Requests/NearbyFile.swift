/// A file that comes, for people and programs.
package struct NearbyFile: Codable, Equatable, Sendable {
    package var from: String
    package var name: String
    package var size: UInt64
    package var received: UInt64
    /// Where it is; nil while it is not whole.
    package var path: String?
    /// Why it will not come; nil while it may.
    package var problem: String?

    package var sentence: String {
        if let path { return "\(from) has sent \(path)" }
        if let problem { return "\(name) of \(from): \(problem)" }
        return "\(name) of \(from): \(size == 0 ? 100 : Int(Double(received) / Double(size) * 100)) %"
    }
}
