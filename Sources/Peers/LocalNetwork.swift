import Posix
import Time
import WebRTC

/// The addresses of this machine, and when they change. On the network thread.
final class LocalNetwork {
    /// Changes come in groups: an interface, its addresses, its routes.
    private static let settlingTime = Duration.milliseconds(100)

    private(set) var addresses: Set<String>
    private let watch: NetworkWatch?
    private var hasNews = false
    /// When a group of changes is taken to be complete.
    private(set) var deadline: Instant?

    init(in loop: ICELoop) {
        addresses = Self.current
        // Without it, whoever loses an address has to come again.
        watch = try? NetworkWatch()
        guard let watch else { return }
        loop.watch(watch.descriptor.raw) { [unowned self] in
            watch.takeChanges()
            hasNews = true
        }
    }

    private static var current: Set<String> { Set(interfaceAddresses().map(\.host)) }

    /// The addresses after a group of changes; nil if there was none since the last call.
    func takeChange(at now: Instant) -> Set<String>? {
        if hasNews {
            hasNews = false
            deadline = deadline ?? now + Self.settlingTime
        }
        guard let deadline, deadline <= now else { return nil }
        self.deadline = nil
        addresses = Self.current
        return addresses
    }
}
