import Glibc
import Pixels
import Posix
import TestSupport
import Time

/// A workload, its broadcast and a sender to browsers across a network of our own.
final class WebStage {
    static let token = "a-token-of-the-benchmark"

    let stage: Stage
    let network: Network
    let wire: WireProcess?
    let sender: ChildProcess
    private let capture: ChildProcess
    private let folder: TemporaryFolder
    /// The broadcast's folder.
    var bridge: String { folder.path + "/bridge" }

    /// - Parameters:
    ///   - workload: the options of the workload.
    ///   - link: between the sender and its viewers; nil for only a wire.
    ///   - options: of the sender, besides the common ones.
    init(
        _ kind: String,
        _ workload: [String] = [],
        codec: String = "vp8",
        link: Link? = nil,
        options: [String] = [],
        capturingOutput: Bool = false
    ) throws {
        stage = try Stage(kind, workload, capturingOutput: capturingOutput)
        network = try Network(isParted: link != nil)
        let network = network
        wire = try link.map { try WireProcess($0, in: network) }
        folder = try TemporaryFolder()
        capture = try Contender.startCapture(stage.display, in: folder)
        let command = network.atSender(
            [
                "env", "DISPLAY=\(stage.display)", try sibling("oriel"), "attach", "web", "--dir",
                folder.path + "/bridge", "--token", Self.token,
                "--codec", codec, "--bitrate", "\(EncoderSettings.bitrate)", "--max-viewers", "100",
            ] + options
        )
        sender = try ChildProcess(command[0], Array(command.dropFirst()))
        sleep(seconds: 1)
        try sender.requireRunning()
    }

    deinit {
        sender.stop()
        capture.stop()
    }

    var origin: String { "http://\(Network.senderAddress):8080" }
    var page: String { "\(origin)/#\(Self.token)" }

    /// A browser, not yet at the page. The page may use features that browsers keep from addresses without TLS.
    ///
    /// - Parameter sound: the sound server for its playback and microphone; nil keeps it silent.
    func browser(_ kind: Browser.Kind, sound: PulseServer? = nil) throws -> Browser {
        switch kind {
        case .chromium:
            try Browser(
                kind,
                in: network,
                sound: sound,
                "--arg=--disable-features=WebRtcHideLocalIpsWithMdns",
                "--arg=--unsafely-treat-insecure-origin-as-secure=\(origin)"
            )
        case .firefox: try Browser(kind, in: network)
        }
    }

    /// A browser that shows the picture.
    func viewer(_ kind: Browser.Kind = .chromium, sound: PulseServer? = nil) throws -> Browser {
        let browser = try browser(kind, sound: sound)
        try browser.open(page)
        try wait(until: "the page is live") { try browser.evaluate("oriel.state", as: String.self) == "live" }
        return browser
    }

    /// Bytes that have arrived at the viewers' end, with the headers of all layers.
    func bytesReceived() throws -> Double {
        let path = "/sys/class/net/wire/statistics/rx_bytes"
        return Double(try Subprocess.run(network.atViewer(["cat", path])).filter(\.isNumber)) ?? 0
    }
}

/// The wall clock at the beginning of the monotonic one, in milliseconds. The origin of a browser's clock is known only
/// by the wall clock.
func wallClockAtMonotonicZero() -> Double {
    Double(MonotonicClock.wallClock()) / 1e6 - Double(MonotonicClock.now().nanoseconds) / 1e6
}

/// A script that runs `body` for each frame that the page decodes from now on, with its I420 `bytes`, the luma's
/// `stride`, its `scale` relative to the sender's usual size, and the time of day `at` in milliseconds. `body` may
/// append to the array `seen`.
func watchFrames(_ body: String) -> String {
    """
    (() => {
        const track = oriel.pc.getReceivers()[0].track.clone();
        const reader = new MediaStreamTrackProcessor({track}).readable.getReader();
        window.seen = [];
        (async () => {
            for (;;) {
                const {value: frame, done} = await reader.read();
                if (done) return;
                const at = performance.timeOrigin + performance.now();
                const bytes = new Uint8Array(frame.allocationSize());
                const scale = frame.visibleRect.width / \(EncoderSettings.size.width);
                const [{stride}] = await frame.copyTo(bytes);
                frame.close();
                \(body)
            }
        })();
    })()
    """
}
