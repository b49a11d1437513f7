import Glibc
import JSON
package import Posix
import Sodium

/// The identity of this device, and the devices that it knows: two files of this user alone.
///
/// Each change is on the disk when it returns. A file that is damaged, or that others can read, is refused, and stays as it is.
package struct PairStore: Sendable {
    package static let mostPairs = 256
    /// The largest file that is read, in bytes. All pairs take a third of it.
    private static let longest = 1 << 19
    /// Of a name, in Unicode scalars.
    package static let longestName = 60
    private static let patience = Duration.seconds(2)

    /// A line of the file.
    private struct Identity: Codable {
        var resolvingKey: String
        var name: String?

        /// Texts can always be encoded.
        var text: String { try! jsonLine() }
    }

    private let folder: StateFolder
    private let identityFile: PrivateFile
    private let pairsFile: PrivateFile

    /// - Parameter environment: returns a variable's value.
    package init(environment: (String) -> String? = StateFolder.environment) throws(StateFolder.Missing) {
        folder = try StateFolder(for: "the devices nearby", environment: environment).folder("nearby")
        identityFile = PrivateFile("\(folder.path)/identity")
        pairsFile = PrivateFile("\(folder.path)/pairs")
    }

    package var path: String { pairsFile.path }
    package var folderPath: String { folder.path }

    package func makeFolder() { folder.make() }

    // MARK: - This device

    /// The key of this device's announcements (`ResolvableID`), made at the first run.
    package func resolvingKey() throws(PairStoreError) -> [UInt8] { try identity().key }

    /// From now on, devices that were paired do not recognise the announcements of this one; the pairs are told the new key by links.
    package func renewResolvingKey() throws(PairStoreError) -> [UInt8] {
        let renewed = Randomness.bytes(PairingFrame.keyLength)
        try changeIdentity { $0.resolvingKey = renewed.hexadecimal }
        return renewed
    }

    /// As this device calls itself; nil for the name of the machine.
    package func ownName() throws(PairStoreError) -> String? { try readIdentity()?.line.name }

    /// - Parameter name: nil for the name of the machine.
    package func setOwnName(_ name: String?) throws(PairStoreError) {
        try changeIdentity { $0.name = name.map { Self.shown($0) } }
    }

    private func identity() throws(PairStoreError) -> (line: Identity, key: [UInt8]) {
        if let identity = try readIdentity() { return identity }
        let made = Randomness.bytes(PairingFrame.keyLength)
        let line = Identity(resolvingKey: made.hexadecimal)
        folder.make()
        try write(line.text, to: identityFile, .keeping)
        // Another process may have been first.
        return try readIdentity() ?? (line, made)
    }

    private func changeIdentity(_ body: (inout Identity) -> Void) throws(PairStoreError) {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        var line = try identity().line
        body(&line)
        try write(line.text, to: identityFile, .replacing)
    }

    private func readIdentity() throws(PairStoreError) -> (line: Identity, key: [UInt8])? {
        guard let text = try read(identityFile) else { return nil }
        guard let line = try? Identity(jsonLine: text), let key = [UInt8](hexadecimal: line.resolvingKey),
            key.count == PairingFrame.keyLength
        else { throw .damaged(path: identityFile.path) }
        return (line, key)
    }

    // MARK: - Pairs

    /// The pairs in the file, the oldest first; none if there is no file.
    package func pairs() throws(PairStoreError) -> [Pair] {
        guard let text = try read(pairsFile) else { return [] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The last line ends, too.
        guard lines.last == "", lines.count - 1 <= Self.mostPairs else { throw .damaged(path: path) }
        let pairs = lines.dropLast().compactMap { try? Pair(jsonLine: String($0)) }
        guard pairs.count == lines.count - 1, Set(pairs.map(\.id)).count == pairs.count else {
            throw .damaged(path: path)
        }
        return pairs
    }

    /// Keeps a new pair. A device that is known already has two then, as only its person can tell whether it is the same one.
    ///
    /// - Parameter time: now, in RFC 3339.
    /// - Returns: the pair, with a name that no other one has.
    @discardableResult
    package func add(_ pair: PairingSession.NewPair, at time: String) throws(PairStoreError) -> Pair {
        var added: Pair?
        try change { pairs in
            let new = Pair(pair, name: Self.freeName(Self.shown(pair.name), among: pairs.map(\.name)), since: time)
            pairs.append(new)
            added = new
        }
        return added!
    }

    /// Changes a pair; a nil result removes it.
    ///
    /// - Returns: false if there is none of that identity.
    @discardableResult
    package func change(_ id: PairID, _ body: (Pair) -> Pair?) throws(PairStoreError) -> Bool {
        var isThere = false
        try change { pairs in
            guard let index = pairs.firstIndex(where: { $0.id == id }) else { return }
            isThere = true
            if let changed = body(pairs[index]) { pairs[index] = changed } else { pairs.remove(at: index) }
        }
        return isThere
    }

    /// Gives a pair another name.
    package func rename(_ id: PairID, to name: String) throws(PairStoreError) -> Bool {
        let name = Self.shown(name)
        var isThere = false
        try change { pairs in
            guard let index = pairs.firstIndex(where: { $0.id == id }) else { return }
            isThere = true
            let others = pairs.filter { $0.id != id }.map(\.name)
            pairs[index].name = Self.freeName(name, among: others)
        }
        return isThere
    }

    /// A name as people may see it: one line, not empty, of characters that are seen, or join such ones.
    package static func shown(_ name: String) -> String {
        let words = name.unicodeScalars.split { $0.properties.isWhitespace }.map { word in
            word.filter { $0.properties.generalCategory != .format && !$0.isControl || joiners.contains($0) }
        }
        let line = Array(words.filter { !$0.isEmpty }.joined(separator: " ".unicodeScalars).prefix(longestName))
        return line.allSatisfy(joiners.contains) ? "device" : String(String.UnicodeScalarView(line))
    }

    /// Scripts and pictures need them (Unicode §23.2).
    private static let joiners: Set<Unicode.Scalar> = ["\u{200C}", "\u{200D}"]

    /// `name`, or `name (2)` where there is one of that name.
    private static func freeName(_ name: String, among names: [String]) -> String {
        let taken = Set(names)
        if !taken.contains(name) { return name }
        return (2...(mostPairs + 2)).lazy.map { "\(name) (\($0))" }.first { !taken.contains($0) }!
    }

    /// Changes the file in one step. Other processes wait.
    private func change(_ body: (inout [Pair]) -> Void) throws(PairStoreError) {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        var pairs = try pairs()
        body(&pairs)
        // Texts and numbers can always be encoded.
        let text = pairs.map { try! $0.jsonLine() + "\n" }.joined()
        guard pairs.count <= Self.mostPairs, text.utf8.count <= Self.longest else { throw .full }
        try write(text, to: pairsFile, .replacing)
    }

    private func lock() throws(PairStoreError) -> FileDescriptor {
        folder.make()
        let held: FileDescriptor?
        do throws(SystemError) { held = try folder.lock(patience: Self.patience) } catch {
            throw .unwritable(path: path, reason: error.reason)
        }
        guard let lock = consume held else { throw .busy(lock: folder.lockPath) }
        return lock
    }

    // MARK: - Files

    private func read(_ file: PrivateFile) throws(PairStoreError) -> String? {
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let opened = try file.open(refusing: 0o077) else { return nil }
            bytes = try opened.readBytes(Self.longest + 1)
        } catch {
            throw .unreadable(path: file.path, reason: error.reason)
        }
        guard bytes.count <= Self.longest, let text = String(validating: bytes, as: UTF8.self) else {
            throw .damaged(path: file.path)
        }
        return text
    }

    private func write(_ text: String, to file: PrivateFile, _ placing: PrivateFile.Placing) throws(PairStoreError) {
        do throws(SystemError) { try file.write(text, placing, isDurable: true) } catch {
            throw .unwritable(path: file.path, reason: error.reason)
        }
    }
}

package enum PairStoreError: Error, Equatable, CustomStringConvertible {
    case unreadable(path: String, reason: String)
    case damaged(path: String)
    /// Another process is changing the file; try again later.
    case busy(lock: String)
    case full
    case unwritable(path: String, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "cannot read \(path) (\(reason)), so no device is known: make it a file of yours alone (chmod 600)"
        case .damaged(let path): "\(path) is damaged, so no device is known: repair it, or remove it and pair anew"
        case .busy(let lock): "another process holds \(lock): try again"
        case .full: "\(PairStore.mostPairs) devices are known: make room with \"oriel unpair\""
        case .unwritable(let path, let reason): "cannot write \(path) (\(reason)): see whether the disk is full"
        }
    }
}
