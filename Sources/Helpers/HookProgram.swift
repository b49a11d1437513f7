import Posix

/// A program of a person that is run when something happens, for some time at most. It may outlive this process.
package struct HookProgram {
    /// More that run at once are not started.
    private static let most = 8

    private let path: String
    private let seconds: Int
    private var running: [ChildProcess] = []
    /// Whether it was told that too many run.
    private var isTold = false

    /// - Parameter seconds: after which it is ended.
    package init(_ path: String, seconds: Int = 60) { (self.path, self.seconds) = (path, seconds) }

    /// Runs it without waiting for it. Its output goes to standard error. A sentence there tells that it cannot run.
    ///
    /// - Parameter environment: variables on top of those of this process.
    package mutating func run(_ arguments: [String], environment: [String: String] = [:]) {
        running.removeAll { $0.takeExit() != nil }
        guard running.count < Self.most else {
            if !isTold { Console.note("\(path) runs \(Self.most) times at once: it is not started again meanwhile") }
            isTold = true
            return
        }
        isTold = false
        do throws(SystemError) {
            let program = try ChildProcess(
                "timeout",
                arguments: ["timeout", "--kill-after=5", "\(seconds)", path] + arguments,
                environment: environment,
                descriptors: [nil, 2, 2],
                tie: .session
            )
            running.append(program)
        } catch {
            Console.note("\(path) cannot be run (\(error.reason)): \(error.advice)")
        }
    }
}
