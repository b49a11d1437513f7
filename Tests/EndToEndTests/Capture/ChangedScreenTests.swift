import Glibc
import Posix
import TestSupport
import Testing

extension Capture {
    /// A screen that other programs cover, or turn, while it is shared.
    @Suite struct ChangedScreenTests {
        private typealias Colour = (red: Int, green: Int, blue: Int)

        /// The latest picture of a broadcast.
        private struct Picture {
            private let bytes: [UInt8]
            private let width: Int
            let size: String

            /// Nil while there is none, as the screen changes its size.
            init?(of broadcast: Broadcast) throws {
                let path = broadcast.folder.file("picture.png")
                guard try broadcast.run("inspect", "--png", path).code == 0 else { return nil }
                // The size stands at the beginning of a PNG file (its section 11.2.1).
                let file = try contents(of: path)
                let sides = [16, 20].map { file[$0..<$0 + 4].reduce(0) { $0 << 8 | Int($1) } }
                (width, size) = (sides[0], "\(sides[0])x\(sides[1])")
                bytes = try pixels(ofPicture: path)
            }

            func shows(_ colour: Colour, x: Int, y: Int) -> Bool { shows(colour, at: 3 * (y * width + x)) }

            /// Whether all of it is of a colour.
            func isFilled(with colour: Colour) -> Bool {
                stride(from: 0, to: bytes.count, by: 3).allSatisfy { shows(colour, at: $0) }
            }

            private func shows(_ colour: Colour, at index: Int) -> Bool {
                zip([colour.red, colour.green, colour.blue], bytes[index..<index + 3]).allSatisfy {
                    abs($0 - Int($1)) <= 4
                }
            }
        }

        /// Viewers see the lock screen and nothing below it, and the screen again once its owner has typed the password.
        @Test func aLockedScreenIsShownAsSuch() throws {
            let (red, green, blue): (Colour, Colour, Colour) = ((192, 32, 32), (32, 192, 32), (32, 64, 128))
            let server = try XServer()
            func paint(_ colour: Colour) throws {
                let words = [colour.red, colour.green, colour.blue].map { String($0, radix: 16) }
                try Subprocess.run(["xsetroot", "-solid", "#\(words.joined())"], environment: server.environment)
            }
            let broadcast = try Broadcast(on: server.display)
            try paint(red)
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: Ports.free())
            try wait(until: "the desktop shows") { try Picture(of: broadcast)?.shows(red, x: 10, y: 10) ?? false }

            // Whose login takes every password.
            let login = try TemporaryDirectory(of: .shared)
            let library = "/usr/lib/x86_64-linux-gnu"
            for service in ["i3lock", "other"] {
                let rule = "auth required \(library)/security/pam_permit.so\n"
                try FileDescriptor.open(login.file(service), O_WRONLY | O_CREAT).write(Array(rule.utf8), at: 0)
                chmod(login.file(service), 0o644)
            }
            let wrapper = [
                "LD_PRELOAD=\(library)/libpam_wrapper.so", "PAM_WRAPPER=1", "PAM_WRAPPER_SERVICE_DIR=\(login.path)",
            ]
            let locker = try Subprocess(
                OrdinaryUser.shared.running(["env"] + wrapper + ["i3lock", "--nofork", "--color=204080"]),
                environment: server.environment
            )
            try wait(until: "the lock screen shows, without the pointer: \(locker.errorOutput)") {
                try Picture(of: broadcast)?.isFilled(with: blue) ?? false
            }
            try paint(green)
            #expect(try broadcast.run("status").output.hasPrefix("active"))
            #expect(try Picture(of: broadcast)?.isFilled(with: blue) == true)

            try server.xdotool("key", "x", "Return")
            #expect(try locker.wait() == .code(0), "\(locker.errorOutput)")
            try wait(until: "the desktop shows") { try Picture(of: broadcast)?.shows(green, x: 10, y: 10) ?? false }
            for program in [sender, capture] {
                #expect(program.status() == nil)
                program.stop()
            }
        }

        /// It shows upright, in its new size, and its readers are told how it stands.
        @Test func aTurnedScreenGoesOn() throws {
            let (blue, green): (Colour, Colour) = ((32, 64, 128), (0, 255, 0))
            let outer = try XServer(.virtual(width: 800, height: 800))
            let server = try XServer(.nested(on: outer.display, width: 640, height: 480))
            // In this order, as it crashes without the other.
            defer { for screen in [server, outer] { screen.process.stop() } }
            try Subprocess.run(["xsetroot", "-solid", "#204080"], environment: server.environment)
            let corner = try Subprocess(
                ["xlogo", "-geometry", "120x90+0+0", "-bg", "#00ff00", "-fg", "#00ff00"],
                environment: server.environment
            )
            defer { corner.stop() }
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            let sender = try broadcast.attach(toPort: Ports.free())
            for (words, size, name) in [
                ("normal", "640x480", "normal"), ("left", "480x640", "left"), ("inverted", "640x480", "inverted"),
                ("right", "480x640", "right"), ("normal --reflect x", "640x480", "normal, mirrored"),
            ] {
                let turn = ["xrandr", "--output", "default", "--rotate"] + words.split(separator: " ").map(String.init)
                try Subprocess.run(turn, environment: server.environment)
                try wait(until: "the screen stands as it was turned, \(words): \(capture.errorOutput)") {
                    guard let picture = try Picture(of: broadcast) else { return false }
                    let isUpright = picture.shows(green, x: 5, y: 5) && picture.shows(green, x: 110, y: 80)
                    let latest = try broadcast.run("inspect").output.split(separator: "\n").first {
                        $0.hasSuffix("<- latest")
                    }
                    return picture.size == size && isUpright && picture.shows(blue, x: 300, y: 300)
                        && latest?.contains("monitor \(name), captured") ?? false
                }
            }
            for program in [sender, capture] {
                #expect(program.status() == nil)
                program.stop()
            }
        }
    }
}
