import CPosix
import Glibc
import Synchronization
package import Time

/// A 32-bit word of a mapping. A thread may sleep on it while it keeps its value.
package struct WakeWord {
    let mapping: Mapping
    let offset: Int
    let value: UInt32

    /// - Parameters:
    ///   - offset: the word's offset, in bytes.
    ///   - value: the value that was read.
    package init(_ mapping: Mapping, _ offset: Int, value: UInt32) {
        (self.mapping, self.offset, self.value) = (mapping, offset, value)
    }
}

/// A shared mapping of a whole file, unmapped when it goes out of scope.
///
/// Invariant: `size` bytes at `base` are mapped. Other processes may write them at any time, and may shrink the file.
/// Touch them only inside `guarded`, and trust nothing that was not copied and checked.
package final class Mapping {
    package let base: UnsafeMutableRawPointer
    package let size: Int
    /// Whether a page was missing. Then the mapping is private zeros for good.
    private var lost = false

    package init(_ file: borrowing FileDescriptor, size: Int, writable: Bool) throws(SystemError) {
        posix_guard_install()
        let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
        guard let base = mmap(nil, size, protection, MAP_SHARED, file.raw, 0), base != MAP_FAILED else {
            throw SystemError("mmap")
        }
        madvise(base, size, MADV_DONTDUMP)
        self.base = base
        self.size = size
    }

    deinit { munmap(base, size) }

    /// Runs `body` with a guard over the whole mapping. Returns nil if a page was missing, as the file was shrunk. The
    /// results of `body` are void then, and every later call returns nil too.
    package func guarded<Result>(_ body: () -> Result) -> Result? {
        if lost { return nil }
        var range = posix_guard()
        return withUnsafeMutablePointer(to: &range) { range in
            posix_guard_enter(range, base, size)
            let result = body()
            // A nested call may have noticed it already.
            lost = posix_guard_leave(range) || lost
            return lost ? nil : result
        }
    }

    private func place<Word: ~Copyable>(_ offset: Int) -> UnsafePointer<Word> {
        UnsafePointer(base.advanced(by: offset).assumingMemoryBound(to: Word.self))
    }

    private func atomic64(_ offset: Int) -> UnsafePointer<Atomic<UInt64>> { place(offset) }
    private func atomic32(_ offset: Int) -> UnsafePointer<Atomic<UInt32>> { place(offset) }
    fileprivate func word(_ offset: Int) -> UnsafePointer<UInt32> { place(offset) }

    package func load64(_ offset: Int) -> UInt64 { atomic64(offset).pointee.load(ordering: .relaxed) }
    package func loadAcquiring64(_ offset: Int) -> UInt64 { atomic64(offset).pointee.load(ordering: .acquiring) }
    package func loadAcquiring32(_ offset: Int) -> UInt32 { atomic32(offset).pointee.load(ordering: .acquiring) }
    package func store64(_ value: UInt64, _ offset: Int) { atomic64(offset).pointee.store(value, ordering: .relaxed) }
    package func store32(_ value: UInt32, _ offset: Int) { atomic32(offset).pointee.store(value, ordering: .relaxed) }
    package func store(_ bytes: UnsafeRawBufferPointer, _ offset: Int) {
        base.advanced(by: offset).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
    }
    package func storeReleasing64(_ value: UInt64, _ offset: Int) {
        atomic64(offset).pointee.store(value, ordering: .releasing)
    }
    package func storeReleasing32(_ value: UInt32, _ offset: Int) {
        atomic32(offset).pointee.store(value, ordering: .releasing)
    }

    /// Adds one to the 32-bit word at `offset` and wakes the threads that sleep on it, as `wake` does.
    @discardableResult package func advanceAndWake(_ offset: Int, most: Int32 = .max) -> Int32 {
        atomic32(offset).pointee.wrappingAdd(1, ordering: .releasing)
        return wake(offset, most: most)
    }

    /// Wakes at most `most` threads that sleep on the 32-bit word at `offset`, in all processes. Returns how many.
    package func wake(_ offset: Int, most: Int32 = .max) -> Int32 { posix_futex_wake(word(offset), most) }

    /// Sleeps while the 32-bit word at `offset` is `expected`, at the longest until `deadline`. May return early.
    ///
    /// - Parameter bell: a bell, and its count of rings. A further ring ends the sleep. If the kernel cannot wait for
    ///   two words, it looks at the bell every 30 ms.
    package func wait(
        _ offset: Int,
        while expected: UInt32,
        or bell: (Bell, UInt32)? = nil,
        until deadline: Instant
    ) {
        var time = timespec(deadline)
        guard let (bell, count) = bell else {
            if posix_futex_wait(word(offset), expected, &time) == EFAULT { MonotonicClock.sleep(until: deadline) }
            return
        }
        let result = withUnsafeTemporaryAllocation(of: posix_futex.self, capacity: 2) { futexes in
            futexes[0] = posix_futex(word: word(offset), expected: expected)
            futexes[1] = posix_futex(word: bell.address, expected: count)
            return posix_futex_wait_any(futexes.baseAddress, futexes.count, &time)
        }
        switch result {
        case EFAULT: bell.wait(while: count, until: deadline)
        case ENOSYS, EPERM:
            wait(offset, while: expected, until: min(deadline, MonotonicClock.now() + .milliseconds(30)))
        default: break
        }
    }
}

extension Bell {
    /// Sleeps while it was rung `count` times and all of `words` keep their values, at the longest until `deadline`.
    /// May return early. If the kernel cannot wait for that many words, or one of the words is gone, it returns every
    /// 30 ms.
    package func wait(while count: UInt32, or words: [WakeWord], until deadline: Instant) {
        let others = words.prefix(posix_most_futexes - 1)
        let futexes =
            [posix_futex(word: address, expected: count)]
            + others.map { posix_futex(word: $0.mapping.word($0.offset), expected: $0.value) }
        var time = timespec(deadline)
        switch posix_futex_wait_any(futexes, futexes.count, &time) {
        case EFAULT, ENOSYS, EPERM: wait(while: count, until: min(deadline, MonotonicClock.now() + .milliseconds(30)))
        default: break
        }
    }
}
