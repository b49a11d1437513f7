import Glibc
import Synchronization

/// Networks that tests have left as they were made, until the process ends. To make one takes 15 processes, and up to a second until the wire
/// carries.
enum IdleNetworks {
    private static let networks = Mutex<[(name: String, family: Network.Family)]>([])

    private static let removal: Void = {
        atexit {
            for (name, _) in IdleNetworks.networks.withLock({ $0 }) {
                system("ip netns del \(name)s; ip netns del \(name)v")
            }
        }
    }()

    static func keep(_ name: String, _ family: Network.Family) {
        removal
        networks.withLock { $0.append((name, family)) }
    }

    /// The name of one in which nothing runs any more.
    static func take(_ family: Network.Family) -> String? {
        networks.withLock { networks in
            let index = networks.firstIndex { $0.family == family && isQuiet($0.name) }
            return index.map { networks.remove(at: $0).name }
        }
    }

    private static func isQuiet(_ name: String) -> Bool {
        ["s", "v"].allSatisfy { (try? Subprocess.run(["ip", "netns", "pids", name + $0])) == "" }
    }
}
