import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A screen, its broadcast, and a sender to browsers at the other end of a network.
final class WebBroadcast {
    static let token = "a-token-of-the-tests"

    let network: Network
    let server: XServer
    let broadcast: Broadcast
    private(set) var capture: Subprocess
    private(set) var sender: Subprocess
    private let arguments: [String]

    convenience init(over network: Network? = nil, _ arguments: String...) throws {
        try self.init(over: network, arguments)
    }

    /// - Parameter server: of 1280x720; nil for one of its own.
    convenience init(on server: XServer, _ arguments: String...) throws {
        try self.init(over: nil, on: server, arguments)
    }

    /// One that shows the pointer.
    static func withPointer() throws -> WebBroadcast { try WebBroadcast(over: nil, capturing: [], []) }

    init(
        over network: Network?,
        on server: XServer? = nil,
        capturing options: [String] = ["--no-cursor"],
        _ arguments: [String]
    ) throws {
        self.network = try network ?? Network()
        self.server = try server ?? XServer(.virtual(width: 1280, height: 720))
        broadcast = try Broadcast(on: self.server.display)
        capture = try broadcast.start(options)
        self.arguments = arguments
        sender = try Self.attach(broadcast, self.network, arguments)
    }

    deinit {
        sender.stop()
        capture.stop()
    }

    private static func attach(_ broadcast: Broadcast, _ network: Network, _ arguments: [String]) throws -> Subprocess {
        let command = [Programs.oriel, "attach", "web", "--dir", broadcast.directory] + arguments
        let environment = ["ORIEL_TOKEN": token, "DISPLAY": broadcast.display]
        let sender = try Subprocess(network.atSender(command), environment: environment)
        try sender.wait(until: "the sender serves") { sender.outputLines.contains { $0.hasPrefix("http") } }
        return sender
    }

    /// What viewers open.
    var page: String { "\(origin)/#\(Self.token)" }
    var whep: String { "\(origin)/whep" }
    var origin: String { "http://\(network.senderHost):8080" }

    /// A second sender of the same broadcast.
    func attachAnother(_ arguments: String...) throws -> Subprocess {
        try Self.attach(broadcast, network, arguments)
    }

    func restartSender() throws { sender = try Self.attach(broadcast, network, arguments) }
    func restartCapture() throws { capture = try broadcast.start("--no-cursor") }

    /// The processes themselves, not the programs that put them into a namespace: `ip netns exec` becomes its command.
    func view(_ stack: Counterparts.Stack, _ arguments: String...) throws -> Counterparts.Report {
        try Counterparts.report(Counterparts.viewer(stack, of: whep, token: Self.token, in: network, arguments))
    }

    /// Opens the page in a browser of the network, or in one of its own that has sound, arguments, or hides its addresses.
    func open(
        _ kind: Browser.Kind,
        page: String? = nil,
        hidesAddresses: Bool = false,
        sound: PulseServer? = nil,
        _ arguments: [String] = []
    ) throws -> Browser {
        let browser: Browser
        if sound == nil, arguments.isEmpty, !hidesAddresses {
            browser = try network.browser(kind)
        } else {
            let standard = hidesAddresses ? [] : kind.arguments
            browser = try Browser(kind, in: network, sound: sound, standard + arguments)
        }
        try browser.open(page ?? self.page)
        return browser
    }
}

extension Browser {
    private static let everything = """
        JSON.stringify([oriel.state, await oriel.stats(), oriel.pc.connectionState, oriel.pc.iceConnectionState,
            oriel.pc.iceGatheringState, oriel.pc.signalingState,
            oriel.pc.localDescription?.sdp.match(/candidate.*/g), oriel.pc.remoteDescription?.sdp.match(/candidate.*/g)])
        """

    /// The state that the page shows.
    var state: String { get throws { try evaluate("oriel.state") } }

    /// Whether an element of the page can be seen.
    func isShown(_ id: String) throws -> Bool {
        try evaluate("document.getElementById('\(id)').checkVisibility({visibilityProperty: true})", as: Bool.self)
    }

    /// As a mouse or the Enter key does.
    func click(_ id: String) throws {
        let _: Bool? = try evaluateOptional("(document.getElementById('\(id)').click(), true)")
    }

    func wait(forState state: String) throws {
        do {
            try TestSupport.wait(until: "the page is \(state)") { try self.state == state }
        } catch let timeout as WaitTimeout {
            // A closed connection has no statistics.
            let seen = try (try? evaluate(Self.everything, as: String.self)) ?? self.state
            throw Unexpected("\(timeout): \(seen)")
        }
    }

    /// A member of the page's statistics that is text, as soon as it is known: the codec is not before a frame is decoded,
    /// and Chromium answers for 50 ms as it did before.
    func statistic(_ name: String) throws -> String {
        var value: String?
        try TestSupport.wait(until: "the page knows its \(name)") {
            value = try evaluateOptional("(await oriel.stats()).\(name)")
            return value != nil
        }
        return try #require(value)
    }

    /// Frames that the page's peer connection has decoded; 0 if it does not say so, as one that is closed meanwhile never does.
    var framesDecoded: Int {
        get throws {
            let silence = "new Promise(done => setTimeout(done, 10_000, {}))"
            return try evaluateOptional("(await Promise.race([oriel.stats(), \(silence)])).framesDecoded") ?? 0
        }
    }

    /// The number that the workload `counter` has painted, as the browser paints it; nil before there is one.
    func number() throws -> Int? {
        let script = """
            (() => {
                const video = document.querySelector('video');
                const canvas = document.createElement('canvas');
                canvas.width = video.videoWidth; canvas.height = 2 * Math.floor(canvas.width / \(NumberReader.columns));
                if (!canvas.height) return null;
                const context = canvas.getContext('2d');
                context.drawImage(video, 0, 0);
                const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
                let luma = '';
                for (let i = 0; i < data.length; i += 4) {
                    luma += String.fromCharCode((data[i] + 2 * data[i + 1] + data[i + 2] + 2) >> 2);
                }
                return {width: canvas.width, luma: btoa(luma)};
            })()
            """
        struct Picture: Decodable {
            let width: Int
            let luma: Data
        }
        return try evaluateOptional(script, as: Picture.self).flatMap {
            NumberReader(width: $0.width).value(in: Array($0.luma))
        }
    }
}
