import CPosix
import Glibc

/// A thread outside the cooperative pool, for work that waits in system calls.
package struct Thread: ~Copyable, Sendable {
    private let id: pthread_t

    package init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let box = Unmanaged.passRetained(Body(body))
        var id = pthread_t()
        let code = pthread_create(
            &id,
            nil,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        if code != 0 {
            box.release()
            throw SystemError("pthread_create", code: code == EAGAIN && !Self.hasMemoryForStack ? ENOMEM : code)
        }
        self.id = id
    }

    /// glibc also returns EAGAIN if there is no memory for the stack.
    private static var hasMemoryForStack: Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        var size = 0
        pthread_attr_getstacksize(&attributes, &size)
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let memory, memory != MAP_FAILED else { return false }
        munmap(memory, size)
        return true
    }

    /// A thread that nobody joins frees itself.
    deinit { pthread_detach(id) }

    package consuming func join() {
        pthread_join(id, nil)
        discard self
    }

    /// Throws if this many further threads cannot run at once.
    package static func require(_ count: Int) throws(SystemError) {
        guard count > 0 else { return }
        let bell = Bell()
        let rings = bell.count
        let thread = try Thread { bell.wait(while: rings) }
        let others = Result { () throws(SystemError) in try require(count - 1) }
        bell.ring()
        thread.join()
        try others.get()
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
