import Calls
import FoundationEssentials
import FrameBridge
import Glibc
import Media
import Posix
import RTP
import WebRTC

/// What a sender tells of its viewers: a file in its folder, renewed each second while somebody looks in.
final class SenderFile {
    /// One viewer, as `oriel status` shows it.
    struct Viewer: Codable {
        let id: Int
        let address: String
        /// Seconds since it joined.
        let sinceS: Double
        let codec: String
        let state: String
        let bitrateBps: Int
        let rttMs: Double?
        let lossRatio: Double?
        let framesSent: UInt64
        let nacks: UInt64
        let plis: UInt64
        let srtp: String?
        let path: String?
    }

    private struct Content: Codable {
        let pid: Int32
        /// Nanoseconds of CLOCK_MONOTONIC.
        let writtenNs: UInt64
        let viewers: [Viewer]
    }

    private static let name = "viewers"
    /// A file that was not renewed for this long tells nothing.
    private static let lifetime: UInt64 = 3_000_000_000

    private let folder: SenderFolder
    private var isEmpty = true

    init(in folder: SenderFolder) { self.folder = folder }

    /// A full disk loses the news and nothing else.
    func write(_ statuses: [ViewerStatus]) {
        if statuses.isEmpty, isEmpty { return }
        isEmpty = statuses.isEmpty
        let now = MonotonicClock.now()
        let content = Content(pid: getpid(), writtenNs: now, viewers: statuses.map { Viewer($0, now: now) })
        guard let text = try? json(content) else { return }
        try? folder.replace(Self.name, with: text)
    }

    /// The viewers of all senders of a broadcast.
    static func viewers(of broadcast: BridgeDirectory) -> [Viewer] {
        SenderFolder.all(in: broadcast).flatMap { read($0)?.viewers ?? [] }.sorted { $0.id < $1.id }
    }

    private static func read(_ folder: SenderFolder) -> Content? {
        guard let text = folder.read(name, limit: 1 << 20) else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let content = try? decoder.decode(Content.self, from: Data(text.utf8)),
            MonotonicClock.now() < content.writtenNs &+ lifetime
        else { return nil }
        return content
    }
}

extension SenderFile.Viewer {
    fileprivate init(_ status: ViewerStatus, now: UInt64) {
        let statistics = status.statistics
        id = status.number
        address = status.address
        sinceS = milliseconds(from: status.since, to: now) / 1000
        codec = status.codec.rawValue.lowercased()
        state = status.isConnected ? "connected" : "connecting"
        bitrateBps = status.bitrate
        rttMs = statistics.roundTripTime.map { milliseconds(from: 0, to: $0) }
        lossRatio = statistics.lossFraction
        framesSent = statistics.frames
        nacks = statistics.nacks
        plis = statistics.keyframeRequests
        srtp = status.profile?.name
        path = status.path.map { "\($0.local.rawValue)-\($0.remote.rawValue)" }
    }
}
