import Glibc
import Posix

/// Parents of processes (proc(5)). Sound belongs to the program of the shown window if it comes from its process or a
/// child of it.
enum ProcessTree {
    /// The longest chain of processes. A number may be reused during the look.
    private static let most = 64

    /// Whether a process is `whole`, or a direct or indirect child of it.
    static func isPart(_ process: Int32, of whole: Int32) -> Bool {
        var next = process
        for _ in 0..<most {
            if next == whole { return true }
            guard next > 1, let parent = parent(of: next) else { return false }
            next = parent
        }
        return false
    }

    private static func parent(of process: Int32) -> Int32? {
        guard let file = try? FileDescriptor.open("/proc/\(process)/stat", O_RDONLY),
            let text = (try? file.readBytes(1024)).map({ String(decoding: $0, as: UTF8.self) }),
            // The name may contain any character, a bracket too.
            let nameEnd = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: nameEnd)...].split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }
}
