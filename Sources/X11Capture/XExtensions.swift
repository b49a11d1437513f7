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
        let opcode: UInt8
        let firstEvent: UInt8
        let version: Version
    }

    var sharedMemory: Info?
    var damage: Info?
    var randr: Info?
    var fixes: Info?
    /// XInput 2.
    var input: Info?
    var composite: Info?
}

extension XConnection {
    func queryExtensions() throws(X11Error) -> XExtensions {
        // Once a later answer is in, the prefetched ones are too, and reading them cannot block.
        oriel_xcb_prefetch_extensions(raw)
        try synchronize()
        var found = XExtensions()
        if let data = present(oriel_xcb_shm(raw)) {
            let version = try reply(
                "ShmQueryVersion",
                xcb_shm_query_version(raw).sequence,
                as: xcb_shm_query_version_reply_t.self
            ).value
            found.sharedMemory = info(data, UInt32(version.major_version), UInt32(version.minor_version))
        }
        if let data = present(oriel_xcb_xfixes(raw)) {
            let version = try reply(
                "XFixesQueryVersion",
                xcb_xfixes_query_version(raw, 4, 0).sequence,
                as: xcb_xfixes_query_version_reply_t.self
            ).value
            found.fixes = info(data, version.major_version, version.minor_version)
        }
        if let data = present(oriel_xcb_damage(raw)) {
            let version = try reply(
                "DamageQueryVersion",
                xcb_damage_query_version(raw, 1, 1).sequence,
                as: xcb_damage_query_version_reply_t.self
            ).value
            found.damage = info(data, version.major_version, version.minor_version)
        }
        if let data = present(oriel_xcb_randr(raw)) {
            let version = try reply(
                "RRQueryVersion",
                xcb_randr_query_version(raw, 1, 5).sequence,
                as: xcb_randr_query_version_reply_t.self
            ).value
            found.randr = info(data, version.major_version, version.minor_version)
        }
        if let data = present(oriel_xcb_input(raw)) {
            // The least version whose raw events come while another program has grabbed the pointer.
            let version = try reply(
                "XIQueryVersion",
                xcb_input_xi_query_version(raw, 2, 1).sequence,
                as: xcb_input_xi_query_version_reply_t.self
            ).value
            found.input = info(data, UInt32(version.major_version), UInt32(version.minor_version))
        }
        if let data = present(oriel_xcb_composite(raw)) {
            let version = try reply(
                "CompositeQueryVersion",
                xcb_composite_query_version(raw, 0, 4).sequence,
                as: xcb_composite_query_version_reply_t.self
            ).value
            found.composite = info(data, version.major_version, version.minor_version)
        }
        return found
    }

    private func present(
        _ data: UnsafePointer<xcb_query_extension_reply_t>?
    ) -> xcb_query_extension_reply_t? {
        guard let data, data.pointee.present != 0 else { return nil }
        return data.pointee
    }

    private func info(
        _ data: xcb_query_extension_reply_t,
        _ major: UInt32,
        _ minor: UInt32
    ) -> XExtensions.Info {
        XExtensions.Info(
            opcode: data.major_opcode,
            firstEvent: data.first_event,
            version: .init(major: major, minor: minor)
        )
    }
}
