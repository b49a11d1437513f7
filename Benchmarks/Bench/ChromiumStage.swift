import Foundation
import Posix
import TestSupport

/// A sender for a benchmark of links, with a screen, a network, and viewers.
protocol SharedScreen: AnyObject {
    var stage: Stage { get }
    var network: Network { get }
    /// The link between the sender and its viewers; nil for only the network.
    var wire: WireProcess? { get }

    /// A browser that shows the picture. Its page has `oriel.pc` and `oriel.stats`.
    func viewer() throws -> Browser
}

extension WebStage: SharedScreen {
    func viewer() throws -> Browser { try viewer(.chromium) }
}

/// A workload and Chromium's own screen share of it, with the settings that conferences have: VP8, the content hint "detail".
final class ChromiumStage: SharedScreen {
    private static let page = "http://localhost:9100/"
    /// Conferences show no buttons over the shared screen. So all but a corner of the window is moved out of it.
    private static let arguments = [
        "--window-position=1900,1060", "--window-size=400,300", "--auto-select-desktop-capture-source=Entire screen",
        "--disable-features=WebRtcHideLocalIpsWithMdns",
    ]

    let stage: Stage
    let network: Network
    let wire: WireProcess?
    private let folder: TemporaryFolder
    private let servers: [ChildProcess]
    private let sender: Browser

    init(_ kind: String, _ options: [String] = [], link: Link?, capturingOutput: Bool) throws {
        stage = try Stage(kind, options, capturingOutput: capturingOutput)
        let network = try Network(isParted: link != nil)
        self.network = network
        wire = try link.map { try WireProcess($0, in: network) }
        folder = try TemporaryFolder()
        try "<!DOCTYPE html><title>share</title><video autoplay muted></video>"
            .write(toFile: folder.path + "/index.html", atomically: true, encoding: .utf8)
        let serve = [
            "/usr/bin/python3", "-m", "http.server", "9100", "--bind", "127.0.0.1", "--directory", folder.path,
        ]
        servers = try [network.atSender(serve), network.atViewer(serve)].map {
            try ChildProcess($0[0], Array($0.dropFirst()))
        }
        sleep(seconds: 1)
        sender = try Browser(on: stage.display, in: network, Self.arguments.map { "--arg=\($0)" })
        try sender.open(Self.page)
        try sender.activate()
        let width = try sender.evaluate(
            """
            (async () => {
                window.stream = await navigator.mediaDevices.getDisplayMedia({video: {width: 1280, height: 720, frameRate: 30}});
                const [track] = stream.getVideoTracks();
                track.contentHint = 'detail';
                return track.getSettings().width;
            })()
            """,
            as: Int.self
        )
        guard width == 1280 else { throw BenchError("Chromium captures \(width) pixels a row") }
    }

    deinit { for server in servers { server.stop() } }

    func viewer() throws -> Browser {
        let viewer = try Browser(.chromium, in: network, "--arg=--disable-features=WebRtcHideLocalIpsWithMdns")
        try viewer.open(Self.page)
        let gathered = "await new Promise(done => { pc.onicecandidate = ({candidate}) => candidate || done(); });"
        let offer = try sender.evaluate(
            """
            (async () => {
                const pc = window.pc = new RTCPeerConnection();
                const sender = pc.addTrack(stream.getVideoTracks()[0], stream);
                const {codecs} = RTCRtpSender.getCapabilities('video');
                pc.getTransceivers()[0].setCodecPreferences(codecs.filter(
                    ({mimeType}) => ['video/VP8', 'video/rtx'].includes(mimeType)));
                await pc.setLocalDescription();
                \(gathered)
                return pc.localDescription.sdp;
            })()
            """,
            as: String.self
        )
        let answer = try viewer.evaluate(
            """
            (async () => {
                const pc = new RTCPeerConnection();
                window.oriel = {pc, stats: async () => [...(await pc.getStats()).values()].find(
                    ({type, kind}) => type === 'inbound-rtp' && kind === 'video') ?? {}};
                pc.ontrack = ({receiver, streams}) => {
                    receiver.jitterBufferTarget = 0;
                    document.querySelector('video').srcObject = streams[0];
                };
                await pc.setRemoteDescription({type: 'offer', sdp: \(try literal(offer))});
                await pc.setLocalDescription();
                \(gathered)
                return pc.localDescription.sdp;
            })()
            """,
            as: String.self
        )
        let _: Bool? = try sender.evaluateOptional(
            """
            (async () => {
                await pc.setRemoteDescription({type: 'answer', sdp: \(try literal(answer))});
                const [sender] = pc.getSenders(), parameters = sender.getParameters();
                parameters.encodings[0].maxBitrate = \(EncoderSettings.bitrate);
                await sender.setParameters(parameters);
            })()
            """
        )
        try wait(until: "the picture is there") {
            try viewer.evaluate("(async () => (await oriel.stats()).framesDecoded ?? 0)()", as: Int.self) > 0
        }
        return viewer
    }

    private func literal(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
    }
}
