import Glibc
import JSON
package import Posix

/// Settings for a process of this program, from the one that starts it: in sealed memory, which only these two can
/// read.
package enum Handed {
    /// The only word after the process's command on its command line.
    package static let flag = "--handed"
    /// The memory's descriptor in the started process.
    package static let descriptor: Int32 = 3

    /// The memory to start a process with.
    package static func memory(of settings: some Encodable) throws(SystemError) -> FileDescriptor {
        // All settings have a form in JSON.
        let text = (try? settings.jsonLine()) ?? ""
        let memory = try FileDescriptor.memory("oriel-settings")
        try memory.write(Array(text.utf8), at: 0)
        try memory.seal()
        return memory
    }

    /// Reads the settings, and closes their descriptor.
    ///
    /// - Throws: `ConfigurationError`, if the settings are not this program's.
    package static func take<Value: Decodable>(_: Value.Type, from descriptor: Int32 = descriptor) throws -> Value {
        let memory = FileDescriptor(taking: descriptor)
        guard memory.isSealed, let size = try? memory.status().st_size, let bytes = try? memory.readBytes(Int(size))
        else {
            throw ConfigurationError("\(flag) is for processes that oriel starts itself: leave it out")
        }
        do { return try Value(jsonLine: String(decoding: bytes, as: UTF8.self)) } catch {
            throw ConfigurationError(
                "the settings of this process cannot be read: start Oriel again"
            )
        }
    }
}
