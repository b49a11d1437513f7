import CPosix
import Glibc

/// Notices changes of this machine's interfaces, addresses or routes, by the kernel (rtnetlink(7)).
package final class NetworkWatch {
    /// Readable while there are events.
    package let descriptor: FileDescriptor

    package init() throws(SystemError) {
        descriptor = FileDescriptor(taking: try check("netlink") { posix_network_watch() })
    }

    /// Drops all events. Their content is not used: after an event, the machine's present state is read. So a dropped
    /// message is no loss.
    package func takeChanges() { posix_network_changes_take(descriptor.raw) }
}
