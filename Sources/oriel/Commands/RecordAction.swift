import Control
import Helpers
import JSON

/// What is asked of the recorders that run.
enum RecordAction: String, CaseIterable {
    case pause, resume, cut, status

    func run(_ broadcast: BroadcastOptions, json: Bool) throws {
        let recorders = try Recorders(of: try broadcast.directory()).ask(for: request)
        switch self {
        case .pause, .cut: Console.print(recorders.compactMap(\.lastPath))
        case .resume: break
        case .status where json: Console.emit(try recorders.map { try $0.printableJSONLine() + "\n" }.joined())
        case .status: Console.print(recorders.map(\.sentence))
        }
    }

    private var request: RecorderRequest {
        switch self {
        case .pause: .pause
        case .resume: .resume
        case .cut: .cut
        case .status: .status
        }
    }
}

extension RecorderSnapshot {
    fileprivate var lastPath: String? { lastFile.map { "\(folder)/\($0)" } }

    fileprivate var sentence: String {
        let whole = files == 1 ? "1 file is whole" : "\(files) files are whole"
        switch state {
        case .recording:
            return "recording into \(folder)/\(file ?? "?"), \(Int(lengthS)) s, \(bytes / 1024) KiB, \(whole)"
        case .waiting: return "waiting for a picture, \(whole)"
        case .paused: return "paused, \(whole)"
        case .blocked: return "blocked (\(problem ?? "unknown")), \(whole)"
        }
    }
}
