import Glibc
import Posix

/// An X server of its own for a test, on a display number that it picked itself.
package final class XServer {
    /// Such as `:7`.
    package let display: String
    package let process: Subprocess
    private let directory: TemporaryDirectory

    package enum Kind: Sendable {
        /// Xvfb: any depth; its screen never changes.
        case virtual(width: Int, height: Int, depth: Int = 24)
        /// Xorg with the dummy driver: outputs DUMMY0 to DUMMY15 that can be plugged and unplugged, modes 1920x1080
        /// (at the start) and 1280x720.
        case dummy
        /// Xvnc: any size, also later (`xrandr --output VNC-0 --mode 640x480`).
        case vnc(width: Int, height: Int)
        /// Xwayland on a Wayland compositor whose socket this is; its monitor stands as the compositor's does.
        case wayland(socket: String)
        /// Xephyr, in a window on the display of another server: turns its screen (`xrandr --output default --rotate left`).
        case nested(on: String, width: Int, height: Int)
    }

    /// Starts a server and waits until it takes connections.
    ///
    /// - Parameters:
    ///   - display: such as `:4711`, to start again a server that crashed; nil takes the lowest that is free.
    ///   - arguments: more arguments, such as `-extension MIT-SHM`.
    package init(
        _ kind: Kind = .virtual(width: 640, height: 480),
        display: String? = nil,
        arguments: [String] = []
    ) throws {
        directory = try TemporaryDirectory()
        let pipe = try Pipe()
        var command = try kind.command(directory)
        if let display { command.insert(display, at: 1) }
        command += ["-displayfd", "3", "-nolisten", "tcp", "-noreset"] + arguments
        process = try Subprocess(command, passing: pipe.writing.raw)
        self.display = try Self.readDisplay(pipe.reading, process)
    }

    deinit { process.stop() }

    /// The environment for programs that shall use this display.
    package var environment: [String: String] { ["DISPLAY": display] }

    /// Stops the server from answering, without ending it.
    package func freeze() { process.kill(SIGSTOP) }

    package func thaw() { process.kill(SIGCONT) }

    /// Kills the server, as a crash does.
    package func crash() throws {
        process.kill(SIGKILL)
        try process.wait()
    }

    /// Runs `xrandr` on the display.
    @discardableResult
    package func xrandr(_ arguments: String...) throws -> String {
        try Subprocess.run(["xrandr"] + arguments, environment: environment)
    }

    /// Runs `xdotool` on the display.
    @discardableResult
    package func xdotool(_ arguments: String...) throws -> String {
        try Subprocess.run(["xdotool"] + arguments, environment: environment)
    }

    private static func readDisplay(_ pipe: borrowing FileDescriptor, _ process: Subprocess) throws -> String {
        _ = fcntl(pipe.raw, F_SETFL, O_NONBLOCK)
        var text = ""
        let descriptor = pipe.raw
        try wait(until: "the X server names its display") {
            if process.status() != nil { throw XServerFailure(output: process.errorOutput) }
            var byte: UInt8 = 0
            while read(descriptor, &byte, 1) == 1 { text.unicodeScalars.append(Unicode.Scalar(byte)) }
            return text.hasSuffix("\n")
        }
        return ":" + text.dropLast()
    }
}

/// An X server that did not start, with what it said.
package struct XServerFailure: Error {
    package let output: String
}

extension XServer.Kind {
    fileprivate func command(_ directory: TemporaryDirectory) throws -> [String] {
        switch self {
        case .virtual(let width, let height, let depth):
            return ["Xvfb", "-screen", "0", "\(width)x\(height)x\(depth)"]
        case .vnc(let width, let height):
            return [
                "Xvnc", "-geometry", "\(width)x\(height)", "-depth", "24", "-SecurityTypes", "None", "-localhost",
                "-rfbunixpath", directory.file("rfb"), "-rfbport", "-1",
            ]
        case .wayland(let socket):
            return ["env", "WAYLAND_DISPLAY=\(socket)", "Xwayland"]
        case .nested(let display, let width, let height):
            return ["env", "DISPLAY=\(display)", "Xephyr", "-screen", "\(width)x\(height)"]
        case .dummy:
            let configuration = directory.file("xorg.conf")
            try FileDescriptor.open(configuration, O_WRONLY | O_CREAT).write(dummyConfiguration)
            return [
                "Xorg", "-config", configuration, "-configdir", "none", "-logfile", directory.file("log"),
                "-novtswitch", "-sharevts", "vt7",
            ]
        }
    }
}

private let dummyConfiguration = """
    Section "ServerFlags"
      Option "AutoAddDevices" "false"
      Option "AutoEnableDevices" "false"
      Option "DontVTSwitch" "true"
    EndSection
    Section "Device"
      Identifier "device"
      Driver "dummy"
      VideoRam 64000
    EndSection
    Section "Monitor"
      Identifier "monitor"
      HorizSync 5.0-1000.0
      VertRefresh 5.0-200.0
      Modeline "1920x1080" 173.00 1920 2048 2248 2576 1080 1083 1088 1120
      Modeline "1280x720" 74.50 1280 1344 1472 1664 720 723 728 748
    EndSection
    Section "Screen"
      Identifier "screen"
      Device "device"
      Monitor "monitor"
      DefaultDepth 24
      SubSection "Display"
        Depth 24
        Modes "1920x1080" "1280x720"
        Virtual 3840 2160
      EndSubSection
    EndSection
    """
