import Foundation
import Glibc
import Posix
import Time

/// A workload on a screen, its broadcast to a port of this machine, and recorders of it.
final class RecordStage {
    let stage: Stage
    let files: TemporaryFolder
    let capture: ChildProcess
    let sender: ChildProcess
    private let drain: PortDrain
    private let folder: TemporaryFolder

    init(_ kind: String, _ options: [String] = []) throws {
        stage = try Stage(kind, options)
        (drain, folder, files) = (try PortDrain(), try TemporaryFolder(), try TemporaryFolder())
        capture = try Contender.startCapture(stage.display, in: folder)
        // As a sender to browsers, which ask for keyframes: a receiver of plain RTP would get one now and then.
        sender = try Contender.startSender(drain.port, in: folder, ["--keyframe-interval", "0"])
        sleep(seconds: 2)
        for process in [capture, sender] { try process.requireRunning() }
    }

    deinit {
        sender.stop()
        capture.stop()
        drain.stop()
    }

    /// Starts a recorder, and returns at once.
    func record(_ arguments: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            sibling("oriel"),
            ["record", "--dir", folder.path + "/bridge", "--to", files.path] + arguments
        )
    }

    /// The process that connects a recorder to senders.
    func connector(of recorder: ChildProcess) throws -> Int32 {
        let path = "/proc/\(recorder.pid)/task/\(recorder.pid)/children"
        guard
            let pid = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ").first.flatMap({
                Int32($0)
            })
        else { throw BenchError("the recorder has no process that connects it") }
        return pid
    }

    /// Runs a command of Oriel to its end. Returns its output.
    @discardableResult
    func run(_ words: String...) throws -> String {
        let command = try ChildProcess(
            sibling("oriel"),
            words + ["--dir", folder.path + "/bridge"],
            capturingOutput: true
        )
        let output = command.outputText()
        command.stop()
        return output
    }

    /// Waits until a recorder answers.
    func waitUntilItRuns(_ recorder: ChildProcess) throws {
        try wait(for: recorder) { try !run("record", "status").isEmpty }
    }

    func wait(for process: ChildProcess, until condition: () throws -> Bool) throws {
        let start: Instant = MonotonicClock.now()
        while try !condition() {
            try process.requireRunning()
            guard secondsSince(start) < 60 else { throw BenchError("waited for a minute in vain") }
            sleep(seconds: 0.002)
        }
    }

    /// The recordings: names and bytes.
    var recordings: [String: Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? []
        let sizes = names.map { name in
            var info = stat()
            return (name, stat("\(files.path)/\(name)", &info) == 0 ? Int(info.st_size) : 0)
        }
        return Dictionary(uniqueKeysWithValues: sizes.filter { $0.0.contains(".webm") })
    }

    /// The length of a recording in seconds, and its beginning in seconds since 1970, as ffprobe finds them.
    func probe(_ name: String) throws -> (duration: Double, date: Double) {
        let probe = try ChildProcess(
            "ffprobe",
            [
                "-v", "error", "-show_entries", "format=duration:format_tags=creation_time", "-of", "default=nw=1:nk=1",
                "\(files.path)/\(name)",
            ],
            capturingOutput: true
        )
        let lines = probe.outputText().split(separator: "\n")
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let time = lines.last.map { String($0).replacing(/(\.\d{3})\d*Z/) { "\($0.1)Z" } }
        guard lines.count == 2, let duration = Double(lines[0]), let date = time.flatMap({ format.date(from: $0) })
        else {
            throw BenchError("ffprobe cannot tell the length of \(name)")
        }
        return (duration, date.timeIntervalSince1970)
    }

    /// Throws unless ffmpeg and GStreamer decode a recording in VP8 without a word.
    func requirePlayable(_ name: String) throws {
        let script = """
            exec 2>&1
            ffmpeg -nostdin -v warning -i "$0" -enc_time_base -1 -fps_mode passthrough -f null -
            gst-launch-1.0 -q filesrc location="$0" ! matroskademux ! vp8dec ! fakesink
            """
        let players = try ChildProcess("sh", ["-c", script, "\(files.path)/\(name)"], capturingOutput: true)
        let words = players.outputText()
        guard words.isEmpty else { throw BenchError("\(name) does not play: \(words)") }
    }
}
