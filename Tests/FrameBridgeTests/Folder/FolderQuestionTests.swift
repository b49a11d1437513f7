import Glibc
import Posix
import Testing
import Time

@testable import FrameBridge

/// A writer whose memory has to be asked for may go, or stop, at any step of that.
@Suite struct FolderQuestionTests {
    enum Fate: CaseIterable {
        /// Its socket is gone, or without an owner, or just being closed.
        case gone, dead, dying
        /// It takes the question, and dies over it.
        case diesOverTheQuestion
        /// It does not get to run; then others have asked so often that there is no room.
        case stopped, overrun
    }

    private let folder = ScratchFolder()
    private let name = "frames.0000000000000123"

    private func server(at path: String) throws -> FileDescriptor {
        let server = try FileDescriptor.datagramSocket()
        let raw = server.raw
        try check("bind") { Self.withAddress(path) { bind(raw, $0, $1) } }
        return server
    }

    private static func send(to path: String, from socket: Int32) -> Bool {
        withAddress(path) { sendto(socket, "x", 1, Int32(MSG_DONTWAIT), $0, $1) } == 1
    }

    private static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result)
        -> Result
    {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    @Test(arguments: Fate.allCases)
    func aWriterThatGoesOrStopsWhileItIsAskedIsNoError(fate: Fate) throws {
        let directory = try folder.bridge()
        let lock = try directory.openLock(BroadcastFolder.lockFile)
        let status = BridgeStatus(
            state: .active,
            reason: "",
            generation: 0x123,
            pid: 1,
            startedAt: Instant(nanoseconds: 1)
        )
        try status.write(to: directory, holding: lock)
        let server = try server(at: directory.path(of: name))
        let raw = server.raw
        var thread: Thread?
        switch fate {
        case .gone: unlink(directory.path(of: name))
        case .dead: try check("dup2") { dup2(lock.raw, raw) }
        case .dying: shutdown(raw, Int32(SHUT_RDWR))
        case .diesOverTheQuestion: thread = try Thread { try? Self.takeAndDrop(raw) }
        case .stopped: break
        case .overrun:
            let other = try FileDescriptor.datagramSocket()
            while Self.send(to: directory.path(of: name), from: other.raw) {}
            #expect(errno == EAGAIN)
        }
        let isGone = [.gone, .dead, .dying].contains(fate)
        for _ in 0..<5 {
            do {
                let memory = try directory.openRing(name)
                let isThere = memory != nil
                #expect(!isThere && fate != .stopped && fate != .overrun)
            } catch {
                #expect(error == .noAnswer(path: directory.path))
                #expect(!isGone, "\(error)")
            }
        }
        // And so it is for a reader, who goes on.
        var reader = try FrameReader(directory: directory)
        let error = #expect(throws: BridgeError.self) { try reader.read { _ in } }
        let later = BridgeError.noAnswer(path: directory.path)
        #expect(error == .noBroadcast(path: directory.path) || error == later && !isGone)
        shutdown(raw, Int32(SHUT_RDWR))
        thread.take()?.join()
    }

    /// Reads messages, and the sockets in them end with them, until the socket is shut.
    private static func takeAndDrop(_ socket: Int32) throws {
        var byte: UInt8 = 0
        while recv(socket, &byte, 1, 0) > 0 {}
    }
}
