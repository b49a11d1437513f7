import FoundationEssentials

/// WebRTC stacks that others wrote, as viewers: the programs in `Tests/Counterparts`, built by `tools/test`.
package enum Counterparts {
    /// A file of `Tests/Counterparts`.
    package static func path(_ name: String) -> String { "\(TestPrograms.repository)/Tests/Counterparts/\(name)" }

    /// Many viewers in one process: `URL TOKEN COUNT SECONDS`.
    package static let load = "\(TestPrograms.repository)/.build/pion/pion_load"

    /// A session with several tracks: `SECONDS`.
    package static let session = "\(TestPrograms.repository)/.build/pion/pion_session"

    /// A viewer that floods the sender with feedback: `feedback|nack|fir URL TOKEN SECONDS ADDRESS`.
    package static let attack = "\(TestPrograms.repository)/.build/pion/pion_attack"

    /// Python with aiortc.
    package static let python = ["\(TestPrograms.repository)/.build/counterparts/bin/python"]

    /// ffmpeg 9.
    package static let ffmpeg = "\(TestPrograms.repository)/.build/counterparts/bin/ffmpeg"

    package enum Stack: String, Sendable, CaseIterable {
        /// libwebrtc
        case wrtc
        case aiortc
        case gstreamer
        case pion

        var command: [String] {
            switch self {
            case .wrtc: Counterparts.python + [path("wrtc_viewer.py")]
            case .aiortc: Counterparts.python + [path("aiortc_viewer.py")]
            case .gstreamer: ["/usr/bin/python3", path("gst_viewer.py")]
            case .pion: ["\(TestPrograms.repository)/.build/pion/pion_viewer"]
            }
        }
    }

    /// What a viewer saw.
    package struct Report: Decodable, Sendable {
        package let connected: Bool
        package let frames: Int
        package let width: Int?
        package let height: Int?
        package let codec: String?
        package let srtp: String?
        package let setupAnswer: String?
        package let pair: String?
        package let status: Int?
        package let deleted: Int?
        /// Status of the wish to speak, and what the sender says of it.
        package let talk: Talk?
        package let error: String?

        /// An array of both.
        package struct Talk: Decodable, Sendable {
            package let status: Int
            package let state: String

            package init(from decoder: any Decoder) throws {
                var values = try decoder.unkeyedContainer()
                status = try values.decode(Int.self)
                state = try values.decode(String.self)
            }
        }
    }

    /// A viewer that looks at `url` and tells at its end what it saw.
    package static func viewer(
        _ stack: Stack,
        of url: String,
        token: String,
        in network: Network,
        _ arguments: [String] = []
    ) throws -> Subprocess {
        try Subprocess(network.atViewer(stack.command + [url, "--token=\(token)"] + arguments))
    }

    package static func report(_ viewer: Subprocess) throws -> Report {
        try viewer.wait()
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let line = viewer.output.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
            throw Browser.Failure(description: viewer.errorOutput)
        }
        return try decoder.decode(Report.self, from: Data(line.utf8))
    }
}
