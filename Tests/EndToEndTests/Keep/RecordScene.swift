import FoundationEssentials
import Glibc
import TestSupport
import Time

/// A broadcast with a sender, and recordings of it.
final class RecordScene {
    let server: XServer
    let broadcast: Broadcast
    let capture: Subprocess
    private(set) var sender: Subprocess?
    private let port: UInt16

    /// - Parameter hasSender: whether a sender runs before anybody records.
    init(hasSender: Bool = true, size: (width: Int, height: Int) = (640, 480), showsPointer: Bool = false) throws {
        server = try XServer(.virtual(width: size.width, height: size.height))
        broadcast = try Broadcast(on: server.display)
        capture = try broadcast.start(showsPointer ? "--cursor" : "--no-cursor")
        port = try Ports.free(AF_INET)
        if hasSender { sender = try broadcast.attach(toPort: port) }
    }

    deinit {
        sender?.stop()
        capture.stop()
    }

    func restartSender() throws { sender = try broadcast.attach(toPort: port) }

    /// The folder of the recordings.
    var folder: String { broadcast.folder.path }

    /// Records, from the first file on.
    func record(_ arguments: String...) throws -> Subprocess { try record(arguments) }

    /// - Parameter isQuiet: whether it begins no file by itself.
    func record(_ arguments: [String], environment: [String: String] = [:], isQuiet: Bool = false) throws -> Subprocess
    {
        let command = [broadcast.oriel, "record", "--dir", broadcast.directory, "--to", folder]
        let recorder = try Subprocess(command + arguments, environment: environment)
        try recorder.wait(until: "it records") {
            try isQuiet
                ? broadcast.record(["status"]).code == 0 : recorder.errorOutput.contains("recording into")
        }
        return recorder
    }

    /// The names of the files, oldest first.
    var files: [String] {
        let names = (try? Subprocess.run(["ls", folder]))?.split(separator: "\n").map { String($0) } ?? []
        return names.filter { $0.contains(".webm") }.sorted()
    }

    /// A file as ffprobe finds it.
    struct Probe: Decodable {
        struct Format: Decodable {
            let duration: String?
        }
        struct Stream: Decodable {
            enum CodingKeys: String, CodingKey {
                case codec = "codec_name"
                case width
                case frames = "nb_read_frames"
            }

            let codec: String
            let width: Int?
            let frames: String?
        }

        let format: Format
        let streams: [Stream]

        /// In seconds; 0 if it is not known.
        var duration: Double { format.duration.flatMap { Double($0) } ?? 0 }
        /// Decoded ones of the first stream.
        var frames: Int { streams.first?.frames.flatMap { Int($0) } ?? 0 }
    }

    /// - Throws: if it warns of anything.
    func probe(_ name: String) throws -> Probe {
        let errors = broadcast.folder.file("ffprobe.errors")
        let script = "exec ffprobe -v warning -count_frames -of json -show_format -show_streams \"$0\" 2> \"$1\""
        let text = try Subprocess.run(["sh", "-c", script, "\(folder)/\(name)", errors])
        let warnings = try String(decoding: contents(of: errors), as: UTF8.self)
        guard warnings.isEmpty else { throw Unexpected("\(name): \(warnings)") }
        return try JSONDecoder().decode(Probe.self, from: Data(text.utf8))
    }
}
