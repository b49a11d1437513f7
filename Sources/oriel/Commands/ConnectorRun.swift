import Configuration
import FrameBridge
import Helpers
import Posix
import Recording

extension FeedConnectorSettings {
    static let command = "record-feed"

    /// The process, for a recorder that may then give up its access.
    func start() throws -> DescriptorChannel {
        do throws(SystemError) {
            let ends = try openDescriptorChannel()
            let channel = DescriptorChannel(taking: FileDescriptor(taking: ends.0))
            let other = FileDescriptor(taking: ends.1)
            _ = try Self.child(Self.command, self, input: other.raw)
            return channel
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that connects to senders (\(error.reason)): \(error.advice)"
            )
        }
    }

    /// Connects a recorder until it ends.
    func run() throws {
        let directory = try BridgeDirectory(path: broadcast, create: false)
        var settings = SenderProcessSettings(of: broadcast, into: [])
        if let video { settings.video = video }
        let sender = settings
        var programs: [ChildProcess] = []
        let own: FeedConnector.OwnSender = video != nil ? .always : isSupervised ? .never : .ifNeeded
        var connector = FeedConnector(in: directory, own) { () throws(SystemError) in
            try Self.child("attach", sender, input: nil)
        } noteClip: { names in
            programs.removeAll { $0.takeExit() != nil }
            // A recorder that was taken over may tell of any files, and as often as it likes.
            let names = names.filter { !$0.hasPrefix(".") && $0.hasSuffix(FileName.ending) }
            guard let program, !names.isEmpty, programs.count < Self.mostPrograms else { return }
            if let started = start(program, with: names) { programs.append(started) }
        }
        try connector.run(DescriptorChannel(taking: FileDescriptor(taking: FeedConnector.descriptor)))
    }

    private static let mostPrograms = 8

    /// Runs a program with the files of a clip. It may outlive the recorder.
    private func start(_ program: String, with names: [String]) -> ChildProcess? {
        let folder = realPath(folder) ?? folder
        do throws(SystemError) {
            return try ChildProcess(
                "timeout",
                arguments: ["timeout", "--kill-after=5", "60", program] + names.map { "\(folder)/\($0)" },
                descriptors: [nil, 2, 2],
                tie: .session
            )
        } catch {
            Console.note("\(program) cannot be run (\(error.reason)): \(error.advice)")
            return nil
        }
    }

    private static func child(
        _ command: String,
        _ settings: some Encodable,
        input: Int32?
    ) throws(SystemError) -> ChildProcess {
        let memory = try Handed.memory(of: settings)
        return try ChildProcess(
            "/proc/self/exe",
            arguments: ["oriel", command, Handed.flag],
            descriptors: [input, nil, 2, memory.raw],
            tie: .child
        )
    }
}
