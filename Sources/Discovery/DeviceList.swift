package import Pairing
package import Time

/// The devices nearby, of all drivers: one that several have found is one. Devices are equal by identity, never by name. Sans-IO.
package struct DeviceList {
    package enum Identity: Hashable, Sendable {
        case pair(DeviceID)
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
        package let device: DeviceID
        package let resolvingKey: [UInt8]
        package let name: String

        package init(device: DeviceID, resolvingKey: [UInt8], name: String) {
            (self.device, self.resolvingKey, self.name) = (device, resolvingKey, name)
        }
    }

    package enum News: Equatable, Sendable {
        case found(Device)
        case changed(Device)
        case lost(Identity)
    }

    /// For all drivers together; further ones are left out.
    package static let most = 1024

    private struct Entry {
        let sighting: Sighting
        let identity: Identity
        let since: Instant

        init(sighting: Sighting, since: Instant, by pairs: [Known]) {
            (self.sighting, self.since) = (sighting, since)
            let pair = sighting.announcement.resolvable.flatMap { id in pairs.first { id.isOf(key: $0.resolvingKey) } }
            identity = pair.map { .pair($0.device) } ?? .instance(sighting.announcement.instance)
        }
    }

    /// Of what one driver knows of one start of a device.
    private struct Key: Hashable {
        let driver: Driver
        let instance: [UInt8]
    }

    private var pairs: [Known] = []
    private var entries: [Key: Entry] = [:]
    /// The entries of each identity.
    private var members: [Identity: Set<Key>] = [:]
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

    /// The pairs have changed.
    package mutating func set(_ pairs: [Known]) {
        self.pairs = pairs
        for (key, entry) in entries { place(key, Entry(sighting: entry.sighting, since: entry.since, by: pairs)) }
    }

    package mutating func note(_ news: SightingNews, by driver: Driver, at now: Instant) {
        switch news {
        case .seen(let sighting):
            let key = Key(driver: driver, instance: sighting.announcement.instance)
            let former = entries[key]
            guard former != nil || entries.count < Self.most else { return }
            place(key, Entry(sighting: sighting, since: former?.since ?? now, by: pairs))
        case .lost(let instance): place(Key(driver: driver, instance: instance), nil)
        }
    }

    /// A driver has ended.
    package mutating func forget(_ driver: Driver) {
        for key in entries.keys where key.driver == driver { place(key, nil) }
    }

    // MARK: - Merging

    private mutating func place(_ key: Key, _ entry: Entry?) {
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
    private func merged(_ identity: Identity) -> Device? {
        let found = (members[identity] ?? []).map { ($0, entries[$0]!) }.sorted { one, other in
            (one.1.since, one.0.driver.rawValue) < (other.1.since, other.0.driver.rawValue)
        }
        // The newest start of a device counts: an older one is still announced where it ended without a goodbye.
        guard let oldest = found.first, let newest = found.last else { return nil }
        let announcement = newest.1.sighting.announcement
        let present = found.filter { $0.0.instance == announcement.instance }
        let ways = present.flatMap { key, entry in entry.sighting.endpoints.map { (driver: key.driver, endpoint: $0) } }
        let pair: Known? = if case .pair(let device) = identity { pairs.first { $0.device == device } } else { nil }
        let said = present.map(\.1.sighting.name).first { !$0.isEmpty } ?? ""
        return Device(
            identity: identity,
            name: pair?.name ?? (said.isEmpty ? "" : PairStore.shown(said)),
            state: announcement.state,
            token: announcement.token,
            codecs: announcement.codecs,
            endpoints: ways.sorted { ($0.endpoint.order, $0.endpoint.host) < ($1.endpoint.order, $1.endpoint.host) },
            since: oldest.1.since
        )
    }
}
