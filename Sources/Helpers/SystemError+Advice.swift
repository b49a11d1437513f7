package import Posix

extension SystemError {
    /// Advice where a process or a thread cannot be started.
    package var advice: String { limitAdvice ?? "close other programs" }
}

/// Throws a sentence where threads can hardly be started any more: SwiftNIO would trap.
package func requireThreads() throws(Failure) {
    do throws(SystemError) { try Thread.require(8) } catch {
        throw Failure(.failed, "cannot start threads (\(error.reason)): \(error.advice)")
    }
}

/// Takes a step into a sandbox, such as `Sandbox.enter`, and notes on standard error what the system does not offer.
package func enterSandbox(by step: ((String) -> Void) throws(SystemError) -> Void) throws {
    do { try step(Console.note) } catch {
        throw Failure(
            .failed,
            "cannot give up access to other files (\(error)): check the broadcast's folder, or choose another with --dir"
        )
    }
}
