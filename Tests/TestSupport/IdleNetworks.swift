import Glibc
import Posix
import Synchronization

/// Networks that tests have left as they were made, with the browsers that rest there, until the process ends. To make one takes 15
/// processes, and up to a second until the wire carries; to start a browser takes seconds of the processor.
enum IdleNetworks {
    private struct Idle: Sendable {
        let name: String
        let family: Network.Family
        let browsers: [BrowserProcess]
    }

    private static let networks = Mutex<[Idle]>([])

    private static let removal: Void = {
        atexit {
            let idle = IdleNetworks.networks.withLock { networks in
                defer { networks = [] }
                return networks
            }
            for browser in idle.flatMap(\.browsers) { browser.quit() }
            for network in idle { system("ip netns del \(network.name)s; ip netns del \(network.name)v") }
        }
    }()

    static func keep(_ name: String, _ family: Network.Family, _ browsers: [BrowserProcess]) {
        removal
        networks.withLock { $0.append(Idle(name: name, family: family, browsers: browsers)) }
    }

    /// One in which nothing runs any more but its resting browsers: of several the last left, so that few browsers are enough.
    static func take(_ family: Network.Family) -> (name: String, browsers: [BrowserProcess])? {
        networks.withLock { networks in
            let index = networks.lastIndex { $0.family == family && isQuiet($0) }
            return index.map { networks.remove(at: $0) }.map { ($0.name, $0.browsers) }
        }
    }

    private static func isQuiet(_ network: Idle) -> Bool {
        let browsers = network.browsers.map(\.pid)
        return ["s", "v"].allSatisfy { end in
            processes(in: network.name + end)?.allSatisfy { isDescendant($0, of: browsers) } ?? false
        }
    }

    private static func processes(in namespace: String) -> [pid_t]? {
        try? Subprocess.run(["ip", "netns", "pids", namespace]).split(separator: "\n").compactMap { pid_t($0) }
    }

    /// `browser.py` takes in all processes of its browser that lose their parents. True if there is no such process any more.
    private static func isDescendant(_ process: pid_t, of ancestors: [pid_t]) -> Bool {
        var process = process
        while !ancestors.contains(process) {
            guard let parent = ProcessStatistics(of: process)?.parent else { return true }
            if parent <= 1 { return false }
            process = parent
        }
        return true
    }
}
