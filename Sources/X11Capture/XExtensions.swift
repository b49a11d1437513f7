import CXCB

/// Which extensions the server has, at which version, and where their events begin. Nil: it lacks them.
struct XExtensions {
    struct Version: Comparable {
        let major: UInt32
        let minor: UInt32

        static func < (left: Version, right: Version) -> Bool {
            (left.major, left.minor) < (right.major, right.minor)
        }
    }

    struct Info {
        let firstEvent: UInt8
        let version: Version
    }

    var sharedMemory: Info?
    var damage: Info?
    var randr: Info?
    var fixes: Info?
}

extension XConnection {
    func queryExtensions() throws(X11Error) -> XExtensions {
        // Once a later answer is in, the prefetched ones are too, and reading them cannot block.
        oriel_xcb_prefetch_extensions(raw)
        try synchronize()
        var found = XExtensions()
        if let firstEvent = present(oriel_xcb_shm(raw)) {
            let version = try reply(
                "ShmQueryVersion",
                xcb_shm_query_version(raw).sequence,
                as: xcb_shm_query_version_reply_t.self
            ).value
            found.sharedMemory = info(firstEvent, UInt32(version.major_version), UInt32(version.minor_version))
        }
        if let firstEvent = present(oriel_xcb_xfixes(raw)) {
            let version = try reply(
                "XFixesQueryVersion",
                xcb_xfixes_query_version(raw, 4, 0).sequence,
                as: xcb_xfixes_query_version_reply_t.self
            ).value
            found.fixes = info(firstEvent, version.major_version, version.minor_version)
        }
        if let firstEvent = present(oriel_xcb_damage(raw)) {
            let version = try reply(
                "DamageQueryVersion",
                xcb_damage_query_version(raw, 1, 1).sequence,
                as: xcb_damage_query_version_reply_t.self
            ).value
            found.damage = info(firstEvent, version.major_version, version.minor_version)
        }
        if let firstEvent = present(oriel_xcb_randr(raw)) {
            let version = try reply(
                "RRQueryVersion",
                xcb_randr_query_version(raw, 1, 5).sequence,
                as: xcb_randr_query_version_reply_t.self
            ).value
            found.randr = info(firstEvent, version.major_version, version.minor_version)
        }
        return found
    }

    private func present(_ data: UnsafePointer<xcb_query_extension_reply_t>?) -> UInt8? {
        guard let data, data.pointee.present != 0 else { return nil }
        return data.pointee.first_event
    }

    private func info(_ firstEvent: UInt8, _ major: UInt32, _ minor: UInt32) -> XExtensions.Info {
        XExtensions.Info(firstEvent: firstEvent, version: .init(major: major, minor: minor))
    }
}
