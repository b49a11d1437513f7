import Glibc
package import Posix
package import Time

/// The lock of a broadcast's one sound process, held for its life. With it come the socket for commands, and a text that is kept for
/// a later process.
package struct AudioLock: ~Copyable {
    private static let socket = "sound.control"
    private static let bequest = "sound.kept"
    private static let mostBytes = 1024

    let directory: BridgeDirectory
    private let lock: FileDescriptor

    /// Takes the lock.
    ///
    /// - Throws: `soundAlreadyRunning` when another process holds it, `notPrivate` or `system`.
    package init(in directory: BridgeDirectory) throws(BridgeError) {
        lock = try directory.lockSound()
        self.directory = directory
    }

    /// Makes the socket for commands, in place of one that an earlier process left.
    package func listen() throws(BridgeError) -> LocalListener {
        directory.remove(Self.socket)
        return try directory.calling(on: Self.socket) { () throws(SystemError) in
            try LocalListener(at: Self.socket, in: directory.descriptor)
        }
    }

    /// Keeps a text for a later process, in one step. Takes no further room after the first time.
    ///
    /// - Throws: `system` if it is longer than 1024 bytes, or cannot be written.
    package func keep(_ text: String) throws(BridgeError) {
        try directory.calling(on: Self.bequest) { () throws(SystemError) in
            if text.utf8.count > Self.mostBytes { throw SystemError("write", code: EFBIG) }
        }
        try directory.replaceText(Self.bequest, with: text)
    }

    /// Removes the text for a later process.
    package func forget() { Self.forget(in: directory) }

    /// Removes the kept text if the broadcast has ended with a goodbye and there is no sound process.
    package static func forgetEnded(in directory: BridgeDirectory) {
        guard BroadcastGlance(directory).hasEnded, (try? directory.hasSoundWriter()) == false else { return }
        forget(in: directory)
    }

    private static func forget(in directory: BridgeDirectory) {
        directory.remove(bequest)
        directory.remove(BridgeDirectory.spare(bequest))
    }

    /// The text that an earlier process kept; nil if there is none, and empty if it cannot be read.
    package var kept: String? {
        do throws(BridgeError) { return try directory.readText(Self.bequest, limit: Self.mostBytes) } catch {
            return ""
        }
    }

    /// Connects to the sound process.
    ///
    /// - Throws: as `LineChannel` does.
    package static func connect(
        in directory: BridgeDirectory,
        until deadline: Instant
    ) throws(SystemError) -> LineChannel {
        try LineChannel(to: socket, in: directory.descriptor, until: deadline)
    }
}

extension BridgeDirectory {
    /// Takes the lock of the broadcast's one sound process.
    func lockSound() throws(BridgeError) -> FileDescriptor {
        let lock = try openLock(SoundWriter.lockFile)
        let taken = try calling(on: SoundWriter.lockFile) { () throws(SystemError) in try lock.tryLock(.exclusive) }
        guard taken else { throw .soundAlreadyRunning(path: path) }
        return lock
    }
}
