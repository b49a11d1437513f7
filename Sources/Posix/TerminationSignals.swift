import CPosix

/// SIGINT, SIGTERM and, unless it is ignored, SIGHUP as a descriptor that becomes readable. So a loop can wait for them
/// together with other descriptors.
///
/// Make one before the first thread starts: threads inherit the signal mask.
package struct TerminationSignals: ~Copyable {
    package let descriptor: FileDescriptor

    package init() throws(SystemError) {
        descriptor = FileDescriptor(taking: try check("signalfd") { posix_termination_signals() })
    }

    /// Whether one of the signals has come since the last call.
    package func take() -> Bool { posix_take_signal(descriptor.raw) }
}
