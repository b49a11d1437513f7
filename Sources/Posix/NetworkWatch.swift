import CPosix
import Glibc

/// Hears from the kernel that interfaces, addresses or routes of this machine have changed (rtnetlink(7)).
package final class NetworkWatch {
    /// Readable while there is something to take.
    package let descriptor: FileDescriptor

    package init() throws(SystemError) {
        descriptor = FileDescriptor(taking: try check("netlink") { posix_network_watch() })
    }

    /// Takes what has come. What has changed is in no message: the machine is asked how it is now, so that a message that
    /// was dropped is no loss.
    package func takeChanges() { posix_network_changes_take(descriptor.raw) }
}
