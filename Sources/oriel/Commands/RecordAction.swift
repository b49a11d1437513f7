import Control
import FrameBridge
import Helpers
import JSON
import Media
import Recording

/// What is asked of the recorders that run.
enum RecordAction: String, CaseIterable {
    case pause, resume, cut, trigger, change, off, on, status

    /// - Parameters:
    ///   - isStrict: whether the switch is that of the picture too.
    ///   - clips: for `change`.
    func run(
        _ broadcast: BroadcastOptions,
        json: Bool,
        isStrict: Bool,
        clips: ClipSettings?
    ) throws {
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

    /// Nil for the switch.
    private func request(_ clips: ClipSettings?) -> RecorderRequest? {
        switch self {
        case .change: .change(clips: clips, version: nil)
        case .pause: .pause
        case .resume: .resume
        case .cut: .cut
        case .trigger: .trigger
        case .status: .status
        case .off, .on: nil
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
