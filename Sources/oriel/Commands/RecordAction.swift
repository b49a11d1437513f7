import Control
import Helpers
import JSON
import Recording

/// What is asked of the recorders that run.
enum RecordAction: String, CaseIterable {
    case pause, resume, cut, trigger, status, list

    /// - Parameter folder: of the recordings; the present one if nil.
    func run(_ broadcast: BroadcastOptions, in folder: String?, json: Bool) throws {
        guard let request else { return try list(folder ?? ".", json: json) }
        let recorders = try Recorders(of: try broadcast.directory()).ask(for: request)
        switch self {
        case .pause, .cut: Console.print(recorders.compactMap(\.lastPath))
        case .resume, .trigger: break
        case .status where json: Console.emit(try recorders.map { try $0.printableJSONLine() + "\n" }.joined())
        case .status: Console.print(recorders.map(\.sentence))
        case .list: break
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

    /// Nil if no recorder is asked.
    private var request: RecorderRequest? {
        switch self {
        case .pause: .pause
        case .resume: .resume
        case .cut: .cut
        case .trigger: .trigger
        case .status: .status
        case .list: nil
        }
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
