import Glibc
import TestSupport
import Testing

/// The picture of an X server that keeps it in a file (`Xvfb -fbdir`), where it can be changed behind the server's back,
/// as a graphics card would: no damage is told of.
private final class OpenScreen {
    let server: XServer
    private let directory: TemporaryDirectory
    private let pixels: UnsafeMutablePointer<UInt32>
    private let count = 640 * 480

    init() throws {
        directory = try TemporaryDirectory()
        server = try XServer(arguments: ["-fbdir", directory.path])
        let file = open(directory.file("Xvfb_screen0"), O_RDWR)
        defer { close(file) }
        let length = Int(lseek(file, 0, SEEK_END))
        let memory = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        guard let memory, memory != MAP_FAILED else { throw Unexpected("no screen file") }
        // An X window dump: header, colours, pixels.
        pixels = (memory + (length - count * 4)).assumingMemoryBound(to: UInt32.self)
    }

    func paint(_ colour: UInt32) {
        for index in stride(from: 0, to: count, by: 1) { pixels[index] = colour }
    }
}

extension Capture {
    @Suite struct MissedDamageTests {
        @Test func whatNoDamageTellsOfIsFoundAndThatIsSaidOnce() throws {
            let screen = try OpenScreen()
            let broadcast = try Broadcast(on: screen.server.display)
            let statistics = StatisticsLines(broadcast.folder.file("capture.json"))
            let capture = try broadcast.start("--no-cursor", "--stats", statistics.path)
            let sender = try broadcast.attach(toPort: Ports.free())
            let path = broadcast.folder.file("picture.png")
            func picture() throws -> [UInt8] {
                #expect(try broadcast.run("inspect", "--png", path).code == 0)
                return try contents(of: path)
            }
            var before = try picture()
            for round in 1...8 as ClosedRange<UInt32> {
                // Looking at everything has ended by then, and begins anew.
                if round == 5 { try statistics.waitForRest("looks", most: 4) }
                screen.paint(round * 0x1f1f1f)
                try wait(until: "picture \(round) is seen") { try picture() != before }
                before = try picture()
            }
            let said = capture.errorOutput.split(separator: "\n").filter { $0.contains("does not tell of all") }
            #expect(said.count == 1, "\(capture.errorOutput)")
            try wait(until: "each of them is counted") { try statistics.last("damage_missed") ?? 0 >= 8 }
            sender.stop()
            capture.stop()
        }
    }
}
