import Glibc
import Posix
import TestSupport
import Testing

extension Keep {
    @Suite struct RecordClockTests {
        /// The name of a recording that was begun so many seconds ago.
        private static let now =
            "from datetime import *; now = datetime.now(timezone.utc) - timedelta(seconds=int(__import__('sys').argv[1])); "
            + "print(now.strftime('default-%Y-%m-%dT%H-%M-%SZ.webm'))"

        @Test(arguments: ["UTC", "Pacific/Kiritimati", "America/St_Johns"]) func namesAreByUTC(zone: String) throws {
            let scene = try RecordScene()
            // A still screen is in the file with what was captured up to two seconds before.
            let before = try Subprocess.run(["python3", "-c", Self.now, "3"]).split(separator: "\n")[0]
            let recorder = try scene.record([], environment: ["TZ": zone])
            let after = try Subprocess.run(["python3", "-c", Self.now, "0"]).split(separator: "\n")[0]
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let name = try #require(scene.files.first)
            #expect(String(before) <= name && name <= String(after), "\(before) \(name) \(after)")
        }

        /// As a time server does, or a person (`Tests/Counterparts/clock.c`).
        @Test func aClockThatIsSetChangesOnlyNames() throws {
            let scene = try RecordScene()
            let path = scene.broadcast.folder.file("clock")
            let clock = try FileDescriptor.open(path, O_RDWR | O_CREAT)
            func set(years: Int64) throws {
                var seconds = years * 365 * 86_400
                try check("pwrite") { pwrite(clock.raw, &seconds, MemoryLayout<Int64>.size, 0) }
            }
            try set(years: 0)
            chmod(path, 0o644)
            let recorder = try scene.record(
                ["--keep", "1h"],
                environment: ["LD_PRELOAD": try Programs.clock.get(), "ORIEL_CLOCK": path]
            )
            var names: [String] = []
            for years: Int64 in [20, -10, 0] {
                usleep(700_000)
                try set(years: years)
                usleep(700_000)
                let cut = try scene.broadcast.record(["cut"])
                #expect(cut.code == 0, "\(cut.errorOutput)")
                names += cut.output.split(separator: "\n").map { String($0.split(separator: "/").last!) }
            }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            #expect(names.count == 3 && Set(names).isSubset(of: scene.files) && scene.files.count == 4, "\(names)")
            let years = try names.map { try #require(Int($0.dropFirst("default-".count).prefix(4))) }
            // A year has 365.2425 days.
            #expect(abs(years[1] - years[0] - 20) <= 1 && abs(years[2] - years[0] + 10) <= 1, "\(names)")
            for name in names {
                let duration = try scene.probe(name).duration
                #expect(duration > 1 && duration < 60, "\(name): \(duration)")
            }
        }
    }
}
