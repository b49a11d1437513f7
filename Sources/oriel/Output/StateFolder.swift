import Glibc

/// The folder of this user's in which Oriel keeps what outlasts a broadcast (XDG Base Directory Specification 0.8).
struct StateFolder {
    let path: String

    /// - Parameters:
    ///   - purpose: what is to be kept there, for the sentence.
    ///   - environment: finds a variable.
    init(
        for purpose: String,
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) throws(Failure) {
        // A path that is not absolute does not count.
        func folder(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        guard let state = folder("XDG_STATE_HOME") ?? folder("HOME").map({ "\($0)/.local/state" }) else {
            throw Failure(.failed, "there is no place for \(purpose): set HOME or XDG_STATE_HOME")
        }
        path = "\(state)/oriel"
    }

    private init(path: String) { self.path = path }

    /// A folder in it.
    func folder(_ name: String) -> StateFolder { StateFolder(path: "\(path)/\(name)") }

    /// Makes the folder, unless it is there.
    ///
    /// - Returns: whether files can be made in it.
    @discardableResult
    func make() -> Bool {
        var path = ""
        for part in self.path.split(separator: "/") {
            path += "/\(part)"
            mkdir(path, 0o700)
        }
        return access(path, W_OK | X_OK) == 0
    }
}
