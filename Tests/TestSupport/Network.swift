import Glibc
import Synchronization
import Time

/// Two network namespaces with a wire between them: one for a sender, one for its viewers. All namespaces go with their owner, but those
/// of a plain wire that nobody changed: they wait for the next test, and the browsers in them.
package final class Network {
    package static let senderAddress = "10.99.0.1"
    package static let viewerAddress = "10.99.0.2"
    package static let outsideAddress = "10.99.0.3"
    package static let senderAddress6 = "fd99::1"
    package static let viewerAddress6 = "fd99::2"

    package enum Family: Sendable { case ipv4, ipv6 }

    /// A router that hides one side's machine behind the address that this side has elsewhere, and leads port 8080 by TCP to it.
    /// It lets in only what answers: address and port-dependent filtering (RFC 4787 §5).
    package enum NAT: Sendable {
        /// One port outside for one of the machine, wherever it sends to (endpoint-independent mapping, RFC 4787 §4.1).
        case cone
        /// Another port outside for each destination (address and port-dependent mapping).
        case symmetric
    }

    private let name: String
    package let family: Family
    private var namespaces: [String] = []
    private var isReusable = false
    private var resting: [BrowserProcess] = []
    /// Of tests that had these namespaces before.
    private var formerOverflows = 0
    private static let count = Atomic(0)

    /// - Parameters:
    ///   - family: of the addresses at both ends. While IPv6 addresses are new, Chromium often gathers nothing unless it is told
    ///     not to hide its addresses (mDNS).
    ///   - isParted: whether the wire is cut in the middle, where a program has to pass on what comes: `atMiddle` runs it
    ///     between the interfaces `left`, at the sender's end, and `right`.
    package init(_ family: Family = .ipv4, isParted: Bool = false) throws {
        self.family = family
        if !isParted, let idle = IdleNetworks.take(family) {
            (name, resting) = idle
            namespaces = [sender, viewer]
            formerOverflows = try overflowsAtViewer()
            isReusable = true
            return
        }
        name = Self.nextName()
        for end in [sender, viewer] + (isParted ? [middle] : []) { try add(end) }
        if isParted {
            for (end, side) in [(sender, "left"), (viewer, "right")] {
                try link(end, "wire", middle, side)
                // Datagrams that were sent in one piece are parted before they are on the wire.
                try ip("-n", end, "link", "set", "wire", "gso_max_segs", "1")
                try ip("-n", middle, "link", "set", side, "up")
            }
        } else {
            try link(sender, "wire", viewer, "wire")
        }
        let ends =
            family == .ipv4
            ? [(sender, Self.senderAddress, Self.viewerAddress), (viewer, Self.viewerAddress, Self.senderAddress)]
            : [(sender, Self.senderAddress6, Self.viewerAddress6), (viewer, Self.viewerAddress6, Self.senderAddress6)]
        for (end, address, _) in ends { try setUp("wire", of: end, as: address) }
        try waitForWires()
        // Without a default route Chromium offers no candidates.
        for (end, _, other) in ends { try ip("-n", end, "route", "add", "default", "via", other) }
        isReusable = !isParted
    }

    /// A network of three, by IPv4: whoever is `atOutside` is reached by both sides, a side without a NAT by all.
    package init(senderNAT: NAT?, viewerNAT: NAT?) throws {
        family = .ipv4
        name = Self.nextName()
        for end in [sender, viewer, middle] { try add(end) }
        try ip("-n", middle, "link", "add", "bridge", "type", "bridge")
        try setUp("bridge", of: middle, as: Self.outsideAddress)
        // What is sent to an address of somebody's home is lost on the way.
        let nobody = "10.99.0.9"
        try ip("-n", middle, "neigh", "add", nobody, "lladdr", "02:00:00:00:00:09", "dev", "bridge")
        try ip("-n", middle, "route", "add", "default", "via", nobody)
        for (end, address, nat, port) in [
            (sender, Self.senderAddress, senderNAT, "left"), (viewer, Self.viewerAddress, viewerNAT, "right"),
        ] {
            let router = "\(end)r"
            if let nat {
                try add(router)
                try link(end, "wire", router, "home")
                try link(router, "outside", middle, port)
                try setUp("wire", of: end, as: Self.homeAddress)
                try setUp("home", of: router, as: Self.routerAddress)
                try setUp("outside", of: router, as: address)
                try route(in: router, by: nat)
            } else {
                try link(end, "wire", middle, port)
                try setUp("wire", of: end, as: address)
            }
            try ip("-n", middle, "link", "set", port, "master", "bridge", "up")
        }
        try waitForWires()
        for (end, nat) in [(sender, senderNAT), (viewer, viewerNAT)] {
            let gateway = nat == nil ? Self.outsideAddress : Self.routerAddress
            try ip("-n", end, "route", "add", "default", "via", gateway)
        }
    }

    deinit {
        if isReusable { return IdleNetworks.keep(name, family, resting) }
        resting = []
        for end in namespaces { try? ip("netns", "del", end) }
    }

    /// A browser at the viewers' end, in a context of its own: without storage, cookies, permissions and user activation of tests
    /// before. A second one at the same time is another process.
    package func browser(_ kind: Browser.Kind) throws -> Browser {
        while let index = resting.lastIndex(where: { $0.kind == kind }) {
            let process = resting.remove(at: index)
            if (try? process.begin()) != nil { return Browser(process, at: self) }
        }
        let process = try BrowserProcess(kind, at: atViewer, kind.arguments)
        try process.begin()
        return Browser(process, at: self)
    }

    func takeBack(_ process: BrowserProcess) {
        if (try? process.rest()) != nil { resting.append(process) }
    }

    private static let homeAddress = "192.168.99.2"
    private static let routerAddress = "192.168.99.1"

    private static func nextName() -> String {
        "oriel\(getpid())x\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    private var sender: String { "\(name)s" }
    private var viewer: String { "\(name)v" }
    private var middle: String { "\(name)m" }

    private func add(_ namespace: String) throws {
        try ip("netns", "add", namespace)
        namespaces.append(namespace)
        if family == .ipv4 {
            try ip("netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        }
        try ip("-n", namespace, "link", "set", "lo", "up")
    }

    private func link(_ end: String, _ interface: String, _ other: String, _ otherInterface: String) throws {
        let peer = ["peer", "name", otherInterface, "netns", other]
        try Subprocess.run(["ip", "link", "add", interface, "netns", end, "type", "veth"] + peer)
    }

    private func setUp(_ interface: String, of end: String, as address: String) throws {
        switch family {
        case .ipv4: try ip("-n", end, "addr", "add", "\(address)/24", "dev", interface)
        case .ipv6: try ip("-n", end, "addr", "add", "\(address)/64", "dev", interface, "nodad")
        }
        try ip("-n", end, "link", "set", interface, "up")
    }

    private func route(in router: String, by nat: NAT) throws {
        try ip("netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        // What is refused makes no mapping, so that it cannot take the port that the machine's own is mapped to.
        let rules = """
            add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; \
            add rule ip nat out oifname outside masquerade \(nat == .symmetric ? "fully-random" : ""); \
            add chain ip nat in { type nat hook prerouting priority -100; }; \
            add rule ip nat in iifname outside tcp dport 8080 dnat to \(Self.homeAddress); \
            add chain ip nat own { type filter hook input priority 0; }; \
            add rule ip nat own iifname outside ct state new drop
            """
        try ip("netns", "exec", router, "nft", rules)
    }

    /// The kernel tells of the carrier up to a second later, and libnice gathers nothing on an interface without one.
    private func waitForWires() throws {
        for end in [sender, viewer] {
            try wait(until: "the wire is up") {
                try Subprocess.run(["ip", "-n", end, "link", "show", "wire"]).contains("state UP")
            }
        }
    }

    /// The sender's address as a URL has it.
    package var senderHost: String { family == .ipv4 ? Self.senderAddress : "[\(Self.senderAddress6)]" }

    /// The viewers' address as a URL has it.
    package var viewerHost: String { family == .ipv4 ? Self.viewerAddress : "[\(Self.viewerAddress6)]" }

    /// A command line that runs in the sender's namespace.
    package func atSender(_ command: [String]) -> [String] { ["ip", "netns", "exec", sender] + command }

    /// A command line that runs in the viewers' namespace.
    package func atViewer(_ command: [String]) -> [String] { ["ip", "netns", "exec", viewer] + command }

    /// A command line that runs outside of both sides' NAT.
    package func atOutside(_ command: [String]) -> [String] { atMiddle(command) }

    /// A command line that runs in the middle of a parted wire.
    package func atMiddle(_ command: [String]) -> [String] { ["ip", "netns", "exec", middle] + command }

    /// Takes the sender's IPv4 address away, as when it leaves a network, and after so long gives it another one, as when it comes
    /// to the next.
    package func moveSender(to address: String, after pause: Duration = .zero) throws {
        isReusable = false
        try ip("-n", sender, "addr", "flush", "dev", "wire")
        usleep(UInt32(pause.nanoseconds / 1000))
        try ip("-n", sender, "addr", "add", "\(address)/24", "dev", "wire")
        try ip("-n", sender, "route", "add", "default", "via", Self.viewerAddress)
    }

    /// Takes the sender's interface down, or up again. The address stays.
    package func setSenderLink(isUp: Bool) throws {
        isReusable = false
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
        try change(atViewer(["nft", rules]))
    }

    /// Loses part of what viewers send by UDP, at most 999 of 1000, from now on.
    package func loseFromViewers(perThousand: Int) throws {
        let rules = """
            add table inet loss; add chain inet loss in { type filter hook input priority 0; }; \
            add rule inet loss in meta l4proto udp numgen random mod 1000 < \(perThousand) drop
            """
        try change(atSender(["nft", rules]))
    }

    /// Loses what the sender sends by UDP beyond a rate, but to a port of the viewers.
    package func limitFromSender(kilobytesPerSecond rate: Int, exceptTo port: Int) throws {
        let rules = """
            add table inet bound; add chain inet bound in { type filter hook input priority 0; }; \
            add rule inet bound in udp dport != \(port) limit rate over \(rate) kbytes/second burst 20 kbytes drop
            """
        try change(atViewer(["nft", rules]))
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
        try change(atViewer(["nft", rules]))
    }

    /// Holds what the sender sends to a rate, such as `2mbit`. Nothing is lost on the way: the sender's sockets fill.
    package func throttleSender(to rate: String) throws {
        let bucket = ["rate", rate, "burst", "10kb", "limit", "50mb"]
        try change(atSender(["tc", "qdisc", "add", "dev", "wire", "root", "tbf"] + bucket))
    }

    /// How many datagrams the viewers' sockets had no room for.
    package func overflowsAtViewer() throws -> Int {
        let lines = try Subprocess.run(atViewer(["cat", "/proc/net/snmp"])).split(separator: "\n")
        let udp = lines.filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
        guard udp.count == 2, let column = udp[0].firstIndex(of: "RcvbufErrors") else { return 0 }
        return (Int(udp[1][column]) ?? 0) - formerOverflows
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
        try change(atViewer(["nft", rules]))
        try change(atSender(["nft", rules]))
    }

    private func change(_ command: [String]) throws {
        isReusable = false
        try Subprocess.run(command)
    }

    private func ip(_ arguments: String...) throws { try Subprocess.run(["ip"] + arguments) }
}
