import Calls
import Configuration
import Credentials
import FrameBridge
import HTTP
import Helpers
import ICE
import Posix
import Sender

extension WebSettings {
    /// - Parameter secret: that logins of TURN servers are made of.
    init(
        _ options: WebCallSettings,
        token: String?,
        _ certificate: ServedCertificate?,
        _ secret: TURNSecret?,
        _ snapshots: WebService.SnapshotSource,
        _ recorders: RecorderDesk,
        _ commands: CommandDesk,
        _ status: WebStatus
    ) throws {
        self.init(listen: options.server.listen, snapshots: snapshots, recorders: recorders, status: status)
        self.commands = commands
        iceServerLinks = try options.iceServers.links(secret)
        tls = certificate?.current
        names = (certificate?.first.names ?? []) + [options.server.listen.host].compactMap(\.self)
        (proxies, origins, viewerLimit) = (options.server.proxies, options.origins, options.maxViewers)
        opened = { port in
            let links = options.server.links(port: port, tls: certificate?.first)
            status.note(links: links)
            Console.print(links.map { $0 + (token.map { "#\($0)" } ?? "") })
        }
    }
}

extension WebService.SnapshotSource {
    /// Snapshots of full size, each by a reader of its own, of what all see.
    init(of directory: BridgeDirectory, from horizon: Horizon, view: SharedView) {
        self.init {
            // While there are no viewers, the sender learns late of a new horizon.
            [horizon.instant, try? BridgeInspection(directory).horizon].compactMap(\.self).max()
        } picture: {
            do {
                var reader = try FrameReader(directory: directory)
                let picture = try BridgePicture(&reader, in: directory.path, viewport: view.viewport)
                let png = try PNGFile.bytes(rgb: picture.rgb, size: picture.size)
                return .success(WebService.Snapshot(png: png, captureTime: picture.capturedAt))
            } catch {
                let sentence = Failure(describing: error)?.sentence ?? "there is no picture"
                return .failure(WebService.SnapshotFailure(sentence))
            }
        }
        changedAt = { view.changedAt }
    }
}
