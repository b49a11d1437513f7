import Control
import FrameBridge
import Helpers
import JSON
import Media
import Recording

/// What is asked of the recorders that run.
enum RecordAction: String, CaseIterable {
    case pause, resume, cut, trigger, change, off, on, status, list

    /// - Parameters:
    ///   - folder: of the recordings; the present one if nil.
    ///   - isStrict: whether the switch is that of the picture too.
    ///   - clips: for `change`.
    func run(
        _ broadcast: BroadcastOptions,
        in folder: String?,
        json: Bool,
        isStrict: Bool,
        clips: ClipSettings?
    ) throws {
        if self == .list { return try list(folder ?? ".", json: json) }
        let directory = try broadcast.directory()
        guard let request = request(clips) else {
            return try directory.switchRecording(isOff: self == .off, broadcast, isStrict: isStrict)
        }
        let recorders = try Recorders(of: directory).ask(for: request)
        switch self {
        case .pause, .cut: Console.print(recorders.compactMap(\.lastPath))
        case .status where json: Console.emit(try recorders.map { try $0.printableJSONLine() + "\n" }.joined())
        case .status: Console.print(recorders.map(\.sentence))
        default: break
        }
    }

    private func list(_ folder: String, json: Bool) throws {
        let recordings = try RecordingFolder(listing: folder).recordings()
        if json {
            Console.emit(try recordings.map { try $0.printableJSONLine() + "\n" }.joined())
        } else {
            let width = recordings.map(\.file.count).max() ?? 0
            Console.print(recordings.map { $0.line(width) })
        }
    }

    /// Nil for the list and the switch.
    private func request(_ clips: ClipSettings?) -> RecorderRequest? {
        switch self {
        case .change: .change(clips: clips, version: nil)
        case .pause: .pause
        case .resume: .resume
        case .cut: .cut
        case .trigger: .trigger
        case .status: .status
        case .off, .on, .list: nil
        }
    }
}

extension BridgeDirectory {
    /// A recorder that starts meanwhile finds the switch. Each step is taken though another one fails; the picture goes first, and comes last.
    fileprivate func switchRecording(isOff: Bool, _ broadcast: BroadcastOptions, isStrict: Bool) throws {
        var failure: (any Error)?
        func attempt(_ step: () throws -> Void) { do { try step() } catch { failure = failure ?? error } }
        if isStrict, isOff { attempt { try CaptureControl.ask(broadcast, for: .pause) } }
        attempt { try setRecording(isOff: isOff) }
        attempt {
            do throws(ControlError) { _ = try Recorders(of: self).ask(for: isOff ? .off : .on) } catch {
                // The switch is for the next ones.
                guard case .noRecorder = error else { throw error }
            }
        }
        if isStrict, !isOff { attempt { try CaptureControl.ask(broadcast, for: .resume) } }
        if let failure { throw failure }
    }
}

extension ListedRecording {
    fileprivate func line(_ width: Int) -> String {
        let name = file + String(repeating: " ", count: width - file.count)
        let length = lengthS.map(Self.clock) ?? "is written"
        return "\(name)  \(length)  \(bytes / 1024) KiB" + (occasion.map { "  \($0)" } ?? "")
    }

    /// As `1:02:03`.
    private static func clock(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(), 1e9))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
