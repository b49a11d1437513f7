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
        var program = program.map { HookProgram($0) }
        let own: FeedConnector.OwnSender = video != nil ? .always : isSupervised ? .never : .ifNeeded
        var connector = FeedConnector(in: directory, own) { () throws(SystemError) in
            try Self.child("attach", sender, input: nil)
        } noteClip: { names in
            // A recorder that was taken over may tell of any files, and as often as it likes.
            let names = names.filter { !$0.hasPrefix(".") && $0.hasSuffix(FileName.ending) }
            if !names.isEmpty { program?.run(names.map { "\(realPath(folder) ?? folder)/\($0)" }) }
        }
        try connector.run(DescriptorChannel(taking: FileDescriptor(taking: FeedConnector.descriptor)))
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
