import Foundation

/// The report of `pion_load`, in JSON on its standard output.
struct LoadReport: Decodable {
    let connected: Int
    let packets: Double
    /// Of all viewers together.
    let frames: Double
    let lost: Double
    let seconds: Double
    /// Of sound, to the viewer that got the fewest.
    let leastSoundPackets: Double

    private enum CodingKeys: String, CodingKey {
        case connected, packets, frames, lost, seconds
        case leastSoundPackets = "per_viewer_min_sound_packets"
    }

    /// - Parameter count: the viewers that must all have connected.
    init(_ output: String, of count: Int) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(output.utf8))
        guard connected == count else { throw BenchError("\(connected) of \(count) viewers connected") }
    }
}
