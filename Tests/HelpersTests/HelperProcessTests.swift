import Glibc
import Posix
import Testing
import Time

@testable import Helpers

@Suite struct HelperProcessTests {
    /// The lines that a shell prints after its process id, to its end. Nothing of a child may stay: Swift Testing, which waits for the
    /// children of its exit tests, sees the first one that has ended.
    private func lines(of process: borrowing HelperProcess) throws -> [String] {
        let deadline: Instant = MonotonicClock.now() + .seconds(60)
        var reader = LineReader(longest: 4096)
        var lines: [String] = []
        while MonotonicClock.now() < deadline {
            waitReadable(process.output.raw, until: deadline)
            lines += try reader.read(from: process.output.raw)
            if reader.hasEnded {
                waitpid(try #require(pid_t(lines.removeFirst())), nil, 0)
                return lines
            }
        }
        Issue.record("it does not end")
        return lines
    }

    @Test func itHasNothingButWhatItWasGiven() throws {
        // The shell adds variables of its own.
        let script = "echo $$; env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_= ; echo -; exec ls /proc/self/fd"
        let process = try HelperProcess(running: "/bin/sh", ["-c", script], inheriting: ["PATH"])
        let told = try lines(of: process)
        // The last is the folder that `ls` reads.
        #expect(told.dropFirst() == ["-", "0", "1", "2", "3"])
        #expect(told.first?.hasPrefix("PATH=") ?? false)
    }

    @Test func itIsToldAndTells() throws {
        let process = try HelperProcess(
            running: "/bin/sh",
            ["-c", "echo $$; read line; echo \"<$line>\""],
            inheriting: ["PATH"]
        )
        try process.input.writeAll(Array("hello\n".utf8))
        let told = try lines(of: process)
        #expect(told == ["<hello>"])
    }
}
