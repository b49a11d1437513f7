import Glibc
import TestSupport
import Testing

/// `oriel rooms` outside of both sides' NAT.
struct RoomsOutside {
    private let process: Subprocess

    init(of network: Network, _ arguments: [String] = []) throws {
        let command = [Programs.oriel, "rooms", "--listen", "0.0.0.0:8090"] + arguments
        let process = try Subprocess(network.atOutside(command))
        try process.wait(until: "the server of rooms listens") { process.output.contains("http") }
        self.process = process
    }
}

extension Reach {
    /// Other calls across such networks, with their servers outside.
    @Suite struct NATCallTests {
        @Test func aMediaServerOutsideGetsTheScreen() throws {
            let scene = try WHIPScene(over: Network(senderNAT: .symmetric, viewerNAT: nil))
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        @Test(arguments: [HiddenSides.bothByCones, .both])
        func twoInARoomSeeEachOther(sides: HiddenSides) throws {
            let network = try Network(senderNAT: sides.sender, viewerNAT: sides.viewer)
            let relay = try Relay(network.atOutside, at: Network.outsideAddress)
            let rooms = try RoomsOutside(of: network)
            let first = try RoomMember(.red, of: Network.outsideAddress, at: network.atSender)
            let second = try RoomMember(.blue, of: Network.outsideAddress, at: network.atViewer)
            let (seen, other) = (first.file("seen.y4m"), second.file("seen.y4m"))
            let members = [
                try first.attach(["--render", seen] + sides.server),
                try second.attach(["--render", other] + sides.server),
            ]
            for (path, colour) in [(seen, .blue), (other, .red)] as [(String, RenderedPictures.Colour)] {
                try wait(until: "\(path) shows \(colour): \(members.map(\.errorOutput))") {
                    try RenderedPictures(path)?.shows(colour) ?? false
                }
            }
            for member in members {
                member.kill(SIGTERM)
                try #expect(member.wait() == .code(0), "\(member.errorOutput)")
            }
            withExtendedLifetime((relay, rooms)) {}
        }
    }
}
