import Access
import HTTP
import ICE
import Media
import Posix
import Sender
import WebRTC

@testable import Calls
@testable import Publishing

/// The calls of a sender without a broadcast. Close them.
struct CallScene {
    let sinks = Sinks(target: TargetBitrate(2_500_000)) { _ in }
    let network: CallNetwork
    let access: AccessControl
    let events: EventLog
    let kinds: CallKinds
    let echoes = EchoCall.All()
    let calls: CallRegistry

    /// - Parameters:
    ///   - suspends: makes what tells when the machine was suspended.
    ///   - path: of a file with the events.
    init(
        suspends: @escaping @Sendable () -> sending SuspendWatch? = { nil },
        access: AccessControl = AccessControl(),
        events path: String? = nil
    ) throws {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: .vp8,
            width: 64,
            height: 64,
            framesPerSecond: 30,
            bitrate: sinks.target.bitsPerSecond
        )
        let ice = ICEServers(ICEAgent.Configuration(addresses: ["127.0.0.1"]))
        let media = SentMedia(codecs: [[.vp8]], renditions: [rendition], target: sinks.target) { [sinks] in
            sinks.add($0)
        } removeSink: { [sinks] in
            sinks.remove($0)
        }
        var configuration = CallNetwork.Configuration(ice, media)
        configuration.suspends = suspends
        network = CallNetwork(configuration) { _ in }
        (self.access, events) = (access, try EventLog(path: path))
        kinds = CallKinds(CallKinds.own.all + [.echo(echoes)])
        calls = CallRegistry(network, kinds, access: access, events, sinks: sinks)
    }

    func close() {
        calls.close()
        events.close()
    }

    var commands: SenderCommands { SenderCommands(calls, access: access) }
}
