import Glibc

/// Weston, a Wayland compositor, with one monitor of 640x480 that nobody sees.
package final class Compositor {
    package let socket: String
    private let process: Subprocess
    private let directory: TemporaryDirectory

    /// - Parameter transform: how the monitor is turned and mirrored, in Weston's words, such as `rotate-90`.
    package init(transform: String) throws {
        directory = try TemporaryDirectory()
        let socket = directory.file("socket")
        self.socket = socket
        process = try Subprocess(
            [
                "weston", "--backend=headless-backend.so", "--no-config", "--idle-time=0", "--width=640",
                "--height=480", "--transform=\(transform)", "--socket=socket",
            ],
            environment: ["XDG_RUNTIME_DIR": directory.path]
        )
        let process = process
        try wait(until: "the compositor listens") {
            if process.status() != nil { throw XServerFailure(output: process.errorOutput) }
            return access(socket, F_OK) == 0
        }
    }

    deinit { process.stop() }
}
