import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

extension Keep {
    @Suite struct RecordListTests {
        /// Each picture is the one that a player shows at its time, and no other.
        @Test(arguments: ["vp8", "vp9", "av1"]) func aSheetShowsWhatAPlayerShows(codec: String) throws {
            let scene = try RecordScene(hasSender: false)
            // Light and dark in turn.
            let pages = try draw("pages", on: scene.server, "--rate", "1.5")
            let recorder = try scene.record("--codec", codec)
            try recorder.wait(until: "there are some seconds of it") { try scene.statusLength() > 4 }
            let written = try scene.sheet("--every", "1")
            #expect(written.height >= 44 + 216, "of a file that is being written")
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            pages.stop()

            let sheet = try scene.sheet("--every", "1")
            let name = try #require(scene.files.first)
            let seconds = try Int(scene.probe(name).duration)
            let shown = try (0..<seconds).map { try scene.frame(of: name, at: $0) }
            for second in 0..<seconds {
                let differences = shown.map { Sheet.difference($0, sheet.picture(second)) }
                #expect(differences[second] < 6, "\(second) s: \(differences)")
                #expect(differences[second] <= differences.min()! + 1, "\(second) s: \(differences)")
            }
            let others = shown.map { Sheet.difference($0, shown[0]) }
            #expect(others.max()! > 30, "the pictures differ: \(others)")
            #expect(try scene.sheet().height == 44 + 216, "five without an interval")
        }

        @Test func whatIsNoRecordingIsLeftOut() throws {
            let scene = try RecordScene(hasSender: false)
            let recorder = try scene.record()
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let name = try #require(scene.files.first)
            let bytes = try contents(of: "\(scene.folder)/\(name)")
            func write(_ name: String, _ bytes: [UInt8]) throws {
                let path = "\(scene.folder)/\(name).webm"
                try FileDescriptor.open(path, O_WRONLY | O_CREAT).writeAll(bytes)
                // The program's user is another one.
                chmod(path, 0o644)
            }
            try write("text", Array("a text".utf8))
            #expect(mkfifo("\(scene.folder)/fifo.webm", 0o600) == 0)
            #expect(symlink("/dev/zero", "\(scene.folder)/link.webm") == 0)
            // The first keyframe is damaged, and nothing else.
            let frame = try #require(bytes.firstRange(of: [0x9D, 0x01, 0x2A]))
            var damaged = bytes
            damaged.replaceSubrange(frame, with: [0, 0, 0])
            try write("damaged", damaged)
            // Its length is said to be longer than the age of the world.
            let duration = try #require(bytes.firstRange(of: [0x44, 0x89, 0x88]))
            var endless = bytes
            endless.replaceSubrange(duration.upperBound..<duration.upperBound + 8, with: [0x7E, 0, 0, 0, 0, 0, 0, 0])
            try write("endless", endless)
            #expect(try scene.sheet("--every", "60").height == 3 * 44 + 2 * 216, "a title for the damaged one")
            // Titles alone, each 44 rows high.
            let copies = "for number in $(seq 910); do ln damaged.webm $number.webm; done"
            try Subprocess.run(["sh", "-c", "cd \"$0\"; \(copies)", scene.folder])
            let path = scene.broadcast.folder.file("long.png")
            let result = try scene.broadcast.record(["list", "--to", scene.folder, "--contact-sheet", path])
            #expect(result.code == 64 && result.errorOutput.contains("the sheet would be too long"), "\(result)")
            #expect(access(path, F_OK) != 0)
        }

        @Test func aSheetThatCannotBeMadeIsNoFile() throws {
            let scene = try RecordScene(hasSender: false)
            let path = scene.broadcast.folder.file("sheet.png")
            func fail(_ words: String...) throws -> String {
                let result = try scene.broadcast.record(["list", "--to", scene.folder, "--contact-sheet"] + words)
                #expect(result.code != 0)
                #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
                return result.errorOutput
            }
            #expect(try fail(path).contains("no recording in \(scene.folder)"))
            #expect(try fail(path, "--every", "0").contains("--every 0 is out of range"))
            #expect(try fail("/proc/sheet.png").contains("cannot write /proc/sheet.png"))
            #expect(access(path, F_OK) != 0)
            let left = try Subprocess.run(["ls", scene.broadcast.folder.path])
            #expect(!left.contains("png"), "\(left)")
        }
    }
}

/// A sheet as ffmpeg reads it.
private struct Sheet {
    private static let width = 5 * 328 + 8
    private let rgb: [UInt8]

    init(_ path: String) throws { rgb = try pixels(ofPicture: path) }

    var height: Int { rgb.count / 3 / Self.width }

    /// One of the first recording.
    func picture(_ index: Int) -> [UInt8] {
        (0..<180).flatMap { row in
            let start = 3 * (Self.width * (44 + index / 5 * 216 + row) + 8 + index % 5 * 328)
            return rgb[start..<start + 3 * 320]
        }
    }

    /// Of a byte, on average.
    static func difference(_ one: [UInt8], _ other: [UInt8]) -> Double {
        Double(zip(one, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(one.count)
    }
}

extension RecordScene {
    fileprivate func sheet(_ words: String...) throws -> Sheet {
        let path = broadcast.folder.file("sheet.png")
        let result = try broadcast.record(["list", "--to", folder, "--contact-sheet", path] + words)
        guard result.code == 0 else { throw Unexpected("a failure: \(result.errorOutput)") }
        return try Sheet(path)
    }

    /// Seconds of the file that is being written.
    fileprivate func statusLength() throws -> Double {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let line = try broadcast.record(["status", "--json"]).output
        return try decoder.decode(Length.self, from: Data(line.utf8)).lengthS
    }

    private struct Length: Decodable {
        let lengthS: Double
    }

    /// The last picture up to a time, as ffmpeg decodes and scales it.
    fileprivate func frame(of name: String, at second: Int) throws -> [UInt8] {
        let raw = broadcast.folder.file("frames.rgb")
        let filter = "select='lte(t,\(second))',scale=320:180:flags=area"
        let format = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        let input = ["ffmpeg", "-nostdin", "-y", "-v", "error", "-i", "\(folder)/\(name)", "-vf", filter]
        try Subprocess.run(input + format + [raw])
        return try contents(of: raw).suffix(3 * 320 * 180)
    }
}
