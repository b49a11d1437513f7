import Access
import Calls
import FrameBridge
import HTTP
import ICE
import Media
import Peers
import Posix
import Talk

/// The parts of a web call that must be made before the process gives up files.
struct WebCallPreparation {
    let options: WebOptions
    let directory: BridgeDirectory
    let token: String?
    let iceServerLinks: @Sendable () -> [String]
    let tls: ServedCertificate?

    /// - Parameters:
    ///   - secret: that logins of TURN servers are made of.
    ///   - events: is told when the certificate cannot be renewed any more.
    init(_ options: WebOptions, in directory: BridgeDirectory, _ secret: TURNSecret?, _ events: EventLog) throws {
        self.options = options
        self.directory = directory
        token = options.chosenToken()
        iceServerLinks = try options.iceServers.links(secret)
        tls = try options.server.tls { events.tell(CallEvent($0)) }
    }
}

/// A web call and the web server in front of it. They live and end together.
final class ServedWebCall {
    let call: WebCall
    let status: WebStatus
    private let events: EventLog
    private let server: HTTPServer
    private let service: WebService
    private let listener: HTTPServer.Listener

    /// Begins to serve, and prints the addresses.
    ///
    /// - Parameters:
    ///   - codecs: in groups; of each group, a viewer gets the first that it takes.
    ///   - access: made with the token of the preparation.
    ///   - talk: who may be heard; nil for nobody.
    ///   - events: is told who comes, asks and leaves.
    init(
        _ preparation: WebCallPreparation,
        to peers: PeerGroup,
        codecs: [[VideoCodec]],
        horizon: Horizon,
        access: AccessControl,
        talk: TalkBack?,
        _ events: EventLog
    ) throws {
        let (options, status) = (preparation.options, WebStatus(hearsViewers: talk != nil))
        self.status = status
        self.events = events
        server = HTTPServer(
            limits: HTTPServer.Limits(files: FileLimit.raise(), viewers: options.maxViewers),
            proxies: options.server.proxy
        )
        call = WebCall(
            peers,
            codecs: codecs,
            viewerLimit: options.maxViewers,
            access: access,
            talk: talk.map { TalkDesk($0) }
        ) { report in
            events.tell(CallEvent(report, in: .web))
            status.note(report)
        }
        service = WebService(
            WebService.Configuration(
                access: access,
                names: (preparation.tls?.first.names ?? []) + [options.server.listen.host].compactMap(\.self),
                origins: options.allowOrigin,
                iceServerLinks: preparation.iceServerLinks,
                snapshots: Self.snapshots(of: preparation.directory, from: horizon)
            ),
            call: call,
            status: status
        )
        listener = try server.listen(on: options.server.listen, tls: preparation.tls?.current, respond: service.respond)
        events.tell(CallEvent(CallReport(.standing(nil)), in: .web))
        Console.print(options.links(port: listener.port, token: preparation.token, tls: preparation.tls?.first))
    }

    /// Takes no more viewers.
    func stop() {
        status.note(.stopped)
        listener.close()
        service.close()
    }

    /// Ends the server. Its peers are closed before, as answers leave by its thread.
    func close() {
        server.close()
        events.tell(CallEvent(.ended(nil), in: .web))
    }

    /// Snapshots of full size, each by a reader of its own.
    private static func snapshots(of directory: BridgeDirectory, from horizon: Horizon) -> WebService.SnapshotSource {
        WebService.SnapshotSource {
            // While there are no viewers, the sender learns late of a new horizon.
            [horizon.instant, try? BridgeInspection(directory).horizon].compactMap(\.self).max()
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

extension TalkDesk {
    fileprivate init(_ talk: TalkBack) {
        self.init {
            talk.identify($0, by: $1)
        } ask: {
            talk.ask($0)
        } withdraw: {
            talk.withdraw($0)
        } state: {
            talk.talker($0).state
        }
    }
}
