import Sodium

/// One side's run of CPACE-RISTRETTO255-SHA512 (draft-irtf-cfrg-cpace-21 §5 to §9): two who know the same short text agree on a long
/// key, and whoever listens, or stands between them, can try one text in each run.
struct CPace {
    /// Both sides say the same texts.
    struct Setting {
        /// The short text (PRS).
        let password: [UInt8]
        /// What the run is for (CI).
        let channel: [UInt8]
        /// Of this run alone (sid).
        let session: [UInt8]
    }

    private static let name = Array("CPaceRistretto255".utf8)
    /// The input block of SHA-512 (s_in_bytes).
    private static let block = 128

    private let setting: Setting
    private let scalar: [UInt8]
    /// What the other side gets (Ya, Yb): 32 bytes.
    let share: [UInt8]

    init(_ setting: Setting) { self.init(setting, scalar: Ristretto255.randomScalar()) }

    /// For test vectors: a scalar is used once.
    init(_ setting: Setting, scalar: [UInt8]) {
        (self.setting, self.scalar) = (setting, scalar)
        // The generator is an element of the group, and no scalar of less than its order makes an identity of it.
        share = Ristretto255.multiply(scalar, Self.generator(setting))!
    }

    /// The key of the run: 64 bytes (ISK).
    ///
    /// - Parameters:
    ///   - share: of the other side.
    ///   - ownData, otherData: what each side says beside its share (ADa, ADb).
    ///   - begins: whether this side sends its share first.
    /// - Returns: nil if the other side's share is invalid.
    func key(with share: [UInt8], ownData: [UInt8], otherData: [UInt8], begins: Bool) -> [UInt8]? {
        guard let product = Ristretto255.multiply(scalar, share) else { return nil }
        let own = [self.share, ownData].concatenated, other = [share, otherData].concatenated
        let head = [Self.name + Array("_ISK".utf8), setting.session, product].concatenated
        return Hash.sha512(head + (begins ? own + other : other + own))
    }

    /// §8.2: the password is alone in the first block of the hash.
    static func generator(_ setting: Setting) -> [UInt8] {
        let used = [name].concatenated.count + [setting.password].concatenated.count + 1
        let padding = [UInt8](repeating: 0, count: max(0, block - used))
        let text = [name, setting.password, padding, setting.channel, setting.session].concatenated
        return Ristretto255.element(of: Hash.sha512(text))
    }
}

extension [[UInt8]] {
    /// Each with its length before it, in LEB128 (lv_cat of §5.3).
    var concatenated: [UInt8] {
        reduce(into: []) { all, part in
            var rest = part.count
            repeat {
                all.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
                rest >>= 7
            } while rest > 0
            all += part
        }
    }
}
