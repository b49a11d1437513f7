import Glibc
import Synchronization
import TestSupport

/// The machines that pages name, as network namespaces with one wire. Each knows the names of the others, and trusts one more certificate.
/// All goes with its owner.
final class PageNetwork {
    enum Host: String, CaseIterable {
        case sharer = "192.0.2.7"
        case server = "192.0.2.8"
        case viewer = "192.0.2.9"
    }

    /// Those of the server.
    static let names = ["media", "meet", "stun", "turn"].map { "\($0).example.net" }

    private static let count = Atomic(0)
    private let name = "orielpage\(getpid())x\(count.wrappingAdd(1, ordering: .relaxed).newValue)"

    /// - Parameter certificate: a file.
    init(trusting certificate: String) throws {
        try ip("netns", "add", name)
        try ip("-n", name, "link", "add", "bridge", "type", "bridge")
        try ip("-n", name, "link", "set", "bridge", "up")
        for host in Host.allCases {
            let place = namespace(of: host)
            try ip("netns", "add", place)
            try ip("netns", "exec", place, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
            try ip("-n", place, "link", "set", "lo", "up")
            let port = "port\(host.rawValue.suffix(1))"
            try ip("link", "add", "wire", "netns", place, "type", "veth", "peer", "name", port, "netns", name)
            try ip("-n", name, "link", "set", port, "master", "bridge", "up")
            try ip("-n", place, "addr", "add", "\(host.rawValue)/24", "dev", "wire")
            try ip("-n", place, "link", "set", "wire", "up")
            // "ip netns exec" puts these in the place of those in /etc.
            let script = """
                mkdir -p "$1" && cp -a /etc/ssl "$1/ssl" && cat "$2" >> "$1/ssl/certs/ca-certificates.crt" && \
                printf '127.0.0.1 localhost\\n\(Host.server.rawValue) \(Self.names.joined(separator: " "))\\n' > "$1/hosts"
                """
            try Subprocess.run(["sh", "-c", script, "sh", files(of: host), certificate])
        }
        for host in Host.allCases {
            let place = namespace(of: host)
            try wait(until: "the wire is up") {
                try Subprocess.run(["ip", "-n", place, "link", "show", "wire"]).contains("state UP")
            }
            try ip("-n", place, "route", "add", "default", "dev", "wire")
        }
    }

    deinit {
        for place in Host.allCases.map(namespace) + [name] { try? ip("netns", "del", place) }
        for host in Host.allCases { _ = try? Subprocess.run(["rm", "-rf", files(of: host)]) }
    }

    /// A command line that runs on a host.
    func command(_ words: [String], at host: Host) -> [String] { ["ip", "netns", "exec", namespace(of: host)] + words }

    private func namespace(of host: Host) -> String { "\(name)-\(host.rawValue.suffix(1))" }

    private func files(of host: Host) -> String { "/etc/netns/\(namespace(of: host))" }

    private func ip(_ arguments: String...) throws { try Subprocess.run(["ip"] + arguments) }
}
