import Glibc
package import Posix

/// A pipe whose ends no child process inherits unless it is given one.
package struct Pipe: ~Copyable {
    package let reading: FileDescriptor
    package let writing: FileDescriptor

    package init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        try check("pipe") { Glibc.pipe(&ends) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = FileDescriptor(taking: ends[0])
        writing = FileDescriptor(taking: ends[1])
    }
}
