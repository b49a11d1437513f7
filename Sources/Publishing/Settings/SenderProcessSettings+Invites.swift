import Access
import Configuration
import Glibc
import HTTP
import Helpers
import Posix
import Time
import WebRTC

extension SenderProcessSettings {
    /// The invitations of senders of this broadcast at this port; nil if none are kept over a crash.
    func inviteJournal() -> (journal: InviteJournal, invites: [Invite])? {
        let port = web.server.listen.port
        // Another port each time is another link each time.
        guard port != 0, let state = try? StateFolder(for: "invitations") else { return nil }
        let boot = Self.boot()
        do throws(InviteJournal.Failure) {
            let name = "\(sha256(of: broadcast).prefix(16))-\(port)"
            let opened = try InviteJournal.open(name, in: state, goesOn: goesOn) {
                InviteClocks(
                    boot: boot,
                    now: MonotonicClock.now() + MonotonicClock.suspendedTime(),
                    date: MonotonicClock.wallClock()
                )
            }
            guard let opened else { return nil }
            if opened.ignored > 0 {
                Console.note(
                    "\(opened.ignored) lines about invitations in \(opened.journal.path) make no sense, and do not count"
                )
            }
            return (opened.journal, opened.invites)
        } catch {
            Console.note("\(error)")
            return nil
        }
    }

    /// Identifies the machine's present boot (proc_sys_kernel(5)); empty if that is unknown.
    private static func boot() -> String {
        let path = "/proc/sys/kernel/random/boot_id"
        let bytes = try? FileDescriptor.open(path, O_RDONLY).readBytes(64)
        return bytes.map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) } ?? ""
    }
}
