import ArgumentParser
import Calls
import Control
import FrameBridge
import Helpers
import JSON
import Posix
import Publishing
import Time

/// What `oriel attach` takes with `--running`; all else is the sender's own, from its start.
struct HandOver: ParsableArguments {
    private static let pollTime = Duration.milliseconds(100)

    /// As text, as this may hold the value of an unknown option, until the error names that option.
    @Argument var calls: [String]

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice
    @OptionGroup var joined: JoinedCallOptions
    @OptionGroup var push: PushOptions
    @OptionGroup var rtp: PlainRTPOptions

    @Flag var running = false
    @Flag(inversion: .prefixedNo) var wait = true

    /// Hands the calls to a sender, and waits until each stands.
    ///
    /// - Throws: the failure of the last call that failed; those of others go to standard error. Calls that stand go on.
    func run() throws {
        let signals = try TerminationSignals()
        let senders = Senders(of: try broadcast.directory())
        let pid = try choice.pid ?? senders.only()
        var failures: [Failure] = []
        var waiting: [String] = []
        for call in try calls.map({ try CallPlan(parsing: $0) }) {
            do {
                try senders.ask(pid, for: try addition(of: call))
                waiting.append("\(call)")
            } catch let refusal as Failure where refusal.code == .failed {
                failures.append(refusal)
            } catch ControlError.refused(let reason) {
                failures.append(Failure(.failed, reason))
            }
        }
        var told: Set<String> = []
        while wait, !waiting.isEmpty {
            let calls = try senders.report(of: pid).calls
            waiting = try waiting.filter { name in
                let call = calls.last { $0.name == name }
                switch call?.state {
                case .joining: return true
                case .away:
                    if told.insert(name).inserted, let reason = call?.reason {
                        Console.note("\(name): \(reason); the sender tries again")
                    }
                    return true
                case .standing:
                    try tell(of: call!, in: pid)
                    return false
                case .ended, nil:
                    let code = call?.exitCode.flatMap { Failure.Code(rawValue: $0) } ?? .failed
                    failures.append(Failure(code, call?.reason ?? "\(name) was left meanwhile"))
                    return false
                }
            }
            if waiting.isEmpty { break }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + Self.pollTime)
            if signals.take() {
                for name in waiting { _ = try? senders.ask(pid, for: .leave(call: name)) }
                let names = waiting.joined(separator: ", ")
                throw Failure(.failed, "interrupted before the sender joined \(names): the request is withdrawn")
            }
        }
        for failure in failures.dropLast() { Console.note(failure.sentence) }
        if let failure = failures.last { throw failure }
    }

    /// The request for a call, with the settings that it may need and no others.
    private func addition(of call: CallPlan) throws -> SenderRequest {
        var settings = try joined.settings.texts(for: call.kind)
        if call.kind == CMAFCall.kind {
            settings[CMAFCall.pushSetting] = try push.settings.jsonLine()
        }
        if call.kind == PlainCall.kind, let port = rtp.localPort { settings["localPort"] = "\(port)" }
        return .add(call: call.argument, settings: settings)
    }

    private func tell(of call: SenderSnapshot.Call, in sender: Int32) throws {
        if let sdp = call.sdp { try SessionDescriptionFile.write(sdp, to: rtp.sdp) }
        Console.note("the sender \(sender) is in \(call.name)")
    }
}
