import Glibc
import TestSupport
import Testing

@testable import Sound

@Suite struct ProcessTreeTests {
    @Test func whatAProcessStartsIsPartOfIt() throws {
        let shell = try Subprocess(["sh", "-c", "sh -c 'sleep 1000; true'; true"])
        let other = try Subprocess(["sleep", "1000"])
        defer {
            for child in [shell, other] { child.stop() }
        }
        var grandchild: Int32 = 0
        try wait(until: "the shell's shell sleeps") {
            let children = try? Subprocess.run(["pgrep", "-P", "\(shell.pid)"])
            guard let child = children.flatMap({ Int32($0.split(separator: "\n").first ?? "") }) else { return false }
            let sleepers = try? Subprocess.run(["pgrep", "-P", "\(child)"])
            grandchild = sleepers.flatMap { Int32($0.split(separator: "\n").first ?? "") } ?? 0
            return grandchild != 0
        }
        defer { kill(grandchild, SIGKILL) }
        #expect(ProcessTree.isPart(grandchild, of: shell.pid))
        #expect(ProcessTree.isPart(shell.pid, of: shell.pid))
        #expect(ProcessTree.isPart(shell.pid, of: getpid()))
        #expect(!ProcessTree.isPart(other.pid, of: shell.pid))
        #expect(!ProcessTree.isPart(shell.pid, of: grandchild))
        #expect(!ProcessTree.isPart(-1, of: shell.pid) && !ProcessTree.isPart(.max, of: shell.pid))
    }
}
