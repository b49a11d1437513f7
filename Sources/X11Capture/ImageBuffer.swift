import CXCB
import Glibc
import Posix

/// The transport of pixels from the server, from the best method to the worst.
package enum GrabMethod: CaseIterable, Equatable, Sendable {
    /// Shared memory that is passed as a descriptor (MIT-SHM 1.2). Nothing can leak.
    case sharedDescriptor
    /// A System V segment, marked for removal as soon as both sides are attached.
    case sharedSegment
    /// A copy through the socket. It works everywhere, slowly.
    case socket
}

/// Memory for one image, shared with the server if the method allows.
final class ImageBuffer {
    let bytes: UnsafeMutableRawBufferPointer
    /// The server's name for the memory; nil if it is not shared.
    let segment: xcb_shm_seg_t?
    private let connection: XConnection
    private let method: GrabMethod

    /// Throws `.requestFailed` if the server does not accept the memory, for example a server on another machine.
    init(_ method: GrabMethod, byteCount: Int, connection: XConnection) throws(X11Error) {
        self.connection = connection
        self.method = method
        switch method {
        case .sharedDescriptor: (bytes, segment) = try connection.attachDescriptor(byteCount)
        case .sharedSegment: (bytes, segment) = try connection.attachSegment(byteCount)
        case .socket: (bytes, segment) = (.allocate(byteCount: byteCount, alignment: 64), nil)
        }
    }

    deinit {
        if let segment { xcb_shm_detach(connection.raw, segment) }
        switch method {
        case .sharedDescriptor: munmap(bytes.baseAddress, bytes.count)
        case .sharedSegment: shmdt(bytes.baseAddress)
        case .socket: bytes.deallocate()
        }
    }
}

extension XConnection {
    /// Whether the connection is a socket of this machine, without which no memory can be shared.
    var isLocal: Bool {
        var address = sockaddr()
        var size = socklen_t(MemoryLayout<sockaddr>.size)
        return getsockname(fileDescriptor, &address, &size) == 0 && address.sa_family == sa_family_t(AF_UNIX)
    }

    fileprivate typealias Attached = (UnsafeMutableRawBufferPointer, xcb_shm_seg_t)

    fileprivate func attachDescriptor(_ byteCount: Int) throws(X11Error) -> Attached {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try Posix.check("memfd_create") { oriel_sealed_memory("oriel-grab", byteCount) }
        } catch { throw .system(error) }
        guard let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), base != MAP_FAILED
        else {
            let error = SystemError("mmap")
            close(descriptor)
            throw .system(error)
        }
        let segment = xcb_generate_id(raw)
        do throws(X11Error) {
            // xcb closes the descriptor once it is sent.
            try check("ShmAttachFd", xcb_shm_attach_fd_checked(raw, segment, descriptor, 0))
        } catch {
            munmap(base, byteCount)
            throw error
        }
        return (UnsafeMutableRawBufferPointer(start: base, count: byteCount), segment)
    }

    fileprivate func attachSegment(_ byteCount: Int) throws(X11Error) -> Attached {
        let id: Int32
        do throws(SystemError) {
            id = try Posix.check("shmget") { shmget(IPC_PRIVATE, byteCount, IPC_CREAT | 0o600) }
        } catch { throw .system(error) }
        // The segment exists until both sides have detached. But nobody else can find it, and no crash leaves it
        // behind.
        defer { shmctl(id, IPC_RMID, nil) }
        guard let base = shmat(id, nil, 0), base != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw .system(SystemError("shmat"))
        }
        let segment = xcb_generate_id(raw)
        do throws(X11Error) {
            try check("ShmAttach", xcb_shm_attach_checked(raw, segment, UInt32(bitPattern: id), 0))
        } catch {
            shmdt(base)
            throw error
        }
        return (UnsafeMutableRawBufferPointer(start: base, count: byteCount), segment)
    }
}
