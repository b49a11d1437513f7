import Access
import Calls
import HTTP
import ICE
import Media
import Posix
import Sender
import WebRTC

@testable import oriel

/// The calls of a sender without a broadcast. Close them.
struct CallScene {
    let sinks = Sinks(target: TargetBitrate(2_500_000)) { _ in }
    let network: CallNetwork
    let calls: SenderCalls

    /// - Parameter suspends: makes what tells when the machine was suspended.
    init(suspends: @escaping @Sendable () -> sending SuspendWatch? = { nil }) throws {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: .vp8,
            width: 64,
            height: 64,
            framesPerSecond: 30,
            bitrate: sinks.target.bitsPerSecond
        )
        let ice = ICEServers(ICEAgent.Configuration(addresses: ["127.0.0.1"]))
        var configuration = CallNetwork.Configuration(ice, renditions: [rendition], target: sinks.target)
        configuration.suspends = suspends
        network = CallNetwork(configuration) { [sinks] in
            sinks.add($0)
        } report: { _ in
        }
        let stream = PlainRTPStream(
            rendition: rendition,
            target: sinks.target,
            keyframeInterval: nil,
            horizon: { nil },
            soundHorizon: { nil },
            hasSound: { false }
        )
        let events = try EventLog(path: nil)
        calls = SenderCalls(
            network,
            codecs: [[.vp8]],
            introduction: ("", ""),
            access: AccessControl(),
            stream,
            events,
            sinks: sinks
        )
    }

    var commands: SenderCommands { SenderCommands(calls, web: nil, access: AccessControl()) }
}
