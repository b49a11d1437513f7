import FrameBridge
import Glibc
import Posix
import Time

/// Reads and checks every frame that it gets, and prints what it found in the end.
///
/// - Parameter options: `access` (mapped or copied), `pattern`; ends after `frames`, after `seconds`, or with `until=dead` when
///   the writer has died or stopped and all is read. `again=1` reads frames
/// as often as it can, the same ones too; `sleep=1` waits for each frame instead of looking all the time, at the
///   longest until the end. `verbose=1` tells of every frame.
func read(from directory: BridgeDirectory, _ options: Options) throws {
    var peer = try ReadingPeer(directory, options)
    let end = options.end
    let limit = options["frames", default: .max]
    say("ready=1")
    while peer.frames < limit, now() < end {
        let isOver = try options["until"] != nil && peer.isWriterGone()
        guard try !peer.readsFrame() else { continue }
        if isOver { break }
        if options["sleep"] != nil { peer.wait(until: options["until"] == nil ? end : now() + .milliseconds(50)) }
    }
    say(peer.summary)
}

private struct ReadingPeer: ~Copyable {
    private let pattern: Pattern
    private let isVerbose: Bool
    private let readsAgain: Bool
    private var reader: FrameReader
    private(set) var frames: UInt64 = 0
    private var last: UInt64 = 0
    private var damages = 0
    private var generations: Set<UInt64> = []

    init(_ directory: BridgeDirectory, _ options: Options) throws {
        pattern = options["pattern"].flatMap { Pattern(rawValue: $0) } ?? .solid
        isVerbose = options["verbose"] != nil
        readsAgain = options["again"] != nil
        reader = try FrameReader(directory: directory, access: options["access"] == "copied" ? .copied : .mapped)
    }

    var summary: String {
        "frames=\(frames) last=\(last) overruns=\(reader.overruns) generations=\(generations.count) damages=\(damages)"
    }

    mutating func isWriterGone() throws -> Bool { try [.dead, .stopped].contains(reader.liveness()) }

    func wait(until deadline: Instant) { reader.wait(until: deadline) }

    /// Returns whether there was a frame, or may be one at once.
    mutating func readsFrame() throws -> Bool {
        var flaw: String?
        let pattern = pattern
        do throws(BridgeError) {
            switch try reader.read({ flaw = pattern.flaw($0) }) {
            case .frame(let info): note(info, flaw)
            case .contended: break
            case .unchanged, .noFrame: return false
            }
        } catch {
            switch error {
            case .damaged(_, let problem):
                damages += 1
                if isVerbose { say("damage=\(problem)") }
            // The writer has just gone, or does not get to run.
            case .noBroadcast, .noAnswer: return false
            default: throw error
            }
        }
        return true
    }

    private mutating func note(_ info: FrameInfo, _ flaw: String?) {
        if generations.insert(info.generation).inserted { last = 0 }
        if let flaw = info.number < last || info.number == last && !readsAgain ? "backwards" : flaw {
            say("torn=\(info.number) flaw=\(flaw)")
            exit(1)
        }
        frames += 1
        last = info.number
        if readsAgain { reader.forget() }
        if isVerbose { say("frame=\(info.number) size=\(info.width)x\(info.height)") }
    }
}

/// Prints how the broadcast is, each time that changes, until it is killed or after `seconds`.
func watch(_ directory: BridgeDirectory, _ options: Options) throws {
    var reader = try FrameReader(directory: directory)
    let end = options.end
    var said = ""
    while now() < end {
        let name = try reader.liveness().name
        if name != said { say("state=\(name)") }
        said = name
        MonotonicClock.sleep(for: .milliseconds(10))
    }
}

/// Prints when the picture was captured that a new reader is shown, 0 if there is none, and before when none may be.
func look(at directory: BridgeDirectory) throws {
    let horizon = try BridgeInspection(directory).horizon
    var reader = try FrameReader(directory: directory)
    var captured: Instant?
    if case .frame(let info) = try reader.read({ _ in }) { captured = info.capturedAt }
    say("horizon=\(horizon?.nanoseconds ?? 0) captured=\(captured?.nanoseconds ?? 0)")
}

/// Asks for what the words say, for `seconds` at the longest, and prints the answer.
func ask(_ directory: BridgeDirectory, _ options: Options) throws {
    guard let request = [BridgeRequest.pause, .resume, .stop].first(where: { "\($0)" == options.rest.first }) else {
        exit(64)
    }
    let answer = try directory.ask(request, until: now() + .seconds(Int64(clamping: options["seconds", default: 60])))
    say("answer=\(answer.map { "\($0)" } ?? "none")")
}
