import ArgumentParser
import Calls
import FrameBridge
import Glibc
import HTTP
import Media
import Pixels
import Posix
import RTP
import Sender
import VideoEncoding
import WebRTC

/// A sender to browsers: the call, the web server in front of it, and the loop that feeds it.
struct WebSender {
    let options: WebOptions
    let video: VideoOptions
    let fps: Int
    let wakesEarly: Bool
    let broadcast: BroadcastOptions
    let log: StatisticsLog?

    func run(
        _ reader: consuming FrameReader,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        // Before this process gives up making Unix sockets, and folders.
        let directory = try broadcast.directory()
        let folder = makeFolder(in: directory)
        let token = options.chosenToken()
        let (ice, links) = try options.ice()
        let tls = try options.tls()
        // No Unix socket leads to an X server. Addresses are learnt by netlink.
        try Sandbox(
            writable: folder?.path,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK],
            mayListen: true
        ).enter()
        let server = HTTPServer(
            limits: HTTPServer.Limits(files: FileLimit.raise(), viewers: options.maxViewers),
            proxies: options.proxy
        )
        defer { server.close() }
        let status = WebStatus()
        let horizon = reader.horizon
        let renditions = video.renditions(fps: fps)
        let call = try WebCall(
            WebCall.Configuration(
                renditions: renditions,
                viewerLimit: options.maxViewers,
                ice: ice,
                horizon: { horizon.instant }
            )
        ) { event in
            if let sentence = event.sentence { Console.note(sentence) }
            status.note(event)
        }
        defer { call.close() }
        let service = WebService(
            WebService.Configuration(
                token: token,
                names: (tls?.names ?? []) + [options.listen.host].compactMap(\.self),
                origins: options.allowOrigin,
                iceServerLinks: links,
                snapshots: Self.snapshots(of: directory, from: horizon)
            ),
            call: call,
            status: status
        )
        defer { service.close() }
        let listener = try server.listen(on: options.listen, tls: tls, respond: service.respond)
        defer { listener.close() }
        Console.print(options.links(port: listener.port, token: token, tls: tls))
        let file = folder.map { SenderFile(in: $0) }
        defer { folder?.clear() }
        let sinks = Sinks(report: Console.note)
        sinks.add(call)
        var loop = SenderLoop(
            renditions.flatMap(\.self),
            video.settings(wakesEarly: wakesEarly, keyframeInterval: nil),
            reader: reader,
            sinks: sinks,
            report: Console.note
        )
        defer { status.setState(Liveness.stopped.name) }
        return try loop.run(until: signals) { statistics in
            let viewers = call.viewers
            log?.append(statistics, call.totals, viewers: viewers.count)
            file?.write(viewers)
        }
    }

    /// Nil on a full disk, say: it can do without.
    private func makeFolder(in directory: BridgeDirectory) -> SenderFolder? {
        do { return try SenderFolder(in: directory) } catch {
            Console.note("\(error); until then \"oriel status\" does not tell who looks in")
            return nil
        }
    }

    /// Pictures of full size, by a reader of their own.
    private static func snapshots(of directory: BridgeDirectory, from horizon: Horizon) -> WebService.SnapshotSource {
        WebService.SnapshotSource {
            // While nobody looks in, the sender does not follow at once.
            max(horizon.instant, (try? BridgeInspection(directory).horizon) ?? 0)
        } picture: {
            do {
                var reader = try FrameReader(directory: directory)
                let picture = try BridgePicture(&reader, in: directory.path)
                let png = try PNGFile.bytes(rgb: picture.rgb, size: picture.size)
                return .success(WebService.Snapshot(png: png, takenAt: picture.capturedAt))
            } catch {
                let sentence = Failure(describing: error)?.sentence ?? "there is no picture"
                return .failure(WebService.SnapshotFailure(sentence))
            }
        }
    }
}

extension WebCall.Event {
    /// For the person who shares; nil for what the sender tells by itself.
    fileprivate var sentence: String? {
        switch self {
        case .joined(let number, let address, let codec): "viewer \(number) looks in from \(address), \(codec.rawValue)"
        case .left(let number, let address, let end): "viewer \(number) from \(address) \(end)"
        case .broadcast: nil
        }
    }
}
