import Glibc
import Synchronization
import Time

/// Two network namespaces with a wire between them: one for a sender, one for its viewers. Both go with their owner.
package final class Network {
    package static let senderAddress = "10.99.0.1"
    package static let viewerAddress = "10.99.0.2"
    package static let senderAddress6 = "fd99::1"
    package static let viewerAddress6 = "fd99::2"

    package enum Family: Sendable { case ipv4, ipv6 }

    private let name: String
    private let family: Family
    private let isParted: Bool
    private static let count = Atomic(0)

    /// - Parameters:
    ///   - family: of the addresses at both ends. While IPv6 addresses are new, Chromium often gathers nothing unless it is told
    ///     not to hide its addresses (mDNS).
    ///   - isParted: whether the wire is cut in the middle, where a program has to pass on what comes: `atMiddle` runs it
    ///     between the interfaces `left`, at the sender's end, and `right`.
    package init(_ family: Family = .ipv4, isParted: Bool = false) throws {
        self.family = family
        self.isParted = isParted
        name = "oriel\(getpid())x\(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)"
        for end in namespaces {
            try ip("netns", "add", end)
            if family == .ipv4 {
                try ip("netns", "exec", end, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
            }
            try ip("-n", end, "link", "set", "lo", "up")
        }
        if isParted {
            for (end, side) in [(sender, "left"), (viewer, "right")] {
                try ip("link", "add", "wire", "netns", end, "type", "veth", "peer", "name", side, "netns", middle)
                // Datagrams that were sent in one piece are parted before they are on the wire.
                try ip("-n", end, "link", "set", "wire", "gso_max_segs", "1")
                try ip("-n", middle, "link", "set", side, "up")
            }
        } else {
            try ip("link", "add", "wire", "netns", sender, "type", "veth", "peer", "name", "wire", "netns", viewer)
        }
        let ends =
            family == .ipv4
            ? [(sender, Self.senderAddress, Self.viewerAddress), (viewer, Self.viewerAddress, Self.senderAddress)]
            : [(sender, Self.senderAddress6, Self.viewerAddress6), (viewer, Self.viewerAddress6, Self.senderAddress6)]
        for (end, address, _) in ends {
            switch family {
            case .ipv4: try ip("-n", end, "addr", "add", "\(address)/24", "dev", "wire")
            case .ipv6: try ip("-n", end, "addr", "add", "\(address)/64", "dev", "wire", "nodad")
            }
            try ip("-n", end, "link", "set", "wire", "up")
        }
        // The kernel tells of the carrier up to a second later, and libnice gathers nothing on an interface without one.
        for end in [sender, viewer] {
            try wait(until: "the wire is up") {
                try Subprocess.run(["ip", "-n", end, "link", "show", "wire"]).contains("state UP")
            }
        }
        // Without a default route Chromium offers no candidates.
        for (end, _, other) in ends { try ip("-n", end, "route", "add", "default", "via", other) }
    }

    deinit { for end in namespaces { try? ip("netns", "del", end) } }

    private var sender: String { "\(name)s" }
    private var viewer: String { "\(name)v" }
    private var middle: String { "\(name)m" }
    private var namespaces: [String] { isParted ? [sender, viewer, middle] : [sender, viewer] }

    /// The sender's address as a URL has it.
    package var senderHost: String { family == .ipv4 ? Self.senderAddress : "[\(Self.senderAddress6)]" }

    /// A command line that runs in the sender's namespace.
    package func atSender(_ command: [String]) -> [String] { ["ip", "netns", "exec", sender] + command }

    /// A command line that runs in the viewers' namespace.
    package func atViewer(_ command: [String]) -> [String] { ["ip", "netns", "exec", viewer] + command }

    /// A command line that runs in the middle of a parted wire.
    package func atMiddle(_ command: [String]) -> [String] { ["ip", "netns", "exec", middle] + command }

    /// Takes the sender's IPv4 address away, as when it leaves a network, and after so long gives it another one, as when it comes
    /// to the next.
    package func moveSender(to address: String, after pause: Duration = .zero) throws {
        try ip("-n", sender, "addr", "flush", "dev", "wire")
        usleep(UInt32(pause.nanoseconds / 1000))
        try ip("-n", sender, "addr", "add", "\(address)/24", "dev", "wire")
        try ip("-n", sender, "route", "add", "default", "via", Self.viewerAddress)
    }

    /// Takes the sender's interface down, or up again. The address stays.
    package func setSenderLink(isUp: Bool) throws {
        try ip("-n", sender, "link", "set", "wire", isUp ? "up" : "down")
        if isUp { try ip("-n", sender, "route", "add", "default", "via", Self.viewerAddress) }
    }

    /// Loses part of what the sender sends by UDP, at most 999 of 1000, from now on; 0 ends that.
    package func loseFromSender(perThousand: Int) throws {
        var rules = "add table inet loss; delete table inet loss"
        if perThousand > 0 {
            rules += """
                ; add table inet loss; add chain inet loss in { type filter hook input priority 0; }; \
                add rule inet loss in meta l4proto udp numgen random mod 1000 < \(perThousand) drop
                """
        }
        try Subprocess.run(atViewer(["nft", rules]))
    }

    /// Loses what the sender sends by UDP beyond a rate, but to a port of the viewers.
    package func limitFromSender(kilobytesPerSecond rate: Int, exceptTo port: Int) throws {
        let rules = """
            add table inet bound; add chain inet bound in { type filter hook input priority 0; }; \
            add rule inet bound in udp dport != \(port) limit rate over \(rate) kbytes/second burst 20 kbytes drop
            """
        try Subprocess.run(atViewer(["nft", rules]))
    }

    /// Loses all SRTP that the sender sends, or nothing any more; not STUN and DTLS (RFC 7983).
    package func loseMediaFromSender(_ isOn: Bool) throws {
        var rules = "add table inet media; delete table inet media"
        if isOn {
            rules += """
                ; add table inet media; add chain inet media in { type filter hook input priority 0; }; \
                add rule inet media in meta l4proto udp @th,64,8 >= 128 @th,64,8 <= 191 drop
                """
        }
        try Subprocess.run(atViewer(["nft", rules]))
    }

    /// Holds what the sender sends to a rate, such as `2mbit`. Nothing is lost on the way: the sender's sockets fill.
    package func throttleSender(to rate: String) throws {
        let bucket = ["rate", rate, "burst", "10kb", "limit", "50mb"]
        try Subprocess.run(atSender(["tc", "qdisc", "add", "dev", "wire", "root", "tbf"] + bucket))
    }

    /// How many datagrams the viewers' sockets had no room for.
    package func overflowsAtViewer() throws -> Int {
        let lines = try Subprocess.run(atViewer(["cat", "/proc/net/snmp"])).split(separator: "\n")
        let udp = lines.filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
        guard udp.count == 2, let column = udp[0].firstIndex(of: "RcvbufErrors") else { return 0 }
        return Int(udp[1][column]) ?? 0
    }

    /// Lets no UDP pass between the two, but perhaps from and to a port.
    package func blockUDP(exceptPort port: Int? = nil) throws {
        let exception = port.map {
            "add rule inet block in udp dport \($0) accept; add rule inet block in udp sport \($0) accept; "
        }
        let rules = """
            add table inet block; add chain inet block in { type filter hook input priority 0; }; \
            \(exception ?? "")add rule inet block in iifname wire meta l4proto udp drop
            """
        try Subprocess.run(atViewer(["nft", rules]))
        try Subprocess.run(atSender(["nft", rules]))
    }

    private func ip(_ arguments: String...) throws { try Subprocess.run(["ip"] + arguments) }
}
