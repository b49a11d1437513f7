import Glibc
import TestSupport
import Testing

/// How the two sides of a call are hidden, and by which server outside they find each other.
struct HiddenSides: Sendable, CustomTestStringConvertible {
    let sender: Network.NAT?
    let viewer: Network.NAT?
    /// An option of the sender.
    let server: [String]
    /// Whether a relay carries the media, as there is no other way.
    let isRelayed: Bool

    /// Firefox where both sides are hidden, as then its part is the hardest.
    var browsers: [Browser.Kind] { sender == nil || viewer == nil ? [.chromium] : Browser.Kind.allCases }

    var testDescription: String { "\(sender.map { "\($0)" } ?? "-") \(viewer.map { "\($0)" } ?? "-") \(server)" }

    private static let stun = ["--stun", Network.outsideAddress]
    private static let turn = ["--turn", "\(Relay.login)@\(Network.outsideAddress)"]

    static let senderAlone = HiddenSides(sender: .symmetric, viewer: nil, server: stun, isRelayed: false)
    static let viewerAlone = HiddenSides(sender: nil, viewer: .symmetric, server: [], isRelayed: false)
    static let bothByCones = HiddenSides(sender: .cone, viewer: .cone, server: stun, isRelayed: false)
    static let both = HiddenSides(sender: .symmetric, viewer: .symmetric, server: turn, isRelayed: true)
}

extension Reach {
    /// Browsers that see a screen although one side or both are behind a NAT.
    @Suite struct NATTests {
        @Test(arguments: [HiddenSides.senderAlone, .viewerAlone, .bothByCones, .both])
        func browsersSeeTheScreen(sides: HiddenSides) throws {
            let network = try Network(senderNAT: sides.sender, viewerNAT: sides.viewer)
            let relay = try Relay(network.atOutside, at: Network.outsideAddress)
            let web = try WebBroadcast(over: network, sides.server)
            for kind in sides.browsers {
                let browser = try web.open(kind)
                try browser.wait(forState: "live")
                try wait(until: "frames are decoded") { try browser.framesDecoded > 0 }
                let ends = try [browser.statistic("localCandidate"), browser.statistic("remoteCandidate")].joined(
                    separator: " "
                )
                #expect(ends.contains("relay") == sides.isRelayed, "\(kind): \(ends)")
            }
            withExtendedLifetime(relay) {}
        }

        /// The page of a room learns of the servers from that of the rooms.
        @Test(arguments: [HiddenSides.bothByCones, .both])
        func aMemberWithABrowserSeesTheScreen(sides: HiddenSides) throws {
            let network = try Network(senderNAT: sides.sender, viewerNAT: sides.viewer)
            let relay = try Relay(network.atOutside, at: Network.outsideAddress)
            let rooms = try RoomsOutside(of: network, sides.server)
            let member = try RoomMember(.red, of: Network.outsideAddress, at: network.atSender)
            let sender = try member.attach(sides.server)
            let browser = try network.browser(.chromium)
            try browser.open("http://\(Network.outsideAddress):8090/tea")
            try sender.wait(until: "the picture comes") {
                try browser.evaluate("theirs.videoWidth", as: Int.self) == 640
            }
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            withExtendedLifetime((relay, rooms)) {}
        }
    }
}
