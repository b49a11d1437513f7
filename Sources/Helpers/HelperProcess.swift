import Glibc
package import Posix

/// A process of this program that helps another one, by pipes. It inherits only the given descriptors and variables,
/// and ends with its parent. Start it before the first thread.
package struct HelperProcess: ~Copyable, Sendable {
    private static let thisProgram = "/proc/self/exe"

    /// The pipe to its standard input; writing does not block.
    package let input: FileDescriptor
    /// The pipe from its standard output; reading does not block.
    package let output: FileDescriptor

    /// - Parameters:
    ///   - words: a command of this program and its arguments, such as `read -- PATH`.
    ///   - variables: the names of the variables that it inherits.
    package init(_ words: [String], inheriting variables: Set<String>) throws(SystemError) {
        try self.init(running: Self.thisProgram, words, inheriting: variables)
    }

    init(running program: String, _ words: [String], inheriting variables: Set<String>) throws(SystemError) {
        let ends = try openPipe()
        let output = FileDescriptor(taking: ends.reading)
        let writing = FileDescriptor(taking: ends.writing)
        let input = try Self.start(program, words, variables, output: writing.raw)
        for raw in [input.raw, output.raw] { try check("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) } }
        self.input = input
        self.output = output
    }

    /// Starts a helper without output.
    ///
    /// - Parameter variables: the names of the variables that it inherits; nil for all.
    /// - Returns: the pipe to its standard input, which blocks when it is full. Closing it ends the helper.
    package static func silent(
        _ words: [String],
        inheriting variables: Set<String>?
    ) throws(SystemError) -> FileDescriptor {
        try start(thisProgram, words, variables, output: nil)
    }

    private static func start(
        _ program: String,
        _ words: [String],
        _ variables: Set<String>?,
        output: Int32?
    ) throws(SystemError) -> FileDescriptor {
        let ends = try openPipe()
        let reading = FileDescriptor(taking: ends.reading)
        let writing = FileDescriptor(taking: ends.writing)
        _ = try ChildProcess(
            program,
            arguments: ["oriel"] + words,
            inheriting: variables,
            descriptors: [reading.raw, output, 2],
            tie: .child
        )
        return writing
    }
}
