package import Pairing
package import Time

/// The devices nearby, of all drivers: one that several have found is one. Devices are equal by identity, never by name. Sans-IO.
package struct DeviceList {
    package enum Identity: Hashable, Sendable {
        case pair(PairID)
        /// Of a device that is no pair: of one start of it.
        case instance([UInt8])
    }

    package struct Device: Equatable, Sendable {
        package let identity: Identity
        /// As people here call a pair, or else as it calls itself: one line, perhaps empty.
        package var name: String
        package var state: Announcement.State
        /// Needed to begin to pair; nil while the device shows no code.
        package var token: [UInt8]?
        package var codecs: [String]
        /// The best ones first, with the driver of each.
        package var endpoints: [(driver: Driver, endpoint: Endpoint)]
        package let since: Instant

        package static func == (one: Device, other: Device) -> Bool {
            (one.identity, one.name, one.state, one.token, one.codecs)
                == (other.identity, other.name, other.state, other.token, other.codecs)
                && one.endpoints.elementsEqual(other.endpoints, by: ==) && one.since == other.since
        }
    }

    /// A device that this one knows.
    package struct Known: Sendable {
        package let id: PairID
        package let resolvingKey: [UInt8]
        package let name: String

        package init(id: PairID, resolvingKey: [UInt8], name: String) {
            (self.id, self.resolvingKey, self.name) = (id, resolvingKey, name)
        }
    }

    package enum News: Equatable, Sendable {
        case found(Device)
        case changed(Device)
        case lost(Identity)
    }

    /// Of one driver; further ones are left out.
    package static let most = 1024

    private struct Entry {
        let sighting: Sighting
        let identity: Identity
        let since: Instant

        init(_ sighting: Sighting, since: Instant, identity: Identity) {
            (self.sighting, self.since, self.identity) = (sighting, since, identity)
        }
    }

    /// Of what one driver knows of one start of a device, from one place.
    private struct Key: Hashable {
        let driver: Driver
        let instance: [UInt8]
        let source: String
    }

    private var pairs: [Known] = []
    private var entries: [Key: Entry] = [:]
    /// The entries of each identity.
    private var members: [Identity: Set<Key>] = [:]
    private var counts: [Driver: Int] = [:]
    private var shown: [Identity: Device] = [:]
    /// Identities whose entries have changed, in the order of the changes.
    private var touched: [Identity] = []
    private var outputs: [News] = []

    package init() {}

    package mutating func nextNews() -> News? {
        settle()
        return outputs.isEmpty ? nil : outputs.removeFirst()
    }

    /// All devices, the longest known first.
    package mutating func devices() -> [Device] {
        settle()
        return shown.values.sorted { ($0.since, $0.name, "\($0.identity)") < ($1.since, $1.name, "\($1.identity)") }
    }

    /// - Returns: nil if nothing of it is known.
    package mutating func device(_ identity: Identity) -> Device? {
        settle()
        return shown[identity]
    }

    /// The pairs have changed.
    package mutating func set(_ pairs: [Known]) {
        self.pairs = pairs
        for (key, entry) in entries {
            place(key, Entry(entry.sighting, since: entry.since, identity: identity(of: entry.sighting.announcement)))
        }
    }

    package mutating func note(_ news: SightingNews, by driver: Driver, at now: Instant) {
        switch news {
        case .seen(let sighting):
            let announcement = sighting.announcement
            let key = Key(driver: driver, instance: announcement.instance, source: sighting.source)
            let former = entries[key]
            guard former != nil || counts[driver, default: 0] < Self.most else { return }
            // To recognise a pair costs a hash for each.
            let isSame = former?.sighting.announcement.resolvable == announcement.resolvable
            let identity = isSame ? former?.identity : nil
            place(
                key,
                Entry(sighting, since: former?.since ?? now, identity: identity ?? self.identity(of: announcement))
            )
        case .lost(let instance, let source): place(Key(driver: driver, instance: instance, source: source), nil)
        }
    }

    /// A driver has ended.
    package mutating func forget(_ driver: Driver) {
        for key in entries.keys where key.driver == driver { place(key, nil) }
    }

    // MARK: - Merging

    private func identity(of announcement: Announcement) -> Identity {
        let pair = announcement.resolvable.flatMap { id in
            pairs.first { id.isOf(key: $0.resolvingKey, instance: announcement.instance) }
        }
        return pair.map { .pair($0.id) } ?? .instance(announcement.instance)
    }

    private mutating func place(_ key: Key, _ entry: Entry?) {
        counts[key.driver, default: 0] += (entry == nil ? 0 : 1) - (entries[key] == nil ? 0 : 1)
        if let former = entries[key]?.identity {
            members[former]?.remove(key)
            if members[former]?.isEmpty ?? false { members[former] = nil }
            touched.append(former)
        }
        entries[key] = entry
        if let identity = entry?.identity {
            members[identity, default: []].insert(key)
            touched.append(identity)
        }
    }

    private mutating func settle() {
        for identity in touched {
            let former = shown[identity]
            let present = merged(identity)
            shown[identity] = present
            switch (former, present) {
            case (nil, let device?): outputs.append(.found(device))
            case (let former?, let device?): if former != device { outputs.append(.changed(device)) }
            case (.some, nil): outputs.append(.lost(identity))
            case (nil, nil): break
            }
        }
        touched = []
    }

    /// The device of an identity, of all that the drivers know; nil if none knows anything.
    ///
    /// What was heard first of a start counts for its state, as others may announce the same later. The newest start comes first; the places
    /// of all are kept, as only a link tells which of them is the device.
    private func merged(_ identity: Identity) -> Device? {
        let found = (members[identity] ?? []).map { ($0, entries[$0]!) }.sorted { one, other in
            (one.1.since, one.0.driver.rawValue, one.0.source) < (
                other.1.since, other.0.driver.rawValue, other.0.source
            )
        }
        guard let oldest = found.first else { return nil }
        var starts: [[UInt8]] = []
        for (key, _) in found where !starts.contains(key.instance) { starts.insert(key.instance, at: 0) }
        let ways = starts.flatMap { instance in
            found.filter { $0.0.instance == instance }.flatMap { key, entry in
                entry.sighting.endpoints.map { (driver: key.driver, endpoint: $0) }
            }.sorted { ($0.endpoint.order, $0.endpoint.host) < ($1.endpoint.order, $1.endpoint.host) }
        }
        let present = found.filter { $0.0.instance == starts[0] }.map(\.1.sighting)
        let pair: Known? = if case .pair(let id) = identity { pairs.first { $0.id == id } } else { nil }
        let said = present.map(\.name).first { !$0.isEmpty } ?? ""
        return Device(
            identity: identity,
            name: pair?.name ?? (said.isEmpty ? "" : PairStore.shown(said)),
            state: present[0].announcement.state,
            token: present[0].announcement.token,
            codecs: present[0].announcement.codecs,
            endpoints: ways,
            since: oldest.1.since
        )
    }
}
