import Testing

/// `tools/test` builds tests, and all that they test, optimised and with all checks. Each of these ends a process, and so ends it in the
/// programs that tests drive.
@Suite struct ConfigurationTests {
    @Test func anOverflowTraps() async {
        await #expect(processExitsWith: .failure) { _ = opaque(opaque(UInt8.max) + 1) }
    }

    @Test func aFailedAssertTraps() async {
        await #expect(processExitsWith: .failure) { assert(opaque(0) == 1) }
    }

    @Test func aFailedPreconditionTraps() async {
        await #expect(processExitsWith: .failure) { precondition(opaque(0) == 1) }
    }

    @Test func anIndexOutOfBoundsTraps() async {
        await #expect(processExitsWith: .failure) { _ = opaque(opaque([1, 2])[opaque(2)]) }
    }

    /// A debug precondition of the standard library; the same switch keeps the asserts of other packages.
    @Test func anUnsafeIndexOutOfBoundsTraps() async {
        await #expect(processExitsWith: .failure) {
            withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { buffer in
                buffer.initialize(repeating: 1)
                _ = opaque(buffer[opaque(2)])
            }
        }
    }
}

/// The compiler knows nothing of what comes back.
@inline(never) private func opaque<T>(_ value: T) -> T { value }
