import ArgumentParser
import Calls
import FrameBridge
import Glibc
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
        let limits = WebServer.Limits(files: FileLimit.raise(), viewers: options.maxViewers)
        let page = Deferred<WebService>()
        let horizon = reader.horizon
        let call = try WebCall(
            WebCall.Configuration(
                codecs: video.codec.codecs,
                targetBitrate: UInt64(video.bitrate.bitsPerSecond),
                pictureArea: video.size.width * video.size.height,
                viewerLimit: options.maxViewers,
                ice: ice,
                horizon: { horizon.instant }
            )
        ) { event in
            Console.note(event.sentence)
            page.value?.viewersChanged()
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
            call: call
        )
        page.value = service
        let server = try WebServer(service, on: options.listen, tls: tls, limits: limits, proxies: options.proxy)
        defer { server.close() }
        Console.print(options.links(port: server.port, token: token, tls: tls))
        let file = folder.map { SenderFile(in: $0) }
        defer { folder?.clear() }
        var loop = SenderLoop(
            video.settings(fps: fps, wakesEarly: wakesEarly, keyframeInterval: nil),
            reader: reader,
            call: WebVideo(call: call, service: service, size: video.size),
            report: Console.note
        )
        defer { service.setState(Liveness.stopped.name) }
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

/// A web call as the sender sees it: frames of one size go in.
struct WebVideo: VideoCall {
    let call: WebCall
    let service: WebService
    let size: PixelSize

    var bell: Bell { call.bell }

    var codecs: [VideoCodec] { call.codecsInUse }

    func send(
        _ frame: Span<UInt8>,
        codec: VideoCodec,
        isKeyframe: Bool,
        capturedAt: UInt64,
        takenAt: UInt64
    ) {
        call.send(
            frame: frame,
            codec: codec,
            isKeyframe: isKeyframe,
            dimensions: (UInt16(size.width), UInt16(size.height)),
            capturedAt: capturedAt,
            takenAt: takenAt
        )
    }

    func takeKeyframeRequest(_ codec: VideoCodec) -> Bool {
        call.takeKeyframeRequest(codec)
    }

    func prefer(_ codec: VideoCodec) { call.prefer(codec) }

    /// Each viewer has a pace of its own, and none holds up the encoder.
    var backlog: UInt64 { 0 }

    func noteLiveness(_ liveness: Liveness) {
        service.setState(liveness.name)
    }
}

extension WebCall.Event {
    /// For the person who shares.
    var sentence: String {
        switch self {
        case .joined(let number, let address, let codec): "viewer \(number) looks in from \(address), \(codec.rawValue)"
        case .left(let number, let address, let end): "viewer \(number) from \(address) \(end)"
        }
    }
}
