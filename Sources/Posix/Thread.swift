import Glibc

/// A thread of its own, outside the cooperative pool, for work that waits in system calls.
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
            throw SystemError("pthread_create", code: code)
        }
        self.id = id
    }

    /// A thread nobody joins cleans up after itself.
    deinit { pthread_detach(id) }

    /// Waits until the body has returned.
    package consuming func join() {
        pthread_join(id, nil)
        discard self
    }

    /// Throws if so many threads more cannot run at once.
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
