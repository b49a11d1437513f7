import ICE
import Posix
import Time

/// The addresses of this machine, when they change, and when it was suspended. On the network thread.
final class LocalNetwork {
    /// Changes come in groups: an interface, its addresses, its routes.
    private static let settlingTime = Duration.milliseconds(100)

    private(set) var addresses: Set<String>
    private let watch: NetworkWatch?
    private let suspends: SuspendWatch?
    private var hasNews = false
    private var suspended: Duration?
    /// When a group of changes is taken to be complete.
    private(set) var deadline: Instant?

    init(in loop: ICELoop, _ suspends: SuspendWatch?) {
        addresses = Self.current
        // Without it, peers have to come again after a change.
        watch = try? NetworkWatch()
        self.suspends = suspends
        if let watch {
            loop.watch(watch.descriptor.raw) { [unowned self] in
                watch.takeChanges()
                hasNews = true
            }
        }
        guard let suspends else { return }
        loop.watch(suspends.descriptor.raw) { [unowned self] in
            guard let time = suspends.takeSuspend() else { return }
            suspended = (suspended ?? .zero) + time
            hasNews = true
        }
    }

    /// The time of suspends since the last call; nil for none.
    func takeSuspend() -> Duration? { suspended.take() }

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
